//! Answers of the hand-made run.

use super::answers;
use crate::answers::summary::Summary;
use crate::fixture::{Fixture, FixtureCase};
use kvdyno_record::case::Outcome;
use kvdyno_record::claim::{Bound, Cell, Claim, Relation, Side, Test};
use kvdyno_record::engine::Durability;
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::host::Drive;
use kvdyno_record::workload::{Activity, Rate, Schedule};

fn sentences(summary: &Summary) -> Vec<String> {
    let answers = answers(summary, summary.search.as_ref());
    answers.into_iter().map(|a| format!("{}: {}", a.workload, a.sentence)).collect()
}

#[test]
fn each_workload_has_its_sentence() {
    assert_eq!(
        sentences(&Fixture::new().summary()),
        [
            "load: LMDB loads 1.13 times as many records per second as RocksDB (2 trials: too few \
             to be sure).",
            "measure: At 1 reader and 1 writer: LMDB reads 1.31 times as many keys per second as \
             RocksDB (2 trials: too few to be sure); RocksDB writes 1.45 times as many records \
             per second as LMDB (2 trials: too few to be sure).",
        ]
    );
}

/// The fixture's `RocksDB` cases become LMDB cases on another volume.
#[test]
fn an_engine_on_two_volumes_is_compared_with_itself() {
    let mut fixture = Fixture::new();
    for case in fixture.cases.iter_mut().filter(|case| case.record.case.engine == "rocksdb") {
        "lmdb".clone_into(&mut case.record.case.engine);
        "LMDB".clone_into(&mut case.record.case.label);
    }
    let drive = Drive { name: "loop0".to_owned(), ..Drive::default() };
    fixture.put_on_volume("_rocksdb_", "xfs", &drive, true);
    fixture.put_on_volume("_lmdb_", "ext4", &drive, true);
    fixture.put_on_volume("_null_", "ext4", &drive, true);
    let summary = fixture.summary();
    let text = sentences(&summary);
    let by_volume: Vec<_> = text.iter().filter(|text| text.contains("by volume")).collect();
    assert_eq!(
        by_volume,
        [
            "load, LMDB by volume: LMDB on ext4 loads 1.13 times as many records per second as \
             LMDB on xfs (2 trials: too few to be sure).",
            "measure, LMDB by volume: At 1 reader and 1 writer: LMDB on ext4 reads 1.31 times as \
             many keys per second as LMDB on xfs (2 trials: too few to be sure); LMDB on xfs \
             writes 1.45 times as many records per second as LMDB on ext4 (2 trials: too few to be \
             sure).",
        ]
    );
    // On one volume there is no other engine to compare it with.
    assert!(text.iter().any(|text| text.starts_with("load, on xfs: LMDB loads 122 k")), "{text:?}");
    let role = |volume: &str| {
        let group = summary.groups.iter().find(|group| {
            group.volume.as_deref() == Some(volume) && group.threads == Some(1) && group.competes()
        });
        group.unwrap().runs[0].roles[0].relative_volume.clone().unwrap()
    };
    assert_eq!((role("ext4").cell(), role("xfs").base), ("1.00".to_owned(), "ext4".to_owned()));
    assert_eq!(role("xfs").cell(), "0.77?");
}

#[test]
fn four_trials_are_enough_for_a_range() {
    let mut fixture = Fixture::new();
    for (trial, add) in [(1, 2), (2, 2)] {
        let again: Vec<_> =
            fixture.cases.iter().filter(|case| case.record.case.trial == trial).cloned().collect();
        for mut case in again {
            case.record.case.trial += add;
            case.record.case.id = case.record.case.id.replace("_r", "_again_r");
            fixture.plan.cases.push(case.record.case.clone());
            fixture.cases.push(case);
        }
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("LMDB reads 1.31 (1.31 to 1.31) times as many keys"), "{text}");
}

#[test]
fn one_trial_has_no_spread() {
    let mut fixture = Fixture::new();
    fixture.cases.retain(|case| case.record.case.trial == 1);
    fixture.plan.cases.retain(|case| case.trial == 1);
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("as RocksDB (one trial: no spread known)"), "{text}");
}

#[test]
fn other_durability_classes_are_other_workloads() {
    let mut fixture = Fixture::new();
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "rocksdb") {
        case.options.durability = Durability::Async;
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("measure, durability async: At 1 reader"), "{text}");
    assert!(!text.contains("times as many"), "{text}");
}

#[test]
fn three_engines_are_ranked_and_a_missing_figure_has_its_reason() {
    let mut fixture = Fixture::new();
    for case in &mut fixture.cases {
        if case.record.case.engine == "null" {
            let worker = case.record.worker.as_mut().unwrap();
            worker.description.engine.capabilities.stores_nothing = false;
        }
    }
    for case in &mut fixture.plan.cases {
        case.options.durability = Durability::Commit;
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("null reads the most keys per second: "), "{text}");
    assert!(
        text.contains(" times LMDB") && text.contains(" (2 trials: too few to be sure)"),
        "{text}"
    );
    assert!(
        text.contains("; RocksDB did not fit (0 of 2 trials)") || text.contains(" times RocksDB"),
        "{text}"
    );
}

