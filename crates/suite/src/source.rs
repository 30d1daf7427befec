//! Where each byte of a suite came from: the file, or an argument such as `--set`.
//!
//! Every argument is given a range of offsets behind the end of the file. So one kind of span
//! serves for all, and a mistake in an argument is shown under a caret just as one in the file is.

use kvdyno_record::redact::mask;
use kvdyno_record::text::{plain, steers};
use miette::{NamedSource, SourceSpan};
use std::ops::Range;
use std::sync::Arc;

/// No line is shown beyond this.
const LINE_BYTES_MAX: usize = 400;

/// Offsets into a [`Source`].
pub(super) type Span = Range<usize>;

/// A suite's text with the arguments that change it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    start: usize,
    text: Arc<NamedSource<String>>,
}

/// The text as a terminal may be sent it, without secrets, place for place: spans point into it.
fn harmless(text: &str) -> String {
    let stand_in = |c: char| match c.len_utf8() {
        _ if c == '\n' || c == '\t' || c == '\r' || !steers(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    mask(text).chars().map(stand_in).collect()
}

/// The text without what lines have beyond [`LINE_BYTES_MAX`], and where the span is in it: of its
/// own line what is around it. None: no line is so long.
fn excerpt(text: &str, span: Span) -> Option<(String, Span)> {
    if text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
        return None;
    }
    let (mut cut, mut at, mut moved) = (String::new(), 0, None);
    for line in text.split_inclusive('\n') {
        let words = line.trim_end_matches('\n').len();
        let is_here = (at..=at + words).contains(&span.start);
        let ahead = if is_here { (span.start - at).saturating_sub(LINE_BYTES_MAX / 2) } else { 0 };
        let from = boundary(line, ahead);
        let to = boundary(line, words.min(from + LINE_BYTES_MAX));
        if is_here && moved.is_none() {
            let start = cut.len() + (span.start - at).clamp(from, to) - from;
            moved = Some(start..start + span.len().min(cut.len() + to - from - start));
        }
        cut.push_str(&line[from..to]);
        cut.push_str(&line[words..]);
        at += line.len();
    }
    let end = cut.len();
    Some((cut, moved.unwrap_or(end..end)))
}

/// The last place up to `at` where a character begins.
fn boundary(line: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

impl Source {
    pub(super) fn new(file: &str, text: &str) -> Self {
        let text = Arc::new(NamedSource::new(plain(file), harmless(text)));
        Self { parts: vec![Part { start: 0, text }] }
    }

    /// The file's name.
    pub(super) fn name(&self) -> &str {
        self.parts[0].text.name()
    }

    /// Takes an argument in; its text begins at the offset returned.
    pub(super) fn add(&mut self, flag: &str, text: &str) -> usize {
        let start = self.end() + 1;
        let text = Arc::new(NamedSource::new(flag, harmless(text)));
        self.parts.push(Part { start, text });
        start
    }

    /// The text a span lies in, and where in it.
    pub(super) fn locate(&self, span: &Span) -> (Arc<NamedSource<String>>, SourceSpan) {
        let part = self.parts.iter().rev().find(|part| part.start <= span.start);
        let part = part.unwrap_or(&self.parts[0]);
        let length = part.text.inner().len();
        let start = (span.start - part.start).min(length);
        let end = (span.end.max(span.start) - part.start).min(length);
        match excerpt(part.text.inner(), start..end) {
            Some((text, span)) => {
                let text = NamedSource::new(part.text.name(), text);
                (Arc::new(text), (span.start, span.len()).into())
            }
            None => (Arc::clone(&part.text), (start, end - start).into()),
        }
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.start + part.text.inner().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_what_is_around_the_mistake_is_shown() {
        assert_eq!(excerpt("a = 1\nb = 2\n", 6..7), None);
        let name = "ä".repeat(50_000);
        let text = format!("a = \"{name}\"\nb = \"{name}wrong{name}\"\nc = 3\n");
        for (word, length) in [("wrong", 5), ("b =", 1), ("c =", 1), ("a =", 100_000)] {
            let start = text.find(word).unwrap();
            let (cut, span) = excerpt(&text, start..start + length).unwrap();
            assert!(cut[span.clone()].starts_with(&word[..1]), "{word}: {:?}", &cut[span]);
            assert!(cut.len() < 3 * LINE_BYTES_MAX, "{word}: {}", cut.len());
            assert_eq!(cut.lines().count(), 3);
            assert_eq!(cut.lines().nth(2), Some("c = 3"));
        }
        let (cut, span) = excerpt(&text, text.len()..text.len()).unwrap();
        assert_eq!(span, cut.len()..cut.len());
    }

    #[test]
    fn addresses_of_servers_are_not_shown() {
        let source = Source::new("s.toml", "a = \"redis://secret\"\nb = 2\n");
        let (text, span) = source.locate(&(21..22));
        assert!(text.inner()[span.offset()..].starts_with("b ="));
        assert!(!text.inner().contains("secret"), "{}", text.inner());
    }
}
