//! What all pages have: their kind, and what their figures are.

use kvdyno_analysis::catalogue;
use kvdyno_analysis::metric::{Combine, Definition, Direction, Source};
use schemars::JsonSchema;
use serde::Serialize;

/// What a page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One run.
    Report,
    /// The list of runs.
    Runs,
    /// Two runs, or two engines of one.
    Versus,
}

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DefinitionRow {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Whom it is from.
    pub source: Source,
    /// How trials are combined.
    pub combine: Combine,
    /// What it is, in a sentence.
    pub help: &'static str,
}

/// All of them.
pub(super) fn definitions() -> Vec<DefinitionRow> {
    let row = |definition: &&Definition| DefinitionRow {
        name: definition.name,
        unit: definition.unit,
        direction: definition.direction,
        source: definition.source,
        combine: definition.combine,
        help: definition.help(),
    };
    catalogue::ALL.iter().map(row).collect()
}
