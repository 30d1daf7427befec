//! The frozen record: every figure, table and file made from it stays the same, byte for byte.

mod field;
mod width;

use crate::cli::ViewArgs;
use crate::printer::Printer;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::{Durability, ErrorClass, OptionKind, OptionSpec, Value};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::tier::{Memory, SwapRecord, Tier, TierRecord};
use kvdyno_record::usage::DeviceUsage;
use kvdyno_record::workload::{Activity, Rate, Schedule};
use kvdyno_render::screen::Ending;
use kvdyno_render::{long, wide};
use std::path::PathBuf;

/// The record as format 1.0 wrote it.
fn frozen() -> PathBuf {
    let root = PathBuf::from(env!("KVDYNO_SOURCE"));
    root.join("fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_7f3a")
}

fn shown(summary: &Summary, wide: bool) -> String {
    let (printer, captured) = Printer::new_captured();
    let view = ViewArgs { full: true, wide, ..ViewArgs::default() };
    super::print(summary, &view, &Ending::default(), &printer).unwrap();
    captured.out()
}

/// Returns the text on one line, however it was wrapped.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the frozen record again. This is permitted only before its format is released.
#[test]
#[ignore = "overwrites fixtures/records/v1.0"]
fn freeze() {
    let path = frozen();
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    Fixture::new().write(&path);
}

#[test]
fn a_frozen_record_has_the_same_tables_forever() {
    let summary = Summary::read(&RunDir::open(frozen()).unwrap()).unwrap();
    insta::assert_snapshot!("show", shown(&summary, false));
    insta::assert_snapshot!("show_wide", shown(&summary, true));
    assert_eq!(summary.verdict, Exit::Ok);
}

#[test]
fn a_frozen_record_has_the_same_exports_forever() {
    let summary = Summary::read(&RunDir::open(frozen()).unwrap()).unwrap();
    let csv = String::from_utf8(long::csv(&summary).unwrap()).unwrap();
    let of_one: Vec<&str> = csv
        .lines()
        .filter(|line| line.starts_with("run,") || line.contains("0002_lmdb_t1_r1"))
        .collect();
    insta::assert_snapshot!("figures_csv", of_one.join("\n"));
    for (name, csv) in wide::tables(&summary).unwrap() {
        insta::assert_snapshot!(format!("{name}_csv"), String::from_utf8(csv).unwrap());
    }
}

#[test]
fn tables_fit_a_terminal_of_100_columns() {
    for summary in [Fixture::new().summary(), Fixture::with_drive(2).summary()] {
        let longest = kvdyno_render::tables::all(&summary, false)
            .iter()
            .flat_map(|titled| {
                format!("{}\n{}", titled.table.text(), titled.aid)
                    .lines()
                    .map(str::len)
                    .collect::<Vec<_>>()
            })
            .max();
        assert!(longest <= Some(100), "{longest:?}");
    }
}

#[test]
fn every_figure_of_a_row_is_in_the_catalogue_and_has_a_reason_where_it_is_missing() {
    let summary = Fixture::with_drive(2).summary();
    for row in long::rows(&summary) {
        assert!(c::ALL.iter().any(|definition| definition.name == row.metric), "{}", row.metric);
        assert!(row.value.is_some() || row.missing.is_some(), "{row:?}");
    }
}

#[test]
fn a_percentile_is_the_median_of_each_trials_own() {
    let summary = Fixture::new().summary();
    let role = &summary.groups[1].runs[0].roles[1];
    let p999 = role.metrics.get(&c::SERVICE_P999).unwrap();
    // Each trial has enough samples for p99.9, but both together have too few for p99.99.
    assert_eq!(p999.n, 2);
    let fixture = Fixture::new();
    let dir = tempfile::tempdir().unwrap();
    let run = fixture.write(&dir.path().join("run"));
    let evidence = Evidence::read(&run).unwrap();
    let group = &summary.groups[1];
    let mut each = Vec::new();
    for case in evidence.cases.iter().filter(|case| case.case.key == group.key) {
        let mut histogram = hlog::histogram();
        for ((phase, role_name, _, kind), samples) in case.latencies().unwrap() {
            let kinds =
                (phase == group.runs[0].phase, role_name == role.role, kind == Kind::Service);
            if kinds == (true, true, true) {
                samples.add_to(&mut histogram);
            }
        }
        each.push(histogram.value_at_quantile(0.999) as f64);
    }
    let [one, other] = each[..] else { panic!("{each:?}") };
    assert_eq!(p999.value, Some(f64::midpoint(one, other)));
    let p9999 = role.metrics.get(&c::SERVICE_P9999).unwrap();
    assert_eq!(p9999.value, None);
    assert_eq!(p9999.missing.as_deref(), Some("p99.99 needs 100,000 samples"));
}

