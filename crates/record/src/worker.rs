//! The description of a worker.

use kvdyno_engine::Description;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Stands in place of the version where kvdyno's load generator did not do the work.
pub const NO_LOAD_GENERATOR: &str = "none";

/// `kvdyno-X describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerDescription {
    /// [`crate::PROTOCOL`] as the worker was built with.
    pub protocol: u32,
    /// The version of the load generator inside the worker; [`NO_LOAD_GENERATOR`]: another program
    /// measured, whose report was imported.
    pub load_generator: String,
    /// Whether it was built without optimisation, so that its figures are void.
    pub debug_build: bool,
    /// The engine.
    pub engine: Description,
    /// The attached server that it describes; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<AttachedServer>,
}

/// A server that kvdyno did not start, and that a run is attached to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachedServer {
    /// The reference to its URL: `env:NAME`.
    pub reference: String,
    /// Its host, by the name or number that the URL has.
    pub host: String,
}
