//! What lies under the databases: whether it is a drive at all, and what of it is not in the
//! figures.

use super::finding::{Finding, measured};
use super::kinds::Id;
use super::storage::{self, CaseStorage};
use crate::evidence::{CaseEvidence, Evidence};
use kvdyno_record::engine::Value;
use kvdyno_record::host::Drive;
use kvdyno_record::units::{bytes, grouped, percent};

/// Random reads are hurt past this: the kernel's own default.
const READAHEAD_MAX: u64 = 128 << 10;

/// A database below this share of the drive leaves it room that a full one would not have.
const SMALL: f64 = 0.1;

/// The option by which engines that leave readahead to the kernel (those that map their files)
/// turn it off.
const READAHEAD: &str = "readahead";

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let rules: [fn(&Evidence, &CaseStorage<'_>) -> Option<Finding>; 7] =
        [in_memory, overlay, uncounted, readahead, throttled, discards, unwell];
    let all = storage::all(evidence);
    let each = all.iter().flat_map(|below| rules.iter().map(move |rule| rule(evidence, below)));
    let mut findings = together(each.flatten());
    // Several volumes lie on one drive, of which these are said once.
    let drives = storage::merged(all.into_iter(), |below| below.keeps.map(|drive| &drive.name));
    findings
        .extend(drives.iter().flat_map(|on| [virtual_drive(evidence, on), small(on)]).flatten());
    findings.extend(inside(evidence));
    findings
}

/// What is the same on several volumes is said once.
fn together(each: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let words = |finding: &'_ Finding| -> String {
        let first = finding.cases.first().map_or("", String::as_str);
        let words = finding.evidence.strip_prefix(&format!("{first}: "));
        format!("{} {}", words.unwrap_or(&finding.evidence), finding.advice)
    };
    let mut all: Vec<Finding> = Vec::new();
    for finding in each {
        let same = |known: &&mut Finding| {
            known.id == finding.id && words(known) == words(&finding) && !known.cases.is_empty()
        };
        match all.iter_mut().find(same) {
            Some(known) => known.cases.extend(finding.cases),
            None => all.push(finding),
        }
    }
    all
}

fn in_memory(_: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let (what, kind) = below.supervisor();
    ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"].contains(&kind).then(|| {
        below.finding(Id::PlaceInMemory, format!("{what} is {kind}: the data never left memory"))
    })
}

fn overlay(_: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let (what, kind) = below.supervisor();
    (kind == "overlay" || kind.starts_with("fuse")).then(|| {
        below.finding(
            Id::PlaceOverlay,
            format!("{what} is {kind}: a layer that copies lies above the drive"),
        )
    })
}

fn uncounted(_: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let mut phases = below.cases.iter().flat_map(|(_, record)| &record.phases).peekable();
    phases.peek()?;
    let none = !phases.any(|phase| phase.before.device.is_some());
    (none && !below.kind().contains("tmpfs")).then(|| {
        let off = below.drive.and_then(|drive| drive.iostats) == Some(false);
        let on = below.switch("1", "iostats").filter(|_| off);
        let advice = on.map_or_else(
            || "`--place DIR` on a local block device".to_owned(),
            |switch| format!("{switch} turns its counters on"),
        );
        let name = below.name();
        below
            .finding(
                Id::DriveUncounted,
                format!(
                    "the kernel counts no device under {name}: write amplification is not known"
                ),
            )
            .with_advice(advice)
    })
}

fn virtual_drive(evidence: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let drive = below.keeps?;
    let by_name = ["vd", "xvd", "loop", "zram", "nbd", "rbd"]
        .iter()
        .any(|prefix| drive.name.starts_with(prefix));
    let model = drive.model.as_deref().unwrap_or_default().to_lowercase();
    let by_model = ["virtual", "qemu", "vmware", "msft"].iter().any(|word| model.contains(word));
    let machine = evidence.run.host_before.machine.virtual_machine == Some(true);
    (by_name || by_model || machine).then(|| {
        let (name, model) = (&drive.name, drive.model.as_deref().unwrap_or("no model"));
        below.finding(
            Id::DriveVirtual,
            format!("{name} ({model}) is a virtual drive: a cache of the host may lie behind it"),
        )
    })
}

