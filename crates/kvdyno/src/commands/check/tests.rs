//! A consistent record passes; every kind of tampering is detected.

use super::{Answer, Check, all};
use kvdyno_analysis::fixture::{Fixture, FixtureCase};
use kvdyno_record::case::{CopyRecord, Copying, ThreadWindow};
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::workload::{Activity, Ends};

/// Writes the fixture as a run, and returns its failed checks.
fn failures(fixture: &Fixture) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let run = fixture.write(&dir.path().join("run"));
    failed(&all(&run))
}

fn failed(checks: &[super::Check]) -> Vec<String> {
    let failed = checks.iter().filter_map(|check| match &check.answer {
        Answer::Failed(words) => Some(format!("{} | {} | {words}", check.name, check.of)),
        _ => None,
    });
    failed.collect()
}

/// The one failure after `change` to a case.
fn failure_of(case: &str, change: impl FnOnce(&mut FixtureCase)) -> String {
    failure_or_none(case, change).unwrap()
}

/// The one failure after `change` to a case; none: every check passed.
fn failure_or_none(case: &str, change: impl FnOnce(&mut FixtureCase)) -> Option<String> {
    let mut fixture = Fixture::new();
    change(fixture.case(case));
    fixture.replan();
    let failures = failures(&fixture);
    assert!(failures.len() <= 1, "{failures:#?}");
    failures.into_iter().next()
}

#[test]
fn the_fixture_agrees_with_itself() {
    assert_eq!(failures(&Fixture::new()), Vec::<String>::new());
}

#[test]
fn a_count_that_differs_is_found() {
    let text = failure_of("lmdb_t1_r1", |case| {
        case.op("measure", "writer", "update").count += 1;
    });
    assert!(text.contains("counts 13643, series 13642, histogram 13642"), "{text}");
}

#[test]
fn a_case_that_was_not_copied_for_is_found() {
    let failure_after = |method, used_by: &[&str]| {
        failure_or_none("lmdb_t1_r1", |case| {
            case.record.case.database.is_state = true;
            case.record.database_copy =
                Some(CopyRecord { method, state: None, files: 1, bytes: 1, took_ns: 1 });
            case.record.database_used_by = used_by.iter().map(|&id| id.to_owned()).collect();
        })
    };
    assert_eq!(failure_after(Copying::Copy, &[]), None);
    // The case writes.
    assert!(failure_after(Copying::Reflink, &[]).unwrap().contains("made by Reflink"));
    assert!(failure_after(Copying::Copy, &["0001_x"]).unwrap().contains("used by 1 before"));
    let text = failure_of("lmdb_t1_r1", |case| {
        case.record.case.database.is_state = true;
    });
    assert!(text.contains("original"), "{text}");
}

#[test]
fn errors_and_times_that_differ_are_found() {
    let text = failure_of("lmdb_t1_r1", |case| {
        case.op("measure", "writer", "update").errors.insert(ErrorClass::Conflict, 3);
    });
    assert!(text.contains("errors: counts 3, series 0"), "{text}");
    let text = failure_of("lmdb_t1_r1", |case| {
        case.op("measure", "readers", "get").service_ns_max *= 2;
    });
    assert!(text.contains("times"), "{text}");
}

#[test]
fn operations_in_flight_are_told_of_in_whole_and_in_parts() {
    assert_eq!(failures(&Fixture::with_drive(2)), Vec::<String>::new());
    let failure_after = |change: fn(&str, &mut hdrhistogram::Histogram<u64>)| {
        let mut fixture = Fixture::with_drive(2);
        let case = fixture.case("uring-32_t1_r1");
        for (_, _, tag, histogram) in &mut case.histograms {
            change(tag, histogram);
        }
        let failures = failures(&fixture);
        assert_eq!(failures.len(), 1, "{failures:#?}");
        failures[0].clone()
    };
    let lost = failure_after(|tag, histogram| {
        if tag.ends_with("/submit") {
            histogram.record_n(2_000, 7).unwrap();
        }
    });
    assert!(lost.contains("submit histogram") && lost.contains("completion histogram"), "{lost}");
    let slower = failure_after(|tag, histogram| {
        if tag.ends_with("/completion") {
            let count = histogram.len();
            histogram.reset();
            histogram.record_n(900_000, count).unwrap();
        }
    });
    assert!(slower.contains("submission"), "{slower}");
}

#[test]
fn lost_keys_records_and_values_are_found() {
    let text = failure_of("lmdb_t1_r1", |case| {
        case.op("measure", "readers", "get").misses = 240;
    });
    assert!(text.contains("240 of 111,197"), "{text}");
    let text = failure_of("lmdb_t1_r1", |case| {
        case.op("measure", "readers", "get").wrong = 1;
    });
    assert!(text.contains("1 wrong values"), "{text}");
    let text = failure_of("lmdb_load_r1", |case| {
        case.phase("verify").verified.as_mut().unwrap().counted = Some(632_121);
    });
    assert!(text.contains("632,121") && text.contains("1,000,000"), "{text}");
}

#[test]
fn fewer_bytes_at_the_device_than_given_are_found() {
    let text = failure_of("lmdb_load_r1", |case| {
        let load = case.phase("load");
        let before = load.before.device.as_ref().unwrap().write_bytes;
        load.synced.as_mut().unwrap().0.device.as_mut().unwrap().write_bytes = before + 4096;
    });
    assert!(text.contains("4096 bytes"), "{text}");
}

