//! The conformance kit: the checks that an engine must pass before its results count.
//!
//! It is: a list of named checks that any [`Engine`] is put through, each on a fresh database, and
//! a [`Report`] of what passed, what was skipped because the engine does not claim it, and what
//! failed. It prints nothing and knows nothing of any engine.
//!
//! It is not: a benchmark, or a crash test. No check looks at a clock except to see that a limit is
//! kept, and none pulls the plug.
//!
//! The checks use an engine through trait objects (`erased`). They are compiled once, and a worker
//! adds only the calls of its engine.
//!
//! ```ignore
//! #[test]
//! fn conforms() {
//!     let scratch = tempfile::tempdir().unwrap();
//!     let report = kvdyno_engine::conformance::run::<Lmdb>(scratch.path());
//!     assert!(report.conforms(), "{report}");
//! }
//! ```

mod adjusted;
mod erased;
mod expiry;
mod field;
mod flight;
mod graph;
mod lifecycle;
mod model;
mod points;
mod report;
mod scans;
mod shared_threads;
mod threads;
mod transactions;
mod writes;

use crate::graph::GraphEngine;
use crate::{Description, Engine, Location, PlaceKind, Result};
use field::{Field, Outcome, Stop};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

pub use adjusted::{Adjust, Adjusted, Only};
pub use report::{Check, Report, Verdict};

/// Runs every check in directories (or files, for an engine of raw devices) that the kit makes
/// below `scratch` and removes again where the check passed.
pub fn run<E: Engine>(scratch: &Path) -> Report {
    let description = E::describe();
    let make_location = locations_below(scratch, &description);
    check_all(&Field::new(description, erased::open::<E>, make_location), true, CHECKS, |_| ())
}

/// Runs the checks of [`run`] and those of the engine's graph whose names contain `words`.
/// `begin` gets the name of each check before it is run: an engine that crashes leaves no report.
pub fn run_with_graph<G: GraphEngine>(
    scratch: &Path,
    words: &str,
    begin: impl FnMut(&str),
) -> Report {
    let mut checks = [CHECKS, GRAPH_CHECKS].concat();
    checks.retain(|(name, _)| name.contains(words));
    let description = G::Engine::describe();
    let make_location = locations_below(scratch, &description);
    let field = Field::new(description, erased::open_with_graph::<G>, make_location);
    check_all(&field, true, &checks, begin)
}

fn locations_below(scratch: &Path, description: &Description) -> field::MakeLocation<'static> {
    let kinds = &description.capabilities.places;
    let device = !kinds.contains(&PlaceKind::Directory) && kinds.contains(&PlaceKind::Device);
    let root = scratch.join("kvdyno-conformance");
    let mut number = 0;
    Box::new(move |name| {
        number += 1;
        let path = root.join(format!("{number:04}-{}", name.replace(' ', "-")));
        if device { device_file(&root, path) } else { fresh_directory(path) }
    })
}

/// Runs every check at locations that the caller makes, for servers and real devices.
/// `make_location` gets the name of the check, is called at least once for each, and must return an
/// empty database every time: another port, table or database number.
pub fn run_at<E: Engine>(make_location: impl FnMut(&str) -> Result<Location>) -> Report {
    let field = Field::new(E::describe(), erased::open::<E>, Box::new(make_location));
    check_all(&field, false, CHECKS, |_| ())
}

type NamedCheck = (&'static str, fn(&Field<'_>) -> Outcome);

