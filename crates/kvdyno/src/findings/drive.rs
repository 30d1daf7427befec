//! What lies under the place: whether it is a drive at all, and what of it is not in the figures.

use super::{Finding, Id};
use crate::report::evidence::Evidence;
use crate::units::{bytes, percent};
use kvdyno_record::engine::Value;

/// Random reads are hurt past this: the kernel's own default.
const READAHEAD_MAX: u64 = 128 << 10;

/// A database below this share of the drive leaves it room that a full one would not have.
const SMALL: f64 = 0.1;

/// The option by which engines that leave readahead to the kernel (those that map their files)
/// turn it off.
const READAHEAD: &str = "readahead";

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let all = [
        in_memory(evidence),
        overlay(evidence),
        uncounted(evidence),
        virtual_drive(evidence),
        readahead(evidence),
        small(evidence),
        inside(evidence),
    ];
    all.into_iter().flatten().collect()
}

fn filesystem(evidence: &Evidence) -> &str {
    evidence.run.host_before.filesystem.as_ref().map_or("", |filesystem| &filesystem.kind)
}

fn in_memory(evidence: &Evidence) -> Option<Finding> {
    let kind = filesystem(evidence);
    ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"].contains(&kind).then(|| {
        Finding::of_run(
            Id::PlaceInMemory,
            format!("{} is {kind}: the data never left memory", evidence.run.place),
            "`--place DIR` on a drive; durability classes mean nothing here",
        )
    })
}

fn overlay(evidence: &Evidence) -> Option<Finding> {
    let kind = filesystem(evidence);
    (kind == "overlay" || kind.starts_with("fuse")).then(|| {
        Finding::of_run(
            Id::PlaceOverlay,
            format!("{} is {kind}: a layer that copies lies above the drive", evidence.run.place),
            "`--place DIR` on a filesystem of a drive: in a container, a volume or a bind mount",
        )
    })
}

fn uncounted(evidence: &Evidence) -> Option<Finding> {
    let counted = |device: &Option<kvdyno_record::usage::DeviceUsage>| device.is_some();
    let mut phases = evidence.recorded().flat_map(|(_, record)| &record.phases).peekable();
    phases.peek()?;
    let none = !phases.any(|phase| counted(&phase.before.device));
    let off =
        evidence.run.host_before.drive.as_ref().and_then(|drive| drive.iostats) == Some(false);
    (none && !filesystem(evidence).contains("tmpfs")).then(|| {
        let drive = evidence.run.host_before.drive.as_ref();
        let name = drive.map_or("a drive", |drive| drive.name.as_str());
        let advice = if off {
            format!("`echo 1 > /sys/block/{name}/queue/iostats` turns its counters on")
        } else {
            "`--place DIR` on a local block device".to_owned()
        };
        let place = &evidence.run.place;
        Finding::of_run(
            Id::DriveUncounted,
            format!("the kernel counts no device under {place}: write amplification is not known"),
            advice,
        )
    })
}

fn virtual_drive(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let drive = host.drive.as_ref()?;
    let by_name = ["vd", "xvd", "loop", "zram", "nbd", "rbd"]
        .iter()
        .any(|prefix| drive.name.starts_with(prefix));
    let model = drive.model.as_deref().unwrap_or_default().to_lowercase();
    let by_model = ["virtual", "qemu", "vmware", "msft"].iter().any(|word| model.contains(word));
    (by_name || by_model || host.machine.virtual_machine == Some(true)).then(|| {
        let (name, model) = (&drive.name, drive.model.as_deref().unwrap_or("no model"));
        Finding::of_run(
            Id::DriveVirtual,
            format!("{name} ({model}) is a virtual drive: a cache of the host may lie behind it"),
            "figures hold for comparing engines here; those of a drive need the drive itself",
        )
    })
}

fn readahead(evidence: &Evidence) -> Option<Finding> {
    let drive = evidence.run.host_before.drive.as_ref()?;
    let bytes_ahead = drive.read_ahead_bytes.filter(|bytes| *bytes > READAHEAD_MAX)?;
    let on = evidence
        .recorded()
        .filter(|(case, _)| case.case.options.values.get(READAHEAD) == Some(&Value::Boolean(true)));
    let words = format!("readahead is on, and {} reads {} ahead", drive.name, bytes(bytes_ahead));
    let cases = on.map(|(case, _)| (case.case.id.clone(), words.clone()));
    Finding::of_cases(
        Id::ReadaheadLarge,
        cases,
        format!(
            "set the engine's option {READAHEAD} = false, or `echo 128 > \
             /sys/block/{}/queue/read_ahead_kb`; keep both as variants to see the difference",
            drive.name
        ),
    )
}

fn small(evidence: &Evidence) -> Option<Finding> {
    let drive = evidence.run.host_before.drive.as_ref().filter(|drive| drive.bytes > 0)?;
    let sizes = evidence
        .recorded()
        .flat_map(|(_, record)| record.phases.iter().filter_map(|phase| phase.database));
    let largest = sizes.map(|size| size.allocated_bytes).max().filter(|bytes| *bytes > 0)?;
    let share = largest as f64 / drive.bytes as f64;
    (share < SMALL).then(|| {
        Finding::of_run(
            Id::SmallAgainstDrive,
            format!(
                "the largest database, {}, is {} of {} ({})",
                bytes(largest),
                percent(share),
                drive.name,
                bytes(drive.bytes)
            ),
            "a flash drive that is nearly empty writes less inside than a full one: for figures of \
             the drive, fill most of it",
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
            "for figures of a drive: trim it first, note how full it is, and compare the drive's \
             own counters (`nvme smart-log`) before and after",
        )
    })
}
