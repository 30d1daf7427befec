//! What the page of a history shows.

use super::html::Kind;
use super::{definitions, remarks};
use crate::trend::{footer, header};
use kvdyno_analysis::answers::trend::Trend;
use kvdyno_analysis::figures::metric::Definition;
use schemars::JsonSchema;
use serde::Serialize;

/// A suite's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TrendData {
    /// The kind of the page.
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
        let lines = header(&trend).into_iter().chain(footer(&trend));
        Self {
            kind: Kind::Trend,
            program: kvdyno_record::VERSION.to_owned(),
            // Changes have a list of their own on the page.
            remarks: remarks(lines, &["changed"]),
            definitions: definitions(trend.figures.iter().map(|series| series.figure)),
            trend,
        }
    }
}