#[test]
fn write_amplification_is_counted_to_the_end_of_the_sync() {
    let summary = Fixture::new().summary();
    let run = &summary.groups[1].runs[0];
    let amplification = run.metrics.value(&c::WRITE_AMPLIFICATION).unwrap();
    assert!((amplification - 41.2).abs() < 0.01, "{amplification}");
    let mut unsynced = Fixture::new();
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let case = unsynced.case(trial);
        case.phase("measure").synced = None;
        // The settle phase would end with a sync of its own; windows have none between them.
        case.record.case.phases.pop();
    }
    unsynced.replan();
    let summary = unsynced.summary();
    let metric = summary.groups[1].runs[0].metrics.get(&c::WRITE_AMPLIFICATION).unwrap();
    assert_eq!(metric.value, None);
    assert!(metric.missing.is_some());
}

#[test]
fn load_and_settle_are_counted_together_and_apart() {
    let summary = Fixture::new().summary();
    let metrics = &summary.groups[0].load.as_ref().unwrap().metrics;
    let [both, load, settle] =
        [&c::DEVICE_WRITE_BYTES, &c::DEVICE_WRITE_BYTES_LOAD, &c::DEVICE_WRITE_BYTES_SETTLE]
            .map(|definition| metrics.value(definition).unwrap());
    assert!((both - load - settle).abs() < 0.5, "{both} {load} {settle}");
    // 2.1 bytes per byte in the load, a tenth of that while settling.
    let amplification = metrics.value(&c::WRITE_AMPLIFICATION).unwrap();
    assert!((amplification - 2.31).abs() < 1e-6, "{amplification}");
}

#[test]
fn hostile_and_missing_things_do_not_break_the_tables() {
    let mut fixture = Fixture::new();
    let label = "\x1b[31mL\u{202e}MDB\n\r\t".to_owned();
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "lmdb") {
        case.label.clone_from(&label);
    }
    fixture.run.host_before =
        kvdyno_record::host::Host { hostname: "\x1b]0;owned\x07".to_owned(), ..Default::default() };
    for case in &mut fixture.cases {
        case.record.case.label.clone_from(&label);
        case.record.worker = None;
        case.record.process = None;
        case.record.not_measured = vec!["\x1b[2Jno cgroup".to_owned()];
        for phase in &mut case.record.phases {
            phase.before.device = None;
            phase.after.process = None;
            phase.database = None;
            phase.resident_after = None;
            phase.resident_before = None;
        }
    }
    let text = shown(&fixture.summary(), true);
    assert!(!text.contains(['\x1b', '\x07', '\u{202e}', '\r', '\t']), "{text}");
    assert!(text.contains("unknown    \\u{1b}[2Jno cgroup"), "{text}");
}

#[test]
fn the_overhead_is_taken_from_where_it_was_alone() {
    let mut fixture = Fixture::new();
    let of_rows = fixture.summary().load_generator.unwrap();
    assert!((of_rows.ns_per_op - 21.6).abs() < 0.1, "{of_rows:?}");
    fixture.run.load_generator_ns_per_op = Some(17.8);
    let summary = fixture.summary();
    let text = flat(&shown(&summary, false));
    assert!(text.contains("generator 17.8 ns/op") && text.contains("1.90 us"), "{text}");
    // Without either, the text says so.
    for case in &mut fixture.cases {
        case.record.worker = None;
    }
    fixture.run.load_generator_ns_per_op = None;
    assert!(fixture.summary().load_generator.is_none());
}

