//! What lies under the place: whether it is a drive at all, and what of it is not in the figures.

use super::{Finding, Id, measured};
use crate::host::doctor;
use crate::report::evidence::Evidence;
use crate::units::{bytes, grouped, percent};
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
        throttled(evidence),
        discards(evidence),
        unwell(evidence),
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

/// wbt, the kernel's throttling of writeback: it counts where something was written.
fn throttled(evidence: &Evidence) -> Option<Finding> {
    let drive = evidence.run.host_before.drive.as_ref()?;
    let us = drive.queue.get("wbt_lat_usec").filter(|us| *us != "0")?;
    let writers = measured(evidence).filter(|at| {
        let mut mixes = at.drive.roles.iter().flat_map(|role| &role.mix);
        !at.of_harness() && mixes.any(|mix| mix.op.writes())
    });
    let words =
        format!("writes in the background wait while reads of {} take over {us} us", drive.name);
    Finding::of_cases(
        Id::WritesThrottled,
        writers.map(|at| (at.id(), words.clone())),
        format!(
            "an engine that flushes in the background is slowed for the sake of its readers: \
             compare only with machines that do the same, or `echo 0 > \
             /sys/block/{}/queue/wbt_lat_usec`",
            drive.name
        ),
    )
}

/// Of engines that delete files: by what the drive was told, not by what is thought of an engine.
fn discards(evidence: &Evidence) -> Option<Finding> {
    let filesystem = evidence.run.host_before.filesystem.as_ref()?;
    let mut options = filesystem.options.split(',');
    let way = options.find(|option| option.split('=').next() == Some("discard"))?;
    let told = measured(evidence).filter_map(|at| {
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
    Finding::of_cases(
        Id::DiscardOnline,
        told,
        format!(
            "other I/O waits meanwhile: `mount -o remount,nodiscard {}`, and `fstrim` between runs",
            filesystem.mount_point
        ),
    )
}

fn unwell(evidence: &Evidence) -> Option<Finding> {
    let after = evidence.run.host_after.as_ref();
    let drives = after.into_iter().chain([&evidence.run.host_before]).filter_map(|host| {
        let drive = host.drive.as_ref()?;
        Some((drive, drive.health.as_ref()?))
    });
    let (drive, health) = drives.into_iter().find(|(_, health)| doctor::is_unwell(health))?;
    Some(Finding::of_run(
        Id::DriveUnwell,
        format!("{}: {} ({})", drive.name, doctor::health_in_words(health), health.source),
        "a drive in this state slows itself down: cool it or replace it, and run again",
    ))
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
