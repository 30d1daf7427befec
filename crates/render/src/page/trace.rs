//! What the page of a trace shows.

use super::html::Kind;
use crate::trace::facts;
use kvdyno_trace::Statistics;
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of a trace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TraceData {
    /// The kind of the page.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The statistics of the trace.
    pub trace: Statistics,
    /// The terminal's lines above its tables: a word and its text.
    pub remarks: Vec<(String, String)>,
}

impl TraceData {
    /// The page of a trace.
    pub fn new(trace: Statistics, digest: &str) -> Self {
        let remarks = facts(&trace, digest).into_iter();
        Self {
            kind: Kind::Trace,
            program: kvdyno_record::VERSION.to_owned(),
            remarks: remarks.map(|(word, text)| (word.to_owned(), text)).collect(),
            trace,
        }
    }
}
