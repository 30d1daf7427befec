//! Lines of a screen, and parts of them.

use crate::tone::Tone;
use crate::wrap::wrap;
use kvdyno_record::text::escape_line;

/// Columns of a screen.
pub const COLUMNS_MAX: usize = 100;

/// Lines of a note below figures at most.
pub(super) const NOTE_LINES: usize = 2;

/// A line: a first part with its colour, and the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The tone of the first part; none: that of the rest.
    pub tone: Option<Tone>,
    /// The first part.
    pub word: String,
    /// What follows it.
    pub text: String,
}

impl Line {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { tone: None, word: String::new(), text: text.into() }
    }

    pub(super) fn with_tone(tone: Tone, word: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tone: Some(tone), word: word.into(), text: text.into() }
    }

    pub(super) fn blank() -> Self {
        Self::plain("")
    }

    /// Both parts.
    pub fn full_text(&self) -> String {
        format!("{}{}", self.word, self.text)
    }
}

/// A part of the screen: its lines, and what was left out of it.
#[derive(Default)]
pub(super) struct Part {
    pub(super) lines: Vec<Line>,
    pub(super) left_out: Option<String>,
}

impl Part {
    /// Cuts each line to the columns of a screen.
    pub(super) fn cut_lines(mut self) -> Self {
        for line in &mut self.lines {
            line.text = cut(&line.text, COLUMNS_MAX);
        }
        self
    }
}

/// A sentence after a word with a colour, on at most so many lines; only what exceeds them is cut.
pub(super) fn sentence(tone: Option<Tone>, word: &str, text: &str, lines_max: usize) -> Vec<Line> {
    let whole = wrap(&escape_line(&format!("{word}{text}")), 2);
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    if lines.len() > lines_max {
        lines.truncate(lines_max);
        lines.iter_mut().skip(lines_max - 1).for_each(|last| *last += " ..");
    }
    let mut lines = lines.iter().map(|line| cut(line, COLUMNS_MAX));
    let first = lines.next().unwrap_or_default();
    let text = first.strip_prefix(word).unwrap_or(&first).to_owned();
    let first = Line { tone, word: word.to_owned(), text };
    std::iter::once(first).chain(lines.map(Line::plain)).collect()
}

/// Cuts a text to so many columns, on one line.
pub(super) fn cut(text: &str, columns: usize) -> String {
    let text = escape_line(text);
    if text.chars().count() <= columns {
        return text.into_owned();
    }
    let shortened: String = text.chars().take(columns.saturating_sub(2)).collect();
    format!("{}..", shortened.trim_end())
}