#[test]
fn the_share_of_the_drive_has_its_uncertainty() {
    let sentence = |trials| {
        let answers = answers(&Fixture::with_drive(trials).summary(), None);
        answers.into_iter().find(|answer| answer.workload == "measure").unwrap().sentence
    };
    let sure = sentence(4);
    let words = "Of the raw-device ceiling (2 threads at queue depth 1, psync: 9.29 k I/Os of \
                 4.00 KiB per second), LMDB reaches 87 % (83 to 93 %), limited by the latency of \
                 single reads; RocksDB reaches 62 % (59 to 66 %), limited by the CPU.";
    assert!(sure.ends_with(words), "{sure}");
    let unsure = sentence(2);
    assert!(unsure.contains("(2 trials: too few to be sure), limited by the latency"), "{unsure}");
    assert!(!unsure.contains("uring-32") && !unsure.contains("bare drive"), "{unsure}");
}

#[test]
fn loads_with_overlapping_trials_differ_where_their_pairs_agree() {
    let mut fixture = Fixture::with_trials(4);
    // Without the work that loads leave behind, which differs.
    for phase in fixture.cases.iter_mut().flat_map(|case| &mut case.record.phases) {
        if phase.kind == "settle" {
            phase.wall_ns = 0;
        }
        phase.synced.iter_mut().for_each(|(_, took_ns)| *took_ns = 0);
    }
    let sentences = sentences(&fixture.summary());
    let words = "load: LMDB loads 1.06 (1.05 to 1.06) times as many records per second as RocksDB.";
    assert_eq!(sentences[0], words);
}

/// A range from 51 to 222 % of the drive gives no answer, and 119 % gives none.
#[test]
fn a_range_that_spans_the_raw_device_gives_no_answer() {
    let answer = |spread: &[u64]| {
        let mut fixture = Fixture::with_drive(4);
        for (trial, percent) in (1..).zip(spread) {
            let case = fixture.case(&format!("lmdb_t1_r{trial}"));
            let phase = case.phase("measure");
            let before = phase.before.device.clone().unwrap();
            let after = phase.after.device.as_mut().unwrap();
            after.reads = before.reads + (after.reads - before.reads) * percent / 100;
        }
        sentences(&fixture.summary()).join("\n")
    };
    assert!(answer(&[100; 4]).contains("LMDB reaches 87 %"), "{}", answer(&[100; 4]));
    for spread in [[60, 100, 110, 200], [150; 4]] {
        let text = answer(&spread);
        assert!(!text.contains("LMDB reaches") && text.contains("RocksDB reaches"), "{text}");
    }
}

/// The first line of every screen, for each kind of run.
#[test]
fn the_headline_is_the_answer() {
    let headline = |fixture: &Fixture| fixture.summary().answer[0].clone();
    // For a mix, the line names the slowest operation: fast reads must not hide its p99.
    assert_eq!(
        headline(&Fixture::with_mixed_role(4)),
        "LMDB: 11.9 k ops/s at 1 thread, 1.19x RocksDB (1.19 to 1.19); update p99 722 us (RocksDB \
         497)"
    );
    let mut alone = Fixture::with_mixed_role(4);
    alone.cases.retain(|case| case.record.case.engine == "lmdb");
    alone.plan.cases.retain(|case| case.engine == "lmdb");
    assert_eq!(headline(&alone), "LMDB: 22.5 k ops/s at 2 threads; update p99 722 us");
    assert_eq!(
        headline(&Fixture::with_trials(1)),
        "readers: LMDB 11.1 k gets/s, 1.31x RocksDB (1 trial), p99 85.0 us (RocksDB 111); writer: \
         RocksDB 1.97 k updates/s, 1.45x LMDB (1 trial), p99 476 us (LMDB 691)"
    );
    assert_eq!(
        headline(&Fixture::with_drive_alone(3)),
        "9.34 k reads/s, p99 202 us at depth 1, 2 threads (psync-2); 58.8 k reads/s, p99 513 us at \
         depth 32 (uring-32)"
    );
    assert_eq!(
        headline(&Fixture::field(4)),
        "randomread, RAM 28.0 MiB, durability commit: direct fastest at 1 thread, 11.9 k gets/s; \
         SQLite slowest, 2.2x (2.0 to 2.4); p99 79.3 us (others 83.8 to 174); SurrealKV did not \
         fit. Also readwhilewriting readers, readagain, RAM 512 MiB: direct 1.06x LMDB; overwrite, \
         deletehalf: direct 1.07x rocksdb-tuned; durability async: 6.69 k gets/s; rangescan: \
         libmdbx 1.01x LMDB; rangescan, durability async: 3.64 k scans/s; RAM 512 MiB, durability \
         async: 95.6 k gets/s"
    );
    let mut none = Fixture::new();
    for case in &mut none.cases {
        case.record.outcome = Outcome::DoesNotFit { message: "killed".to_owned() };
        case.record.phases.clear();
    }
    let text = headline(&none);
    assert_eq!(
        text,
        "no figures: LMDB did not fit (0 of 2 trials) and RocksDB did not fit (0 of 2 \
                      trials)"
    );
}

