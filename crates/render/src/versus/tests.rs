//! Comparisons of records made by hand.

use super::*;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_analysis::judge::versus::{
    Difference, FigureChoice, Question, Record, Refusal, Row, Sides, Verdict,
};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::Value;
use kvdyno_record::host::Drive;
use kvdyno_record::plan::WITHIN;
use kvdyno_record::tier::{Memory, SwapRecord, Tier, TierRecord};
use kvdyno_record::workload::Activity;

const TRIALS: u32 = 6;

fn record(fixture: &Fixture) -> Record {
    let dir = kvdyno_analysis::fixture::make_dir();
    Record::read(&fixture.write(&dir.path().join("run"))).unwrap()
}

/// A run that began later, its cases changed.
fn later(trials: u32, change: impl Fn(&mut kvdyno_record::case::CaseRecord)) -> Record {
    let mut fixture = Fixture::with_trials(trials);
    "2026-11-21T09-00-00Z_fixture_8a40".clone_into(&mut fixture.run.id);
    for case in &mut fixture.cases {
        change(&mut case.record);
    }
    fixture.replan();
    record(&fixture)
}

fn question(gate: Option<f64>) -> Question {
    Question { figures: FigureChoice::Usual, within: WITHIN, gate }
}

fn compared(base: &Record, new: &Record, gate: Option<f64>) -> Versus {
    Versus::compare(&one_each(base, new), &question(gate)).unwrap()
}

fn one_each<'r>(base: &'r Record, new: &'r Record) -> Sides<'r> {
    Sides::Runs { base: std::slice::from_ref(base), new: std::slice::from_ref(new) }
}

/// Four runs of one build, up to 1.5 % apart.
fn four(id: &str, change: impl Fn(&mut kvdyno_record::case::CaseRecord)) -> Vec<Record> {
    let run = |number: u64| {
        let mut run = later(TRIALS, |case| {
            change(case);
            for phase in &mut case.phases {
                phase.wall_ns += phase.wall_ns * number / 200;
                for role in &mut phase.roles {
                    role.window_ns += role.window_ns * number / 200;
                }
            }
        });
        run.figures.run.id = format!("{id}{number}");
        run
    };
    (0..4).map(run).collect()
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
    let matches = |row: &&Row| row.scope == scope && row.figure == figure;
    pair.rows.iter().find(matches).unwrap()
}

#[test]
fn a_slowdown_is_told_and_the_rest_is_not() {
    let (base, new) = (four("old", |_| ()), four("new", slower));
    let sides = Sides::Runs { base: &base, new: &new };
    let versus = Versus::compare(&sides, &question(Some(0.05))).unwrap();
    insta::assert_snapshot!("slower", text_of(&versus));
    let readers = row(&versus, "LMDB t1", "readers", "ops_per_s");
    assert!((readers.ratio.unwrap() - 10.0 / 11.0).abs() < 1e-9, "{readers:?}");
    assert!(!readers.paired && readers.base.n == 4);
    for row in versus.pairs.iter().flat_map(|pair| &pair.rows) {
        let slower = row.figure == "ops_per_s" && row.ratio.is_some_and(|ratio| ratio < 0.99);
        let open = [Verdict::Undecided, Verdict::Equal, Verdict::Described];
        assert!(slower || open.contains(&row.verdict), "{row:?}");
    }
    assert!(versus.pairs.iter().all(|pair| !pair.name.starts_with("null")), "the load generator");
    let [lost] = &versus.unpaired[..] else { panic!("{:?}", versus.unpaired) };
    assert_eq!(lost.reason, "neither side has its figures: does not fit");
    assert_eq!(versus.gate.unwrap().result, GateResult::Failed);
}

#[test]
fn runs_beside_their_like_are_equal_or_undecided() {
    let (base, new) = (four("old", |_| ()), four("new", |_| ()));
    let names = ["ops_per_s", "records_per_s", "service_ns_p50", "database_used_bytes"];
    let figures = FigureChoice::from_names(&names.map(str::to_owned)).unwrap();
    let all = Question { figures, ..question(Some(0.0)) };
    let versus = Versus::compare(&Sides::Runs { base: &base, new: &new }, &all).unwrap();
    assert_eq!(versus.counts.judged, versus.counts.undecided + versus.counts.equal);
    assert!(versus.counts.judged > 10 && versus.differences.is_empty(), "{:?}", versus.counts);
    let expected = 0.01 * versus.counts.judged as f64;
    assert!((versus.false_alarms_expected - expected).abs() < 1e-9);
    // The runs lie apart, so a little may hide; and the gate says so.
    let gate = versus.gate.unwrap();
    assert!(gate.result == GateResult::Undecided && !gate.may_hide.is_empty());
}

