//! Text that came from elsewhere, made harmless: what would steer a terminal, or turn the order of
//! the letters around, is shown as an escape instead of being sent.

use std::borrow::Cow;

/// Escapes a text of several lines.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    escape_chars(text, |c| c != '\n' && is_steering(c))
}

/// Escapes a text that has to stay on its line, such as a table's cell.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_chars(text, is_steering)
}

/// Returns a word of a command line, with a shell's quotes where it needs them.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Shortens a text to a maximum of characters: its beginning and its end.
pub fn shorten(text: &str, most: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let head = most * 2 / 3;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - (most - head)).collect();
    format!("{start}[{} more characters]{end}", count - most).into()
}

/// Escapes a steering character of a JSON text, as JSON does.
pub fn escape_json(c: char) -> Cow<'static, str> {
    if c != '\n' && is_steering(c) {
        format!("\\u{:04x}", c as u32).into()
    } else {
        c.to_string().into()
    }
}

fn escape_chars(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&hidden) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
}

/// Whether a character is a control character, or a mark that changes direction or is invisible.
/// All of them lie in the basic plane: four hexadecimal digits are enough.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        assert_eq!(shorten("äbc", 3), "äbc");
        assert_eq!(shorten("abcdefghi", 6), "abcd[3 more characters]hi");
        let name = format!("invalid name `{}`", "ö".repeat(100_000));
        assert!(shorten(&name, 600).chars().count() < 640);
    }

    #[test]
    fn only_lines_are_kept() {
        assert_eq!(escape_text("a\nb\tc\r"), "a\nb\\tc\\r");
        assert_eq!(escape_line("a\nb"), "a\\nb");
        assert_eq!(escape_line("µs \u{feff}é"), "µs \\u{feff}é");
    }
}
