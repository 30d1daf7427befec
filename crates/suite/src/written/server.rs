//! `server = { attach = "env:NAME" }` of an engine as typed: a server that kvdyno does not run.

use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::read::{At, table};
use crate::written::worker::Pick;
use schemars::JsonSchema;

/// A server that runs already (docs/servers.md).
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Server")]
pub(crate) struct ServerTable {
    /// `"env:NAME"`: the environment variable that holds the server's URL. The command line must
    /// give consent: `--yes-load HOST`. Each case creates a database of its own in the server and
    /// removes it.
    pub(crate) attach: At<String>,
}

table!(ServerTable, "[engine.server]": attach);

impl ServerTable {
    /// Accepts only the name of a variable, and does not show anything else: a URL contains a
    /// password.
    pub(crate) fn check(&self, mistakes: &mut Mistakes) {
        let name = self.attach.strip_prefix("env:").unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() || !is_name {
            let mistake = mistakes.at(&self.attach.span, "`attach` names no environment variable");
            mistake.label("expected \"env:NAME\", the variable that has the server's URL");
        }
    }
}

impl Engine {
    /// Returns the variable of the attached server, if the engine is attached.
    pub(crate) fn attached_server(&self) -> Option<&str> {
        match &self.pick.value {
            Pick::Server(reference) => Some(reference),
            Pick::Newest | Pick::Version(_) | Pick::File(_) => None,
        }
    }
}