/// Without further runs nobody knows by how much runs of one build differ.
#[test]
fn two_single_runs_have_ratios_and_no_verdict() {
    let (base, new) = (record(&Fixture::with_trials(TRIALS)), later(TRIALS, slower));
    let versus = compared(&base, &new, Some(0.05));
    let readers = row(&versus, "LMDB t1", "readers", "ops_per_s");
    assert!(readers.ratio.is_some() && readers.verdict == Verdict::TooFew, "{readers:?}");
    assert_eq!(versus.gate.as_ref().unwrap().result, GateResult::CannotJudge);
    assert_eq!((versus.counts.judged, versus.counts.regressed), (0, 0));
    insta::assert_snapshot!("two_runs", text_of(&versus));
    // Two runs of each side are enough to begin with.
    let runs = four("run", |_| ());
    let sides = Sides::Runs { base: &runs[..2], new: &runs[2..] };
    assert!(Versus::compare(&sides, &question(None)).unwrap().counts.judged > 0);
}

#[test]
fn runs_of_one_side_repeat_each_other() {
    let (mut base, new) = (four("old", |_| ()), four("new", |_| ()));
    base[2].figures.host.kernel = "6.99.0".to_owned();
    let refusal = Versus::compare(&Sides::Runs { base: &base, new: &new }, &question(None));
    let refusal = refusal.unwrap_err().to_string();
    assert!(refusal.starts_with("runs old0 and old2 of one side differ: kernel: "), "{refusal}");
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
    assert_eq!((cpu.verdict, cpu.ratio), (Verdict::NotComparable, None));
    assert!(cpu.reason.as_ref().unwrap().contains("different mixes: LMDB 89 % get"), "{cpu:?}");
    let gate = versus.gate.as_ref().unwrap();
    assert!(gate.not_judged.iter().all(|entry| !entry.reason.contains("mixes")), "{gate:?}");
    let text = text_of(&versus);
    assert!(text.contains("RocksDB better") && text.contains("LMDB better"), "{text}");
    assert!(!text.contains("regressed") && !text.contains("improved"), "{text}");
}

/// What is void of one engine says nothing about the others.
#[test]
fn void_figures_are_not_judged_and_do_not_pass_the_gate() {
    let mut fixture = Fixture::with_trials(TRIALS);
    fixture.case("rocksdb_t1_r1").op("measure", "readers", "get").misses = 1;
    let run = record(&fixture);
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let versus = Versus::compare(&sides, &question(Some(0.05))).unwrap();
    let readers = row(&versus, "t1", "readers", "ops_per_s");
    assert_eq!((readers.verdict, readers.ratio), (Verdict::NotComparable, None));
    let not_judged = &versus.gate.as_ref().unwrap().not_judged;
    let is_readers = |figure: &str| figure.starts_with("readers");
    let entry = not_judged.iter().find(|entry| entry.figure.as_deref().is_some_and(is_readers));
    assert_eq!(entry.unwrap().reason, "void: keys-missing");
    assert!(versus.base.invalid.is_empty(), "{:?}", versus.base);
    assert_eq!(versus.new.invalid, ["keys-missing"]);
    let (base, mut new) = (four("old", |_| {}), four("new", |_| {}));
    new[2] = run;
    new[2].figures.run.id = "new2".to_owned();
    let sides = Sides::Runs { base: &base, new: &new };
    let [base, new] = sides.describe_sides();
    assert!(base.invalid.is_empty(), "{base:?}");
    assert_eq!(new.invalid, ["keys-missing"], "of the third run");
}

