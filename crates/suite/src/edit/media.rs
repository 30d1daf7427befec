//! Sets the drives of `[media]`. A volume or memory tier without a medium is left out, with every
//! engine that would use it.

use crate::written::drive;
use crate::written::engine::Engine;
use crate::written::left_out::Absent;
use crate::written::media::Media;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::read::At;
use crate::written::tier;
use crate::written::typed::Typed;
use crate::written::volume::{self, Volume};
use kvdyno_record::left_out::LeftOut;

/// The medium's value for images in the run's data directory.
const DATA_DIR: &str = "data-dir";

/// Returns the directory of images; `None`: the run's data directory.
fn images(path: &At<String>) -> Option<At<String>> {
    (path.value != DATA_DIR).then(|| path.clone())
}

/// Returns whether a path is below `/dev`: kvdyno takes such paths for block devices.
fn is_device(path: &At<String>) -> bool {
    path.value.starts_with("/dev/")
}

/// Sets the path of each volume and tier of a part, and removes those without a medium.
pub(crate) fn set_media(part: &mut Part, mistakes: &mut Mistakes) {
    let media = std::mem::take(&mut part.typed.media);
    let name = part.name().map(str::to_owned);
    let mut left_out = Vec::new();
    let mut volumes = std::mem::take(&mut part.typed.volume);
    let had_volumes = !volumes.is_empty();
    volumes.retain_mut(|volume| match set_volume_path(&mut volume.value, &media) {
        Ok(note) => {
            part.notes.extend(note.filter(|note| !part.notes.contains(note)));
            true
        }
        Err(why) => {
            let absent =
                Absent { volume: Some(volume.name.0.clone()), tier: None, phase: None, why };
            left_out.extend(left_out_engines(&part.typed, name.as_ref(), &absent));
            false
        }
    });
    let no_volume = had_volumes && volumes.is_empty();
    part.typed.volume = volumes;
    let mut tiers = std::mem::take(&mut part.typed.ram.tier);
    let had_tiers = !tiers.is_empty();
    tiers.retain_mut(|tier| match set_tier_path(&mut tier.value, &media, mistakes) {
        Ok(()) => true,
        Err(why) => {
            let absent = Absent { volume: None, tier: Some(tier.name.0.clone()), phase: None, why };
            left_out.extend(left_out_engines(&part.typed, name.as_ref(), &absent));
            false
        }
    });
    let no_tier = had_tiers && tiers.is_empty();
    part.typed.ram.tier = tiers;
    if no_volume || no_tier {
        part.typed.engine.clear();
        part.typed.drive = None;
    }
    part.left_out = left_out;
}

/// Returns every engine of the part, and its drive, that would use the absent medium.
fn left_out_engines(typed: &Typed, part: Option<&String>, absent: &Absent) -> Vec<LeftOut> {
    let is_affected =
        |engine: &&Engine| absent.volume.as_ref().is_none_or(|volume| engine.is_on_volume(volume));
    let engines = typed.engine.iter().filter(is_affected).map(|engine| engine.label.0.clone());
    let drive = typed.drive.iter().map(|_| drive::NAME.to_owned());
    engines.chain(drive).map(|engine| absent.to_left_out(part.cloned(), engine)).collect()
}

fn missing_path_error(medium: &str) -> String {
    format!("no path for medium {medium} (`--medium {medium}=/dev/...`)")
}

/// Sets the path of a volume. Returns a note; `Err`: it has no medium.
fn set_volume_path(volume: &mut Volume, media: &Media) -> Result<Option<String>, String> {
    let Some(medium) = volume.medium.as_ref().map(|medium| medium.0.as_str()) else {
        return Ok(None);
    };
    let path = media.get(medium).ok_or_else(|| missing_path_error(medium))?;
    let what = if is_device(path) {
        volume.path = Some(path.clone());
        path.value.clone()
    } else {
        volume.kind = volume.kind.with(volume::Kind::Loop);
        volume.path = images(path);
        match &volume.path {
            Some(path) => format!("loop on images in {}", path.value),
            None => "loop on images in the data directory".to_owned(),
        }
    };
    Ok(Some(format!("medium {medium}: {what}")))
}

/// Sets the path of a memory tier; `Err`: it has no medium.
fn set_tier_path(
    tier: &mut tier::Tier,
    media: &Media,
    mistakes: &mut Mistakes,
) -> Result<(), String> {
    let Some(medium) = tier.medium.as_ref().map(|medium| medium.0.as_str()) else {
        return Ok(());
    };
    let path = media.get(medium).ok_or_else(|| missing_path_error(medium))?;
    if is_device(path) {
        tier.path = Some(path.clone());
    } else if images(path).is_some() {
        let message = format!("memory tier `{}` is in a directory", tier.name.0);
        let mistake = mistakes.at(&path.span, message);
        mistake.label(
            "expected a block device, or \"data-dir\" for an image in the run's data directory",
        );
    }
    Ok(())
}
