//! Selects the parts of a suite that run: by a part's own lists, and by `--engine`.

use crate::written::drive;
use crate::written::engine::Engine;
use crate::written::mistake::{Mistakes, closest};
use crate::written::names::push_unique;
use crate::written::part::Part;
use crate::written::read::At;
use crate::written::typed::Typed;

/// The names that a part selects; none: all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Picks {
    pub(crate) engines: Option<At<Vec<At<String>>>>,
    pub(crate) volumes: Option<At<Vec<At<String>>>>,
    pub(crate) tiers: Option<At<Vec<At<String>>>>,
}

impl Picks {
    /// Removes everything that is not selected.
    pub(crate) fn apply(&self, typed: &mut Typed, mistakes: &mut Mistakes) {
        if let Some(picked) = &self.engines {
            let drive = typed.drive.is_some();
            let labels = typed.engine.iter().map(|engine| engine.label.0.as_str());
            let candidates: Vec<&str> = labels.chain(drive.then_some(drive::NAME)).collect();
            let exists = |name: &str| {
                let is_drive = drive && name == drive::NAME;
                is_drive || typed.engine.iter().any(|engine| engine.is_called(name))
            };
            check(picked, "engine", &candidates, exists, mistakes);
            typed.engine.retain(|engine| picked.iter().any(|name| engine.is_called(name)));
            if !picked.iter().any(|name| name.value == drive::NAME) {
                typed.drive = None;
            }
        }
        if let Some(picked) = &self.volumes {
            let candidates: Vec<&str> = typed.volume.iter().map(|at| at.name.0.as_str()).collect();
            check(picked, "[[volume]]", &candidates, |name| candidates.contains(&name), mistakes);
            typed.volume.retain(|volume| is_among(picked, &volume.name.0));
        }
        if let Some(picked) = &self.tiers {
            let tiers = &mut typed.ram.tier;
            let candidates: Vec<&str> = tiers.iter().map(|at| at.name.0.as_str()).collect();
            check(picked, "[[ram.tier]]", &candidates, |name| candidates.contains(&name), mistakes);
            tiers.retain(|tier| is_among(picked, &tier.name.0));
        }
    }
}

fn is_among(picked: &[At<String>], name: &str) -> bool {
    picked.iter().any(|picked| picked.value == name)
}

/// Records unknown names and empty lists.
pub(crate) fn check(
    picked: &At<Vec<At<String>>>,
    what: &str,
    candidates: &[&str],
    exists: impl Fn(&str) -> bool,
    mistakes: &mut Mistakes,
) {
    if picked.is_empty() {
        let mistake = mistakes.at(&picked.span, "the list is empty");
        mistake.label("expected at least one name; leave the key out to select all");
    }
    for name in picked.iter().filter(|name| !exists(name)) {
        let message = format!("the suite has no {what} `{}`", name.value);
        mistakes.unknown(&name.span, message, &name.value, candidates);
    }
}

/// Removes engines that are not requested, and parts without engines. Parts whose medium is missing
/// still have their engines, and lose them afterwards, with a reason.
pub(crate) fn select_engines(
    parts: &mut Vec<Part>,
    requested: &[String],
    installed: &[String],
    mistakes: &mut Mistakes,
) {
    if requested.is_empty() {
        return;
    }
    // The drive is requested by its engine name.
    let drive = parts.iter().any(|part| part.typed.drive.is_some());
    let engines = || parts.iter().flat_map(|part| &part.typed.engine);
    for name in requested {
        let is_drive = drive && name == drive::NAME;
        let has = |part: &Part| part.typed.engine.iter().any(|engine| means(name, part, engine));
        if !is_drive && !parts.iter().any(has) && installed.contains(name) {
            let message = format!("--engine: no part of the suite runs `{name}`");
            mistakes.add_unlocated(message).help(
                "copy the suite (`kvdyno suites show NAME > mine.toml`), and add the engine to \
                 `engines` of a [[part]]",
            );
        } else if !is_drive && !parts.iter().any(has) {
            let mut labels: Vec<&str> = Vec::new();
            for label in engines().map(|engine| engine.label.0.as_str()) {
                push_unique(&mut labels, label);
            }
            labels.extend(drive.then_some(drive::NAME));
            let installed: Vec<&str> = installed.iter().map(String::as_str).collect();
            let candidates = [&labels[..], &installed].concat();
            let meant = closest(name, &candidates).map(|label| format!("did you mean `{label}`? "));
            let message = format!("--engine: `{name}` is neither in the suite nor installed");
            mistakes.add_unlocated(message).help(format!(
                "{}in the suite: {}; installed: {} (`kvdyno engines` shows where)",
                meant.unwrap_or_default(),
                join_or_none(&labels),
                join_or_none(&installed)
            ));
        }
    }
    for part in parts.iter_mut() {
        let mut engines = std::mem::take(&mut part.typed.engine);
        engines.retain(|engine| requested.iter().any(|name| means(name, part, engine)));
        part.typed.engine = engines;
        if !requested.iter().any(|name| name == drive::NAME) {
            part.typed.drive = None;
        }
    }
    if parts.len() > 1 {
        parts.retain(|part| !part.typed.engine.is_empty() || part.typed.drive.is_some());
    }
}

/// Returns whether `--engine name` selects this engine; `lmdb flash` selects the one of part
/// `flash`.
fn means(name: &str, part: &Part, engine: &Engine) -> bool {
    engine.is_called(name) || part.label(&engine.label.0) == name
}

fn join_or_none(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Drops thread counts that no selected phase or engine sweeps. They are not a mistake where the
/// suite selects phases or engines, because the others may use them. Returns a note.
pub(crate) fn drop_unswept(part: &mut Part) -> Option<String> {
    let Part { typed, sweeps, .. } = part;
    if typed.run.phases.is_none() && !*sweeps || !typed.sweeps().is_empty() {
        return None;
    }
    let threads = typed.run.threads.take()?;
    let numbers: Vec<String> = threads.0.iter().map(|threads| threads.0.to_string()).collect();
    Some(format!("threads {} are not swept: nothing that was picked uses them", numbers.join(", ")))
}
