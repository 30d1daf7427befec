//! The engines under test: each with its options, and its name for people.

use super::evidence::CaseEvidence;
use super::group::Group;
use super::lost::Lost;
use kvdyno_record::engine::{Durability, OptionKind, Value};
use kvdyno_record::library::Library;
use kvdyno_record::torture::{ClassRecord, Tally, TortureRecord, TrialKind};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// An engine under test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EngineInfo {
    /// Its name in tables.
    pub label: String,
    /// The part of the suite, which its label ends with; null: the suite has none.
    pub part: Option<String>,
    /// The worker's engine.
    pub engine: String,
    /// The durability class of its writes.
    pub durability: Durability,
    /// Options as resolved.
    pub options: BTreeMap<String, Value>,
    /// Options that differ from the engine's defaults.
    pub changed: Vec<String>,
    /// The data that it loses at a power failure; null: no torture record of it next to this run.
    pub lost: Option<Lost>,
    /// The worker that did the work; null where none was found.
    pub worker: Option<WorkerInfo>,
}

/// The worker of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkerInfo {
    /// The engine's usual name.
    pub title: String,
    /// Its version.
    pub version: String,
    /// Other properties of the build that affect its speed.
    pub build: BTreeMap<String, String>,
    /// The settings behind the durability class, quoted.
    pub durability_settings: Option<String>,
    /// The program.
    pub path: PathBuf,
    /// Its checksum.
    pub sha256: String,
    /// The library that it loaded the engine from; null: the engine is part of the worker.
    pub library: Option<Library>,
    /// Whether it stores nothing: its figures are then the load generator's own.
    pub stores_nothing: bool,
    /// Whether it is a bare drive: its figures are then the drive's.
    pub bare_drive: bool,
}

/// The usual name of a group's engine, unless the suite labels it.
pub fn title<'s>(engines: &'s [EngineInfo], group: &'s Group) -> &'s str {
    name(engines, group, group.part.is_none())
}

/// Like [`title`], but without the part of the suite where all engines have the same one.
pub fn name<'s>(engines: &'s [EngineInfo], group: &'s Group, one_part: bool) -> &'s str {
    let label = if one_part { group.engine_label() } else { &group.label };
    let is_described = |info: &&EngineInfo| info.engine == group.engine && info.worker.is_some();
    let info = engines.iter().find(is_described).filter(|_| label == group.engine);
    let title = info.and_then(|info| info.worker.as_ref()).map(|worker| worker.title.as_str());
    title.unwrap_or(label)
}

/// Lists one entry for each label and durability class, from a case with a worker if there is one.
pub(crate) fn list_engines(cases: &[CaseEvidence], torture: &[TortureRecord]) -> Vec<EngineInfo> {
    let mut engines: Vec<EngineInfo> = Vec::new();
    let mut cases: Vec<_> = cases.iter().collect();
    cases.sort_by_key(|case| case.case.listed);
    for case in cases {
        let info = EngineInfo { lost: find_loss(case, torture), ..engine(case) };
        let matches = |entry: &&mut EngineInfo| {
            (&entry.label, entry.durability) == (&info.label, info.durability)
        };
        match engines.iter_mut().find(matches) {
            Some(entry) if entry.worker.is_none() => *entry = info,
            Some(_) => {}
            None => engines.push(info),
        }
    }
    engines
}

/// Finds the losses of the same version and library of the engine in the same class, in the newest
/// record that tried all its power losses, or in which one lost data. Its options must equal those
/// of the case, except for sizes of caches and buffers, which do not affect durability.
fn find_loss(case: &CaseEvidence, torture: &[TortureRecord]) -> Option<Lost> {
    let worker = case.record.as_ref()?.worker.as_ref()?;
    let engine = &worker.description.engine;
    let library = worker.library.as_ref().map(|library| &library.sha256);
    let changed = |(name, value): (&String, &Value)| {
        let spec = engine.options.iter().find(|spec| spec.name == *name)?;
        let counts = spec.kind != OptionKind::Bytes && spec.default != *value;
        counts.then(|| format!("{name}={value}"))
    };
    let options: BTreeSet<String> = case.case.options.values.iter().filter_map(changed).collect();
    let is_size = |option: &str| {
        let spec = engine.options.iter().find(|spec| option.split('=').next() == Some(&spec.name));
        spec.is_some_and(|spec| spec.kind == OptionKind::Bytes)
    };
    let matches = |class: &ClassRecord| {
        let recorded: BTreeSet<String> =
            class.options.iter().filter(|option| !is_size(option)).cloned().collect();
        (&class.engine, &class.version) == (&engine.name, &engine.version)
            && class.library_sha256.as_ref() == library
            && class.durability == case.case.options.durability
            && recorded == options
    };
    let losses = torture.iter().flat_map(|record| {
        let classes = record.classes.iter().filter(|class| matches(class));
        let trials = classes.flat_map(|class| &class.trials);
        let power = trials.filter(|trial| trial.kind == TrialKind::Power);
        // Other trials of the class may have failed: that says nothing about this one.
        let counts =
            |tally: &&Tally| tally.states == record.states || tally.lost + tally.corrupt > 0;
        power.map(|trial| &trial.tally).filter(counts)
    });
    losses.map(Lost::from_tally).find(|lost| lost.states > 0)
}

