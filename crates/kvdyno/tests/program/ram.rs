//! The RAM axis: the same work under three limits. That each was real is asserted by counts; how
//! fast it was, is not.

use super::limits::can_limit;
use super::locations::can_mount;
use super::scratch::{Scratch, record};
use super::suites::{GET, suite};
use super::workers::needs;
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};
use kvdyno_record::files::RunDir;

const MIB: u64 = 1 << 20;

/// From a third of the data to twice as much.
const LIMITS_MIB: [u64; 3] = [32, 56, 160];

fn measured(record: &CaseRecord) -> &PhaseRecord {
    record.phases.iter().find(|phase| phase.kind == "measure").unwrap()
}

/// What the volume's own device, which nobody else has, was read.
fn device_reads(record: &CaseRecord) -> u64 {
    let phase = measured(record);
    let reads = |snapshot: &kvdyno_record::usage::Snapshot| snapshot.device.as_ref().unwrap().reads;
    reads(&phase.after) - reads(&phase.before)
}

/// No more of the database is in memory than the limit allows, nor did the group ever have more.
fn assert_held(record: &CaseRecord, limit: u64) {
    assert_eq!(record.outcome, Outcome::Done, "{}", record.case.id);
    assert!(record.ram_limit.enforced_by.is_some());
    assert_eq!(record.ram_limit.requested_bytes, Some(limit));
    let group = record.ram_limit.group.unwrap();
    assert!(group.memory_peak_bytes.is_none_or(|peak| peak <= limit), "{group:?}");
    let phase = measured(record);
    let resident =
        |share: &Option<kvdyno_record::usage::Residency>| share.as_ref().unwrap().resident_bytes;
    let (before, after) = (resident(&phase.resident_before), resident(&phase.resident_after));
    assert!(before <= MIB, "{}: {before} bytes before", record.case.id);
    assert!(after <= limit, "{}: {after} bytes after", record.case.id);
    assert!(after > before, "{}: the cache is inside the limit, and used", record.case.id);
}

fn assert_axis(run: &RunDir, engine: &str) {
    let records = LIMITS_MIB.map(|mib| record(run, &format!("_{engine}_{mib}mib_on-ext4_t4_")));
    for (record, mib) in records.iter().zip(LIMITS_MIB) {
        assert_held(record, mib * MIB);
    }
    let reads = records.each_ref().map(device_reads);
    // The same keys in the same number: less memory, more of them from the device.
    assert!(reads[0] > reads[1] && reads[1] > reads[2], "{engine}: {reads:?}");
    assert!(reads[2] > 1000, "{engine}: it began cold: {reads:?}");
    let hits = records.each_ref().map(|record| record.ram_limit.group.unwrap().limit_hits);
    assert!(hits[0] > 0, "{engine}: the limit was met: {hits:?}");
}

#[test]
fn less_memory_is_more_reads_from_the_device() {
    let test = "less_memory_is_more_reads_from_the_device";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !can_mount(test) {
        return;
    }
    let engines: Vec<_> = ["lmdb", "rocksdb"].into_iter().filter(|it| needs(it, test)).collect();
    if engines.is_empty() {
        return;
    }
    let limits = LIMITS_MIB.map(|mib| format!("\"{mib}MiB\"")).join(", ");
    let mut suite = suite()
        .data("size = \"80MiB\"\nvalue_bytes = 1000")
        .rams(&format!("[{limits}]"))
        .volume("ext4", "kind = \"loop\"\nfilesystem = \"ext4\"");
    for engine in &engines {
        // The engine's own cache a share of the limit, as the studies had it; LMDB has none.
        let options = match *engine {
            "rocksdb" => "block_cache = \"25%\"\nwrite_buffer_size = \"2MiB\"",
            _ => "",
        };
        suite = suite.engine_as(engine, engine, options);
    }
    let suite = suite.load("batch = 500").phase("evict", "").measure("operations = 24_000");
    let suite = suite.role("readers", &format!("threads = 4\n{GET}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.run(&["show", "--full"]).assert_ok().assert_says("cached");
    let run = scratch.only_run();
    for engine in engines {
        assert_axis(&run, engine);
    }
    let not_real = scratch.run(&["show", "--json"]).json();
    let findings = not_real["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["id"] != "ram-limit-not-real"), "{findings:?}");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// A worker holds more than this by itself: that is a result, not a failure.
#[test]
fn an_engine_that_holds_more_than_the_limit_after_its_load_does_not_fit() {
    let test = "an_engine_that_holds_more_than_the_limit_after_its_load_does_not_fit";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !needs("lmdb", test) {
        return;
    }
    let suite = suite()
        .rams("\"1MiB\"\nwhile_loading = false")
        .run("database = \"fresh\"")
        .engine("lmdb")
        .load("batch = 500")
        .phase("evict", "")
        .measure("operations = 1000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]);
    let outcome = &record(&scratch.only_run(), "lmdb").outcome;
    assert!(matches!(outcome, Outcome::DoesNotFit { .. }), "{outcome:?}");
    scratch.assert_nothing_left();
}

/// A random load of more data than RAM: without the limit at first, under it after the eviction.
#[test]
fn a_limit_can_begin_after_the_load() {
    let test = "a_limit_can_begin_after_the_load";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !needs("lmdb", test) {
        return;
    }
    let suite = suite()
        .data("size = \"80MiB\"\nvalue_bytes = 1000")
        .rams("\"32MiB\"\nwhile_loading = false")
        .run("database = \"fresh\"")
        .engine("lmdb")
        .load("order = \"random\"\nbatch = 500")
        .phase("evict", "")
        .measure("operations = 24_000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let record = &record(&scratch.only_run(), "lmdb");
    let loaded = record.phases[0].resident_after.as_ref().unwrap().resident_bytes;
    assert!(loaded > 64 * MIB, "{loaded} bytes of the load were in memory");
    assert_held(record, 32 * MIB);
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
