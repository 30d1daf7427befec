//! Tests of the coordinator with messages of ranks and of the program.

use super::*;
use kvdyno_engine::{Counters, DataShape, Durability, Options, Value};
use kvdyno_record::case::OpResult;
use kvdyno_record::key::{Key, KeyFormat};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{
    Choice, Data, Ends, ExpectedHits, Mix, MixEntry, Op, Role, Size, ValueShape,
};
use std::collections::BTreeMap;

const RANKS: u32 = 2;

/// Three readers for a second.
pub(crate) fn job() -> Job {
    let entry = MixEntry::new(Op::Get, 1.0, Choice::Uniform);
    let role = Role {
        name: "readers".to_owned(),
        threads: 3,
        mix: vec![entry],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::default(),
        replay: None,
    };
    let ends = Ends::after_ns(1_000_000_000);
    let work = Activity::Measure(Mix { roles: vec![role], ends });
    Job {
        protocol: PROTOCOL,
        case: "0001".to_owned(),
        location: Location::Server("unix:/x".to_owned()),
        options: Options { durability: Durability::Async, values: BTreeMap::new() },
        shape: DataShape { sessions: 3, ..DataShape::uniform(10, 16, 100) },
        data: Data {
            records: 10,
            key: Key::ordered(16, KeyFormat::Hex),
            value: ValueShape { size: Size::Fixed { bytes: 100 }, compress_to: 1.0 },
            seed: 1,
            verify: false,
            graph: None,
            from: None,
            packed: None,
        },
        phases: vec![Phase::new("measure", work)],
        phases_before: Vec::new(),
        slice_ns: 1_000_000_000,
        errors_max: 5,
        dir: "/nowhere".into(),
        trial: 1,
        crew: None,
        recordings: Vec::new(),
    }
}

fn coordinator() -> Coordinator {
    let mut coordinator = Coordinator::new(job(), RANKS);
    for rank in 0..RANKS {
        let name = format!("node{rank}");
        assert_eq!(coordinator.receive(rank, Report::Host { name, cpus: 2 }), []);
    }
    coordinator
}

fn event(event: Event) -> Report {
    Report::Event { event }
}

fn counters(gets: u64) -> Counters {
    Counters::from([("gets".to_owned(), Value::Integer(gets))])
}

fn ready(gets: u64) -> Report {
    let (usage, counters) =
        (ProcessUsage { user_ns: 7, ..ProcessUsage::default() }, counters(gets));
    event(Event::Ready { phase: 0, usage, counters })
}

/// The last report of a rank's worker in a phase, with these threads.
fn finished(threads: u32, gets: u64, errors: u64, started_unix_ns: u64) -> Report {
    let count = u64::from(threads) * 100;
    let errors = BTreeMap::from([(ErrorClass::Conflict, errors)]);
    let op = OpResult { count, errors, ..OpResult::default() };
    let role = RoleResult {
        role: "readers".to_owned(),
        threads,
        window_ns: 1_000_000_000 + u64::from(threads),
        windows: Vec::new(),
        offered_per_s: None,
        backlog: 0,
        own_ns: 0,
        usage: None,
        ops: BTreeMap::from([("get".to_owned(), op)]),
    };
    event(Event::Finished {
        phase: 0,
        started_unix_ns,
        wall_ns: 1_000_000_500 + u64::from(threads),
        usage_before: ProcessUsage::default(),
        usage: ProcessUsage::default(),
        counters: counters(gets),
        roles: vec![role],
        verified: None,
        settled: None,
        live_records: Some(10 * u64::from(threads)),
        stopped: false,
        failed: None,
        ranks: Vec::new(),
    })
}

/// Runs a phase: ready, go, and then the reports of both ranks.
fn measured(coordinator: &mut Coordinator, reports: [Report; 2]) -> Vec<Action> {
    assert_eq!(coordinator.receive(1, ready(20)), []);
    let actions = coordinator.receive(0, ready(20));
    let [Action::Clocks, Action::Say(Event::Ready { phase: 0, usage, .. })] = actions.as_slice()
    else {
        panic!("{actions:?}")
    };
    assert_eq!(usage.user_ns, 14);
    coordinator
        .set_clocks([ClockOffset::default(), ClockOffset { ahead_ns: -4_000, error_ns: 20 }]);
    let phase = "measure".to_owned();
    assert_eq!(coordinator.control(Control::Go), [Action::Order(Order::GoTogether { phase })]);
    let [first, second] = reports;
    assert_eq!(coordinator.receive(0, first), [], "the other is still at work");
    coordinator.receive(1, second)
}