#[test]
fn no_sentence_compares_void_figures() {
    // The faster one, and the slower one.
    for (void, name, valid) in [("lmdb", "LMDB", "RocksDB"), ("rocksdb", "RocksDB", "LMDB")] {
        let mut fixture = Fixture::with_trials(4);
        fixture.make_void(&format!("{void}_t1_r1"));
        let summary = fixture.summary();
        let headline = &summary.answer[0];
        assert!(headline.starts_with(&format!("readers: {valid} ")), "{headline}");
        assert_eq!(headline.matches(name).count(), 1, "{headline}");
        assert!(headline.contains(&format!("; {name} is void: debug-build")), "{headline}");
        let sentence = sentences(&summary).into_iter().find(|text| text.starts_with("measure:"));
        let sentence = sentence.unwrap();
        assert!(sentence.contains(&format!("; {name} is void: debug-build")), "{sentence}");
        assert!(!sentence.contains("times as many"), "{sentence}");
    }
}

/// A job that fio ran as well has fio's rate beside its own; fio's run is not listed as a job.
#[test]
fn what_fio_makes_of_a_job_is_beside_it() {
    let mut fixture = Fixture::with_drive_alone(4);
    let by_fio = |case: &mut FixtureCase| {
        let planned = &mut case.record.case;
        planned.engine = "fio".to_owned();
        for name in [&mut planned.label, &mut planned.id, &mut planned.key] {
            *name = name.replace("psync-2", "psync-2-fio");
        }
    };
    let own = |case: &&FixtureCase| case.record.case.label == "psync-2";
    let mut cases: Vec<FixtureCase> = fixture.cases.iter().filter(own).cloned().collect();
    cases.iter_mut().for_each(by_fio);
    fixture.cases.extend(cases);
    fixture.replan();
    let text = fixture.summary().answer[0].clone();
    let words = "(psync-2); fio itself: 9.29 k reads/s, equal to kvdyno's; 58.6 k reads/s";
    assert!(text.contains(words), "{text}");
}

/// A claim that a time of a bare drive stays below a bound precedes the drive's rates. Trials with
/// too few samples are the reason where it is undecided, not the number of trials.
#[test]
fn a_claim_about_a_drive_is_the_headline() {
    let cell = Cell {
        phase: "measure".to_owned(),
        role: Some("mixed".to_owned()),
        op: Some("update".to_owned()),
        engine: "mix-70-30".to_owned(),
        figure: "service_ns_p99".to_owned(),
        ..Cell::default()
    };
    let headline = |bound: f64, short: bool| {
        let mut fixture = Fixture::with_drive_alone(4);
        for case in &mut fixture.cases {
            if case.record.case.label != "mix-70-30" {
                continue;
            }
            let written = hlog::tag("measure", "mixed", "update", Kind::Service);
            let is_short = short && case.record.case.trial > 1;
            for (.., tag, histogram) in &mut case.histograms {
                if is_short && *tag == written {
                    histogram.clear();
                    histogram.record_n(685_000, 400).unwrap();
                }
            }
        }
        let relation =
            Relation { left: Side::Figure(cell.clone()), test: Test::Below(Bound::Number(bound)) };
        let (text, holds) = ("so".to_owned(), "so".to_owned());
        fixture.plan.claims = vec![Claim { text, holds, relation, needs: Vec::new() }];
        fixture.summary().answer[0].clone()
    };
    let met = headline(10e6, false);
    assert!(met.contains("threshold 10.0 ms: met; 9.29 k reads/s"), "{met}");
    let missed = headline(1e5, false);
    assert!(missed.starts_with("write p99 "), "{missed}");
    assert!(missed.contains("threshold 100 us: not met; "), "{missed}");
    let open = headline(10e6, true);
    let short = "not every trial has enough samples: p99 needs 1,000 samples";
    let why = &format!("undecided (mix-70-30: {short}); ");
    assert!(open.contains(why), "{open}");
}

/// More than half of LMDB's 2,000 reads per second are never begun.
#[test]
fn a_client_that_fell_behind_its_schedule_is_named() {
    let mut fixture = Fixture::new();
    for case in &mut fixture.plan.cases {
        for phase in &mut case.phases {
            if let Activity::Measure(mix) = &mut phase.work {
                mix.roles[0].rate = Some(Rate::new(2_000.0, Schedule::Poisson));
            }
        }
    }
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let role = &mut fixture.case(trial).phase("measure").roles[0];
        role.offered_per_s = Some(2_000.0);
        role.backlog = 1_000_000_000;
    }
    let summary = fixture.summary();
    let answer = summary.answer.join("\n");
    assert!(answer.contains("LMDB fell behind: ") && !answer.contains("RocksDB fell"), "{answer}");
}
