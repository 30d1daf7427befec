//! Engines that are a server which somebody runs: `server = { attach = "env:NAME" }`. What would
//! have to be done to that server is refused.

use super::engine::Engine;
use super::mistake::Mistakes;
use super::parse::Part;
use super::phase::Phase;
use super::read::{At, table};
use super::setup::EngineSetup;
use super::sizing::Limit;
use super::typed::Sharing;
use super::wanted::Pick;
use schemars::JsonSchema;

/// A server that runs already (docs/servers.md).
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Server")]
pub(super) struct ServerTable {
    /// `"env:NAME"`: the environment variable that holds the server's URL. The command line must
    /// give consent: `--yes-load HOST`. Each case creates a database of its own in the server and
    /// removes it.
    pub(super) attach: At<String>,
}

table!(ServerTable, "[engine.server]": attach);

impl ServerTable {
    /// Refuses all but a variable's name, before anybody is told it: a URL has a password in it.
    pub(super) fn check(&self, mistakes: &mut Mistakes) {
        let name = self.attach.strip_prefix("env:").unwrap_or_default();
        let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() || !is_name {
            let mistake = mistakes.at(&self.attach.span, "`attach` names no environment variable");
            mistake.label("expected \"env:NAME\", the variable that has the server's URL");
        }
    }
}

impl Engine {
    /// The server that it is, where somebody else runs that.
    pub(super) fn attached(&self) -> Option<&str> {
        match &self.pick.value {
            Pick::Server(reference) => Some(reference),
            Pick::Newest | Pick::Version(_) | Pick::File(_) => None,
        }
    }
}

/// Notes what the suite asks for and cannot be done to such a server.
pub(super) fn check(part: &Part, engine: &Engine, limits: &[Limit], mistakes: &mut Mistakes) {
    if engine.attached().is_none() {
        return;
    }
    let label = &engine.label.0;
    let ours = "expected it without, or the engine with a server of its own";
    if limits.iter().any(|limit| limit.bytes.is_some() || limit.tier.is_some()) {
        let what =
            format!("the RAM of {label} is not ours to limit: somebody else runs the server");
        mistakes.at(&engine.pick.span, what).label(ours).help("--no-ram-limit runs all without");
    }
    if !part.typed.volume.is_empty() {
        let what = format!("{label} lies on no volume of ours: somebody else runs the server");
        mistakes.at(&engine.pick.span, what).label(ours);
    }
    for phase in &part.typed.phase {
        let (span, what) = match &phase.value {
            Phase::Evict(_) => (&phase.span, "emptied from memory"),
            Phase::Reopen(_) => (&phase.span, "stopped and started with other options"),
            _ => continue,
        };
        let what = format!("{label} cannot be {what}: somebody else runs the server");
        mistakes.at(span, what).label(ours);
    }
}

/// What the suite wants and is done otherwise there.
pub(super) fn warnings(part: &Part, setups: &[EngineSetup<'_>]) -> Vec<String> {
    if part.typed.sharing() == Sharing::Fresh {
        return Vec::new();
    }
    let attached = setups.iter().filter(|setup| setup.engine.attached().is_some());
    let note = |setup: &EngineSetup<'_>| {
        let label = &setup.engine.label.0;
        format!("{label}: each case loads its own database, for somebody else runs the server")
    };
    attached.map(note).collect()
}
