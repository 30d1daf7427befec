//! What of a suite is done: what a part picks by name, and what `--engine` does.

use super::drive;
use super::engine::Engine;
use super::mistake::{Mistakes, closest};
use super::parse::Part;
use super::read::At;
use super::typed::Typed;

/// What a part picks by name; none: all.
#[derive(Clone, Debug, Default)]
pub(super) struct Picks {
    pub(super) engines: Option<At<Vec<At<String>>>>,
    pub(super) volumes: Option<At<Vec<At<String>>>>,
    pub(super) tiers: Option<At<Vec<At<String>>>>,
}

impl Picks {
    /// Leaves out what is not picked.
    pub(super) fn apply(&self, typed: &mut Typed, mistakes: &mut Mistakes) {
        if let Some(picked) = &self.engines {
            let drive = typed.drive.is_some();
            let labels = typed.engine.iter().map(|engine| engine.label.0.as_str());
            let known: Vec<&str> = labels.chain(drive.then_some(drive::NAME)).collect();
            let is_there = |name: &str| {
                let is_drive = drive && name == drive::NAME;
                is_drive || typed.engine.iter().any(|engine| engine.is_called(name))
            };
            check(picked, "engine of the suite", &known, is_there, mistakes);
            typed.engine.retain(|engine| picked.iter().any(|name| engine.is_called(name)));
            if !picked.iter().any(|name| name.value == drive::NAME) {
                typed.drive = None;
            }
        }
        if let Some(picked) = &self.volumes {
            let known: Vec<&str> = typed.volume.iter().map(|at| at.name.0.as_str()).collect();
            check(picked, "[[volume]]", &known, |name| known.contains(&name), mistakes);
            typed.volume.retain(|volume| is_among(picked, &volume.name.0));
        }
        if let Some(picked) = &self.tiers {
            let tiers = &mut typed.ram.tier;
            let known: Vec<&str> = tiers.iter().map(|at| at.name.0.as_str()).collect();
            check(picked, "[[ram.tier]]", &known, |name| known.contains(&name), mistakes);
            tiers.retain(|tier| is_among(picked, &tier.name.0));
        }
    }
}

fn is_among(picked: &[At<String>], name: &str) -> bool {
    picked.iter().any(|picked| picked.value == name)
}

/// Notes names that are none, and a list that picks nothing.
pub(super) fn check(
    picked: &At<Vec<At<String>>>,
    what: &str,
    known: &[&str],
    is_there: impl Fn(&str) -> bool,
    mistakes: &mut Mistakes,
) {
    if picked.is_empty() {
        let mistake = mistakes.at(&picked.span, "the list is empty");
        mistake.label("expected at least one name; without the key it is all of them");
    }
    for name in picked.iter().filter(|name| !is_there(name)) {
        let message = format!("no {what} is called `{}`", name.value);
        mistakes.unknown(&name.span, message, &name.value, known);
    }
}

/// Leaves out the engines that were not asked for, and the parts that are then without any.
pub(super) fn select_engines(
    parts: &mut Vec<Part>,
    wanted: &[String],
    installed: &[String],
    mistakes: &mut Mistakes,
) {
    if wanted.is_empty() {
        return;
    }
    // The drive is asked for as the engine that it is.
    let drive = parts.iter().any(|part| part.typed.drive.is_some());
    let engines = || parts.iter().flat_map(|part| &part.typed.engine);
    for name in wanted {
        let is_drive = drive && name == drive::NAME;
        let has = |part: &Part| part.typed.engine.iter().any(|engine| means(name, part, engine));
        if !is_drive && !parts.iter().any(has) {
            let mut labels: Vec<&str> = Vec::new();
            for label in engines().map(|engine| engine.label.0.as_str()) {
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
            labels.extend(drive.then_some(drive::NAME));
            let installed: Vec<&str> = installed.iter().map(String::as_str).collect();
            let known = [&labels[..], &installed].concat();
            let meant = closest(name, &known).map(|label| format!("did you mean `{label}`? "));
            let message =
                format!("--engine: `{name}` is neither in the suite nor an engine found here");
            mistakes.anywhere(message).help(format!(
                "{}in the suite: {}; found here: {} (`kvdyno engines` says where)",
                meant.unwrap_or_default(),
                one_of(&labels),
                one_of(&installed)
            ));
        }
    }
    for part in parts.iter_mut() {
        let mut engines = std::mem::take(&mut part.typed.engine);
        engines.retain(|engine| wanted.iter().any(|name| means(name, part, engine)));
        part.typed.engine = engines;
        if !wanted.iter().any(|name| name == drive::NAME) {
            part.typed.drive = None;
        }
        let mut left_out = std::mem::take(&mut part.left_out);
        left_out.retain(|left| {
            wanted.contains(&left.engine) || wanted.contains(&part.label(&left.engine))
        });
        part.left_out = left_out;
    }
    if parts.len() > 1 {
        let left = |part: &Part| {
            let typed = &part.typed;
            !typed.engine.is_empty() || typed.drive.is_some() || !part.left_out.is_empty()
        };
        parts.retain(left);
    }
}

/// Whether `--engine name` means this engine; `lmdb flash` is that of one part.
fn means(name: &str, part: &Part, engine: &Engine) -> bool {
    engine.is_called(name) || part.label(&engine.label.0) == name
}

fn one_of(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