fn readahead(_: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let drive = below.drive?;
    let bytes_ahead = drive.read_ahead_bytes.filter(|bytes| *bytes > READAHEAD_MAX)?;
    let on = |case: &CaseEvidence| {
        case.case.options.values.get(READAHEAD) == Some(&Value::Boolean(true))
    };
    let words = format!("readahead is on, and {} reads {} ahead", drive.name, bytes(bytes_ahead));
    let cases = below.cases.iter().filter(|(case, _)| on(case));
    let cases = cases.map(|(case, _)| (case.case.id.clone(), words.clone()));
    let or = below.switch("128", "read_ahead_kb").map_or(String::new(), |by| format!(", or {by}"));
    let advice = format!(
        "set the engine's option {READAHEAD} = false{or}; keep both as variants to see the \
         difference"
    );
    Some(Finding::of_cases(Id::ReadaheadLarge, cases)?.with_advice(advice))
}

/// wbt, the kernel's throttling of writeback: it counts where something was written.
fn throttled(evidence: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let drive = below.drive?;
    let us = drive.queue.get("wbt_lat_usec").filter(|us| *us != "0")?;
    let writers = measured(evidence)
        .filter(|at| below.has(&at.case.case.id) && !at.of_load_generator() && at.mix.writes());
    let words =
        format!("writes in the background wait while reads of {} take over {us} us", drive.name);
    let or = below.switch("0", "wbt_lat_usec").map_or(String::new(), |by| format!(", or {by}"));
    let advice = format!(
        "an engine that flushes in the background is slowed for the sake of its readers: compare \
         only with machines that do the same{or}"
    );
    let found = Finding::of_cases(Id::WritesThrottled, writers.map(|at| (at.id(), words.clone())));
    Some(found?.with_advice(advice))
}

/// Of engines that delete files: by what the drive was told, not by what is thought of an engine.
fn discards(evidence: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let filesystem = below.filesystem?;
    let mut options = filesystem.options.split(',');
    let way = options.find(|option| option.split('=').next() == Some("discard"))?;
    let told = measured(evidence).filter(|at| below.has(&at.case.case.id)).filter_map(|at| {
        let (before, after) = (at.phase.before.device.as_ref()?, at.phase.after.device.as_ref()?);
        let discards = after.discards.checked_sub(before.discards).filter(|n| *n > 0)?;
        let discarded = after.discard_bytes.saturating_sub(before.discard_bytes);
        let words = format!(
            "mounted with {way}: the drive was told {} times to forget, {} in all, while it was \
             measured",
            grouped(discards),
            bytes(discarded)
        );
        Some((at.id(), words))
    });
    let advice = match below.volume() {
        Some(name) => format!("leave {way} out of `mount` of volume {name}"),
        None => format!(
            "`mount -o remount,nodiscard {}`, and `fstrim` between runs",
            filesystem.mount_point
        ),
    };
    let advice = format!("other I/O waits meanwhile: {advice}");
    Some(Finding::of_cases(Id::DiscardOnline, told)?.with_advice(advice))
}

fn unwell(evidence: &Evidence, below: &CaseStorage<'_>) -> Option<Finding> {
    let after = evidence.run.host_after.as_ref().and_then(|host| host.drive.as_ref());
    let same = |after: &&Drive| below.drive.is_some_and(|drive| drive.name == after.name);
    let drives = after.filter(same).into_iter().chain(below.drive);
    let told = drives.filter_map(|drive| Some((drive, drive.health.as_ref()?)));
    let (drive, health) = told.into_iter().find(|(_, health)| health.is_unwell())?;
    Some(below.finding(
        Id::DriveUnwell,
        format!("{}: {} ({})", drive.name, health.in_words(), health.source),
    ))
}

fn small(below: &CaseStorage<'_>) -> Option<Finding> {
    let drive = below.keeps.filter(|drive| drive.bytes > 0)?;
    let phases = below.cases.iter().flat_map(|(_, record)| &record.phases);
    let sizes = phases.filter_map(|phase| phase.database);
    let largest = sizes.map(|size| size.allocated_bytes).max().filter(|bytes| *bytes > 0)?;
    let share = largest as f64 / drive.bytes as f64;
    (share < SMALL).then(|| {
        below.finding(
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
fn inside(evidence: &Evidence) -> Option<Finding> {
    let wrote = evidence
        .recorded()
        .flat_map(|(_, record)| &record.phases)
        .any(|phase| phase.synced.as_ref().is_some_and(|(reading, _)| reading.device.is_some()));
    wrote.then(|| {
        Finding::of_run(
            Id::DriveInsideUnseen,
            "write amplification is counted at the kernel: what the drive writes inside, and the \
             state it was in before, are not known",
        )
    })
}
