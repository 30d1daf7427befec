//! `[media]` as typed: the drives of this machine for the names in a study. A volume or memory tier
//! without a medium is left out, with every engine that would use it.

use super::drive;
use super::left_out::Absent;
use super::mistake::Mistakes;
use super::parse::Part;
use super::read::{At, Fields, FromToml, Toml};
use super::scalar::Name;
use super::tier;
use super::typed::Typed;
use super::volume::{self, Volume};
use kvdyno_record::left_out::LeftOut;
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// The medium's value for images in the run's data directory.
const PLACE: &str = "data-dir";

/// Drives by the name of their medium.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(super) struct Media(
    #[schemars(with = "BTreeMap<String, String>")] Vec<(At<String>, At<String>)>,
);

impl FromToml for Media {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "[media]", mistakes)?;
        let entries = fields.rest();
        let mut read = |(name, toml)| Some((name, At::from_toml(toml, mistakes)?));
        let all: Vec<_> = entries.into_iter().map(&mut read).collect();
        all.into_iter().collect::<Option<_>>().map(Self)
    }
}

/// The location of images.
fn images(path: &At<String>) -> Option<At<String>> {
    (path.value != PLACE).then(|| path.clone())
}

/// Paths below `/dev` are block devices, everywhere in kvdyno.
fn is_device(path: &At<String>) -> bool {
    path.value.starts_with("/dev/")
}

impl Media {
    fn get(&self, medium: &str) -> Option<&At<String>> {
        self.0.iter().find(|(name, _)| name.value == medium).map(|(_, path)| path)
    }

    /// A medium that the suite does not use is a typing error.
    pub(super) fn check(&self, typed: &Typed, mistakes: &mut Mistakes) {
        let volumes = typed.volume.iter().filter_map(|volume| volume.medium.as_ref());
        let tiers = typed.ram.tier.iter().filter_map(|tier| tier.medium.as_ref());
        let mut names: Vec<&str> = volumes.chain(tiers).map(|name| name.0.as_str()).collect();
        names.dedup();
        for (name, path) in &self.0 {
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
}

/// Sets the path of each volume and tier of a part, and removes those without a medium.
pub(super) fn give(part: &mut Part, mistakes: &mut Mistakes) {
    let media = std::mem::take(&mut part.typed.media);
    let name = part.name().map(str::to_owned);
    let mut left_out = Vec::new();
    let mut volumes = std::mem::take(&mut part.typed.volume);
    let had_volumes = !volumes.is_empty();
    volumes.retain_mut(|volume| match volume_on(&mut volume.value, &media) {
        Ok(note) => {
            part.notes.extend(note.filter(|note| !part.notes.contains(note)));
            true
        }
        Err(why) => {
            let absent =
                Absent { volume: Some(volume.name.0.clone()), tier: None, phase: None, why };
            left_out.extend(of_engines(&part.typed, name.as_ref(), &absent));
            false
        }
    });
    let no_volume = had_volumes && volumes.is_empty();
    part.typed.volume = volumes;
    let mut tiers = std::mem::take(&mut part.typed.ram.tier);
    let had_tiers = !tiers.is_empty();
    tiers.retain_mut(|tier| match tier_on(&mut tier.value, &media, mistakes) {
        Ok(()) => true,
        Err(why) => {
            let absent = Absent { volume: None, tier: Some(tier.name.0.clone()), phase: None, why };
            left_out.extend(of_engines(&part.typed, name.as_ref(), &absent));
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

/// Every engine of the part, and its drive, that would use it.
fn of_engines(typed: &Typed, part: Option<&String>, absent: &Absent) -> Vec<LeftOut> {
    let lies = |engine: &&super::engine::Engine| {
        absent.volume.as_ref().is_none_or(|volume| engine.is_on_volume(volume))
    };
    let engines = typed.engine.iter().filter(lies).map(|engine| engine.label.0.clone());
    let drive = typed.drive.iter().map(|_| drive::NAME.to_owned());
    engines.chain(drive).map(|engine| absent.to_left_out(part.cloned(), engine)).collect()
}

fn not_given(medium: &str) -> String {
    format!("no path for medium {medium} (`--medium {medium}=/dev/...`)")
}

/// Sets the path of a volume. Returns a note; `Err`: it has no medium.
fn volume_on(volume: &mut Volume, media: &Media) -> Result<Option<String>, String> {
    let Some(medium) = volume.medium.as_ref().map(|medium| medium.0.as_str()) else {
        return Ok(None);
    };
    let path = media.get(medium).ok_or_else(|| not_given(medium))?;
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

/// The same for a memory tier.
fn tier_on(tier: &mut tier::Tier, media: &Media, mistakes: &mut Mistakes) -> Result<(), String> {
    let Some(medium) = tier.medium.as_ref().map(|medium| medium.0.as_str()) else {
        return Ok(());
    };
    let path = media.get(medium).ok_or_else(|| not_given(medium))?;
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

/// A path or a medium.
type LocationFields = (Option<At<String>>, Option<At<Name>>);

/// Reads the location of a volume or tier.
pub(super) fn read_location(fields: &mut Fields<'_, '_>, required: bool) -> Option<LocationFields> {
    let medium: Option<At<Name>> = fields.optional("medium");
    let Some(medium) = medium else {
        let path = if required { fields.required("path") } else { fields.optional("path") };
        return (path.is_some() || !required).then_some((path, None));
    };
    if let Some(path) = fields.written("path") {
        let mistake = fields.mistakes.at(&path.span(), "both `path` and `medium`");
        mistake.label("expected one of them; `--medium` sets the path of a medium");
    }
    Some((None, Some(medium)))
}