#[test]
fn a_load_that_ended_early_has_no_figures_and_is_no_base() {
    let mut fixture = Fixture::new();
    for trial in ["lmdb_load_r1", "lmdb_load_r2"] {
        let case = fixture.case(trial);
        case.record.outcome = Outcome::DiskFull { message: "no space".to_owned() };
        for op in case.phase("load").roles[0].ops.values_mut() {
            op.items = 1_000;
        }
    }
    let summary = fixture.summary();
    let load = |engine: &str| {
        let group =
            summary.groups.iter().find(|group| group.engine == engine && group.load.is_some());
        group.and_then(|group| group.load.as_ref()).unwrap()
    };
    let [lmdb, rocksdb] = ["lmdb", "rocksdb"].map(load);
    assert_eq!(lmdb.metrics.value(&c::RECORDS_PER_S), None);
    assert!(rocksdb.metrics.value(&c::RECORDS_PER_S).is_some());
    assert!(rocksdb.relative.is_none(), "{:?}", rocksdb.relative);
    let why = "disk full: 1000 of 1000000 records were loaded";
    let missing = long::rows(&summary).into_iter().filter_map(|row| row.missing);
    assert!(missing.collect::<Vec<_>>().iter().any(|missing| missing.contains(why)));
}

#[test]
fn a_partial_run_is_readable() {
    let mut fixture = Fixture::new();
    fixture.cases.truncate(4);
    fixture.run.ended_unix_ns = None;
    let dir = tempfile::tempdir().unwrap();
    let run = fixture.write_partial(&dir.path().join("run"));
    // A case in flight when everything was killed, and one with a damaged record.
    std::fs::create_dir(run.path.join("cases/0006_rocksdb_t2_r1")).unwrap();
    std::fs::create_dir(run.path.join("cases/0007_null_load_r1")).unwrap();
    std::fs::write(run.path.join("cases/0007_null_load_r1/case.json"), "{\"for").unwrap();
    let summary = Summary::read(&run).unwrap();
    assert_eq!((summary.run.cases_recorded, summary.run.cases_planned), (4, 18));
    let text = shown(&summary, false);
    assert!(text.contains("record damaged") && text.contains("run-partial: 4 of 18"), "{text}");
}

#[test]
fn a_later_attempt_takes_the_place_of_an_earlier_one() {
    let mut fixture = Fixture::new();
    fixture.case("lmdb_t1_r1").record.outcome =
        Outcome::Killed { signal: 9, message: "in phase measure".to_owned() };
    let dir = tempfile::tempdir().unwrap();
    let run = fixture.write_partial(&dir.path().join("run"));
    let again = Fixture::new().cases.swap_remove(1);
    let mut record = again.record;
    record.attempt = 2;
    let case = run.case(&record.case, 2);
    std::fs::create_dir(&case.path).unwrap();
    case.write_record(&record).unwrap();
    let summary = Summary::read(&run).unwrap();
    assert!(summary.groups[1].trials.iter().all(|trial| trial.done));
}

#[test]
fn figures_of_a_case_that_failed_are_not_shown_and_those_of_a_killed_one_are_as_far_as_they_go() {
    let mut fixture = Fixture::new();
    fixture.case("lmdb_t1_r1").record.outcome =
        Outcome::Failed { class: ErrorClass::Corrupt, message: "lost 7 keys".to_owned() };
    let killed = Outcome::Killed { signal: 9, message: "in phase verify".to_owned() };
    fixture.case("lmdb_load_r1").record.outcome = killed;
    let summary = fixture.summary();
    let rate = summary.groups[1].runs[0].roles[0].metrics.get(&c::OPS_PER_S).unwrap();
    assert_eq!((rate.n, rate.missing.as_deref()), (1, Some("failed")));
    let load = summary.groups[0].load.as_ref().unwrap();
    // The load was not verified.
    assert_eq!(load.metrics.get(&c::RECORDS_PER_S).unwrap().n, 1);
    assert_eq!(summary.groups[0].describe_outcomes().as_deref(), Some("1 of 2 killed (9)"));
    assert_eq!(summary.verdict, Exit::EngineFailed);
}

