//! Splits a command of a shell into words.

/// Words that end a command: pipes, redirections, and separators before the next command.
const ENDS: [&str; 12] =
    ["|", "||", "&", "&&", ";", ">", ">>", ">&", "&>", "2>", "2>&1", "2>/dev/null"];

/// Returns the words of a command, without quotes, up to a pipe, a redirection or the next command.
pub(crate) fn shell_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (None::<ShellWord>, None);
    let mut letters = text.chars().peekable();
    let mut ended = false;
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default().is_quoted = true;
            }
            (None | Some('"'), '\\') => match letters.next() {
                None | Some('\n') => {}
                Some(escaped) => word.get_or_insert_default().text.push(escaped),
            },
            (None, '#') if word.is_none() => while letters.next_if(|c| *c != '\n').is_some() {},
            (None, _) if letter.is_whitespace() => {
                push(word.take(), &mut words, &mut ended);
                ended &= letter != '\n';
            }
            _ => word.get_or_insert_default().text.push(letter),
        }
    }
    push(word, &mut words, &mut ended);
    words
}

/// A word, and whether a part of it is between quotes.
#[derive(Default)]
struct ShellWord {
    text: String,
    is_quoted: bool,
}

/// Adds a word, unless the command has ended before it. A quoted word never ends the command.
fn push(word: Option<ShellWord>, words: &mut Vec<String>, ended: &mut bool) {
    let Some(ShellWord { mut text, is_quoted }) = word else { return };
    *ended |= !is_quoted && (ENDS.contains(&text.as_str()) || text.starts_with('>'));
    if *ended {
        return;
    }
    if let Some(last) = text.strip_suffix(';').filter(|_| !is_quoted) {
        text.truncate(last.len());
        *ended = true;
    }
    words.push(text);
}
