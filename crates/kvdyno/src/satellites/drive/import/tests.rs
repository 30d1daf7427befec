//! Imports of fio reports.

use super::*;
use kvdyno_record::workload::Activity;

#[test]
fn a_report_becomes_a_sealed_run() {
    let dir = tempfile::tempdir().unwrap();
    let file = concat!(env!("KVDYNO_SOURCE"), "/fixtures/fio/mix-3.33.json").as_ref();
    let run = import(file, dir.path(), &NamedArgs::default()).unwrap();
    assert!(run.is_complete());
    let (_, record) = run.case_records().unwrap().remove(0);
    assert_eq!(record.case.id, "0001_mix-70-30_t2_r1");
    assert_eq!((record.case.data.records, record.case.shape.depth), (16384, 4));
    let ops = &record.phases[0].roles[0].ops;
    assert!(ops["get"].count > 2 * ops["update"].count);
    let intervals = run.case(&record.case, 1).latency().unwrap();
    let samples: u64 = intervals
        .map(Result::unwrap)
        .filter(|interval| interval.kind == hlog::Kind::Service)
        .flat_map(|interval| interval.counts)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(samples, ops["get"].count + ops["update"].count);
}

#[test]
fn the_threads_of_a_job_are_one_case_and_no_two_have_one_key() {
    let dir = tempfile::tempdir().unwrap();
    let file = concat!(env!("KVDYNO_SOURCE"), "/fixtures/fio/two-jobs-3.33.json");
    let run = import(file.as_ref(), dir.path(), &NamedArgs::default()).unwrap();
    let records = run.case_records().unwrap();
    let [(_, record)] = records.as_slice() else { panic!("{} cases", records.len()) };
    assert_eq!(record.case.threads, Some(2));
    let Activity::Measure(mix) = &record.case.phases[0].work else { panic!("no measure") };
    assert_eq!((mix.roles[0].threads, mix.roles[0].depth), (2, None), "psync, iodepth=8");
    // The same jobs as reported when they run one after the other.
    let text = std::fs::read_to_string(file).unwrap();
    let again = dir.path().join("again.json");
    std::fs::write(&again, text.replacen("\"groupid\":0", "\"groupid\":1", 1)).unwrap();
    let plan =
        import(&again, &dir.path().join("again"), &NamedArgs::default()).unwrap().plan().unwrap();
    let keys: std::collections::BTreeSet<_> = plan.cases.iter().map(|case| &case.key).collect();
    assert_eq!((plan.cases.len(), keys.len()), (2, 2));
}

fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("KVDYNO_SOURCE")).join("fixtures/fio").join(name)
}

/// Imports a changed report. Returns the run and its records.
fn imported(
    dir: &Path,
    report: &str,
    change: impl FnOnce(&mut serde_json::Value),
) -> anyhow::Result<(RunDir, Vec<CaseRecord>)> {
    let text = std::fs::read_to_string(fixture(report)).unwrap();
    let mut report = serde_json::from_str(text.trim_start()).unwrap();
    change(&mut report);
    let file = dir.join("report.json");
    std::fs::write(&file, report.to_string()).unwrap();
    let run = import(&file, &dir.join("runs"), &NamedArgs::default())?;
    let records = run.case_records().unwrap().into_iter().map(|(_, record)| record).collect();
    Ok((run, records))
}

#[test]
fn syncs_are_flushes_of_their_role() {
    let dir = tempfile::tempdir().unwrap();
    let (run, records) = imported(dir.path(), "fdatasync-3.33.json", |_| {}).unwrap();
    let case = &records[0].case;
    assert_eq!(case.options.durability, Durability::Commit);
    assert_eq!(case.shape.value_bytes_mean, 2_300);
    let [writes] = records[0].phases[0].roles.as_slice() else { panic!("one role") };
    assert_eq!((writes.ops["flush"].count, writes.ops["update"].count), (911, 912));
    let mut tags: Vec<String> = run
        .case(case, 1)
        .latency()
        .unwrap()
        .map(Result::unwrap)
        .map(|interval| format!("{}/{}", interval.role, interval.op))
        .collect();
    tags.sort();
    tags.dedup();
    assert_eq!(tags, ["writes/flush", "writes/update"]);
    let seldom = tempfile::tempdir().unwrap();
    let (_, records) = imported(seldom.path(), "fdatasync-3.33.json", |report| {
        report["global options"]["fdatasync"] = "32".into();
        report["jobs"][0]["sync"]["lat_ns"]["N"] = 28.into();
    })
    .unwrap();
    assert_eq!(records[0].phases[0].roles[0].role, "writes");
    assert_eq!(records[0].case.options.durability, Durability::Async);
}

