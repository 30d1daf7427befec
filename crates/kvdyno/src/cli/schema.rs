//! What `schema` prints.

use clap::ValueEnum;

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A suite
    Suite,
    /// A run's `run.json`
    Run,
    /// A case's `case.json`
    Case,
    /// What `show --json` prints
    Summary,
    /// A line of what `history add` writes
    History,
    /// What `show --by host --json` prints
    Fleet,
    /// The header of a trace
    Trace,
}
