//! Tests of the estimates of time, written bytes and inserts.

use super::*;

const SECOND: u64 = 1_000_000_000;

/// Returns the small suite on one engine that stores data, with a phase that ends after a number of
/// operations of this role.
fn counted(operations: u64, role: &str) -> String {
    let text = SMALL.replace("name = \"null\"", "name = \"rocksdb\"");
    let text = text.replace("duration = \"5s\"", &format!("operations = {operations}"));
    text.replace("mix = [{ op = \"get\" }]", role)
}

/// The other roles work until the first has done its count.
#[test]
fn a_count_is_of_the_first_role() {
    let writer = "[[phase.role]]\nname = \"writer\"\nmix = [{ op = \"insert\" }]";
    let role = format!("rate = 100\nmix = [{{ op = \"get\" }}]\n{writer}");
    let plan = plan(&counted(100_000, &role), &["run.database=fresh"]);
    let case = &plan.cases[0];
    assert!(case.budget_ns >= 5 * 1_000 * SECOND, "{}", case.budget_ns);
    assert!(case.shape.records_max > 1_000_000_000, "{}", case.shape.records_max);
    // In 1000 s the writer inserts 10 M records in an estimated closed loop.
    let space = plan.estimate.databases[&case.id];
    assert!(space.abs_diff(11_000_000 * 116 * 2) < 1_000, "{space}");
}

/// The default budget is five times the estimate.
#[test]
fn counted_operations_take_the_time_of_their_records_and_pauses() {
    let estimated_s = |operations: u64, role: &str| {
        plan(&counted(operations, role), &[]).cases.last().unwrap().budget_ns / SECOND / 5
    };
    let gets = "mix = [{ op = \"get\" }]";
    assert!(estimated_s(100_000, gets) <= 120, "at least ten minutes");
    assert!(estimated_s(100_000, &format!("think_time = \"100ms\"\n{gets}")) >= 10_000);
    assert!(estimated_s(10_000, "mix = [{ op = \"scan\", length = 100_000 }]") >= 580);
    assert!(estimated_s(1_000_000, "mix = [{ op = \"multiget\", count = 100 }]") >= 10_000);
}

/// All bytes of a count are written, however short it was estimated.
#[test]
fn counted_batches_write_all_of_their_records() {
    let text = counted(1_000, "mix = [{ op = \"batch\", count = 65_536 }]");
    let plan = plan(&text, &["data.value_bytes=1000", "run.trials=1"]);
    let user_bytes = 1_000 * 65_536 * 1_016;
    assert!(plan.estimate.write_bytes >= 3 * user_bytes, "{}", plan.estimate.write_bytes);
    assert!(plan.estimate.wall_ns >= user_bytes / 25_000_000 * SECOND, "{}", plan.estimate.wall_ns);
}

#[test]
fn reading_all_records_takes_time() {
    let warm = "[[phase]]\nkind = \"warm\"\n[[phase]]\nkind = \"measure\"";
    let warmed = SMALL.replace("[[phase]]\nkind = \"measure\"", warm);
    let estimated_ns = |text: &str, engine: &str| {
        let engine = format!("engine.null.name={engine}");
        let arguments = [engine.as_str(), "data.records=100M", "run.trials=1"];
        plan(text, &arguments).estimate.wall_ns
    };
    let warming_ns = |engine| estimated_ns(&warmed, engine) - estimated_ns(SMALL, engine);
    // 11.6 GB at 200 MB/s.
    assert_eq!(warming_ns("lmdb") / SECOND, 58);
    assert_eq!(warming_ns("null"), 0);
}
