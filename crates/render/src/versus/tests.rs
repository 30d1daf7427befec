//! Comparisons of records made by hand.

use super::*;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_analysis::judge::versus::{
    Calibration, DEFAULT_NOISE, Difference, FigureChoice, LEAST_NOISE, Noise, Question, Record,
    Refusal, Row, Sides, Verdict, twins,
};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::Value;
use kvdyno_record::host::Drive;
use kvdyno_record::tier::{Memory, SwapRecord, Tier, TierRecord};
use kvdyno_record::workload::Activity;

const TRIALS: u32 = 6;

fn record(fixture: &Fixture) -> Record {
    let folder = tempfile::tempdir().unwrap();
    Record::read(&fixture.write(&folder.path().join("run"))).unwrap()
}

/// A run that began later, its cases changed.
fn later(trials: u32, change: impl Fn(&mut kvdyno_record::case::CaseRecord)) -> Record {
    let mut fixture = Fixture::with_trials(trials);
    "2026-11-21T09-00-00Z_fixture_8a40".clone_into(&mut fixture.run.id);
    for case in &mut fixture.cases {
        change(&mut case.record);
    }
    fixture.plan.cases = fixture.cases.iter().map(|case| case.record.case.clone()).collect();
    record(&fixture)
}

fn question(gate: Option<f64>) -> Question {
    Question { figures: FigureChoice::Usual, noise: Noise::default(), gate }
}

fn compared(base: &Record, new: &Record, gate: Option<f64>) -> Versus {
    Versus::compare(&Sides::Runs { base, new }, &question(gate)).unwrap()
}

fn text_of(versus: &Versus) -> String {
    let lines = |lines: Vec<Line>| {
        lines.iter().map(|(_, word, text)| format!("{word:<10}{text}\n")).collect::<String>()
    };
    let (header, footer) = (lines(header(versus)), lines(footer(versus)));
    format!("{header}\n{}\n\n{footer}", table(versus).text())
}

/// Windows a tenth longer for the same operations.
fn slower(case: &mut kvdyno_record::case::CaseRecord) {
    if case.case.label == "LMDB" {
        for role in case.phases.iter_mut().flat_map(|phase| &mut phase.roles) {
            role.window_ns = role.window_ns * 11 / 10;
        }
    }
}

fn row<'v>(versus: &'v Versus, case: &str, scope: &str, figure: &str) -> &'v Row {
    let pair = versus.pairs.iter().find(|pair| pair.name == case).unwrap();
    let matches = |row: &&Row| row.place() == scope && row.figure == figure;
    pair.rows.iter().find(matches).unwrap()
}

/// The fixture's trials lie 3 % apart, 15 % in all: a tenth is just about seen in six.
#[test]
fn a_slowdown_is_told_and_the_rest_is_not() {
    let (base, new) = (record(&Fixture::with_trials(TRIALS)), later(TRIALS, slower));
    let versus = compared(&base, &new, Some(0.05));
    insta::assert_snapshot!("slower", text_of(&versus));
    let readers = row(&versus, "LMDB t1", "readers", "ops_per_s");
    assert!((readers.ratio.unwrap() - 10.0 / 11.0).abs() < 1e-9, "{readers:?}");
    assert!(!readers.paired);
    for row in versus.pairs.iter().flat_map(|pair| &pair.rows) {
        let slower = row.figure == "ops_per_s" && row.ratio.is_some_and(|ratio| ratio < 0.99);
        let open = matches!(row.verdict, Verdict::Undecided | Verdict::Equal);
        assert!(slower || open, "{row:?}");
    }
    assert!(versus.pairs.iter().all(|pair| !pair.name.starts_with("null")), "the load generator");
    let [lost] = &versus.unpaired[..] else { panic!("{:?}", versus.unpaired) };
    assert_eq!(lost.reason, "neither side has its figures: does not fit");
}

#[test]
fn a_record_beside_its_like_is_equal_or_undecided() {
    let (base, new) = (record(&Fixture::with_trials(TRIALS)), later(TRIALS, |_| ()));
    let all = Question { figures: FigureChoice::All, ..question(Some(0.0)) };
    let versus = Versus::compare(&Sides::Runs { base: &base, new: &new }, &all).unwrap();
    assert_eq!(versus.counts.judged, versus.counts.undecided + versus.counts.equal);
    assert!(versus.counts.judged > 50 && versus.differences.is_empty(), "{:?}", versus.counts);
    let expected = 0.05 * versus.counts.judged as f64;
    assert!((versus.false_alarms_expected - expected).abs() < 1e-9);
    // The trials lie apart, so a little may hide; and the gate says so.
    let gate = versus.gate.unwrap();
    assert!(gate.result == GateResult::Passed && !gate.may_hide.is_empty());
}

