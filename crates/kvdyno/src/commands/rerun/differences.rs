//! The differences when a run is repeated: machine, volume, program, engines. Each is a sentence.

use kvdyno_analysis::judge::versus::differs;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::host::Host;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::collections::{BTreeMap, BTreeSet};

/// The environment of a run.
pub(super) struct Side<'s> {
    pub(super) host: &'s Host,
    pub(super) program: &'s str,
    /// The workers by label.
    pub(super) workers: &'s BTreeMap<String, WorkerIdentity>,
}

/// Returns all differences, each as a sentence.
pub(super) fn differences(recorded: &Side<'_>, local: &Side<'_>, plan: &Plan) -> Vec<String> {
    let facts = [facts(recorded), facts(local)];
    let [there_facts, here_facts] = &facts;
    let differ = there_facts.iter().zip(here_facts).filter(|(there, here)| there != here);
    let mut all: Vec<String> = differ
        .map(|((what, there), (_, here))| format!("{what}: {there} there, {here} here"))
        .collect();
    let labels: BTreeSet<&String> = plan.cases.iter().map(|case| &case.label).collect();
    for label in labels {
        let workers = (recorded.workers.get(label), local.workers.get(label));
        if let (Some(there), Some(here)) = workers {
            all.extend(engine_difference(label, there, here));
        }
    }
    all.extend(unknown_options(local, plan));
    all
}

/// The compared facts, in the same order for both: those of `kvdyno compare`, and more.
fn facts(side: &Side<'_>) -> Vec<(&'static str, String)> {
    let machine = &side.host.machine;
    let virtual_machine = machine.virtual_machine.map_or("unknown".to_owned(), |v| v.to_string());
    let more = [
        ("swap", units::bytes(machine.swap_bytes)),
        ("virtual machine", virtual_machine),
        ("RAM limits", side.host.ram_limit.detail.clone()),
        ("kvdyno", side.program.to_owned()),
    ];
    differs::facts(side.host).into_iter().chain(more).collect()
}

fn engine_difference(
    engine: &str,
    there: &WorkerIdentity,
    here: &WorkerIdentity,
) -> Option<String> {
    let version = |worker: &WorkerIdentity| worker.description.engine.version.clone();
    if version(there) != version(here) {
        return Some(format!("{engine}: {} there, {} here", version(there), version(here)));
    }
    let library = |worker: &WorkerIdentity| match &worker.library {
        Some(library) => format!("{}, SHA-256 {}", library.build, library.checksum()),
        None => "embedded in its worker".to_owned(),
    };
    let same_file =
        there.library.as_ref().map(|l| &l.sha256) == here.library.as_ref().map(|l| &l.sha256);
    if !same_file {
        let (version, there, here) = (version(here), library(there), library(here));
        return Some(format!(
            "{engine}: the same version {version}, but another library: {there} there, {here} here"
        ));
    }
    let built = |worker: &WorkerIdentity| worker.description.engine.build.clone();
    let how = if built(there) == built(here) { "" } else { ", and another build" };
    (there.sha256 != here.sha256)
        .then(|| format!("{engine}: the same version {}, but another binary{how}", version(here)))
}

/// Options that an engine has here and that the plan lacks.
fn unknown_options(local: &Side<'_>, plan: &Plan) -> BTreeSet<String> {
    let mut unknown = BTreeSet::new();
    for case in &plan.cases {
        let Some(worker) = local.workers.get(&case.label) else { continue };
        for option in &worker.description.engine.options {
            if !case.options.values.contains_key(&option.name) {
                unknown.insert(format!(
                    "{}: option `{}` is new here, with its default {}",
                    case.label, option.name, option.default
                ));
            }
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_record::library::Library;

    #[test]
    fn each_difference_is_a_sentence_and_sameness_is_silent() {
        let fixture = Fixture::new();
        let records = fixture.cases.iter().map(|case| case.record.clone());
        let workers: BTreeMap<String, WorkerIdentity> =
            records.map(|record| (record.case.label, record.worker.unwrap())).collect();
        let host = &fixture.run.host_before;
        let recorded = Side { host, program: "0.1.0", workers: &workers };
        let unchanged = differences(&recorded, &recorded, &fixture.plan);
        assert_eq!(
            unchanged.iter().filter(|text| !text.contains("is new here")).count(),
            0,
            "{unchanged:?}"
        );

        let mut other = host.clone();
        other.machine.cpus = 64;
        other.drive = None;
        let mut newer = workers.clone();
        newer.get_mut("LMDB").unwrap().description.engine.version = "1.0.0".to_owned();
        newer.get_mut("RocksDB").unwrap().sha256 = "other".to_owned();
        let build = |build: &str| Library {
            version: "1.0".to_owned(),
            build: build.to_owned(),
            sha256: "0123456789abcdef".to_owned(),
            source: None,
            path: "/mine.so".into(),
        };
        newer.get_mut("null").unwrap().library = Some(build("yours"));
        let local = Side { host: &other, program: "0.2.0", workers: &newer };
        let all = differences(&recorded, &local, &fixture.plan).join("\n");
        for expected in [
            "processor: 2 x ",
            ", 64 x ",
            "none here",
            "kvdyno: 0.1.0 there, 0.2.0 here",
            "LMDB: 0.9.70 there, 1.0.0 here",
            "RocksDB: the same version 11.8.1, but another binary",
            "null: the same version",
            "another library: embedded in its worker there, yours, SHA-256 0123456789ab here",
        ] {
            assert!(all.contains(expected), "{expected}: {all}");
        }
    }
}