#[test]
fn what_all_have_said_is_said_once() {
    let mut coordinator = coordinator();
    let actions =
        measured(&mut coordinator, [finished(2, 21, 0, 50_000), finished(1, 320, 1, 46_300)]);
    let [
        Action::Say(Event::Finished {
            wall_ns, roles, counters: read, ranks, live_records, ..
        }),
    ] = actions.as_slice()
    else {
        panic!("{actions:?}")
    };
    assert_eq!(*live_records, Some(30), "the first rank's are those loaded");
    assert_eq!((*wall_ns, roles[0].threads, roles[0].ops["get"].count), (1_000_000_502, 3, 300));
    assert_eq!(*read, counters(320), "as the last has read them");
    let rows: Vec<_> = ranks.iter().map(|row| (row.rank, row.operations, row.skew_ns)).collect();
    assert_eq!(rows, [(0, 200, 0), (1, 100, 300)], "its clock is 4000 behind");
    assert_eq!((ranks[1].host.as_str(), ranks[1].clock_offset_ns), ("node1", -4_000));
    assert_eq!(coordinator.control(Control::Go), [Action::Gather, Action::Order(Order::Go)]);
    for report in [Event::Closed { took_ns: 5 }, Event::Done { drift_ppm: Some(-2.0) }] {
        assert_eq!(coordinator.receive(0, event(report.clone())), []);
        assert_eq!(coordinator.receive(1, event(report.clone())), [Action::Say(report)]);
    }
    assert_eq!(coordinator.receive(0, Report::Ended), []);
    assert_eq!(coordinator.receive(1, Report::Ended), [Action::Over]);
}

/// Regression test: the progress stood still when the first rank's share was done.
#[test]
fn progress_goes_on_after_the_first_rank_has_finished() {
    let mut coordinator = coordinator();
    coordinator.receive(0, ready(0));
    coordinator.receive(1, ready(0));
    coordinator.control(Control::Go);
    let progress = |done, threads, started_unix_ns| Event::Progress {
        phase: 0,
        started_unix_ns,
        done,
        total: Some(300),
        elapsed_ns: 7,
        threads: Some(threads),
    };
    let all = |done, threads| vec![Action::Say(progress(done, threads, 50_000))];
    assert_eq!(
        coordinator.receive(1, event(progress(10, 1, 46_000))),
        [],
        "the first's are enough"
    );
    assert_eq!(coordinator.receive(0, event(progress(200, 0, 50_000))), all(210, 1));
    assert_eq!(coordinator.receive(0, finished(2, 0, 0, 50_000)), []);
    assert_eq!(coordinator.receive(1, event(progress(60, 1, 46_000))), all(260, 1));
    assert!(matches!(coordinator.receive(1, finished(1, 0, 0, 46_000))[..], [Action::Say(_)]));
}

