//! What differs between two records besides the work: the machine, the storage, the engines.

use super::sides::Record;
use super::work::Difference;
use crate::figures::efficiency::{self, CeilingCase};
use crate::figures::engines::EngineInfo;
use crate::figures::evidence::CaseEvidence;
use crate::figures::group::Group;
use kvdyno_record::case::{CaseRecord, WorkerIdentity};
use kvdyno_record::host::{Drive, Filesystem, Host};
use kvdyno_record::tier::TierRecord;
use kvdyno_record::units;
use kvdyno_record::volume::VolumeRecord;
use std::collections::BTreeSet;

/// Differences of hosts, volumes and memory tiers.
pub(super) fn surroundings(base: &Record, new: &Record) -> Vec<Difference> {
    let hosts = differing("", facts(&base.figures.host), &facts(&new.figures.host));
    hosts.into_iter().chain(volumes(base, new)).chain(tiers(base, new)).collect()
}

/// Differences of what was done beside the measurement, and of what rates leave out.
pub(super) fn methods(base: &Record, new: &Record) -> Vec<Difference> {
    let facts = |record: &Record| {
        let cases = || record.evidence.cases.iter();
        let samples = if cases().any(|case| case.case.profile) { "taken" } else { "none" };
        let phases: BTreeSet<&str> = cases().flat_map(CaseEvidence::phases_without_waits).collect();
        let phases: Vec<&str> = phases.into_iter().collect();
        let left_out = if phases.is_empty() { "none".to_owned() } else { phases.join(", ") };
        let is_restored = cases().any(CaseEvidence::is_restored);
        let databases = if is_restored { "states of an earlier run" } else { "loaded" };
        vec![
            ("databases", databases.to_owned()),
            ("samples of functions", samples.to_owned()),
            ("rates without waits for a CPU", left_out),
        ]
    };
    differing("", facts(base), &facts(new))
}

/// Differences of the bare drive, where both sides measured it in the same way next to engines and
/// the ranges do not overlap.
pub(super) fn ceilings(base: &Record, new: &Record) -> Vec<Difference> {
    let ceilings = |record: &Record| {
        let groups = &record.figures.groups;
        if groups.iter().any(Group::competes) { efficiency::ceilings(groups) } else { Vec::new() }
    };
    let (base, new) = (ceilings(base), ceilings(new));
    let counterpart = |one: &CeilingCase| {
        let like = |other: &&CeilingCase| {
            let shape = |case: &CeilingCase| (case.block_bytes, case.in_flight);
            (&other.job, &other.volume, shape(other)) == (&one.job, &one.volume, shape(one))
                && (other.reads_share - one.reads_share).abs() < 0.1
        };
        new.iter().find(like)
    };
    let per_s = |case: &CeilingCase| {
        let [low, high] = [case.ios_per_s_low, case.ios_per_s_high].map(units::si);
        format!("{} ({low} to {high})", units::rate(case.ios_per_s))
    };
    let difference = |one: &CeilingCase| {
        let other = counterpart(one)?;
        let apart =
            one.ios_per_s_low > other.ios_per_s_high || other.ios_per_s_low > one.ios_per_s_high;
        let volume = one.volume.as_ref().map_or_else(String::new, |volume| format!(" on {volume}"));
        let what = format!("the drive itself{volume}, {} x {}", one.job, one.in_flight);
        (apart && one.n.min(other.n) > 1).then(|| Difference {
            subject: what,
            base: per_s(one),
            new: per_s(other),
        })
    };
    base.iter().filter_map(difference).collect()
}

pub(super) fn protocol(record: &Record) -> u32 {
    let workers = record.evidence.recorded_cases().filter_map(|(_, case)| case.worker.as_ref());
    let protocols = workers.map(|worker| worker.description.protocol);
    // A run without a worker has no figures either.
    protocols.max().unwrap_or(kvdyno_record::PROTOCOL)
}

