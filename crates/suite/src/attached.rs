//! Engines that run as somebody else's server: `server = { attach = "env:NAME" }`. Actions that
//! would change that server are refused.

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
    /// Accepts only the name of a variable, and does not show anything else: a URL contains a
    /// password.
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
    /// The variable of the attached server, if the engine is attached.
    pub(super) fn attached(&self) -> Option<&str> {
        match &self.pick.value {
            Pick::Server(reference) => Some(reference),
            Pick::Newest | Pick::Version(_) | Pick::File(_) => None,
        }
    }
}

/// Records what the suite requires and an attached server does not allow.
pub(super) fn check(part: &Part, engine: &Engine, limits: &[Limit], mistakes: &mut Mistakes) {
    if engine.attached().is_none() {
        return;
    }
    let label = &engine.label.0;
    let ours = "expected a suite without it, or an engine that kvdyno starts itself";
    if limits.iter().any(|limit| limit.bytes.is_some() || limit.tier.is_some()) {
        let what = format!("cannot limit the RAM of {label}: kvdyno does not run this server");
        mistakes
            .at(&engine.pick.span, what)
            .label(ours)
            .help("use --no-ram-limit to run all engines without limits");
    }
    if !part.typed.volume.is_empty() {
        let what = format!("cannot put {label} on a volume: kvdyno does not run this server");
        mistakes.at(&engine.pick.span, what).label(ours);
    }
    for phase in &part.typed.phase {
        let (span, what) = match &phase.value {
            Phase::Evict(_) => (&phase.span, "evicted from memory"),
            Phase::Reopen(_) => (&phase.span, "restarted with other options"),
            _ => continue,
        };
        let what = format!("{label} cannot be {what}: kvdyno does not run this server");
        mistakes.at(span, what).label(ours);
    }
}

/// Settings of the suite that are handled differently for an attached server.
pub(super) fn warnings(part: &Part, setups: &[EngineSetup<'_>]) -> Vec<String> {
    if part.typed.sharing() == Sharing::Fresh {
        return Vec::new();
    }
    let attached = setups.iter().filter(|setup| setup.engine.attached().is_some());
    let note = |setup: &EngineSetup<'_>| {
        let label = &setup.engine.label.0;
        format!(
            "{label}: each case loads its own database, because kvdyno does not run this server"
        )
    };
    attached.map(note).collect()
}
