//! What the page of a history shows.

use super::html::Kind;
use crate::trend::{footer, header};
use kvdyno_analysis::answers::trend::Trend;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::metric::Definition;
use schemars::JsonSchema;
use serde::Serialize;

/// A suite's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrendData {
    /// What it shows.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The figures.
    pub trend: Trend,
    /// The terminal's lines above and below its table: a word and its text.
    pub remarks: Vec<(String, String)>,
    /// What each figure is.
    pub definitions: Vec<&'static Definition>,
}

impl TrendData {
    /// The page of a history.
    pub fn new(trend: Trend) -> Self {
        let shown = |figure: &str| trend.courses.iter().any(|course| course.figure == figure);
        let definitions = catalogue::ALL.iter().filter(|figure| shown(figure.name));
        let lines = header(&trend).into_iter().chain(footer(&trend));
        // Changes have a list of their own on the page.
        let lines = lines.filter(|(_, word, _)| *word != "changed");
        Self {
            kind: Kind::Trend,
            program: kvdyno_record::VERSION.to_owned(),
            remarks: lines.map(|(_, word, text)| (word.to_owned(), text)).collect(),
            definitions: definitions.copied().collect(),
            trend,
        }
    }
}