/// Inside one run trials are pairs: what is 3 % from trial to trial does not hide 20 %.
#[test]
fn engines_of_one_run_are_pairs() {
    let run = record(&Fixture::with_trials(TRIALS));
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let versus = Versus::compare(&sides, &question(Some(0.05))).unwrap();
    insta::assert_snapshot!("engines", text_of(&versus));
    let readers = row(&versus, "t1", "readers", "ops_per_s");
    assert!(readers.paired && readers.verdict == Verdict::Regressed, "{readers:?}");
    assert_eq!(versus.gate.unwrap().result, GateResult::Failed);
    let nobody = Sides::engines(&run, "lmdb", "leveldb");
    let refusal = Versus::compare(&nobody, &question(None)).unwrap_err();
    assert!(matches!(refusal, Refusal::NoEngine { .. }), "{refusal}");
    // The null engine's durability class is another: figures would not mean the same.
    let classes = Sides::engines(&run, "lmdb", "null");
    let refusal = Versus::compare(&classes, &question(None)).unwrap_err().to_string();
    assert!(refusal.contains("durability: commit in BASE, none in NEW"), "{refusal}");
}

/// One engine's writer makes most of its operations writes: its CPU time an operation is of another
/// kind of operation, and neither better nor worse.
#[test]
fn costs_of_different_mixes_are_not_ranked() {
    let mut fixture = Fixture::with_trials(TRIALS);
    for trial in 1..=TRIALS {
        let case = fixture.case(&format!("rocksdb_t1_r{trial}"));
        case.op("measure", "writer", "update").count *= 40;
    }
    let run = record(&fixture);
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let versus = Versus::compare(&sides, &question(Some(0.05))).unwrap();
    let cpu = row(&versus, "t1", "measure", "cpu_ns_per_op");
    assert_eq!((cpu.verdict, cpu.ratio, cpu.p), (Verdict::NotComparable, None, None));
    assert!(cpu.reason.as_ref().unwrap().contains("different mixes: LMDB 89 % get"), "{cpu:?}");
    let gate = versus.gate.as_ref().unwrap();
    assert!(gate.not_judged.iter().all(|entry| !entry.reason.contains("mixes")), "{gate:?}");
    let text = text_of(&versus);
    assert!(text.contains("RocksDB better") && text.contains("LMDB better"), "{text}");
    assert!(!text.contains("regressed") && !text.contains("improved"), "{text}");
}

#[test]
fn few_trials_leave_the_gate_without_a_judgement() {
    let (base, new) = (record(&Fixture::new()), later(2, slower));
    let versus = compared(&base, &new, Some(0.05));
    assert_eq!((versus.counts.judged, versus.counts.regressed), (0, 0));
    assert_eq!(versus.gate.as_ref().unwrap().result, GateResult::CannotJudge);
    insta::assert_snapshot!("few_trials", text_of(&versus));
}

/// A gate that saw nothing has not passed; and a figure that stands nowhere is a mistake.
#[test]
fn a_gate_over_nothing_does_not_pass() {
    let nothing = Gate::judge(0.05, &[], &[]);
    assert_eq!(nothing.result, GateResult::CannotJudge);
    assert_eq!(nothing.not_judged.len(), 1);
    let run = record(&Fixture::with_trials(TRIALS));
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let gate_of = |names: &[&str], gate| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Versus::compare(
            &sides,
            &Question { figures: FigureChoice::named(&names).unwrap(), ..question(gate) },
        )
    };
    for gate in [None, Some(0.05)] {
        let refusal = gate_of(&["ops_per_s", "response_ns_p99"], gate).unwrap_err();
        let Refusal::NoFigure { name, known } = refusal else { panic!("{refusal}") };
        assert_eq!(name, "response_ns_p99");
        assert!(known.contains(&"ops_per_s") && !known.contains(&name), "{known:?}");
    }
    assert_eq!(
        gate_of(&["ops_per_s"], Some(0.05)).unwrap().gate.unwrap().result,
        GateResult::Failed
    );
    // Neither way is better: that no figure got worse says nothing.
    let window = gate_of(&["window_ns"], Some(0.05)).unwrap().gate.unwrap();
    assert_eq!(window.result, GateResult::CannotJudge);
}

