//! Mistakes in a suite, each with its position and the expected value.

use crate::written::names::push_unique;
use crate::written::source::{Source, Span};
use kvdyno_record::redact::redact;
use kvdyno_record::text::{escape_text, shorten};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};
use std::fmt;
use std::sync::Arc;
use strsim::damerau_levenshtein;

/// The most mistakes that are rendered: a file that is not a suite has one in every line.
const RENDERED_MAX: usize = 10;

/// The most characters of a message.
const WORDS_MAX: usize = 2000;

/// All mistakes in a suite, in the order of its text.
#[derive(Clone, Debug)]
pub struct SuiteError {
    /// The suite's file.
    pub file: String,
    /// The mistakes, at least one.
    pub mistakes: Vec<LocatedMistake>,
}

impl SuiteError {
    pub(crate) fn new(source: &Source, mut mistakes: Mistakes) -> Self {
        mistakes.found.sort_by_key(|mistake| mistake.span.as_ref().map(|span| span.start));
        // An engine's mistake is found again for each RAM limit, a suite's for each part.
        let mut unique: Vec<Mistake> = Vec::new();
        for mistake in mistakes.found {
            push_unique(&mut unique, mistake);
        }
        let locate = |Mistake { span, message, label, help }: Mistake| {
            let (text, span) = span.map(|span| source.locate(&span)).unzip();
            let label = |span| LabeledSpan::new_primary_with_span(label, span);
            LocatedMistake { message, help, text, labels: span.map(label).into_iter().collect() }
        };
        let mistakes = unique.into_iter().map(locate).collect();
        Self { file: source.name().to_owned(), mistakes }
    }

    /// Returns the text for users: each mistake below its line, with a caret.
    pub fn render(&self, colour: bool) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
        let mut text = String::new();
        for (index, mistake) in self.mistakes.iter().take(RENDERED_MAX).enumerate() {
            text += if index > 0 { "\n" } else { "" };
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

/// A mistake with its text.
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

/// One mistake, before its line is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    span: Option<Span>,
    message: String,
    label: Option<String>,
    help: Option<String>,
}

impl Mistake {
    /// Sets the text at the caret: the expected value.
    pub(crate) fn label(&mut self, label: impl Into<String>) -> &mut Self {
        self.label = Some(sanitize_text(&label.into()));
        self
    }

    /// Sets the help text below it.
    pub(crate) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(sanitize_text(&help.into()));
        self
    }
}

/// Collects mistakes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mistakes {
    found: Vec<Mistake>,
}

impl Mistakes {
    /// Adds a mistake at a position in the text.
    pub(crate) fn at(&mut self, span: &Span, message: impl Into<String>) -> &mut Mistake {
        self.add(Some(span.clone()), &message.into())
    }

    /// Adds a mistake without a position.
    pub(crate) fn add_unlocated(&mut self, message: impl Into<String>) -> &mut Mistake {
        self.add(None, &message.into())
    }

    /// Adds a mistake about an unknown name, with the closest candidate if one is near.
    pub(crate) fn unknown(
        &mut self,
        span: &Span,
        message: impl Into<String>,
        name: &str,
        candidates: &[&str],
    ) -> &mut Mistake {
        let mistake = self.at(span, message);
        if let Some(closest) = closest(name, candidates).filter(|closest| *closest != name) {
            mistake.label(format!("did you mean `{closest}`?"));
        }
        if !candidates.is_empty() {
            mistake.help(format!("known names: {}", candidates.join(", ")));
        }
        mistake
    }

    /// Returns an error with all mistakes, if there are any.
    pub(crate) fn into_result(self, source: &Source) -> Result<(), SuiteError> {
        if self.found.is_empty() { Ok(()) } else { Err(SuiteError::new(source, self)) }
    }

    fn add(&mut self, span: Option<Span>, message: &str) -> &mut Mistake {
        let message = sanitize_text(message);
        let at = self.found.len();
        self.found.push(Mistake { span, message, label: None, help: None });
        &mut self.found[at]
    }
}

/// Makes text from the suite safe to print: it may come from a stranger, contain a secret, or be
/// very long.
fn sanitize_text(words: &str) -> String {
    escape_text(&redact(&shorten(words, WORDS_MAX))).into_owned()
}

/// Returns the candidate that was probably meant: at most a third of its letters differ, or one
/// name contains the other.
pub fn closest<'k>(name: &str, candidates: &[&'k str]) -> Option<&'k str> {
    let is_near = |candidate: &&str| {
        let inside = name.len() >= 3 && (candidate.contains(name) || name.contains(candidate));
        inside || damerau_levenshtein(name, candidate) <= candidate.chars().count().div_ceil(3)
    };
    candidates.iter().copied().filter(is_near).min_by_key(|other| damerau_levenshtein(name, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_is_close() {
        let candidates = ["records", "size", "key_bytes", "value_bytes"];
        assert_eq!(closest("recrods", &candidates), Some("records"));
        assert_eq!(closest("keybytes", &candidates), Some("key_bytes"));
        assert_eq!(closest("threads", &candidates), None);
        assert_eq!(closest("rocks", &["lmdb", "rocksdb"]), Some("rocksdb"));
        assert_eq!(closest("zipfian", &["ycsb_zipfian", "zipf"]), Some("zipf"));
        assert_eq!(closest("lmbd", &["lmdb", "lmdb1", "bbolt"]), Some("lmdb"));
        assert_eq!(closest("get", &[]), None);
    }
}
