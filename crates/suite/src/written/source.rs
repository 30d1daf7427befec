//! The origin of each byte of a suite: the file, or an argument such as `--set`.
//!
//! Each argument gets a range of offsets after the end of the file. So one kind of span serves
//! both, and mistakes in an argument are shown with a caret, as in the file.

use kvdyno_record::redact::mask;
use kvdyno_record::text::{escape_text, is_steering};
use miette::{NamedSource, SourceSpan};
use std::ops::Range;
use std::sync::Arc;

/// The most bytes of a line in messages; longer lines are cut.
const LINE_BYTES_MAX: usize = 400;

/// Offsets into a [`Source`].
pub(crate) type Span = Range<usize>;

/// A suite's text with the arguments that change it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    start: usize,
    text: Arc<NamedSource<String>>,
}

/// Returns the text, safe for a terminal and without secrets. Offsets stay the same, because spans
/// refer to them.
fn harmless(text: &str) -> String {
    let stand_in = |c: char| match c.len_utf8() {
        _ if c == '\n' || c == '\t' || c == '\r' || !is_steering(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    mask(text).chars().map(stand_in).collect()
}

/// Returns the text with lines cut to [`LINE_BYTES_MAX`], and the span in it. The span's line is
/// cut around the span. None: no line is longer.
fn excerpt(text: &str, span: Span) -> Option<(String, Span)> {
    if text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
        return None;
    }
    let (mut cut, mut offset, mut moved) = (String::new(), 0, None);
    for line in text.split_inclusive('\n') {
        let words = line.trim_end_matches('\n').len();
        let has_span = (offset..=offset + words).contains(&span.start);
        let ahead =
            if has_span { (span.start - offset).saturating_sub(LINE_BYTES_MAX / 2) } else { 0 };
        let begin = boundary(line, ahead);
        let end = boundary(line, words.min(begin + LINE_BYTES_MAX));
        if has_span && moved.is_none() {
            let start = cut.len() + (span.start - offset).clamp(begin, end) - begin;
            moved = Some(start..start + span.len().min(cut.len() + end - begin - start));
        }
        cut.push_str(&line[begin..end]);
        cut.push_str(&line[words..]);
        offset += line.len();
    }
    let end = cut.len();
    Some((cut, moved.unwrap_or(end..end)))
}

/// Returns the last character boundary up to `index`.
fn boundary(line: &str, index: usize) -> usize {
    (0..=index).rev().find(|index| line.is_char_boundary(*index)).unwrap_or(0)
}

impl Source {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        let text = Arc::new(NamedSource::new(escape_text(file), harmless(text)));
        Self { parts: vec![Part { start: 0, text }] }
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        self.parts[0].text.name()
    }

    /// Adds an argument; returns the offset of its text.
    pub(crate) fn add(&mut self, flag: &str, text: &str) -> usize {
        let start = self.end() + 1;
        let text = Arc::new(NamedSource::new(flag, harmless(text)));
        self.parts.push(Part { start, text });
        start
    }

    /// Returns the text that contains a span, and the span in it.
    pub(crate) fn locate(&self, span: &Span) -> (Arc<NamedSource<String>>, SourceSpan) {
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
