//! Figures compared with their raw record: bugs 1, 9, 12, 13 and 15 of other tools.

use super::loops::samples;
use super::scratch::{Done, Scratch, record, records};
use super::suites::{GET, UPDATE, reads, suite};
use super::workers::{needs, report_skip};
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};
use kvdyno_record::files::RunDir;
use kvdyno_record::hlog::{self, Kind};
use serde_json::Value;
use std::fs;
use std::time::{Duration, UNIX_EPOCH};

fn phase<'r>(case: &'r CaseRecord, name: &str) -> &'r PhaseRecord {
    case.phases.iter().find(|phase| phase.name == name).unwrap()
}

/// A figure of an exported summary: the first of this name at or below `value`.
fn figure<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(fields) if fields.get("name").is_some_and(|field| field == name) => {
            Some(value)
        }
        Value::Object(fields) => fields.values().find_map(|field| figure(field, name)),
        Value::Array(items) => items.iter().find_map(|item| figure(item, name)),
        _ => None,
    }
}

fn export(scratch: &Scratch) -> Value {
    let done: Done = scratch.run(&["export", "--json"]);
    done.assert_code(0);
    done.json()
}

/// Bug 1: random keys with repeats fill 63.2 % of the key space. Here every key exists.
#[test]
fn after_a_load_in_random_order_every_key_is_found() {
    let test = "after_a_load_in_random_order_every_key_is_found";
    let scratch = Scratch::new();
    let mut suite = suite().data("records = 20_000\nvalue_bytes = 100\nverify = true").engine_as(
        "null",
        "null",
        "store = \"memory\"",
    );
    for engine in ["lmdb", "rocksdb"] {
        if needs(engine, test) {
            suite = suite.engine(engine);
        }
    }
    let suite = suite
        .load("order = \"random\"\nbatch = 500\nthreads = 2")
        .phase("verify", "samples = 20_000\ncount = true")
        .measure("operations = 20_000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    for (id, case) in records(&run) {
        assert_eq!(case.outcome, Outcome::Done, "{id}");
        if id.contains("load") {
            let verified = phase(&case, "verify").verified.clone().unwrap();
            assert_eq!((verified.sampled, verified.hits, verified.wrong), (20_000, 20_000, 0));
            // The null engine returns any number of records, so there is nothing to count.
            let counted = (!id.contains("null")).then_some(20_000);
            assert_eq!((verified.counted, verified.expected), (counted, 20_000));
        } else {
            let get = &phase(&case, "measure").roles[0].ops["get"];
            assert_eq!((get.hits, get.misses, get.wrong), (20_000, 0, 0), "{id}");
        }
    }
    scratch.run(&["check"]).assert_code(0);
    let percent = figure(&export(&scratch), "found_percent").unwrap()["value"].clone();
    assert_eq!(percent, 100.0);
    scratch.assert_nothing_left();
}

