//! The schemas that `schema` prints.

use clap::ValueEnum;

/// The kinds of files with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// A suite
    Suite,
    /// A run's `run.json`
    Run,
    /// A case's `case.json`
    Case,
    /// The output of `show --json`
    Summary,
    /// A line of a history (`history add`)
    History,
    /// The output of `show --by host --json`
    Fleet,
    /// The header of a trace
    Trace,
    /// The description that a plugin returns
    Engine,
}
