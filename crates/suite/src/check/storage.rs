//! Checks of `[[volume]]` and `[[ram.tier]]`, by themselves and together with the rest of the
//! suite.

use crate::written::mistake::Mistakes;
use crate::written::names::check_names;
use crate::written::tier::{self, SWAPPINESS_MAX};
use crate::written::typed::Typed;
use crate::written::volume;
use std::collections::HashSet;

/// Checks the volumes, by themselves and together.
pub(crate) fn check_volumes(typed: &Typed, mistakes: &mut Mistakes) {
    check_names("volumes", typed.volume.iter().map(|volume| &volume.name), mistakes);
    let mut paths = HashSet::new();
    for volume in &typed.volume {
        if let Some(path) = volume.path.as_ref().filter(|path| path.is_empty()) {
            mistakes.at(&path.span, "the path has no name").label("expected a path");
        }
        // One device can hold several volumes, one after the other; a directory is always the same.
        let directory =
            volume.path.as_ref().filter(|_| volume.kind.value == volume::Kind::Directory);
        if let Some(path) = directory.filter(|path| !paths.insert(path.as_str())) {
            let mistake = mistakes.at(&path.span, "another volume uses this directory");
            mistake.label("expected a directory of its own");
        }
    }
    let Some(drive) = typed.drive.as_ref().filter(|_| !typed.volume.is_empty()) else { return };
    if let Some(read_only) = drive.read_only.as_ref().filter(|read_only| read_only.value) {
        let mistake = mistakes.at(&read_only.span, "`read_only` with a [[volume]], which is empty");
        mistake.label("expected no `read_only` next to [[volume]]");
    }
}

/// Checks the tiers, by themselves and together with the rest.
pub(crate) fn check_tiers(typed: &Typed, mistakes: &mut Mistakes) {
    let ram = &typed.ram;
    let limited = ram.limit.is_some() || ram.data_to_ram.is_some();
    check_names("memory tiers", ram.tier.iter().map(|tier| &tier.name), mistakes);
    for tier in &ram.tier {
        if matches!(tier.kind.value, tier::Kind::Swap | tier::Kind::Zram) && !limited {
            let mistake = mistakes.at(&tier.kind.span, "swap without a RAM limit in [ram]");
            mistake.label("expected `limit` or `data_to_ram` in [ram]");
        }
        if let Some(most) = tier.swappiness.as_ref().filter(|number| number.0 > SWAPPINESS_MAX) {
            let mistake = mistakes.at(&most.span, format!("`swappiness` is {}", most.0));
            mistake.label(format!("expected 0 to {SWAPPINESS_MAX}"));
        }
        if let Some(node) = tier.node.as_ref().filter(|node| node.0 > 1023) {
            let mistake = mistakes.at(&node.span, format!("node {} is out of range", node.0));
            mistake.label("expected 0 to 1023");
        }
        let Some(path) = &tier.path else { continue };
        let mut volume_paths = typed.volume.iter().filter_map(|volume| volume.path.as_ref());
        if volume_paths.any(|volume_path| volume_path.value == path.value) {
            let mistake = mistakes.at(&path.span, "a volume already uses this device");
            mistake.label("expected another device");
        }
    }
}

/// Refuses media that the suite does not use, which are typing errors.
pub(crate) fn check_media(typed: &Typed, mistakes: &mut Mistakes) {
    let volumes = typed.volume.iter().filter_map(|volume| volume.medium.as_ref());
    let tiers = typed.ram.tier.iter().filter_map(|tier| tier.medium.as_ref());
    let mut names: Vec<&str> = volumes.chain(tiers).map(|name| name.0.as_str()).collect();
    names.dedup();
    for (name, path) in &typed.media.0 {
        if !names.contains(&name.value.as_str()) {
            let message = format!("the suite does not use a medium `{}`", name.value);
            mistakes.unknown(&name.span, message, &name.value, &names);
        }
        if path.value.is_empty() {
            let mistake = mistakes.at(&path.span, "the medium has no path");
            mistake.label("expected a block device, a directory, or \"data-dir\"");
        }
    }
}