/// A fact and its name.
type Fact = (&'static str, String);

/// The facts of one name that differ.
fn differing(whose: &str, base: Vec<Fact>, new: &[Fact]) -> Vec<Difference> {
    let differs = |(what, base): Fact| {
        let (_, new) = new.iter().find(|(other, _)| *other == what)?;
        Difference::between(format!("{whose}{what}"), base, new.clone())
    };
    base.into_iter().filter_map(differs).collect()
}

/// Facts by which hosts differ, by name: of the machine, and of what lies under the data directory.
pub fn facts(host: &Host) -> Vec<Fact> {
    [machine(host), volume(host.filesystem.as_ref(), host.drive.as_ref())].concat()
}

/// Facts that may explain differences between hosts, by name: of the machine, and of the storage of
/// its databases.
fn machine(host: &Host) -> Vec<Fact> {
    let machine = &host.machine;
    let or_unknown = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".to_owned());
    vec![
        ("host", host.hostname.clone()),
        ("processor", format!("{} x {}", machine.cpus, machine.cpu_model)),
        ("memory", units::bytes(machine.memory_bytes)),
        ("kernel", host.kernel.clone()),
        ("system", host.os.clone()),
        ("clocksource", or_unknown(&machine.clocksource)),
        ("governor", or_unknown(&machine.governor)),
        ("transparent huge pages", or_unknown(&machine.transparent_hugepage)),
    ]
}

/// Differences between volumes of one name: their mount options and drives.
fn volumes(base: &Record, new: &Record) -> Vec<Difference> {
    let mut differences = Vec::new();
    for base in &base.figures.volumes {
        let Some(new) = new.figures.volumes.iter().find(|new| new.name == base.name) else {
            continue;
        };
        // An old record may lack the drive.
        let both_known = base.drive.is_some() && new.drive.is_some();
        let facts = |volume_record: &VolumeRecord| {
            let mut facts = volume(
                volume_record.filesystem.as_ref(),
                volume_record.drive.as_ref().filter(|_| both_known),
            );
            if let Some(image) = &volume_record.image {
                // The number and size of a loop device have no meaning.
                facts.retain(|(what, _)| *what != "drive");
                facts.push(("image on", image.storage.clone()));
            }
            facts
        };
        differences.extend(differing(&format!("volume {}: ", base.name), facts(base), &facts(new)));
    }
    differences
}

/// Differences between memory tiers of one name: their storage, and what was enforced.
fn tiers(base: &Record, new: &Record) -> Vec<Difference> {
    let facts = |tier: &TierRecord| {
        let swap = tier.swap.as_ref();
        // The numbers of loop and zram devices have no meaning.
        let storage = match swap.map(|swap| (&swap.image, &swap.compression)) {
            Some((Some(image), _)) => format!("an image on {}", image.storage),
            Some((_, Some(compression))) => format!("zram by {compression}"),
            _ => swap.map_or_else(|| "none".to_owned(), |swap| swap.device.clone()),
        };
        let missing = tier.not_enforced.join("; ");
        let missing = if missing.is_empty() { "nothing".to_owned() } else { missing };
        vec![("swap on", storage), ("not in force", missing)]
    };
    let pairs = base.figures.tiers.iter().filter_map(|base| {
        Some((base, new.figures.tiers.iter().find(|new| new.name == base.name)?))
    });
    let differences = pairs.flat_map(|(base, new)| {
        differing(&format!("memory tier {}: ", base.name), facts(base), &facts(new))
    });
    differences.collect()
}

/// Facts of the storage of databases, by name.
fn volume(filesystem: Option<&Filesystem>, drive: Option<&Drive>) -> Vec<Fact> {
    let none = || "none".to_owned();
    let or_none = |fact: Option<&String>| fact.cloned().unwrap_or_else(none);
    let model = |drive: &Drive| {
        let model = drive.model.as_deref().unwrap_or("no model");
        format!("{} {model}, {}", drive.name, units::bytes(drive.bytes))
    };
    let ahead = drive.and_then(|drive| drive.read_ahead_bytes).map(units::exact_bytes);
    let firmware = drive.and_then(|drive| drive.firmware.clone());
    let mut facts = vec![
        ("filesystem", filesystem.map_or_else(none, |filesystem| filesystem.kind.clone())),
        ("mount options", filesystem.map_or_else(none, |filesystem| filesystem.options.clone())),
        ("drive", drive.map_or_else(none, model)),
        ("scheduler", or_none(drive.and_then(|drive| drive.scheduler.as_ref()))),
        ("readahead", or_none(ahead.as_ref())),
        ("drive's write cache", or_none(drive.and_then(|drive| drive.write_cache.as_ref()))),
    ];
    // Old records lack the firmware.
    facts.extend(firmware.map(|firmware| ("drive's firmware", firmware)));
    facts
}

/// Differences between two engines: identity, build and options.
pub(super) fn engines(
    base: &Record,
    new: &Record,
    labels: &(String, String),
    differences: &mut Vec<Difference>,
) {
    let info = |record: &'_ Record, label: &str| -> Option<EngineInfo> {
        record.figures.engines.iter().find(|engine| engine.label == label).cloned()
    };
    let (Some(b), Some(n)) = (info(base, &labels.0), info(new, &labels.1)) else { return };
    let whose = |what: &str| {
        if labels.0 == labels.1 { format!("{}: {what}", labels.0) } else { what.to_owned() }
    };
    let mut add = |what: &str, base: String, new: String| {
        differences.extend(Difference::between(whose(what), base, new));
    };
    let version = |engine: &EngineInfo| match &engine.worker {
        Some(worker) => format!("{} {}", worker.title, worker.version),
        None => "no worker was found".to_owned(),
    };
    add("engine", version(&b), version(&n));
    let settings = |engine: &EngineInfo| {
        let worker = engine.worker.as_ref();
        let settings = worker.and_then(|worker| worker.durability_settings.clone());
        settings.unwrap_or_else(|| "not described".to_owned())
    };
    add(b.durability.as_str(), settings(&b), settings(&n));
    let (limit_of_base, limit_of_new) = (ram_limit(base, &labels.0), ram_limit(new, &labels.1));
    add("RAM limit", limit_of_base, limit_of_new);
    if b.engine != n.engine {
        return;
    }
    let build = |engine: &EngineInfo, name: &str| {
        let worker = engine.worker.as_ref();
        worker.and_then(|worker| worker.build.get(name).cloned()).unwrap_or_default()
    };
    let both_workers = [&b, &n].into_iter().filter_map(|engine| engine.worker.as_ref());
    for name in both_workers.flat_map(|worker| worker.build.keys()).collect::<BTreeSet<_>>() {
        add(&format!("built with {name}"), build(&b, name), build(&n, name));
    }
    let workers = (worker(base, &labels.0), worker(new, &labels.1));
    if let (Some(one), Some(other)) = workers {
        let (first, second) = (&one.description, &other.description);
        add("load generator", first.load_generator.clone(), second.load_generator.clone());
        add("worker's checksum", short(&one.sha256), short(&other.sha256));
        let library = |worker: &WorkerIdentity| match &worker.library {
            Some(library) => format!("{}, {}", library.to_text(), library.checksum()),
            None => "part of its worker".to_owned(),
        };
        add("library", library(one), library(other));
    }
    for name in b.options.keys().chain(n.options.keys()).collect::<BTreeSet<_>>() {
        let value = |engine: &EngineInfo| {
            engine.options.get(name).map_or_else(|| "not set".to_owned(), ToString::to_string)
        };
        add(&format!("option {name}"), value(&b), value(&n));
    }
}

fn cases<'r>(record: &'r Record, label: &str) -> impl Iterator<Item = &'r CaseRecord> {
    let of_label = move |case: &&CaseRecord| case.case.label == label;
    record.evidence.recorded_cases().map(|(_, case)| case).filter(of_label)
}

fn worker<'r>(record: &'r Record, label: &str) -> Option<&'r WorkerIdentity> {
    cases(record, label).find_map(|case| case.worker.as_ref())
}

fn ram_limit(record: &Record, label: &str) -> String {
    // A case that was not run had no limit to enforce.
    let ran = cases(record, label).filter(|case| !case.phases.is_empty());
    let limits = ran.map(|case| match &case.ram_limit {
        limit if limit.requested_bytes.is_none() => "none".to_owned(),
        limit => limit.enforced_by.clone().unwrap_or_else(|| "not enforced".to_owned()),
    });
    limits.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(", ")
}

fn short(sha256: &str) -> String {
    sha256.chars().take(12).collect()
}