#[test]
fn an_open_loop_shows_service_and_response_apart() {
    let mut fixture = Fixture::new();
    let open = |work: &mut Activity| {
        if let Activity::Measure(mix) = work {
            mix.roles[0].rate = Some(Rate::new(2_000.0, Schedule::Poisson));
        }
    };
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "lmdb") {
        case.phases.iter_mut().for_each(|phase| open(&mut phase.work));
    }
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let case = fixture.case(trial);
        case.phase("measure").roles[0].offered_per_s = Some(2_000.0);
        let mut later = Vec::new();
        for (start, length, tag, samples) in &case.histograms {
            if let Some(tag) = tag.strip_suffix("get/service") {
                let mut slower = hlog::histogram();
                for value in samples.iter_recorded() {
                    let ns = value.value_iterated_to() * 10;
                    slower.record_n(ns, value.count_at_value()).unwrap();
                }
                later.push((*start, *length, format!("{tag}get/response"), slower));
            }
        }
        case.histograms.extend(later);
    }
    let summary = fixture.summary();
    let metrics = &summary.groups[1].runs[0].roles[0].metrics;
    let [service, response] =
        [&c::SERVICE_P99, &c::RESPONSE_P99].map(|definition| metrics.value(definition).unwrap());
    assert!((response / service - 10.0).abs() < 0.1, "{service} {response}");
    insta::assert_snapshot!("open_loop", shown(&summary, false));
}

#[test]
fn a_limit_that_was_not_held_is_not_shown_as_one() {
    let with_limit = flat(&shown(&Fixture::new().summary(), false));
    assert!(with_limit.contains("RAM limit 28.0 MiB: data is 3.95 x the limit"), "{with_limit}");
    let mut fixture = Fixture::new();
    for case in &mut fixture.cases {
        case.record.ram_limit.enforced_by = None;
    }
    let text = flat(&shown(&fixture.summary(), false));
    let line = "RAM limit 28.0 MiB, NOT HELD: data is 0.005 x this machine's";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("(its RAM limit was NOT HELD)"), "{text}");
    for case in &mut fixture.plan.cases {
        case.ram_limit_bytes = None;
    }
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains("no RAM limit: data is 0.005 x this machine's 24.0 GiB"), "{text}");
}

/// One engine in swap is next to the others. Its name in the RAM column, its tier above the tables
/// and its swap traffic among the costs show that.
#[test]
fn what_is_below_a_limit_is_shown() {
    let mut fixture = Fixture::new();
    let memory = Memory::Zram { bytes: 256 << 20, swappiness: 100 };
    let tier = Tier { name: "squeezed".to_owned(), memory };
    let swap = |bytes| {
        let device = "zram1".to_owned();
        let write_bytes = 3 * bytes;
        Some(DeviceUsage { device, read_bytes: bytes, write_bytes, ..DeviceUsage::default() })
    };
    for case in fixture.cases.iter_mut().filter(|case| case.record.case.engine == "lmdb") {
        let record = &mut case.record;
        record.case.tier = Some(tier.clone());
        record.case.key += "+squeezed";
        record.ram_limit.tier = Some(TierRecord {
            name: "squeezed".to_owned(),
            swap: Some(SwapRecord {
                device: "zram1".to_owned(),
                bytes: 256 << 20,
                compression: Some("lzo-rle".to_owned()),
                ..SwapRecord::default()
            }),
            swappiness: Some(60),
            node: None,
            not_enforced: vec!["swappiness 100 was asked for".to_owned()],
        });
        for phase in &mut record.phases {
            phase.before.swap = swap(0);
            phase.after.swap = swap(200_000_000);
        }
    }
    fixture.replan();
    let summary = fixture.summary();
    let text = flat(&shown(&summary, false));
    let line = "tier squeezed: 256 MiB of swap on zram1 (lzo-rle), memory of the machine's outside \
                of the limit, swappiness 60; NOT HELD: swappiness 100 was asked for";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("LMDB 28.0 MiB with squeezed NOT HELD 1 readers"), "{text}");
    assert!(
        text.contains("LMDB squeezed") || text.contains("RAM 28.0 MiB with squeezed"),
        "{text}"
    );
    let swapped_in = summary.groups[1].runs[0].metrics.value(&c::SWAP_IN_BYTES_PER_OP).unwrap();
    let swapped_out = summary.groups[1].runs[0].metrics.value(&c::SWAP_OUT_BYTES_PER_OP).unwrap();
    assert!(swapped_in > 0.0 && (swapped_out / swapped_in - 3.0).abs() < 1e-9);
    let others = summary.groups.iter().filter(|group| group.label != "LMDB");
    let metrics = others.flat_map(|group| &group.runs).map(|run| &run.metrics);
    assert!(metrics.into_iter().all(|all| all.get(&c::SWAP_IN_BYTES_PER_OP).is_none()));
}