/// The program reads what the phase did, its slices are kept, and then the case fails.
fn doomed(reports: [Report; 2]) -> String {
    let mut coordinator = coordinator();
    measured(&mut coordinator, reports);
    match coordinator.control(Control::Go).as_slice() {
        [Action::Gather, Action::Say(Event::Failed { phase: Some(0), message, .. }), rest @ ..] => {
            assert_eq!(rest, [Action::Order(Order::End), Action::Over]);
            message.clone()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_no_rank_sees_alone_ends_the_case() {
    let message = doomed([finished(2, 1, 3, 0), finished(1, 1, 3, 0)]);
    assert_eq!(message, "6 operations of all ranks failed, expected at most 5");
    let message = doomed([finished(3, 1, 0, 0), finished(3, 1, 0, 0)]);
    assert!(message.starts_with("rank 0 of 2 (node0): the worker had other threads"), "{message}");
}

#[test]
fn a_rank_that_is_lost_ends_all_once() {
    let mut coordinator = coordinator();
    coordinator.receive(0, ready(0));
    coordinator.receive(1, ready(0));
    coordinator.control(Control::Go);
    let lost = || Report::Lost { class: ErrorClass::Other, message: "it died".to_owned() };
    let error = Error::new(ErrorClass::Other, "rank 1 of 2 (node1): it died");
    let expected =
        [Action::Say(Event::from_error(Some(0), &error)), Action::Order(Order::End), Action::Over];
    assert_eq!(coordinator.receive(1, lost()), expected);
    assert_eq!(coordinator.receive(0, lost()), [], "the others follow from it");
}

/// One rank had finished the phase before the stop came, and went on to its end; the others follow.
#[test]
fn a_stop_is_everybodys_and_ends_in_order() {
    let mut coordinator = coordinator();
    coordinator.receive(0, ready(0));
    coordinator.receive(1, ready(0));
    coordinator.control(Control::Go);
    assert_eq!(coordinator.receive(0, finished(2, 0, 0, 0)), []);
    assert_eq!(coordinator.control(Control::Stop), [Action::Order(Order::Stop)]);
    assert_eq!(coordinator.receive(0, event(Event::Closed { took_ns: 1 })), []);
    assert_eq!(coordinator.receive(0, event(Event::Done { drift_ppm: None })), []);
    assert_eq!(coordinator.receive(0, Report::Ended), []);
    assert!(matches!(coordinator.receive(1, finished(1, 0, 0, 0))[..], [Action::Say(_)]));
    let actions = coordinator.control(Control::Go);
    assert_eq!(actions, [Action::Gather, Action::Order(Order::Go)]);
    assert!(matches!(
        coordinator.receive(1, event(Event::Closed { took_ns: 3 }))[..],
        [Action::Say(_)]
    ));
    assert!(matches!(
        coordinator.receive(1, event(Event::Done { drift_ppm: None }))[..],
        [Action::Say(_)]
    ));
    assert_eq!(coordinator.receive(1, Report::Ended), [Action::Over]);
}

/// A worker that was stopped does not wait for a go after its phase.
#[test]
fn ranks_that_end_before_the_program_says_go_lose_no_slices() {
    let mut coordinator = coordinator();
    measured(&mut coordinator, [finished(2, 21, 0, 50_000), finished(1, 320, 0, 46_300)]);
    for rank in 0..RANKS {
        assert_eq!(coordinator.receive(rank, Report::Ended), []);
    }
    assert_eq!(coordinator.control(Control::Go), [Action::Gather, Action::Over]);
}

/// The report of a rank's worker that has failed in the phase.
fn failed_early() -> Report {
    let Report::Event { event: mut finished } = finished(1, 1, 0, 0) else { unreachable!() };
    if let Event::Finished { failed, .. } = &mut finished {
        *failed = Some((ErrorClass::Io, "the server is gone".to_owned()));
    }
    event(finished)
}

/// The other ranks are told to end at once and keep their results; then the case fails.
#[test]
fn a_rank_that_fails_in_a_phase_ends_it_for_all() {
    let mut coordinator = coordinator();
    coordinator.receive(0, ready(0));
    coordinator.receive(1, ready(0));
    coordinator.control(Control::Go);
    assert!(!coordinator.is_doomed());
    assert_eq!(coordinator.receive(1, failed_early()), [Action::Order(Order::Cut)]);
    assert!(coordinator.is_doomed(), "the first is still at work");
    let actions = coordinator.receive(0, finished(2, 7, 0, 0));
    let [Action::Say(Event::Finished { ranks, .. })] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(ranks.len(), 2);
    assert!(!coordinator.is_doomed(), "all have ended the phase");
    let error = Error::new(ErrorClass::Io, "rank 1 of 2 (node1): the server is gone");
    let failed = Action::Say(Event::from_error(Some(0), &error));
    let expected = [Action::Gather, failed, Action::Order(Order::End), Action::Over];
    assert_eq!(coordinator.control(Control::Go), expected);
}

#[test]
fn ranks_that_do_not_end_a_phase_are_not_waited_for() {
    let mut coordinator = coordinator();
    coordinator.receive(0, ready(0));
    coordinator.receive(1, ready(0));
    coordinator.control(Control::Go);
    coordinator.receive(1, failed_early());
    let actions = coordinator.give_up();
    let [Action::Say(Event::Failed { message, .. }), rest @ ..] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(message, "rank 1 of 2 (node1): the server is gone");
    assert_eq!(rest, [Action::Order(Order::End), Action::Over]);
    assert_eq!(coordinator.give_up(), [], "once");
}

/// Such a worker would do what all ranks are to do together.
#[test]
fn a_worker_that_knows_of_no_crew_does_not_begin() {
    let opened = |crew| event(Event::Opened { took_ns: 3, crew });
    let mut coordinator = coordinator();
    let seat = |rank| Some(RankId { rank, ranks: RANKS });
    assert_eq!(coordinator.receive(0, opened(seat(0))), []);
    let mut deaf = self::coordinator();
    assert!(matches!(
        coordinator.receive(1, opened(seat(1)))[..],
        [Action::Say(Event::Opened { .. })]
    ));
    let actions = deaf.receive(1, opened(None));
    let [Action::Say(Event::Failed { phase: None, message, .. }), ..] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert!(
        message.starts_with(
            "rank 1 of 2 (node1): its worker does not support \
        crews"
        ),
        "{message}"
    );
}
