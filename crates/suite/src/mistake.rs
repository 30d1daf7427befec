//! What is wrong with a suite: each mistake with the place it is at and what was expected there.

use super::source::{Source, Span};
use kvdyno_record::redact::redact;
use kvdyno_record::text::{plain, shortened};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use std::fmt;
use std::sync::Arc;
use strsim::levenshtein;

/// More mistakes than this are not read: a file that is no suite has one in every line.
const RENDERED_MAX: usize = 10;

/// Characters of a message.
const WORDS_MAX: usize = 2000;

/// Everything that is wrong with a suite, in the order of its text.
#[derive(Clone, Debug)]
pub struct SuiteError {
    /// The suite's file.
    pub file: String,
    /// At least one.
    pub mistakes: Vec<LocatedMistake>,
}

impl SuiteError {
    pub(super) fn new(source: &Source, mut mistakes: Mistakes) -> Self {
        mistakes.found.sort_by_key(|mistake| mistake.span.as_ref().map(|span| span.start));
        // An engine's mistake is found once for each RAM limit, a suite's for each part.
        let mut found: Vec<Mistake> = Vec::new();
        for mistake in mistakes.found {
            if !found.contains(&mistake) {
                found.push(mistake);
            }
        }
        let locate = |Mistake { span, message, label, help }: Mistake| {
            let (text, span) = span.map(|span| source.locate(&span)).unzip();
            let label = |span| LabeledSpan::new_primary_with_span(label, span);
            LocatedMistake { message, help, text, labels: span.map(label).into_iter().collect() }
        };
        let mistakes = found.into_iter().map(locate).collect();
        Self { file: source.name().to_owned(), mistakes }
    }

    /// As a user reads it: each mistake under its line, with a caret.
    pub fn render(&self, colour: bool) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut text = String::new();
        for (at, mistake) in self.mistakes.iter().take(RENDERED_MAX).enumerate() {
            text += if at > 0 { "\n" } else { "" };
            // Writing to a String cannot fail.
            let _ = handler.render_report(&mut text, mistake);
        }
        let more = self.mistakes.len().saturating_sub(RENDERED_MAX);
        if more > 0 {
            text += &format!("\n  and {more} more");
            text += if more == 1 { " mistake\n" } else { " mistakes\n" };
        }
        text
    }
}

impl std::error::Error for SuiteError {}

impl fmt::Display for SuiteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.mistakes[..] {
            [only] => write!(f, "{}: {only}", self.file),
            many => write!(f, "{}: {} mistakes", self.file, many.len()),
        }
    }
}

/// A mistake with the text it is in.
#[derive(Clone, Debug, thiserror::Error, Diagnostic)]
#[error("{message}")]
pub struct LocatedMistake {
    message: String,
    #[help]
    help: Option<String>,
    #[source_code]
    text: Option<Arc<NamedSource<String>>>,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
}

/// One mistake, not yet located.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    span: Option<Span>,
    message: String,
    label: Option<String>,
    help: Option<String>,
}

impl Mistake {
    /// The words at the caret: what was expected.
    pub(super) fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(shown(&label.into()));
        self
    }

    /// The words below: what would help.
    pub(super) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(shown(&help.into()));
        self
    }
}

/// Mistakes as they are found.
#[derive(Clone, Debug, Default)]
pub(super) struct Mistakes {
    found: Vec<Mistake>,
}

impl Mistakes {
    /// A mistake at a place in the text.
    pub(super) fn at(&mut self, span: &Span, message: impl Into<String>) -> &mut Mistake {
        self.add(Some(span.clone()), &message.into())
    }

    /// A mistake that has no place in the text.
    pub(super) fn anywhere(&mut self, message: impl Into<String>) -> &mut Mistake {
        self.add(None, &message.into())
    }

    /// A name that is none of the known ones.
    pub(super) fn unknown(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        name: &str,
        known: &[&str],
    ) -> &mut Mistake {
        let mistake = self.at(span, message);
        if let Some(closest) = closest(name, known) {
            mistake.label(format!("did you mean `{closest}`?"));
        }
        if !known.is_empty() {
            mistake.help(format!("known here: {}", known.join(", ")));
        }
        mistake
    }

    /// The way on, if there is one.
    pub(super) fn none(self, source: &Source) -> Result<(), SuiteError> {
        if self.found.is_empty() { Ok(()) } else { Err(SuiteError::new(source, self)) }
    }

    fn add(&mut self, span: Option<Span>, message: &str) -> &mut Mistake {
        let message = shown(message);
        let at = self.found.len();
        self.found.push(Mistake { span, message, label: None, help: None });
        &mut self.found[at]
    }
}

/// Words that quote the suite, which may be a stranger's, have a secret in it, or have no end.
fn shown(words: &str) -> String {
    plain(&redact(&shortened(words, WORDS_MAX))).into_owned()
}

/// The known name that was probably meant: at most a third of its letters differ, or one of both
/// is in the other.
pub fn closest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let is_near = |known: &&str| {
        let inside = name.len() >= 3 && (known.contains(name) || name.contains(known));
        inside || levenshtein(name, known) <= known.chars().count().div_ceil(3)
    };
    known.iter().copied().filter(is_near).min_by_key(|known| levenshtein(name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_close() {
        let known = ["records", "size", "key_bytes", "value_bytes"];
        assert_eq!(closest("recrods", &known), Some("records"));
        assert_eq!(closest("keybytes", &known), Some("key_bytes"));
        assert_eq!(closest("threads", &known), None);
        assert_eq!(closest("rocks", &["lmdb", "rocksdb"]), Some("rocksdb"));
        assert_eq!(closest("zipfian", &["ycsb_zipfian", "zipf"]), Some("zipf"));
        assert_eq!(closest("get", &[]), None);
    }
}
