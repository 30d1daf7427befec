//! The storage under the databases: each volume that the suite names, else the data directory.
//! Findings about a drive or a filesystem apply to the cases on it.

use super::finding::Finding;
use super::kinds::Id;
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::lists::group_equal;
use kvdyno_record::case::CaseRecord;
use kvdyno_record::host::{Drive, Filesystem};

/// A volume, or the data directory.
#[derive(Clone)]
pub(super) struct CaseStorage<'e> {
    /// The suite's name of the volume; none: the data directory.
    volume: Option<&'e str>,
    directory: &'e str,
    pub(super) filesystem: Option<&'e Filesystem>,
    /// The filesystem that stores the bytes: for an image, the data directory's.
    storing_filesystem: Option<&'e Filesystem>,
    /// The device that requests are made to.
    pub(super) drive: Option<&'e Drive>,
    /// The device that stores the bytes: for an image, the data directory's.
    pub(super) storing_drive: Option<&'e Drive>,
    pub(super) cases: Vec<(&'e CaseEvidence, &'e CaseRecord)>,
}

/// All storage of a run's databases, each with the cases that used it.
pub(super) fn all(evidence: &Evidence) -> Vec<CaseStorage<'_>> {
    if evidence.plan.cases.iter().all(|case| case.volume.is_none()) {
        let cases = evidence.recorded_cases().collect();
        return vec![CaseStorage { cases, ..data_directory(evidence) }];
    }
    let each = evidence.recorded_cases().filter_map(|(case, record)| {
        Some(CaseStorage { cases: vec![(case, record)], ..case_storage(evidence, record)? })
    });
    merge_by_key(each, |storage| storage.volume)
}

/// Merges storage with equal keys, with the cases of all.
pub(super) fn merge_by_key<'e, K: PartialEq>(
    all: impl Iterator<Item = CaseStorage<'e>>,
    key: impl Fn(&CaseStorage<'e>) -> K,
) -> Vec<CaseStorage<'e>> {
    let groups = group_equal(all, |a, b| key(a) == key(b)).into_iter();
    let merge = |group: Vec<CaseStorage<'e>>| CaseStorage {
        cases: group.iter().flat_map(|storage| storage.cases.iter().copied()).collect(),
        ..group[0].clone()
    };
    groups.map(merge).collect()
}

/// The storage of one case's database; none: it never had any.
pub(super) fn case_storage<'e>(
    evidence: &'e Evidence,
    record: &'e CaseRecord,
) -> Option<CaseStorage<'e>> {
    let directory = data_directory(evidence);
    if record.case.volume.is_none() {
        return Some(directory);
    }
    let volume = record.volume.as_ref()?;
    let (drive, image) = (volume.drive.as_ref(), volume.image.is_some());
    Some(CaseStorage {
        volume: Some(&volume.name),
        filesystem: volume.filesystem.as_ref(),
        storing_filesystem: if image { directory.filesystem } else { volume.filesystem.as_ref() },
        storing_drive: if image { directory.drive } else { drive },
        drive,
        ..directory
    })
}

fn data_directory(evidence: &Evidence) -> CaseStorage<'_> {
    let host = &evidence.run.host_before;
    CaseStorage {
        volume: None,
        directory: &evidence.run.data_dir,
        filesystem: host.filesystem.as_ref(),
        storing_filesystem: host.filesystem.as_ref(),
        drive: host.drive.as_ref(),
        storing_drive: host.drive.as_ref(),
        cases: Vec::new(),
    }
}

impl CaseStorage<'_> {
    /// `/mnt/data`, or `volume xfs`.
    pub(super) fn name(&self) -> String {
        self.volume.map_or_else(|| self.directory.to_owned(), |name| format!("volume {name}"))
    }

    /// The suite's name of the volume, where it has one.
    pub(super) fn volume(&self) -> Option<&str> {
        self.volume
    }

    /// The storage of the bytes in words, and the kernel's name of its filesystem.
    pub(super) fn storing_words(&self) -> (String, &str) {
        let prefix = if self.is_image() { "the image of " } else { "" };
        let kind = self.storing_filesystem.map_or("", |filesystem| &filesystem.kind);
        (format!("{prefix}{}", self.name()), kind)
    }

    /// The kernel's name of its filesystem.
    pub(super) fn kind(&self) -> &str {
        self.filesystem.map_or("", |filesystem| &filesystem.kind)
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.cases.iter().any(|(case, _)| case.case.id == id)
    }

    /// The command for a switch of its device, which must still exist: an image's does not.
    pub(super) fn switch(&self, value: &str, file: &str) -> Option<String> {
        let drive = self.drive.filter(|_| !self.is_image())?;
        Some(format!("`echo {value} > /sys/block/{}/queue/{file}`", drive.name))
    }

    /// Whether it is an image, which is removed with its database.
    fn is_image(&self) -> bool {
        let image = |record: &CaseRecord| record.volume.as_ref().is_some_and(|v| v.image.is_some());
        self.cases.iter().any(|(_, record)| image(record))
    }

    /// A finding about all cases on it.
    pub(super) fn finding(&self, id: Id, evidence: impl Into<String>) -> Finding {
        let ids = self.volume.map(|_| self.cases.iter().map(|(case, _)| case.case.id.clone()));
        let cases = ids.map(Iterator::collect).unwrap_or_default();
        Finding { cases, ..Finding::new(id, evidence) }
    }
}
