//! What lay under the databases: each volume that the suite names, else the place. What is said of
//! a drive or a filesystem is said of the cases on it.

use super::finding::Finding;
use super::kinds::Id;
use crate::evidence::{CaseEvidence, Evidence};
use crate::lists::together;
use kvdyno_record::case::CaseRecord;
use kvdyno_record::host::{Drive, Filesystem};

/// A volume, or the place.
#[derive(Clone)]
pub(super) struct CaseStorage<'e> {
    /// The suite's name of the volume; none: it names none, and this is the place.
    volume: Option<&'e str>,
    place: &'e str,
    pub(super) filesystem: Option<&'e Filesystem>,
    /// The filesystem that keeps the bytes in the end: of an image the place's.
    supervisor: Option<&'e Filesystem>,
    /// The device that requests are made to.
    pub(super) drive: Option<&'e Drive>,
    /// The device that keeps the bytes in the end: an image lies on the place's.
    pub(super) keeps: Option<&'e Drive>,
    pub(super) cases: Vec<(&'e CaseEvidence, &'e CaseRecord)>,
}

/// Everything that a run's databases lay on, each with the cases that came to work on it.
pub(super) fn all(evidence: &Evidence) -> Vec<CaseStorage<'_>> {
    if evidence.plan.cases.iter().all(|case| case.volume.is_none()) {
        let below = place(evidence);
        return vec![CaseStorage { cases: evidence.recorded().collect(), ..below }];
    }
    let lay = evidence.recorded().filter_map(|(case, record)| {
        Some(CaseStorage { cases: vec![(case, record)], ..case_storage(evidence, record)? })
    });
    merged(lay, |below| below.volume)
}

/// Those alike with the cases of all.
pub(super) fn merged<'e, K: PartialEq>(
    all: impl Iterator<Item = CaseStorage<'e>>,
    key: impl Fn(&CaseStorage<'e>) -> K,
) -> Vec<CaseStorage<'e>> {
    let alike = together(all, |a, b| key(a) == key(b)).into_iter();
    let merge = |same: Vec<CaseStorage<'e>>| CaseStorage {
        cases: same.iter().flat_map(|below| below.cases.iter().copied()).collect(),
        ..same[0].clone()
    };
    alike.map(merge).collect()
}

/// What one case's database lay on; none: it never came to lie anywhere.
pub(super) fn case_storage<'e>(
    evidence: &'e Evidence,
    record: &'e CaseRecord,
) -> Option<CaseStorage<'e>> {
    let place = place(evidence);
    if record.case.volume.is_none() {
        return Some(place);
    }
    let volume = record.volume.as_ref()?;
    let (drive, image) = (volume.drive.as_ref(), volume.image.is_some());
    Some(CaseStorage {
        volume: Some(&volume.name),
        filesystem: volume.filesystem.as_ref(),
        supervisor: if image { place.filesystem } else { volume.filesystem.as_ref() },
        keeps: if image { place.drive } else { drive },
        drive,
        ..place
    })
}

fn place(evidence: &Evidence) -> CaseStorage<'_> {
    let host = &evidence.run.host_before;
    CaseStorage {
        volume: None,
        place: &evidence.run.place,
        filesystem: host.filesystem.as_ref(),
        supervisor: host.filesystem.as_ref(),
        drive: host.drive.as_ref(),
        keeps: host.drive.as_ref(),
        cases: Vec::new(),
    }
}

impl CaseStorage<'_> {
    /// `/mnt/data`, or `volume xfs`.
    pub(super) fn name(&self) -> String {
        self.volume.map_or_else(|| self.place.to_owned(), |name| format!("volume {name}"))
    }

    /// The suite's name of it, where it has one.
    pub(super) fn volume(&self) -> Option<&str> {
        self.volume
    }

    /// What keeps the bytes in the end, in words, and the kernel's name of its filesystem.
    pub(super) fn supervisor(&self) -> (String, &str) {
        let of = if self.is_image() { "the image of " } else { "" };
        let kind = self.supervisor.map_or("", |filesystem| &filesystem.kind);
        (format!("{of}{}", self.name()), kind)
    }

    /// The kernel's name of its filesystem.
    pub(super) fn kind(&self) -> &str {
        self.filesystem.map_or("", |filesystem| &filesystem.kind)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.cases.iter().any(|(case, _)| case.case.id == id)
    }

    /// What would help: a switch of its device, which must be one that is still there.
    pub(super) fn switch(&self, value: &str, file: &str) -> Option<String> {
        let drive = self.drive.filter(|_| !self.is_image())?;
        Some(format!("`echo {value} > /sys/block/{}/queue/{file}`", drive.name))
    }

    /// It is gone with its database.
    fn is_image(&self) -> bool {
        let image = |record: &CaseRecord| record.volume.as_ref().is_some_and(|v| v.image.is_some());
        self.cases.iter().any(|(_, record)| image(record))
    }

    /// About all cases on it.
    pub(super) fn finding(&self, id: Id, evidence: impl Into<String>) -> Finding {
        let about = self.volume.map(|_| self.cases.iter().map(|(case, _)| case.case.id.clone()));
        let cases = about.map(Iterator::collect).unwrap_or_default();
        Finding { cases, ..Finding::of_run(id, evidence) }
    }
}