#[test]
fn an_engine_that_has_not_run_is_told_from_one_that_could_not() {
    let mut fixture = Fixture::new();
    fixture.cases.retain(|case| case.record.case.engine == "lmdb");
    let dir = tempfile::tempdir().unwrap();
    let run = fixture.write_partial(&dir.path().join("run"));
    let text = flat(&shown(&Summary::read(&run).unwrap(), false));
    let not_run = text.contains("engine RocksDB: ");
    assert!(not_run && !text.contains("kvdyno-rocksdb"), "{text}");
    let mut fixture = Fixture::new();
    for case in fixture.cases.iter_mut().filter(|case| case.record.case.engine == "rocksdb") {
        case.record.worker = None;
        let message = "no worker `kvdyno-rocksdb` was found".to_owned();
        case.record.outcome = Outcome::NotRun { message };
    }
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains("RocksDB: no worker `kvdyno-rocksdb` was found"), "{text}");
}

#[test]
fn an_engine_without_files_is_no_failure_to_look() {
    let text = flat(&shown(&Fixture::new().summary(), false));
    let page_cache = "the page cache could not be inspected";
    assert!(text.contains("no files: ") && !text.contains(page_cache), "{text}");
    let mut fixture = Fixture::new();
    fixture.case("lmdb_t1_r1").phase("measure").resident_after = None;
    fixture.case("lmdb_t1_r2").phase("measure").resident_after = None;
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains(page_cache), "{text}");
}

#[test]
fn what_was_warned_of_beforehand_stays_in_sight() {
    let mut fixture = Fixture::new();
    fixture.plan.warnings = vec!["RocksDB may not fit".to_owned()];
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains("warned RocksDB may not fit"), "{text}");
}

#[test]
fn bytes_of_options_are_said_in_their_unit() {
    let mut fixture = Fixture::new();
    for case in fixture.cases.iter_mut().filter(|case| case.record.case.engine == "lmdb") {
        let spec = OptionSpec::new("cache", OptionKind::Bytes, Value::Integer(0), "Its cache.");
        case.record.worker.as_mut().unwrap().description.engine.options.push(spec);
        case.record.case.options.values.insert("cache".to_owned(), Value::Integer(64 << 20));
    }
    fixture.replan();
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains("cache = 64 MiB"), "{text}");
}

#[test]
fn durability_has_a_column_where_it_differs() {
    let column = "durability power loss threads clients";
    assert!(!flat(&shown(&Fixture::new().summary(), false)).contains(column));
    let mut fixture = Fixture::new();
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "lmdb") {
        case.options.durability = Durability::Async;
    }
    let text = flat(&shown(&fixture.summary(), false));
    assert!(text.contains(column), "{text}");
}

#[test]
fn a_row_that_is_not_of_all_trials_is_marked() {
    let mut fixture = Fixture::new();
    let ended = Outcome::Interrupted { message: "in `measure`".to_owned() };
    for case in ["lmdb_t1_r1", "rocksdb_t1_r1", "rocksdb_t1_r2"] {
        fixture.case(case).record.outcome = ended.clone();
        fixture.case(case).phase("measure").stopped = true;
    }
    fixture.case("rocksdb_t1_r2").record.outcome = Outcome::NotRun { message: String::new() };
    let text = shown(&fixture.summary(), false);
    let row = |engine: &str, role: &str| {
        let mut rows = text.lines().filter(|line| line.starts_with(engine) && line.contains(role));
        rows.next().unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let marked = row("LMDB", "readers");
    assert!(marked.contains(" [1] ") && text.contains("\n[1] "), "{text}");
    let mixed = "2 of 2 not done: 1 interrupted, 1 not run";
    assert!(row("RocksDB", "readers").contains("- [") && text.contains(mixed), "{text}");
    assert!(!row("RocksDB", "readers").contains("8,"), "{text}");
}

/// Engines next to the drive's ceiling.
#[test]
fn a_run_with_ceilings() {
    let summary = Fixture::with_drive(4).summary();
    insta::assert_snapshot!("with_drive", shown(&summary, false));
}

#[test]
fn a_run_of_the_drive_alone() {
    let summary = Fixture::with_drive_alone(2).summary();
    insta::assert_snapshot!("drive_alone", shown(&summary, true));
}