#[test]
fn a_job_without_figures_is_left_out_beside_a_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let layout = serde_json::json!({
        "jobname": "layout", "error": 0, "job options": { "create_only": "1" },
        "read": { "total_ios": 0 }, "write": { "total_ios": 0 },
    });
    let (run, records) = imported(dir.path(), "mix-3.33.json", |report| {
        report["jobs"].as_array_mut().unwrap().insert(0, layout.clone());
    })
    .unwrap();
    assert_eq!((records.len(), run.is_complete()), (1, true));
    let left_out = run.plan().unwrap().left_out.remove(0);
    assert_eq!(left_out.engine, "job `layout`");
    assert_eq!(left_out.reason, "it only made its file (create_only=1)");
    let alone = imported(dir.path(), "mix-3.33.json", |report| {
        report["jobs"] = serde_json::json!([layout]);
    });
    assert_eq!(crate::exit::from_error(&alone.unwrap_err()), kvdyno_record::exit::Exit::Usage);
}

#[test]
fn what_the_report_lacks_stands_in_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let (_, records) = imported(dir.path(), "mix-3.33.json", |report| {
        for side in ["read", "write"] {
            for times in ["lat_ns", "clat_ns", "slat_ns"] {
                report["jobs"][0][side][times] = serde_json::json!({ "N": 0 });
            }
        }
        report["global options"] = serde_json::json!({ "gtod_reduce": "1" });
    })
    .unwrap();
    let lacks = |record: &CaseRecord, words: &str| {
        record.not_measured.iter().any(|sentence| sentence.contains(words))
    };
    assert!(lacks(&records[0], "gtod_reduce=1"), "{:?}", records[0].not_measured);
    let dir = tempfile::tempdir().unwrap();
    let (_, records) = imported(dir.path(), "two-jobs-3.33.json", |report| {
        let jobs = report["jobs"].as_array_mut().unwrap();
        jobs.truncate(1);
        jobs[0]["job_runtime"] = 4_091.into();
        jobs[0]["read"]["runtime"] = 1_032.into();
        jobs[0]["job options"].as_object_mut().unwrap().remove("numjobs");
    })
    .unwrap();
    assert_eq!(records[0].case.threads, Some(4));
    assert!(lacks(&records[0], "several jobs under group_reporting are one entry here"));
}

#[test]
fn a_clients_job_is_a_case_with_its_host() {
    let dir = tempfile::tempdir().unwrap();
    let (_, records) = imported(dir.path(), "client-3.33.json", |report| {
        report["client_stats"][0]["hostname"] = "node-a".into();
    })
    .unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].case.options.values["client"].to_string(), "node-a");
}

#[test]
fn what_is_no_report_is_refused_with_how_one_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("etcd.fio");
    for (text, content) in [("[etcd]\nrw=write\n", "a job file"), ("", "an empty file")] {
        std::fs::write(&file, text).unwrap();
        let error = import(&file, dir.path(), &NamedArgs::default()).unwrap_err();
        assert_eq!(crate::exit::from_error(&error), kvdyno_record::exit::Exit::Usage);
        let complaint = crate::exit::complaint(&error).unwrap();
        let expected =
            format!("{} is not a fio report: expected its JSON, found {content}", file.display());
        assert_eq!(complaint.message, expected);
        assert!(complaint.hint.as_ref().unwrap().contains("--output-format=json+"));
    }
}
