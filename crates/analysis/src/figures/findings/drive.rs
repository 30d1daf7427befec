//! What lies under the databases: whether it is a drive, and what the figures do not cover.

use super::finding::{Finding, measured_phases};
use super::kinds::Id;
use super::storage::{self, CaseStorage};
use crate::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_record::engine::Value;
use kvdyno_record::host::Drive;
use kvdyno_record::units::{bytes, group_digits, percent};

/// Readahead above this, the kernel's default, harms random reads.
const READAHEAD_MAX: u64 = 128 << 10;

/// A database below this share of the drive leaves it spare room that a full drive lacks.
const SMALL: f64 = 0.1;

/// The option by which engines that map their files turn readahead off.
const READAHEAD: &str = "readahead";

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let rules: [fn(&Evidence, &CaseStorage<'_>) -> Option<Finding>; 7] = [
        memory_filesystem,
        overlay,
        uncounted_drive,
        readahead,
        throttled_writes,
        discards,
        unwell_drive,
    ];
    let all = storage::all(evidence);
    let each = all.iter().flat_map(|storage| rules.iter().map(move |rule| rule(evidence, storage)));
    let mut findings = merge(each.flatten());
    // Several volumes can lie on one drive; these are reported once per drive.
    let drives = storage::merge_by_key(all.into_iter(), |storage| {
        storage.storing_drive.map(|drive| &drive.name)
    });
    findings.extend(
        drives
            .iter()
            .flat_map(|storage| [virtual_drive(evidence, storage), small_database(storage)])
            .flatten(),
    );
    findings.extend(unseen_internals(evidence));
    findings
}

/// Merges findings that are the same on several volumes.
fn merge(each: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let words = |finding: &'_ Finding| -> String {
        let first = finding.cases.first().map_or("", String::as_str);
        let words = finding.evidence.strip_prefix(&format!("{first}: "));
        format!("{} {}", words.unwrap_or(&finding.evidence), finding.advice)
    };
    let mut all: Vec<Finding> = Vec::new();
    for finding in each {
        let matches = |existing: &&mut Finding| {
            existing.id == finding.id
                && words(existing) == words(&finding)
                && !existing.cases.is_empty()
        };
        match all.iter_mut().find(matches) {
            Some(existing) => existing.cases.extend(finding.cases),
            None => all.push(finding),
        }
    }
    all
}

fn memory_filesystem(_: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let (what, kind) = storage.storing_words();
    ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"].contains(&kind).then(|| {
        storage
            .finding(Id::DataDirInMemory, format!("{what} is {kind}: the data never left memory"))
    })
}

fn overlay(_: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let (what, kind) = storage.storing_words();
    (kind == "overlay" || kind.starts_with("fuse")).then(|| {
        storage.finding(
            Id::DataDirOverlay,
            format!("{what} is on {kind}, a layer above the drive that may copy files"),
        )
    })
}

fn uncounted_drive(_: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let mut phases = storage.cases.iter().flat_map(|(_, record)| &record.phases).peekable();
    phases.peek()?;
    let none = !phases.any(|phase| phase.before.device.is_some());
    (none && !storage.kind().contains("tmpfs")).then(|| {
        let off = storage.drive.and_then(|drive| drive.iostats) == Some(false);
        let switch = storage.switch("1", "iostats").filter(|_| off);
        let advice = switch.map_or_else(
            || "`--data-dir DIR` on a local block device".to_owned(),
            |switch| format!("{switch} turns its counters on"),
        );
        let name = storage.name();
        storage
            .finding(
                Id::DriveUncounted,
                format!(
                    "the kernel counts no I/O of the device under {name}: write amplification is \
                 unknown"
                ),
            )
            .with_advice(advice)
    })
}

fn virtual_drive(evidence: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let drive = storage.storing_drive?;
    let by_name = ["vd", "xvd", "loop", "zram", "nbd", "rbd"]
        .iter()
        .any(|prefix| drive.name.starts_with(prefix));
    let model = drive.model.as_deref().unwrap_or_default().to_lowercase();
    let by_model = ["virtual", "qemu", "vmware", "msft"].iter().any(|word| model.contains(word));
    let machine = evidence.run.host_before.machine.virtual_machine == Some(true);
    (by_name || by_model || machine).then(|| {
        let (name, model) = (&drive.name, drive.model.as_deref().unwrap_or("no model"));
        storage.finding(
            Id::DriveVirtual,
            format!("{name} ({model}) is a virtual drive: the host may cache it"),
        )
    })
}

