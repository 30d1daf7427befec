//! Long sentences in lines that can be read: broken between words, later lines indented.

/// Columns of a page of prose.
pub const WIDTH: usize = 100;

/// Wraps `text` into lines of at most [`WIDTH`] columns. It begins after `indent` columns, and its
/// later lines are indented by as many. Longer words stay whole, and so does a text in backticks: a
/// command is copied as it is.
pub fn wrap(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    let mut column = indent;
    let mut quoted = false;
    let is_break = |letter: char| {
        quoted ^= letter == '`';
        letter == ' ' && !quoted
    };
    for word in text.split(is_break) {
        let length = word.chars().count();
        let begun = column > indent;
        if begun && column + 1 + length > WIDTH {
            lines.push(String::new());
            column = indent;
        }
        if let Some(line) = lines.last_mut() {
            if column > indent {
                line.push(' ');
                column += 1;
            }
            line.push_str(word);
            column += length;
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang() {
        let text = "word ".repeat(40);
        let wrapped = wrap(text.trim(), 10);
        let lines: Vec<&str> = wrapped.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].len() + 10 <= WIDTH && lines[1].starts_with("          word"));
        assert_eq!(wrapped.split_whitespace().count(), 40);
        assert_eq!(wrap("short", 10), "short");
        let long = "x".repeat(300);
        assert_eq!(wrap(&format!("a {long} b"), 2), format!("a\n  {long}\n  b"));
        let command = format!("`kvdyno {}`", "word ".repeat(20));
        assert_eq!(wrap(&format!("type {command} now"), 2), format!("type\n  {command}\n  now"));
    }
}