#[test]
fn few_trials_leave_the_gate_without_a_judgement() {
    let run = record(&Fixture::new());
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let versus = Versus::compare(&sides, &question(Some(0.05))).unwrap();
    assert_eq!((versus.counts.judged, versus.counts.regressed), (0, 0));
    assert_eq!(versus.gate.as_ref().unwrap().result, GateResult::CannotJudge);
    insta::assert_snapshot!("few_trials", text_of(&versus));
}

/// A gate that saw nothing has not passed; and a figure that stands nowhere is a mistake.
#[test]
fn a_gate_over_nothing_does_not_pass() {
    let run = record(&Fixture::with_trials(TRIALS));
    let sides = Sides::engines(&run, "lmdb", "RocksDB");
    let gate_of = |names: &[&str], gate| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Versus::compare(
            &sides,
            &Question { figures: FigureChoice::from_names(&names).unwrap(), ..question(gate) },
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
    let refusal = Versus::compare(&one_each(&base, &other), &question(None));
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
    let differences: Vec<String> = differences.iter().map(Difference::description).collect();
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
        fixture.put_on_volume("_", "xfs", &drive, true);
        record(&fixture)
    };
    let differences = compared(&on(128 << 10, "loop0"), &on(2 << 20, "loop7"), None).differences;
    let differences: Vec<String> = differences.iter().map(Difference::description).collect();
    assert_eq!(differences, ["volume xfs: readahead: 128KiB in BASE, 2MiB in NEW"]);
}

/// As much swap under another compression is listed as a difference; twice as much is other work.
#[test]
fn memory_tiers_of_one_name_that_differ_are_told() {
    let with = |bytes: u64, compression: &str| {
        let mut record = later(TRIALS, |case| {
            case.case.key += &format!("+{bytes}");
            let memory = Memory::Zram { bytes, swappiness: 60 };
            case.case.tier = Some(Tier { name: "z".to_owned(), memory });
            let compression = Some(compression.to_owned());
            let swap = Some(SwapRecord { bytes, compression, ..SwapRecord::default() });
            let tier_record = TierRecord { name: "z".to_owned(), swap, ..TierRecord::default() };
            case.ram_limit.tier = Some(tier_record);
        });
        record.figures.run.id += &format!("{bytes}{compression}");
        record
    };
    let differences = compared(&with(1 << 30, "lz4"), &with(1 << 30, "zstd"), None).differences;
    let differences: Vec<String> = differences.iter().map(Difference::description).collect();
    assert_eq!(differences, ["memory tier z: swap on: zram by lz4 in BASE, zram by zstd in NEW"]);
    let (base, new) = (with(1 << 30, "lz4"), with(2 << 30, "lz4"));
    let refused = Versus::compare(&one_each(&base, &new), &question(None));
    assert!(format!("{:?}", refused.unwrap_err()).contains("tier"));
}

#[test]
fn another_method_is_refused() {
    let base = record(&Fixture::with_trials(TRIALS));
    let mut new = later(TRIALS, |_| ());
    new.figures.method_version += 1;
    let refusal = Versus::compare(&one_each(&base, &new), &question(None));
    assert!(refusal.unwrap_err().to_string().starts_with("the methods differ: method version"));
    let new = later(TRIALS, |case| {
        if let Some(worker) = &mut case.worker {
            worker.description.protocol += 1;
        }
    });
    let refusal = Versus::compare(&one_each(&base, &new), &question(None));
    assert!(matches!(refusal, Err(Refusal::Method(_))), "{refusal:?}");
    let refusal = Versus::compare(&one_each(&base, &base), &question(None));
    assert!(matches!(refusal, Err(Refusal::Same(_))), "{refusal:?}");
}

#[test]
fn figures_are_known_by_their_names() {
    let choose = |name: &str| FigureChoice::from_names(&[name.to_owned()]);
    assert!(choose("ops_per_s").is_ok());
    let error = choose("p99_99").unwrap_err();
    assert_eq!(
        error.known,
        ["service_ns_p99_99", "response_ns_p99_99", "submit_ns_p99_99", "completion_ns_p99_99"]
    );
    assert!(choose("nonsense").unwrap_err().known.len() > 50);
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
    let judged = |job: &str| versus.pairs.iter().any(|pair| pair.name.contains(job));
    assert!(!["psync", "uring", "mix", "drive"].into_iter().any(judged), "no ceiling is judged");
    let no_ceilings = || {
        let mut fixture = Fixture::with_drive(4);
        fixture.cases.iter_mut().for_each(|case| case.record.case.ceiling = false);
        fixture.replan();
        fixture
    };
    let versus = compared(&record(&no_ceilings()), &later(no_ceilings()), None);
    assert!(versus.pairs.iter().any(|pair| pair.name == "mix-70-30 t2"));
    let base = record(&Fixture::with_drive_alone(4));
    let versus = compared(&base, &later(Fixture::with_drive_alone(4)), None);
    assert!(versus.pairs.iter().any(|pair| pair.name == "psync-2 t2"));
}