fn readahead(_: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let drive = storage.drive?;
    let bytes_ahead = drive.read_ahead_bytes.filter(|bytes| *bytes > READAHEAD_MAX)?;
    let has_readahead = |case: &CaseEvidence| {
        case.case.options.values.get(READAHEAD) == Some(&Value::Boolean(true))
    };
    let words = format!("readahead is on, and {} reads {} ahead", drive.name, bytes(bytes_ahead));
    let cases = storage.cases.iter().filter(|(case, _)| has_readahead(case));
    let cases = cases.map(|(case, _)| (case.case.id.clone(), words.clone()));
    let alternative =
        storage.switch("128", "read_ahead_kb").map_or(String::new(), |by| format!(", or {by}"));
    let advice = format!(
        "set the engine's option {READAHEAD} = false{alternative}; keep both as variants to see \
         the difference"
    );
    Some(Finding::from_cases(Id::ReadaheadLarge, cases)?.with_advice(advice))
}

/// wbt, the kernel's throttling of writeback: reported where a case wrote.
fn throttled_writes(evidence: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let drive = storage.drive?;
    let us = drive.queue.get("wbt_lat_usec").filter(|us| *us != "0")?;
    let writers = measured_phases(evidence).filter(|measured| {
        storage.has(&measured.case.case.id)
            && !measured.measures_load_generator()
            && measured.mix.writes()
    });
    let words = format!("background writes wait while reads of {} take over {us} us", drive.name);
    let alternative =
        storage.switch("0", "wbt_lat_usec").map_or(String::new(), |by| format!(", or {by}"));
    let advice = format!(
        "an engine that flushes in the background is slowed down in favour of its readers: compare \
         only with machines that do the same{alternative}"
    );
    let finding =
        Finding::from_cases(Id::WritesThrottled, writers.map(|at| (at.id(), words.clone())));
    Some(finding?.with_advice(advice))
}

/// Online discards of engines that delete files, by the drive's own count.
fn discards(evidence: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let filesystem = storage.filesystem?;
    let mut options = filesystem.options.split(',');
    let way = options.find(|option| option.split('=').next() == Some("discard"))?;
    let on_storage =
        measured_phases(evidence).filter(|measured| storage.has(&measured.case.case.id));
    let discarded_cases = on_storage.filter_map(|measured| {
        let phase = measured.phase;
        let (before, after) = (phase.before.device.as_ref()?, phase.after.device.as_ref()?);
        let discards = after.discards.checked_sub(before.discards).filter(|n| *n > 0)?;
        let discarded = after.discard_bytes.saturating_sub(before.discard_bytes);
        let words = format!(
            "mounted with {way}: {} discards of {} in all reached the drive during the measurement",
            group_digits(discards),
            bytes(discarded)
        );
        Some((measured.id(), words))
    });
    let advice = match storage.volume() {
        Some(name) => format!("leave {way} out of `mount` of volume {name}"),
        None => format!(
            "`mount -o remount,nodiscard {}`, and `fstrim` between runs",
            filesystem.mount_point
        ),
    };
    let advice = format!("discards delay other I/O: {advice}");
    Some(Finding::from_cases(Id::DiscardOnline, discarded_cases)?.with_advice(advice))
}

fn unwell_drive(evidence: &Evidence, storage: &CaseStorage<'_>) -> Option<Finding> {
    let after = evidence.run.host_after.as_ref().and_then(|host| host.drive.as_ref());
    let is_drive = |after: &&Drive| storage.drive.is_some_and(|drive| drive.name == after.name);
    let drives = after.filter(is_drive).into_iter().chain(storage.drive);
    let drives_with_health = drives.filter_map(|drive| Some((drive, drive.health.as_ref()?)));
    let (drive, health) = drives_with_health.into_iter().find(|(_, health)| health.is_unwell())?;
    Some(storage.finding(
        Id::DriveUnwell,
        format!("{}: {} ({})", drive.name, health.to_text(), health.source),
    ))
}

fn small_database(storage: &CaseStorage<'_>) -> Option<Finding> {
    let drive = storage.storing_drive.filter(|drive| drive.bytes > 0)?;
    let phases = storage.cases.iter().flat_map(|(_, record)| &record.phases);
    let sizes = phases.filter_map(|phase| phase.database);
    let largest = sizes.map(|size| size.used_bytes).max().filter(|bytes| *bytes > 0)?;
    let share = largest as f64 / drive.bytes as f64;
    (share < SMALL).then(|| {
        storage.finding(
            Id::SmallAgainstDrive,
            format!(
                "the largest database, {}, is {} of {} ({})",
                bytes(largest),
                percent(share),
                drive.name,
                bytes(drive.bytes)
            ),
        )
    })
}

/// Pitfalls 2, 3 and 6 of Didona et al., VLDB 2021.
fn unseen_internals(evidence: &Evidence) -> Option<Finding> {
    let has_writes = evidence
        .recorded_cases()
        .flat_map(|(_, record)| &record.phases)
        .any(|phase| phase.synced.as_ref().is_some_and(|(reading, _)| reading.device.is_some()));
    has_writes.then(|| {
        Finding::new(
            Id::DriveInsideUnseen,
            "write amplification is counted at the kernel: the drive's internal writes and its \
             state before the run are unknown",
        )
    })
}