/// Bug 9: an engine that returns a pointer into its map has not read the value. A value of 16 KiB
/// is read to its end: all its pages come from the disk, not only the first.
#[test]
fn values_in_a_map_are_touched_to_their_end() {
    const RECORDS: u64 = 400;
    let test = "values_in_a_map_are_touched_to_their_end";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite()
        .data(&format!("records = {RECORDS}\nvalue_bytes = \"16KiB\""))
        .engine("lmdb")
        .load("batch = 50")
        .phase("evict", "")
        .measure(&format!("operations = {RECORDS}"))
        .role("readers", &format!("{GET}\nkeys = {{ distribution = \"sequential\" }}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let case = record(&scratch.only_run(), "t1");
    let measure = phase(&case, "measure");
    assert_eq!(measure.roles[0].ops["get"].read_bytes, RECORDS * (16 * 1024 + 16));
    let cached = measure.resident_before.as_ref().map(|resident| resident.resident_bytes);
    let Some(before) = cached.filter(|bytes| *bytes < RECORDS * 1024) else {
        report_skip(
            "cachestat",
            test,
            &format!("the page cache cannot be emptied here: {cached:?}"),
        );
        return;
    };
    let touched = measure.resident_after.as_ref().unwrap().resident_bytes - before;
    assert!(touched >= RECORDS * 16 * 1024, "{touched} bytes came into memory");
    let (before, after) = (&measure.before.process, &measure.after.process);
    let faults = |usage: &Option<kvdyno_record::usage::ProcessUsage>| {
        usage.as_ref().map(|usage| usage.major_faults + usage.minor_faults).unwrap()
    };
    let faults = faults(after) - faults(before);
    assert!(faults >= RECORDS, "{faults} page faults for {RECORDS} values on pages of their own");
}

/// Bug 12: every reader supports counts beyond 32 bits. The counts are written into a record,
/// because five billion operations take too long.
#[test]
fn counts_past_32_bits_come_through() {
    const MANY: u64 = 5_000_000_000;
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    for seal in ["complete", "SHA256SUMS"] {
        fs::remove_file(run.path.join(seal)).unwrap();
    }
    let mut case = record(&run, "t1");
    let dir = run.case(&case.case, 1);
    let readers = &mut case.phases[0].roles[0];
    readers.windows[0].operations = MANY;
    let get = readers.ops.get_mut("get").unwrap();
    (get.count, get.hits, get.items) = (MANY, MANY, MANY);
    (get.service_ns, get.service_ns_max) = (MANY * 100, 100);
    dir.write_record(&case).unwrap();

    let mut histogram = hlog::histogram();
    histogram.record_n(100, MANY).unwrap();
    let log = dir.path.join("latency.hlog");
    fs::remove_file(&log).unwrap();
    let mut writer = hlog::Writer::create(&log, UNIX_EPOCH).unwrap();
    let tag = hlog::tag("measure", "readers", "get", Kind::Service);
    let second = Duration::from_secs(1);
    writer.write(Duration::ZERO, second, [(tag, &histogram)]).unwrap();

    let slices = dir.series().unwrap();
    let mut slices = slices.collect::<Result<Vec<_>, _>>().unwrap();
    slices.truncate(1);
    let counts = slices[0].roles.get_mut("readers").unwrap().get_mut("get").unwrap();
    (counts.count, counts.service_ns, counts.service_ns_max) = (MANY, MANY * 100, 100);
    let line = serde_json::to_string(&slices[0]).unwrap() + "\n";
    fs::write(dir.path.join("series.ndjson"), line).unwrap();

    assert_eq!(record(&run, "t1"), case);
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["check", "--all"]).assert_says("_t1_r1 measure/readers/get");
    let summary = export(&scratch);
    let operations = figure(&summary, "operations").unwrap();
    assert_eq!(operations["value"], MANY as f64);
    scratch.run(&["show", "--full"]).assert_says("readers");
}

/// Bug 13: write amplification counts all bytes written to the device, relative to keys and values.
#[test]
fn write_amplification_is_device_bytes_over_keys_and_values() {
    let test = "write_amplification_is_device_bytes_over_keys_and_values";
    let scratch = Scratch::new();
    let engine = if needs("lmdb", test) { ("lmdb", "") } else { ("null", "store = \"memory\"") };
    let suite = suite()
        .data("records = 5000\nkey_bytes = 64\nvalue_bytes = 100")
        .engine_as("engine", engine.0, engine.1)
        .load("batch = 500")
        .measure("operations = 1000")
        .role("writer", UPDATE);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let summary = export(&scratch);
    for (case, name, records) in [("load", "load", 5000), ("t1", "measure", 1000)] {
        let case = record(&run, case);
        let phase = phase(&case, name);
        let written: u64 = phase.roles[0].ops.values().map(|op| op.write_bytes).sum();
        assert_eq!(written, records * (64 + 100), "keys are data, too");
        let settled = self::phase(&case, &format!("{name}-settle"));
        let Some((synced, _)) = &settled.synced else { panic!("{name} was not synced") };
        let (Some(before), Some(after)) = (&phase.before.device, &synced.device) else {
            report_skip("disk", test, "the volume has no device with counters");
            return;
        };
        let raw = (after.write_bytes - before.write_bytes) as f64 / written as f64;
        let groups = summary["groups"].as_array().unwrap();
        let rows = |group: &Value| {
            if name == "load" { group["load"].clone() } else { group["runs"].clone() }
        };
        let row = groups.iter().map(rows).find(|row| figure(row, "write_amplification").is_some());
        let shown = figure(&row.unwrap(), "write_amplification").unwrap()["value"].clone();
        // Reading JSON can lose the last bit.
        let near = |shown: f64| (shown - raw).abs() <= raw * 1e-12;
        assert!(shown.as_f64().is_some_and(near), "{name}: {shown} is not {raw}");
        assert!(name != "load" || engine.0 == "null" || raw > 0.9, "{raw}: a load was written");
    }
}

/// Bug 15: the percentile over trials is the median of the trials' percentiles, not their mean.
#[test]
fn percentiles_over_trials_are_the_median_of_each_trials_own() {
    let scratch = Scratch::new();
    scratch
        .write("s.toml", &reads().trials(3).engine_as("null", "null", "latency_ns = 500").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let mut merged = hlog::histogram();
    let mut histograms = Vec::new();
    for trial in 1..=3 {
        let case = record(&run, &format!("t1_r{trial}"));
        let tag = ["measure", "readers", "get"];
        let samples = samples(&run, &case, tag, Kind::Service);
        merged.add(&samples).unwrap();
        histograms.push(samples);
    }
    let summary = export(&scratch);
    for (name, quantile) in [("service_ns_p50", 0.5), ("service_ns_p99", 0.99)] {
        let shown = figure(&summary, name).unwrap();
        let mut each: Vec<u64> =
            histograms.iter().map(|one| one.value_at_quantile(quantile)).collect();
        each.sort_unstable();
        assert_eq!(shown["value"], each[1] as f64, "{name}");
        assert_eq!(shown["per_trial"].as_array().unwrap().len(), 3);
        assert_eq!(shown["combine"], "median");
    }
    assert_eq!(figure(&summary, "operations").unwrap()["value"], merged.len() as f64);
    let _ = RunDir::open(run.path).unwrap();
}