#[test]
fn a_case_that_is_lost_cannot_pass_the_gate() {
    let base = record(&Fixture::with_trials(TRIALS));
    let killed = later(TRIALS, |case| {
        if case.case.label == "LMDB" && case.case.threads == Some(2) {
            case.outcome = Outcome::Killed { signal: 9, message: String::new() };
            case.phases.retain(|phase| phase.kind != "measure");
        }
    });
    let versus = compared(&base, &killed, Some(0.05));
    let lost = row(&versus, "LMDB t2", "readers", "ops_per_s");
    assert_eq!(lost.verdict, Verdict::NotComparable);
    assert_eq!(lost.reason.as_deref(), Some("NEW: killed (9)"));
    assert_eq!(versus.gate.unwrap().result, GateResult::CannotJudge);
}

#[test]
fn other_work_is_refused_and_other_hosts_are_told() {
    let base = record(&Fixture::with_trials(TRIALS));
    let other = later(TRIALS, |case| {
        for phase in &mut case.case.phases {
            if let Activity::Measure(drive) = &mut phase.work {
                drive.ends.duration_ns = Some(7);
            }
        }
        if case.case.threads.is_some() {
            case.case.key += "+";
        }
    });
    let refusal = Versus::compare(&Sides::Runs { base: &base, new: &other }, &question(None));
    assert_eq!(
        refusal.unwrap_err().to_string(),
        "the workloads differ (LMDB t1): \
         phases.measure.ends.duration_ns: 10000000000 in BASE, 7 in NEW"
    );
    let mut moved = later(TRIALS, |case| {
        let options = &mut case.case.options.values;
        options.insert("readahead".to_owned(), Value::Boolean(true));
        case.case.key += "+";
    });
    moved.figures.host.kernel = "6.99.0".to_owned();
    let differences = compared(&base, &moved, None).differences;
    let differences: Vec<String> = differences.iter().map(Difference::words).collect();
    assert!(
        differences[0].starts_with("kernel: ") && differences[0].ends_with("6.99.0 in NEW"),
        "{differences:?}"
    );
    assert!(
        differences.iter().any(|words| words.starts_with("LMDB: option readahead: ")),
        "{differences:?}"
    );
}

/// The same volume by name, on a device that reads further ahead.
#[test]
fn volumes_of_one_name_that_differ_are_told() {
    let on = |read_ahead_bytes: u64, loop_device: &str| {
        let mut fixture = Fixture::with_trials(TRIALS);
        fixture.run.id += loop_device;
        let read_ahead_bytes = Some(read_ahead_bytes);
        let name = loop_device.to_owned();
        let drive = Drive { name, read_ahead_bytes, ..Drive::default() };
        fixture.on_volume("_", "xfs", &drive, true);
        record(&fixture)
    };
    let differences = compared(&on(128 << 10, "loop0"), &on(2 << 20, "loop7"), None).differences;
    let differences: Vec<String> = differences.iter().map(Difference::words).collect();
    assert_eq!(differences, ["volume xfs: readahead: 128KiB in BASE, 2MiB in NEW"]);
}

/// As much swap under another compression is told; twice as much is other work.
#[test]
fn memory_tiers_of_one_name_that_differ_are_told() {
    let with = |bytes: u64, compression: &str| {
        let mut record = later(TRIALS, |case| {
            case.case.key += &format!("+{bytes}");
            let memory = Memory::Zram { bytes, swappiness: 60 };
            case.case.tier = Some(Tier { name: "z".to_owned(), memory });
            let compression = Some(compression.to_owned());
            let swap = Some(SwapRecord { bytes, compression, ..SwapRecord::default() });
            let had = TierRecord { name: "z".to_owned(), swap, ..TierRecord::default() };
            case.ram_limit.tier = Some(had);
        });
        record.figures.run.id += &format!("{bytes}{compression}");
        record
    };
    let differences = compared(&with(1 << 30, "lz4"), &with(1 << 30, "zstd"), None).differences;
    let differences: Vec<String> = differences.iter().map(Difference::words).collect();
    assert_eq!(differences, ["memory tier z: swap on: zram by lz4 in BASE, zram by zstd in NEW"]);
    let (base, new) = (with(1 << 30, "lz4"), with(2 << 30, "lz4"));
    let refused = Versus::compare(&Sides::Runs { base: &base, new: &new }, &question(None));
    assert!(format!("{:?}", refused.unwrap_err()).contains("tier"));
}