fn engine(case: &CaseEvidence) -> EngineInfo {
    let options = &case.case.options;
    let worker = case.record.as_ref().and_then(|record| record.worker.as_ref());
    let described = worker.map(|worker| &worker.description.engine);
    let spec = |name: &str| described?.options.iter().find(|option| option.name == name);
    let changed = options.values.iter().filter_map(|(name, value)| {
        let spec = spec(name).filter(|spec| spec.default != *value)?;
        Some(match (&spec.kind, value) {
            (OptionKind::Bytes, Value::Integer(bytes)) => {
                format!("{name} = {}", units::bytes_in_words(*bytes))
            }
            _ => format!("{name} = {value}"),
        })
    });
    EngineInfo {
        label: case.case.label.clone(),
        part: case.case.part.clone(),
        engine: case.case.engine.clone(),
        durability: options.durability,
        options: options.values.clone(),
        changed: changed.collect(),
        lost: None,
        worker: worker.map(|worker| {
            let engine = &worker.description.engine;
            let promise = engine.capabilities.durability.get(&options.durability);
            WorkerInfo {
                title: engine.title.clone(),
                version: engine.version.clone(),
                build: engine.build.clone(),
                durability_settings: promise.map(|promise| promise.settings.clone()),
                path: worker.path.clone(),
                sha256: worker.sha256.clone(),
                library: worker.library.clone(),
                stores_nothing: engine.capabilities.stores_nothing,
                bare_drive: engine.capabilities.bare_drive,
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::evidence::Evidence;
    use crate::fixture::Fixture;
    use kvdyno_record::engine::PowerLoss;
    use kvdyno_record::torture::Trial;

    /// Returns a record of an engine that lost 2 of 300 states.
    fn torture_record(first: &EngineInfo) -> TortureRecord {
        let options = first.changed.iter().map(|changed| changed.replace(" = ", "="));
        let tally = Tally { states: 300, lost: 2, ..Tally::default() };
        let power = Trial { kind: TrialKind::Power, tally, examples: Vec::new(), took_ns: 1 };
        let class = ClassRecord {
            engine: first.engine.clone(),
            version: first.worker.as_ref().unwrap().version.clone(),
            worker_sha256: String::new(),
            library_sha256: None,
            durability: first.durability,
            settings: String::new(),
            power_loss: PowerLoss::LosesLast,
            options: options.collect(),
            trials: vec![power],
            recording: None,
            failed: None,
            took_ns: 1,
        };
        TortureRecord {
            format: kvdyno_record::FORMAT.to_owned(),
            id: "t".to_owned(),
            program: String::new(),
            command: Vec::new(),
            kernel: String::new(),
            started_unix_ns: 1,
            ended_unix_ns: Some(2),
            filesystem: "ext4".to_owned(),
            seed: 1,
            writers: 4,
            states: 300,
            classes: vec![class],
        }
    }

    /// A verdict is shown only for the same version, library, class and options.
    #[test]
    fn a_torture_verdict_is_shown_for_the_same_engine_only() {
        let dir = crate::fixture::make_dir();
        let run = Fixture::new().write(&dir.path().join("run"));
        let before = list_engines(&Evidence::read(&run).unwrap().cases, &[]);
        assert!(before.iter().all(|info| info.lost.is_none()));
        let first = &before[0];
        let record = torture_record(first);
        let class = &record.classes[0];
        let torture = dir.path().join("t");
        std::fs::create_dir(&torture).unwrap();
        record.write(&torture).unwrap();
        let losses = |record: &TortureRecord| {
            record.write(&torture).unwrap();
            let evidence = Evidence::read(&run).unwrap();
            let all = list_engines(&evidence.cases, &evidence.torture);
            all.iter().filter_map(|info| Some((info.label.clone(), info.lost?))).collect::<Vec<_>>()
        };
        let lost = Lost { states: 300, lost: 2, corrupt: 0 };
        assert_eq!(losses(&record), [(first.label.clone(), lost)]);
        // Newer records that say less do not hide it.
        let newest = dir.path().join("newest");
        std::fs::create_dir(&newest).unwrap();
        let failed = Some("interrupted".to_owned());
        let [mut interrupted, mut unmounted] =
            [ClassRecord { failed, ..class.clone() }, class.clone()];
        interrupted.trials[0].tally = Tally { states: 5, ..Tally::default() };
        unmounted.trials[0].tally = Tally { states: 300, unmounted: 300, ..Tally::default() };
        let newer = TortureRecord { started_unix_ns: 2, ..record.clone() };
        for other in [interrupted, unmounted] {
            let classes = vec![other];
            TortureRecord { classes, ..newer.clone() }.write(&newest).unwrap();
            assert_eq!(losses(&record), [(first.label.clone(), lost)]);
        }
        // A newer loss counts, whatever failed beside it or after it.
        let failed = Some("it has never synced".to_owned());
        for states in [300, 5] {
            let mut lossy = ClassRecord { failed: failed.clone(), ..class.clone() };
            lossy.trials[0].tally = Tally { states, lost: 4, ..Tally::default() };
            let classes = vec![lossy];
            TortureRecord { classes, ..newer.clone() }.write(&newest).unwrap();
            let lost = Lost { states, lost: 4, corrupt: 0 };
            assert_eq!(losses(&record), [(first.label.clone(), lost)]);
        }
        std::fs::remove_dir_all(&newest).unwrap();
        let other = ClassRecord { version: "0.0.1".to_owned(), ..class.clone() };
        assert_eq!(losses(&TortureRecord { classes: vec![other], ..record.clone() }), []);
        let library_sha256 = Some("of another build".to_owned());
        let other = ClassRecord { library_sha256, ..class.clone() };
        assert_eq!(losses(&TortureRecord { classes: vec![other], ..record.clone() }), []);
        let options = [&class.options[..], &["other=true".to_owned()]].concat();
        let other = ClassRecord { options, ..class.clone() };
        assert_eq!(losses(&TortureRecord { classes: vec![other], ..record }), []);
    }
}
