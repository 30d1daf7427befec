//! The sides of a comparison: runs of two builds, or two engines of one run.

use super::refusal::Refusal;
use super::work::Difference;
use crate::figures::Figures;
use crate::figures::efficiency::{self, BaselineCase};
use crate::figures::engines::EngineInfo;
use crate::figures::evidence::Evidence;
use crate::figures::findings::Severity;
use crate::figures::group::Group;
use crate::figures::lists::unique;
use crate::judge::comparison;
use kvdyno_record::case::{CaseRecord, WorkerIdentity};
use kvdyno_record::files::{RecordError, RunFolder};
use kvdyno_record::host::{Drive, Filesystem, Host};
use kvdyno_record::tier::TierRecord;
use kvdyno_record::units;
use kvdyno_record::volume::VolumeRecord;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A run's record and its figures.
#[derive(Clone, Debug)]
pub struct Record {
    /// The record on disk.
    pub evidence: Evidence,
    /// Its figures.
    pub figures: Figures,
}

impl Record {
    /// Reads a run and computes its figures.
    pub fn read(folder: &RunFolder) -> Result<Self, RecordError> {
        Self::from_evidence(Evidence::read(folder)?)
    }

    /// Computes a record's figures.
    pub fn from_evidence(evidence: Evidence) -> Result<Self, RecordError> {
        let mut figures = Figures::from_evidence(&evidence)?;
        comparison::compare(&mut figures.groups);
        Ok(Self { evidence, figures })
    }

    fn labels(&self) -> Vec<String> {
        unique(self.figures.groups.iter().map(|group| group.label.clone()))
    }
}

/// The sides of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Sides<'r> {
    /// Runs of different times, so never pairs: of each side one or more, of the same build. The
    /// first of each describes it.
    Runs {
        /// The base.
        base: &'r [Record],
        /// The side that is compared with it.
        new: &'r [Record],
    },
    /// Two engines of a run, by their labels: equal trials ran close to each other.
    Engines {
        /// The run.
        run: &'r Record,
        /// The base.
        base: &'r str,
        /// The side that is compared with it.
        new: &'r str,
    },
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// The run's id.
    pub run: String,
    /// The ids of the side's further runs.
    pub further_runs: Vec<String>,
    /// The engine's label; null: all of the run.
    pub label: Option<String>,
    /// The suite.
    pub suite: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// The host's name.
    pub host: String,
    /// The program's version.
    pub program: String,
    /// Trials of each case, at most.
    pub trials: usize,
    /// Findings that make its figures invalid, by name.
    pub invalid: Vec<String>,
}

/// A record and the groups of it that are compared.
pub(super) struct Chosen<'r> {
    pub(super) record: &'r Record,
    pub(super) groups: Vec<&'r Group>,
}