/// Nothing is claimed, and no gate passed, by latencies of several operations together.
#[test]
fn a_mix_is_compared_operation_by_operation() {
    let (base, new) =
        (record(&Fixture::with_mixed_role(TRIALS)), record(&Fixture::with_mixed_role(TRIALS)));
    let mut new = new;
    new.figures.run.id = "later".to_owned();
    for figures in [FigureChoice::Usual, FigureChoice::All] {
        let question = Question { figures, ..question(None) };
        let versus = Versus::compare(&one_each(&base, &new), &question).unwrap();
        let rows = || versus.pairs.iter().flat_map(|pair| &pair.rows);
        let latency = |row: &&Row| row.figure == "service_ns_p99";
        assert!(rows().filter(latency).all(|row| row.op.is_some()));
        let ops = rows().filter(latency).filter_map(|row| row.op.as_deref());
        assert_eq!(ops.take(2).collect::<Vec<_>>(), ["get", "update"]);
        assert!(rows().any(|row| row.figure == "ops_per_s" && row.op.is_none()));
    }
}

/// An older version has no `rocksdb_get_into_buffer`: its reads may take longer because of the
/// call.
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

/// Four pairs of which one is far off leave an interval that says nothing.
#[test]
fn an_interval_without_bounds_is_not_shown() {
    let mut table = Table::new([("interval".to_owned(), Column::Right)]);
    let (base, new) = (record(&Fixture::with_trials(6)), later(6, |_| ()));
    let mut row = compared(&base, &new, None).pairs[0].rows[0].clone();
    (row.ratio_low, row.ratio_high) = (Some(0.0001), Some(3.4e9));
    assert_eq!(interval(&row, &mut table), "- [1]");
    assert_eq!(
        table.footnotes.lines(),
        ["[1] too wide: its ends differ by more than a factor of 1,000"]
    );
    (row.ratio_low, row.ratio_high) = (Some(0.0381), Some(56.9));
    assert_eq!(interval(&row, &mut table), "- [1]");
    (row.ratio_low, row.ratio_high) = (Some(0.5), Some(2.0));
    assert_eq!(interval(&row, &mut table), "0.500 .. 2.000");
}

/// Counts of instructions are equal within a tenth of a percent, not within the share of rates.
#[test]
fn how_counts_are_judged_is_read_from_their_own_share() {
    let (base, new) = (record(&Fixture::with_trials(6)), later(6, |_| ()));
    let mut versus = compared(&base, &new, None);
    let flat = |versus: &Versus| reading_aid(versus).replace('\n', " ");
    let words = "within 3.00 % of 1; two builds differ by more than 1.00 %.";
    assert!(flat(&versus).contains(words), "{}", flat(&versus));
    for row in versus.pairs.iter_mut().flat_map(|pair| &mut pair.rows) {
        if row.primary {
            (row.figure, row.within) = ("instructions_per_op", COUNTED_BIAS);
        }
    }
    let words = "within 0.10 % of 1; two builds differ by more than 0.10 %.";
    assert!(flat(&versus).contains(words), "{}", flat(&versus));
    assert!(flat(&versus).contains("A count is called"), "{}", flat(&versus));
}

#[test]
fn false_alarms_are_never_none() {
    assert_eq!([0.03, 0.1, 1.26].map(expected_alarms), ["under 0.1", "about 0.1", "about 1.3"]);
}

#[test]
fn rates_below_one_are_told_apart() {
    assert_eq!(
        [0.43, 0.33, 1.4, 1234.6].map(|rate| figure("1/s", rate)),
        ["0.43", "0.33", "1.40", "1,235"]
    );
}
