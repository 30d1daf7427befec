//! `fidelity` as typed: which version of a workload runs.

use crate::written::read::Word;
use schemars::JsonSchema;

/// The key of the version as run.
pub(crate) const AS_RUN: &str = "as-run";

/// The version of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "kebab-case")]
pub(crate) enum Fidelity {
    /// The workload as its authors describe it.
    #[default]
    AsWritten,
    /// The workload as its authors' program runs it.
    AsRun,
}

impl Word for Fidelity {
    const WHAT: &'static str = "a fidelity";
    const ALL: &'static [(&'static str, Self)] =
        &[("as-written", Self::AsWritten), (AS_RUN, Self::AsRun)];
}