#[test]
fn unequal_windows_are_found() {
    let text = failure_of("lmdb_t1_r1", |case| {
        case.phase("measure").roles[1].window_ns *= 2;
    });
    assert!(text.contains("equal windows"), "{text}");
}

#[test]
fn threads_that_did_not_do_what_their_role_did_are_found() {
    let rewrite = |case: &mut FixtureCase, operations| {
        let role = &mut case.phase("measure").roles[1];
        let window_ns = role.window_ns;
        role.windows = vec![ThreadWindow { window_ns, operations }];
        role.ops.values().map(|op| op.count).sum::<u64>()
    };
    let mut fixture = Fixture::new();
    let case = fixture.case("lmdb_t1_r1");
    let done = rewrite(case, 0);
    rewrite(case, done);
    assert_eq!(failures(&fixture), Vec::<String>::new());
    let text = failure_of("lmdb_t1_r1", |case| {
        rewrite(case, 7);
    });
    assert!(text.contains("7 of ") && text.contains("operations"), "{text}");
}

#[test]
fn more_or_fewer_operations_than_asked_for_are_found() {
    let asked_for = |operations| {
        move |case: &mut FixtureCase| {
            let phases = &mut case.record.case.phases;
            let measure = phases.iter_mut().find(|phase| phase.name == "measure").unwrap();
            let Activity::Measure(mix) = &mut measure.work else { panic!() };
            mix.ends = Ends::after_operations(operations);
        }
    };
    let text = failure_of("lmdb_t1_r1", asked_for(7));
    assert!(text.contains("110957 of 7 "), "{text}");
    let mut fixture = Fixture::new();
    asked_for(110_957)(fixture.case("lmdb_t1_r1"));
    assert_eq!(failures(&fixture), Vec::<String>::new());
}

#[test]
fn what_cannot_be_checked_says_why() {
    let mut fixture = Fixture::new();
    fixture.case("lmdb_load_r1").phase("load").synced = None;
    let dir = tempfile::tempdir().unwrap();
    let checks = all(&fixture.write_partial(&dir.path().join("run")));
    assert_eq!(failed(&checks), Vec::<String>::new());
    let open: Vec<String> = checks
        .iter()
        .filter_map(|check| match &check.answer {
            Answer::NotCheckable(_) => Some(check.of.clone()),
            _ => None,
        })
        .collect();
    for of in ["SHA256SUMS", "0001_lmdb_load_r1 load", "0007_null_load_r1 load"] {
        assert!(open.iter().any(|open| open == of), "{of}: {open:#?}");
    }
}

#[test]
fn files_changed_added_or_gone_after_the_seal_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let run = Fixture::new().write(&dir.path().join("run"));
    std::fs::write(run.path.join("suite.toml"), "name = \"better\"\n").unwrap();
    std::fs::write(run.path.join("host/extra.txt"), "").unwrap();
    std::fs::remove_file(run.path.join("cases/0001_lmdb_load_r1/log.txt")).unwrap();
    let failed = failed(&all(&run));
    assert_eq!(failed.len(), 1, "{failed:#?}");
    for name in ["suite.toml", "host/extra.txt", "log.txt"] {
        assert!(failed[0].contains(name), "{failed:?}");
    }
}

#[test]
fn files_that_cannot_be_read_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let run = Fixture::new().write_partial(&dir.path().join("run"));
    std::fs::write(run.path.join("cases/0001_lmdb_load_r1/case.json"), "{").unwrap();
    std::fs::write(run.path.join("cases/0002_lmdb_t1_r1/latency.hlog"), "Tag=x\n").unwrap();
    let failed = failed(&all(&run));
    assert!(failed.iter().any(|text| text.contains("0001_lmdb_load_r1/case.json")), "{failed:?}");
    assert!(failed.iter().any(|text| text.contains("latency.hlog")), "{failed:?}");
}

#[test]
fn what_is_not_checkable_is_said_once_for_each_reason() {
    let check = |of: &str, answer| Check::new("name", of, answer);
    let unknown = |why: &str| Answer::NotCheckable(why.to_owned());
    let checks = [
        check("a", unknown("no scan")),
        check("b", Answer::Ok),
        check("c", unknown("no scan")),
        check("d", unknown("no room")),
        check("e", Answer::Failed("1 of 2".to_owned())),
        check("f", Answer::Failed("1 of 2".to_owned())),
    ];
    let checks: Vec<&Check> = checks.iter().collect();
    let short = [
        "not checkable: a and 1 more: no scan",
        "not checkable: d: no room",
        "FAILED: e: 1 of 2",
        "FAILED: f: 1 of 2",
    ];
    assert_eq!(super::details(&checks, false), short);
    assert_eq!(super::details(&checks, true).len(), checks.len());
}

#[test]
fn counts_say_what_became_of_the_rest() {
    assert_eq!(super::numbers(36, 0, 0), "all 36 hold");
    assert_eq!(super::numbers(1, 0, 0), "it holds");
    assert_eq!(super::numbers(33, 1, 2), "33 of 36 hold, 1 fails, 2 are not checkable");
    assert_eq!(super::numbers(0, 1, 0), "0 of 1 holds, 1 fails");
    assert_eq!(super::numbers(0, 0, 3), "none of 3", "not checkable");
}
