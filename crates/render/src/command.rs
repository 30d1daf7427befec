//! The command line of a run, as it can be typed again.

use kvdyno_record::text::shell_word;

/// The words with a shell's quotes where they need them.
pub fn command_line(words: &[String]) -> String {
    let quoted = words.iter().enumerate().map(|(at, word)| match at {
        // The program's path is left out: users type its name.
        0 => shell_word(word.rsplit('/').next().unwrap_or(word)),
        _ => shell_word(word),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        let words = ["/opt/bin/kvdyno", "run", "quick", "--set", "a=b c", "it's", ""];
        assert_eq!(
            command_line(&words.map(str::to_owned)),
            "kvdyno run quick --set 'a=b c' 'it'\\''s' ''"
        );
    }
}