impl<'r> Sides<'r> {
    /// Two engines of a run, each by its label or its name.
    pub fn engines(run: &'r Record, base: &'r str, new: &'r str) -> Self {
        let label = |typed: &'r str| {
            let engines = || run.figures.engines.iter();
            let by_label = engines().find(|engine| engine.label == typed);
            let engine = by_label.or_else(|| engines().find(|engine| engine.engine == typed));
            engine.map_or(typed, |engine| engine.label.as_str())
        };
        Self::Engines { run, base: label(base), new: label(new) }
    }

    /// Each side's record, and its label where it is one engine of it.
    fn both(&self) -> [(&'r Record, Option<&'r str>); 2] {
        match *self {
            Self::Runs { base, new } => [(&base[0], None), (&new[0], None)],
            Self::Engines { run, base, new } => [(run, Some(base)), (run, Some(new))],
        }
    }

    /// The further runs of each side.
    fn further(&self) -> [&'r [Record]; 2] {
        match *self {
            Self::Runs { base, new } => [&base[1..], &new[1..]],
            Self::Engines { .. } => [&[], &[]],
        }
    }

    /// The base, and the new side.
    pub fn described(&self) -> [Side; 2] {
        let [base, new] = self.both();
        let [further_base, further_new] = self.further();
        [(base, further_base), (new, further_new)]
            .map(|((record, label), further)| Side::from_records(record, label, further))
    }

    /// The names of two groups: by their engines, or for two runs by their sides.
    pub(super) fn names(&self, base: &Group, new: &Group) -> [String; 2] {
        match self {
            Self::Runs { .. } => ["BASE".to_owned(), "NEW".to_owned()],
            Self::Engines { .. } => [base.label.clone(), new.label.clone()],
        }
    }

    fn records(&self) -> (&'r Record, &'r Record) {
        let [(base, _), (new, _)] = self.both();
        (base, new)
    }

    /// Equal trials were taken close to each other, in a random order.
    pub(super) fn side_by_side(&self) -> bool {
        matches!(self, Self::Engines { .. })
    }

    /// Whether cases of these labels may be a pair.
    pub(super) fn may_be_paired(&self, base_label: &str, new_label: &str) -> bool {
        match self {
            Self::Runs { .. } => base_label == new_label,
            Self::Engines { base, new, .. } => (base_label, new_label) == (*base, *new),
        }
    }

    /// The compared groups of the base, and of the new side, run by run.
    pub(super) fn chosen(&self) -> [Vec<Chosen<'r>>; 2] {
        let [base, new] = self.both();
        let [further_base, further_new] = self.further();
        [(base, further_base), (new, further_new)].map(|((record, label), further)| {
            let runs = std::iter::once(record).chain(further);
            runs.map(|record| chosen(record, label)).collect()
        })
    }

    /// Refuses sides that cannot be compared as a whole.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let (base, new) = self.records();
        match *self {
            Self::Engines { run, base, new } => {
                for label in [base, new] {
                    let known = run.labels();
                    if !known.iter().any(|other| other == label) {
                        let id = run.figures.run.id.clone();
                        return Err(Refusal::NoEngine { label: label.to_owned(), run: id, known });
                    }
                }
                if base == new {
                    return Err(Refusal::Same(format!("engine `{base}`")));
                }
            }
            Self::Runs { base, new } => {
                let mut ids = BTreeSet::new();
                let all = base.iter().chain(new).map(|record| &record.figures.run.id);
                if let Some(twice) = all.into_iter().find(|id| !ids.insert(*id)) {
                    return Err(Refusal::Same(format!("run {twice}")));
                }
            }
        }
        same_method(base, new)?;
        for (first, further) in [base, new].into_iter().zip(self.further()) {
            for record in further {
                same_method(first, record)?;
                same_build(first, record)?;
            }
        }
        Ok(())
    }

    /// Differences other than the work, for the labels that are compared.
    pub(super) fn differences(&self, labels: &[(String, String)]) -> Vec<Difference> {
        let (base, new) = self.records();
        let mut differences = Vec::new();
        if let Self::Runs { .. } = self {
            // What no engine has to do with comes first: then the rest may be the machine's.
            differences.extend(ceilings(base, new));
            differences.extend(surroundings(base, new));
            let programs = (&base.figures.run.program, &new.figures.run.program);
            differences.extend(Difference::between(
                "kvdyno",
                programs.0.clone(),
                programs.1.clone(),
            ));
        }
        let mut compared: BTreeSet<&(String, String)> = BTreeSet::new();
        for both in labels {
            if compared.insert(both) {
                engines(base, new, both, &mut differences);
            }
        }
        differences
    }
}

/// Refuses records that were measured or computed by different methods.
fn same_method(base: &Record, new: &Record) -> Result<(), Refusal> {
    let methods = [
        ("method version", base.figures.method_version, new.figures.method_version),
        ("protocol of the workers", protocol(base), protocol(new)),
    ];
    let differs = |(what, base, new): (&str, u32, u32)| {
        Difference::between(what, base.to_string(), new.to_string())
    };
    let difference = methods.into_iter().find_map(differs);
    difference.map_or(Ok(()), |difference| Err(Refusal::Method(difference)))
}

/// Refuses runs of one side that are of different builds, options or machines.
fn same_build(first: &Record, other: &Record) -> Result<(), Refusal> {
    let mut differences = surroundings(first, other);
    for label in first.labels() {
        engines(first, other, &(label.clone(), label), &mut differences);
    }
    match differences.into_iter().next() {
        None => Ok(()),
        Some(difference) => {
            let [first, other] = [first, other].map(|record| record.figures.run.id.clone());
            Err(Refusal::Build { first, other, difference })
        }
    }
}