#[test]
fn another_method_is_refused() {
    let base = record(&Fixture::with_trials(TRIALS));
    let mut new = later(TRIALS, |_| ());
    new.figures.method_version += 1;
    let refusal = Versus::compare(&Sides::Runs { base: &base, new: &new }, &question(None));
    assert!(refusal.unwrap_err().to_string().starts_with("the methods differ: method version"));
    let new = later(TRIALS, |case| {
        if let Some(worker) = &mut case.worker {
            worker.description.protocol += 1;
        }
    });
    let refusal = Versus::compare(&Sides::Runs { base: &base, new: &new }, &question(None));
    assert!(matches!(refusal, Err(Refusal::Method(_))), "{refusal:?}");
    let refusal = Versus::compare(&Sides::Runs { base: &base, new: &base }, &question(None));
    assert!(matches!(refusal, Err(Refusal::Same(_))), "{refusal:?}");
}

/// The fixture with LMDB under two labels and nothing else.
fn calibration() -> Record {
    let mut fixture = Fixture::with_trials(10);
    fixture.cases.retain(|case| case.record.case.label == "LMDB");
    for case in &mut fixture.cases {
        let planned = &mut case.record.case;
        let letter = if planned.trial % 2 == 0 { 'a' } else { 'b' };
        planned.label = format!("lmdb-{letter}");
        planned.key = format!("{letter}{}", planned.key);
        planned.trial = planned.trial.div_ceil(2);
    }
    fixture.plan.cases = fixture.cases.iter().map(|case| case.record.case.clone()).collect();
    record(&fixture)
}

#[test]
fn a_calibration_says_what_is_noise() {
    let record = calibration();
    let calibration = Calibration::from_record(&record).unwrap();
    assert_eq!((calibration.engine.as_str(), calibration.trials), ("LMDB 0.9.70", [5, 5]));
    assert!(resolution(&calibration).starts_with("this machine, now: ops/s differences below"));
    insta::assert_snapshot!("resolutions", resolutions(&calibration, false).text());
    let noise = Noise::by(Some(calibration), &Sides::engines(&record, "lmdb-a", "lmdb-b"));
    // Its trials lie 3 % apart, up to 30 %.
    assert!((0.03..0.3).contains(&noise.share(c::OPS_PER_S.name)), "{}", noise.share("ops_per_s"));
    // Never varies there: a quiet machine is still not taken for a perfect one.
    assert_eq!(noise.share(c::DATABASE_USED.name).to_bits(), LEAST_NOISE.to_bits());
    assert_eq!(noise.share("no such figure").to_bits(), DEFAULT_NOISE.to_bits());
    assert_eq!(twins(&Fixture::new().plan), None);
}

/// A quiet drive says nothing of a loud one, nor an engine of another.
#[test]
fn a_calibration_of_something_else_lowers_nothing() {
    let record = calibration();
    let least = |calibration: &Calibration| {
        let sides = Sides::engines(&record, "lmdb-a", "lmdb-b");
        let noise = Noise::by(Some(calibration.clone()), &sides);
        assert!(noise.share(c::OPS_PER_S.name) >= 0.03, "it raises still");
        noise.share(c::DATABASE_USED.name).to_bits()
    };
    let calibration = Calibration::from_record(&record).unwrap();
    assert_eq!(least(&calibration), LEAST_NOISE.to_bits());
    let other = Some("another".to_owned());
    let engine = Calibration { engine_name: "leveldb".to_owned(), ..calibration.clone() };
    let drive = Calibration { drive: other.clone(), ..calibration.clone() };
    let filesystem = Calibration { filesystem: other.clone(), ..calibration.clone() };
    let volume = Calibration { below: [[other.clone(), None, None]].into(), ..calibration.clone() };
    let tier = Calibration { below: [[None, None, other]].into(), ..calibration };
    for other in [engine, drive, filesystem, volume, tier] {
        assert_eq!(least(&other), DEFAULT_NOISE.to_bits(), "{other:?}");
    }
}

