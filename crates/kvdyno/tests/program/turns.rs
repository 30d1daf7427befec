//! Two engines side by side, in turns.

use crate::scratch::{Scratch, record, records};
use kvdyno_record::case::{CaseRecord, Outcome, PhaseRecord};

const SUITE: &str = r#"
[suite]
name = "turns"
[data]
records = 20_000
value_bytes = 100
[run]
trials = 1
database = "fresh"
slice = "100ms"
turns = "200ms"
[[engine]]
name = "null"
[[engine]]
name = "lmdb"
durability = "async"
[[phase]]
kind = "load"
[[phase]]
kind = "measure"
name = "reads"
duration = "1s"
[[phase.role]]
name = "readers"
threads = 2
mix = [{ op = "get" }]
[[phase]]
kind = "measure"
name = "writes"
duration = "500ms"
[[phase.role]]
name = "writers"
mix = [{ op = "update" }]
"#;

fn phase<'r>(record: &'r CaseRecord, name: &str) -> &'r PhaseRecord {
    record.phases.iter().find(|phase| phase.name == name).unwrap()
}

/// From its start by the system's clock, with what was between its turns.
fn times(phase: &PhaseRecord) -> (u64, u64) {
    let stopped_ns = phase.turns.as_ref().map_or(0, |turns| turns.stopped_ns);
    (phase.started_unix_ns, phase.started_unix_ns + phase.wall_ns + stopped_ns)
}

#[test]
fn two_engines_take_turns() {
    let scratch = Scratch::new();
    scratch.write("s.toml", SUITE);
    scratch.run(&["run", "s.toml"]).assert_code(0);
    let run = scratch.only_run();
    assert_eq!(records(&run).len(), 2);
    let [null, lmdb] = ["null", "lmdb"].map(|engine| record(&run, engine));
    for (record, other) in [(&null, &lmdb), (&lmdb, &null)] {
        assert_eq!(record.outcome, Outcome::Done);
        assert_eq!(record.case.turns_with.as_ref(), Some(&other.case.id));
        let reads = phase(record, "reads");
        let turns = reads.turns.as_ref().unwrap();
        // Five; fewer where a thread got no CPU for a whole one.
        assert!((3..=5).contains(&turns.number) && turns.with == other.case.id, "{turns:?}");
        assert!((400_000_000..3_000_000_000).contains(&turns.stopped_ns), "{turns:?}");
        let role = &reads.roles[0];
        assert!(role.window_ns >= 1_000_000_000, "{}", role.window_ns);
        assert!(role.window_ns <= reads.wall_ns, "{} of {}", role.window_ns, reads.wall_ns);
        let usage = role.usage.unwrap();
        let of_two_threads = 1_900_000_000..2 * reads.wall_ns;
        assert!(of_two_threads.contains(&usage.time_ns), "{usage:?} in {}", reads.wall_ns);
        // What was between its turns is in no figure, however late the turns came.
        let begin_of_writes = phase(record, "writes").started_unix_ns;
        assert!(times(reads).1 <= begin_of_writes, "{:?} and {begin_of_writes}", times(reads));
        assert_eq!(phase(record, "writes").turns, None);
    }
    // In turns they overlap, at a stretch they do not.
    let overlap = |name: &str| {
        let [(begin, end), (other_begin, other_end)] =
            [&null, &lmdb].map(|record| times(phase(record, name)));
        begin.max(other_begin) < end.min(other_end)
    };
    assert!(overlap("reads"));
    assert!(!overlap("writes") && !overlap("load"));
}

/// The figures of the case that is left are kept: it goes on alone.
#[test]
fn the_end_of_one_is_not_the_end_of_the_other() {
    let scratch = Scratch::new();
    let small = "[engine.options]\nmap_size = \"1MiB\"\n[[phase]]\nkind = \"load\"";
    scratch.write("s.toml", &SUITE.replacen("[[phase]]\nkind = \"load\"", small, 1));
    scratch.run(&["run", "s.toml"]).assert_code(3);
    let run = scratch.only_run();
    let [null, lmdb] = ["null", "lmdb"].map(|engine| record(&run, engine));
    assert_eq!(null.outcome, Outcome::Done);
    assert!(phase(&null, "reads").roles[0].window_ns >= 1_000_000_000);
    assert!(lmdb.phases.len() < 3 && lmdb.outcome != Outcome::Done, "{:?}", lmdb.outcome);
}