/// Differences of hosts, volumes and memory tiers.
fn surroundings(base: &Record, new: &Record) -> Vec<Difference> {
    let hosts = differing("", facts(&base.figures.host), &facts(&new.figures.host));
    hosts.into_iter().chain(volumes(base, new)).chain(tiers(base, new)).collect()
}

impl Side {
    fn from_records(record: &Record, label: Option<&str>, further: &[Record]) -> Self {
        let figures = &record.figures;
        let invalid = figures.findings.iter().filter(|f| f.severity == Severity::Invalid);
        Self {
            run: figures.run.id.clone(),
            further_runs: further.iter().map(|record| record.figures.run.id.clone()).collect(),
            label: label.map(str::to_owned),
            suite: figures.run.suite.clone(),
            started_unix_ns: figures.run.started_unix_ns,
            host: figures.host.hostname.clone(),
            program: figures.run.program.clone(),
            trials: figures.trials(),
            invalid: invalid.map(|finding| finding.id.as_str()).collect(),
        }
    }
}

/// The compared groups: those of an engine, or all that store anything. The null engine counts only
/// where there is no other.
fn chosen<'r>(record: &'r Record, label: Option<&str>) -> Chosen<'r> {
    let groups = &record.figures.groups;
    let stores = groups.iter().any(|group| !group.stores_nothing);
    let competes = groups.iter().any(Group::competes);
    // Next to engines the drive is part of the machine, except for its jobs that limit no engine.
    let surroundings = |group: &Group| group.ceiling || (group.bare_drive && group.runs.is_empty());
    let takes_part = |group: &&Group| match label {
        Some(label) => group.label == label,
        None if stores && group.stores_nothing => false,
        None => !(competes && surroundings(group)),
    };
    Chosen { record, groups: groups.iter().filter(takes_part).collect() }
}

/// Differences of the bare drive, where both sides measured it in the same way next to engines and
/// the ranges do not overlap.
fn ceilings(base: &Record, new: &Record) -> Vec<Difference> {
    let baselines = |record: &Record| {
        let groups = &record.figures.groups;
        if groups.iter().any(Group::competes) { efficiency::ceilings(groups) } else { Vec::new() }
    };
    let (base, new) = (baselines(base), baselines(new));
    let counterpart = |one: &BaselineCase| {
        let like = |other: &&BaselineCase| {
            let shape = |it: &BaselineCase| (it.block_bytes, it.in_flight);
            (&other.job, &other.volume, shape(other)) == (&one.job, &one.volume, shape(one))
                && (other.reads_share - one.reads_share).abs() < 0.1
        };
        new.iter().find(like)
    };
    let per_s = |one: &BaselineCase| {
        let [low, high] = [one.ios_per_s_low, one.ios_per_s_high].map(units::si);
        format!("{} ({low} to {high})", units::rate(one.ios_per_s))
    };
    let difference = |one: &BaselineCase| {
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

fn protocol(record: &Record) -> u32 {
    let workers = record.evidence.recorded().filter_map(|(_, case)| case.worker.as_ref());
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
fn engines(
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
    let named = [&b, &n].into_iter().filter_map(|engine| engine.worker.as_ref());
    for name in named.flat_map(|worker| worker.build.keys()).collect::<BTreeSet<_>>() {
        add(&format!("built with {name}"), build(&b, name), build(&n, name));
    }
    let workers = (worker(base, &labels.0), worker(new, &labels.1));
    if let (Some(one), Some(other)) = workers {
        let (first, second) = (&one.description, &other.description);
        add("load generator", first.load_generator.clone(), second.load_generator.clone());
        add("worker's checksum", short(&one.sha256), short(&other.sha256));
        let library = |worker: &WorkerIdentity| match &worker.library {
            Some(library) => format!("{}, {}", library.words(), library.checksum()),
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
    record.evidence.recorded().map(|(_, case)| case).filter(of_label)
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