#[test]
fn figures_are_known_by_their_names() {
    let named = |name: &str| FigureChoice::named(&[name.to_owned()]);
    assert!(named("ops_per_s").is_ok());
    let error = named("p99_99").unwrap_err();
    assert_eq!(
        error.known,
        ["service_ns_p99_99", "response_ns_p99_99", "submit_ns_p99_99", "completion_ns_p99_99"]
    );
    assert!(named("nonsense").unwrap_err().known.len() > 50);
}

#[test]
fn ceilings_are_surroundings_beside_engines_and_jobs_by_themselves() {
    let later = |mut fixture: Fixture| {
        "2026-11-21T09-00-00Z_fixture_8a40".clone_into(&mut fixture.run.id);
        for case in fixture.cases.iter_mut().filter(|case| case.record.case.label == "psync-2") {
            for phase in &mut case.record.phases {
                phase.wall_ns = phase.wall_ns * 5 / 4;
            }
        }
        record(&fixture)
    };
    let base = record(&Fixture::with_drive(4));
    let versus = compared(&base, &later(Fixture::with_drive(4)), None);
    let difference = versus.differences.iter().find(|one| one.subject.contains("psync-2")).unwrap();
    assert_eq!(difference.subject, "the drive itself, psync-2 x 2");
    assert_eq!(difference.base, "9.29 k/s (9.16 k to 9.43 k)");
    assert_eq!(versus.differences.len(), 1, "{:?}", versus.differences);
    assert!(versus.pairs.iter().all(|pair| !pair.name.contains("sync")), "no ceiling is judged");
    assert!(versus.pairs.iter().any(|pair| pair.name == "mix-70-30 t2"));
    let base = record(&Fixture::of_drive_alone(4));
    let versus = compared(&base, &later(Fixture::of_drive_alone(4)), None);
    assert!(versus.pairs.iter().any(|pair| pair.name == "psync-2 t2"));
}

/// Nothing is claimed, and no gate passed, by latencies of several operations together.
#[test]
fn a_mix_is_compared_operation_by_operation() {
    let (base, new) = (record(&Fixture::mixed(TRIALS)), record(&Fixture::mixed(TRIALS)));
    let mut new = new;
    new.figures.run.id = "later".to_owned();
    for figures in [FigureChoice::Usual, FigureChoice::All] {
        let question = Question { figures, ..question(None) };
        let versus = Versus::compare(&Sides::Runs { base: &base, new: &new }, &question).unwrap();
        let rows = || versus.pairs.iter().flat_map(|pair| &pair.rows);
        let latency = |row: &&Row| row.figure == "service_ns_p99";
        assert!(rows().filter(latency).all(|row| row.op.is_some()));
        let ops = rows().filter(latency).filter_map(|row| row.op.as_deref());
        assert_eq!(ops.take(2).collect::<Vec<_>>(), ["get", "update"]);
        assert!(rows().any(|row| row.figure == "ops_per_s" && row.op.is_none()));
    }
}

/// An older version has no `rocksdb_get_into_buffer`: what its reads take longer may be the call's.
#[test]
fn versions_read_by_different_calls_are_marked_at_their_reads() {
    let mut fixture = Fixture::with_versions(&["LMDB", "RocksDB"]);
    let calls = ["get_pinned", "get_into_buffer"];
    let recorded = fixture.cases.iter_mut().map(|case| &mut case.record.case);
    for case in recorded.chain(&mut fixture.plan.cases) {
        let call = calls[usize::from(case.label == "engine-2.0")];
        case.options.values.insert("short_gets".to_owned(), call.into());
    }
    let run = record(&fixture);
    let sides = Sides::engines(&run, "engine-1.0", "engine-2.0");
    let versus = Versus::compare(&sides, &question(None)).unwrap();
    let why = "read by different calls: get_pinned in BASE, get_into_buffer in NEW";
    for row in versus.pairs.iter().flat_map(|pair| &pair.rows) {
        let marked = row.reason.as_deref().is_some_and(|text| text.contains(why));
        assert_eq!(marked, row.role.as_deref() == Some("readers"), "{row:?}");
    }
    assert!(text_of(&versus).contains(why));
}