/// The checks in the order a reader wants them to fail: the simplest first.
const CHECKS: &[NamedCheck] = &[
    ("describes itself", lifecycle::describes_itself),
    ("opens with every word of its options", lifecycle::opens_with_every_word),
    ("opens with every preset", lifecycle::opens_with_every_preset),
    ("round-trips in every durability class", lifecycle::round_trips_in_every_class),
    ("put get overwrite delete", points::round_trip),
    ("shows a value exactly once", points::shows_value_once),
    ("empty and long values", points::value_limits),
    ("keys at their limits", points::key_limits),
    ("multiget", points::multiget),
    ("operations in flight", flight::answers),
    ("clients that share threads", shared_threads::run_side_by_side),
    ("scan forward", scans::forward),
    ("scan reverse", scans::reverse),
    ("scan many records", scans::many_records),
    ("scan long records", scans::long_records),
    ("walk forward", scans::walk_forward),
    ("walk reverse", scans::walk_reverse),
    ("walks in turns", scans::walks_in_turns),
    ("batch in order", writes::batch_in_order),
    ("batch is atomic", writes::batch_is_atomic),
    ("read-modify-write", writes::read_modify_write),
    ("read-modify-write is atomic", writes::read_modify_write_is_atomic),
    ("records live for their time", expiry::ends),
    ("records in flight live for their time", expiry::ends_in_flight),
    ("transactions are all or nothing", transactions::all_or_nothing),
    ("transactions scan", transactions::scans),
    ("transactions are isolated", transactions::no_dirty_reads),
    ("transactions keep others' writes", transactions::keeps_others_writes),
    ("transactions lose no update", transactions::no_lost_updates),
    ("transactions report conflicts", transactions::conflicts),
    ("reopen keeps acknowledged data", lifecycle::reopen),
    ("sessions see each other's writes", threads::no_stale_reads),
    ("two writing sessions", threads::two_writers),
    ("many readers and a writer", threads::readers_and_writer),
    ("settles within its limit", lifecycle::settles_within_limit),
    ("counters and events", lifecycle::counters_and_events),
    ("random load of 20000 keys", lifecycle::random_load),
    ("agrees with a model", model::agrees),
];

const GRAPH_CHECKS: &[NamedCheck] = &[
    ("a graph has nodes", graph::nodes),
    ("a graph has links and counts", graph::links),
    ("a graph lists many links", graph::many_links),
    ("a graph is loaded and audited", graph::load),
    ("writers of a graph lose no count", graph::side_by_side),
];

fn check_all(
    field: &Field<'_>,
    remove: bool,
    checks: &[NamedCheck],
    mut begin: impl FnMut(&str),
) -> Report {
    let mut report = Report::new(&field.description);
    for &(name, check) in checks {
        begin(name);
        field.begin(name);
        let verdict = match catch_unwind(AssertUnwindSafe(|| check(field))) {
            Ok(Ok(())) => Verdict::Passed,
            Ok(Err(Stop::Skip(why))) => Verdict::Skipped(why),
            Ok(Err(Stop::Fail(what))) => Verdict::Failed(what),
            Err(panic) => Verdict::Failed(format!("panicked: {}", panic_text(&*panic))),
        };
        let locations = field.end();
        if remove && !matches!(verdict, Verdict::Failed(_)) {
            locations.iter().for_each(remove_location);
        }
        report.checks.push(Check { name, verdict });
    }
    report
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Makes a directory. `create_dir` rather than `create_dir_all` makes the last part of the path: an
/// existing directory is not an empty database.
fn fresh_directory(path: PathBuf) -> Result<Location> {
    std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
    std::fs::create_dir(&path)?;
    Ok(Location::Directory(path))
}

fn device_file(root: &Path, path: PathBuf) -> Result<Location> {
    const DEVICE_BYTES: u64 = 1 << 30;
    std::fs::create_dir_all(root)?;
    let file = std::fs::File::create_new(&path)?;
    file.set_len(DEVICE_BYTES)?;
    Ok(Location::Device(path))
}

/// Removes a location. Leftovers are no reason to fail an engine, so errors are ignored.
fn remove_location(location: &Location) {
    match location {
        Location::Directory(path) => drop(std::fs::remove_dir_all(path)),
        Location::Device(path) => drop(std::fs::remove_file(path)),
        Location::Server(_) => {}
    }
}
