//! What the page of a fleet shows.

use super::html::Kind;
use super::{definitions, remarks};
use crate::fleet::{footer, header, reading_aid};
use kvdyno_analysis::answers::fleet::Fleet;
use kvdyno_analysis::figures::metric::Definition;
use schemars::JsonSchema;
use serde::Serialize;

/// A suite's figures by host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FleetData {
    /// The kind of the page.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The figures.
    pub fleet: Fleet,
    /// The terminal's lines above and below its table: a word and its text.
    pub remarks: Vec<(String, String)>,
    /// How to read the figures.
    pub aid: String,
    /// What each figure is.
    pub definitions: Vec<&'static Definition>,
}

impl FleetData {
    /// The page of a fleet.
    pub fn new(fleet: Fleet) -> Self {
        let lines = header(&fleet).into_iter().chain(footer(&fleet));
        Self {
            kind: Kind::Fleet,
            program: kvdyno_record::VERSION.to_owned(),
            // The words left out have tables of their own on the page.
            remarks: remarks(lines, &["apart", "differs", "drive"]),
            aid: reading_aid(&fleet),
            definitions: definitions(fleet.figures.iter().map(|series| series.figure)),
            fleet,
        }
    }
}
