//! Samples of trials, added and counted by function.

use super::*;
use crate::fixture::Fixture;
use kvdyno_record::profile::CallPath;

#[test]
fn samples_of_trials_are_added_by_function() {
    let summary = Fixture::with_profile().summary();
    let [role, flush] = &summary.profile[..] else { panic!("{:?}", summary.profile) };
    let (sampled, flush) = (&role.sampled, &flush.sampled);
    let trials = sampled.trials;
    assert!(trials > 1);
    assert_eq!(
        (sampled.samples, sampled.cut, sampled.lost),
        (1000 * trials, 20 * trials, 2 * trials)
    );
    assert_eq!(
        (flush.owner, &*flush.threads, flush.samples),
        (ThreadOwner::Engine, "flush", 40 * trials)
    );
    let of = |name: &str| {
        let function = role.functions.iter().find(|function| function.name == name).unwrap();
        (function.own / trials, function.total / trials, function.origin)
    };
    // It calls itself: counted once.
    assert_eq!(of("mdb_node_search"), (450, 800, Origin::Engine));
    assert_eq!(of("memcmp"), (300, 300, Origin::System));
    assert_eq!(of("filemap_read"), (100, 100, Origin::Kernel));
    assert_eq!(of("kvdyno_worker::hot::closed_loop"), (100, 1000, Origin::LoadGenerator));
    assert_eq!(role.functions[0].name, "mdb_node_search");
    assert!(role.functions.iter().all(|function| function.own > 0));
    // All samples' time, per operation.
    let ns = sampled.ns_per_op(sampled.samples).unwrap();
    let all_ns = sampled.samples as f64 / 99.0 * 1e9;
    assert!((ns * sampled.operations as f64 / all_ns - 1.0).abs() < 1e-9);
    assert!(sampled.is_incomplete() && !flush.is_incomplete() || flush.lost > 0);
}

#[test]
fn a_run_without_a_profile_has_none() {
    assert_eq!(Fixture::new().summary().profile, []);
}

/// Paths that a damaged or a foreign file may contain.
#[test]
fn paths_that_lead_nowhere_are_left_out() {
    let threads = ThreadsProfile {
        name: "readers".to_owned(),
        owner: ThreadOwner::Role,
        samples: 9,
        cut: 0,
        stacks: vec![(0, 1), (1, 2), (2, 3), (7, 3)],
    };
    let file = ProfileFile {
        functions: vec![kvdyno_record::profile::Function {
            name: "a".to_owned(),
            module: String::new(),
        }],
        // A loop, a function that is not there.
        paths: vec![CallPath(Some(1), 0), CallPath(Some(0), 0), CallPath(None, 5)],
        ..ProfileFile::default()
    };
    let mut tree = CallTree::default();
    tree.add(&file, &threads);
    tree.add_up();
    let functions = tree.functions();
    assert_eq!(functions.len(), 1);
    assert_eq!((functions[0].own, functions[0].total), (3, 3));
}

#[test]
fn calls_too_narrow_to_be_seen_are_not_drawn() {
    let mut tree = CallTree::default();
    let function = |name: &str| kvdyno_record::profile::Function {
        name: name.to_owned(),
        module: "lib.so".to_owned(),
    };
    let file = ProfileFile {
        functions: ["start", "wide", "narrow"].map(function).to_vec(),
        paths: vec![CallPath(None, 0), CallPath(Some(0), 1), CallPath(Some(0), 2)],
        ..ProfileFile::default()
    };
    let threads = ThreadsProfile {
        name: "readers".to_owned(),
        owner: ThreadOwner::Role,
        samples: 10_001,
        cut: 0,
        stacks: vec![(1, 10_000), (2, 1)],
    };
    tree.add(&file, &threads);
    tree.add_up();
    let phase = PhaseProfile { phase: "reads".to_owned(), ..PhaseProfile::default() };
    let mut profiled = Profiled { tree, ..Profiled::empty(0, &phase, &threads, 99) };
    profiled.sampled.samples = 10_001;
    let flame = Flame::from(&profiled);
    let names: Vec<&str> = flame.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names, ["start", "wide"]);
    let expected = [
        FlameCall(-1, 0, Origin::Engine, 10_001, 0),
        FlameCall(0, 1, Origin::Engine, 10_000, 10_000),
    ];
    assert_eq!(flame.calls, expected);
}
