//! Where each byte of a suite came from: the file, or an argument such as `--set`.
//!
//! Every argument is given a range of offsets behind the end of the file. So one kind of span
//! serves for all, and a mistake in an argument is shown under a caret just as one in the file is.

use kvdyno_record::text::{plain, steers};
use miette::{NamedSource, SourceSpan};
use std::ops::Range;
use std::sync::Arc;

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

/// The text as a terminal may be sent it, place for place: spans point into it.
fn harmless(text: &str) -> String {
    let stand_in = |c: char| match c.len_utf8() {
        _ if c == '\n' || c == '\t' || c == '\r' || !steers(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => '\u{fffd}',
    };
    text.chars().map(stand_in).collect()
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
        (Arc::clone(&part.text), (start, end - start).into())
    }

    fn end(&self) -> usize {
        self.parts.last().map_or(0, |part| part.start + part.text.inner().len())
    }
}
