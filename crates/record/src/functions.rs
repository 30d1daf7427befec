//! Instructions by function (`functions.json`), as valgrind counts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The instructions of a case's phases, function by function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionFile {
    /// The functions of each phase, by its name. They add up to the phase's `instructions`.
    pub phases: BTreeMap<String, Vec<FunctionCount>>,
}

/// The instructions of one function in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCount {
    /// Its name, demangled. Functions without a name are one entry for each object.
    pub function: String,
    /// The file name of the program or library that it is in.
    pub object: String,
    /// Instructions of its own, without those of functions that it calls.
    pub instructions: u64,
}
