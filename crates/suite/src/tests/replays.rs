//! Tests of roles that replay a trace.

use super::*;
use kvdyno_record::engine::Requests;
use kvdyno_record::expected_hits::ExpectedHits;
use kvdyno_record::replay::OfDrive;
use kvdyno_record::workload::{Activity, Load, LoadOrder, Mix, Op, Rate, Schedule};
use std::path::PathBuf;

/// The result of reading a trace.
type Read = Result<Trace, String>;

fn trace() -> Trace {
    let requests = [("get", 600), ("put", 300), ("delete", 100)];
    Trace {
        file: PathBuf::from("/traces/a.kvtrace"),
        digest: "0123456789abcdef".to_owned(),
        requests: requests.map(|(op, count)| (op.to_owned(), count)).into(),
        keys: 2_000_000,
        records: None,
        value_bytes_max: 5_000,
        span_ns: Some(2_000_000_000),
        multiple_of: None,
        ttl_ns: None,
        first_reads: None,
    }
}

/// Plans the small suite with a trace instead of its mix, and with `lines`.
fn expanded(lines: &str, set: &[&str], trace: &Read) -> Result<Plan, SuiteError> {
    expanded_for("lmdb", lines, set, trace)
}

fn expanded_for(engine: &str, lines: &str, set: &[&str], trace: &Read) -> Result<Plan, SuiteError> {
    let text =
        SMALL.replace("mix = [{ op = \"get\" }]", &format!("trace = \"a.kvtrace\"\n{lines}"));
    let text = text.replace("name = \"null\"", &format!("name = \"{engine}\""));
    let set = set.iter().map(|one| (*one).to_owned()).collect();
    let mut suite = Suite::parse("small.toml", &text, &Overrides { set, ..Overrides::default() })?;
    assert!(suite.replays());
    suite.read_traces(|path, _| {
        assert_eq!(path, "a.kvtrace");
        trace.clone()
    })?;
    expand(&suite, &engines(), &HOST)
}

fn mix_of(plan: &Plan) -> Mix {
    let mut phases = plan.cases.iter().flat_map(|case| case.phases.clone());
    let mix = phases.find_map(|phase| match phase.work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    });
    mix.unwrap()
}

fn refused(lines: &str, set: &[&str], trace: &Read) -> String {
    expanded(lines, set, trace).unwrap_err().render(false)
}

const FRESH: &str = "run.database=fresh";

#[test]
fn a_trace_becomes_the_mix_of_its_role_and_ends_the_phase() {
    let plan = expanded("", &[FRESH], &Ok(trace())).unwrap();
    let mix = mix_of(&plan);
    let [role] = mix.roles.as_slice() else { panic!("one role") };
    let ops: Vec<_> = role.mix.iter().map(|entry| (entry.op.name(), entry.weight)).collect();
    assert_eq!(ops, [("delete", 100.0), ("get", 600.0), ("update", 300.0)]);
    assert!(role.mix.iter().any(|entry| entry.op == Op::Update));
    assert_eq!((mix.ends.operations, &role.rate), (Some(1_000), &None));
    let shape = &plan.cases.last().unwrap().shape;
    assert_eq!((shape.value_bytes_max, shape.records_max), (5_000, 2_000_000));
    assert!(
        plan.warnings.iter().any(|warning| warning.contains("2,000,000 keys")),
        "{:?}",
        plan.warnings
    );
    // A trace recorded here contains the number of loaded records: requests wrote the keys above
    // it.
    let recorded = Trace { records: Some(1_000), ..trace() };
    let plan = expanded("", &[FRESH, "data.records=1000"], &Ok(recorded)).unwrap();
    assert!(!plan.warnings.iter().any(|warning| warning.contains("keys")), "{:?}", plan.warnings);
    let fewer = expanded("", &[FRESH, "phase.measure.operations=30"], &Ok(trace())).unwrap();
    assert_eq!(mix_of(&fewer).ends.operations, Some(30));
}

#[test]
fn a_speed_makes_it_an_open_loop() {
    for (typed, per_s) in [("1.0", 500.0), ("2.5", 1_250.0), ("3", 1_500.0)] {
        let plan = expanded(&format!("speed = {typed}"), &[FRESH], &Ok(trace())).unwrap();
        let rate = mix_of(&plan).roles.remove(0).rate;
        assert_eq!(rate, Some(Rate::new(per_s, Schedule::Recorded)));
    }
    assert_eq!(
        mix_of(&expanded("speed = \"max\"", &[FRESH], &Ok(trace())).unwrap()).roles[0].rate,
        None
    );
    let untimed = Trace { span_ns: None, ..trace() };
    assert!(expanded("", &[FRESH], &Ok(untimed.clone())).is_ok());
    assert!(refused("speed = 1.0", &[FRESH], &Ok(untimed)).contains("the trace has no times"));
}

#[test]
fn equal_traces_are_equal_work_wherever_they_are() {
    let key = |trace: Trace| expanded("", &[FRESH], &Ok(trace)).unwrap().cases.remove(0).key;
    let elsewhere = Trace { file: PathBuf::from("/mnt/a.kvtrace"), ..trace() };
    assert_eq!(key(trace()), key(elsewhere));
    assert_ne!(key(trace()), key(Trace { digest: "f".to_owned(), ..trace() }));
}

#[test]
fn what_goes_with_no_trace_is_refused() {
    for (lines, words) in [
        ("mix = [{ op = \"get\" }]", "expected either `trace` or `mix`"),
        ("keys = \"uniform\"", "uniform"),
        ("expected_hits = 0.5", "expected either `trace` or `expected_hits`"),
        ("rate = 5", "expected either `trace` or `rate`"),
        ("speed = \"slow\"", "invalid speed"),
        ("speed = -1.0", "invalid speed"),
    ] {
        let message = refused(lines, &[FRESH], &Ok(trace()));
        assert!(message.contains(words), "{lines}: {message}");
    }
    for (set, words) in [
        ("phase.measure.warmup=1s", "it has no `warmup`"),
        ("phase.measure.windows=1s", "it has no `windows`"),
        ("run.database=shared", "deletes change a database"),
    ] {
        let message = refused("", &[FRESH, set], &Ok(trace()));
        assert!(message.contains(words), "{set}: {message}");
    }
    let message = refused("", &[FRESH], &Err("cannot read it".to_owned()));
    assert!(
        message.contains("cannot read it") && message.contains("kvdyno trace import"),
        "{message}"
    );
    assert!(refused("fold = true", &[FRESH], &Ok(trace())).contains("not offsets to fold"));
    let message = refused("depth = 4", &[FRESH], &Ok(trace()));
    assert!(
        message.contains("the trace has delete: `depth` supports only gets and puts"),
        "{message}"
    );
    let message = refused("depth = 4\nspeed = 1.0", &[FRESH], &Ok(trace()));
    assert!(message.contains("recorded times already set how many"), "{message}");
    let fold = SMALL.replace("mix = ", "fold = true\nmix = ");
    assert!(refusal(&fold, &Overrides::default()).contains("`fold` without a trace of a drive"));
    let empty = Trace { requests: BTreeMap::new(), ..trace() };
    assert!(refused("", &[FRESH], &Ok(empty)).contains("the trace has no requests"));
    let speed = SMALL.replace("mix = ", "speed = 1.0\nmix = ");
    assert!(refusal(&speed, &Overrides::default()).contains("`speed` without a trace"));
}

/// Returns a trace of a drive of 4 GiB, with requests of 512 bytes to 128 KiB.
fn of_drive() -> Trace {
    let requests = [("read", 600), ("write", 300), ("flush", 50), ("discard", 50)];
    Trace {
        requests: requests.map(|(op, count)| (op.to_owned(), count)).into(),
        keys: 4 << 30,
        value_bytes_max: 128 << 10,
        multiple_of: Some(512),
        ..trace()
    }
}

#[test]
fn a_trace_of_a_drive_is_replayed_on_a_drive() {
    let drive = |lines: &str, set: &[&str], trace: Trace| {
        let set = [&[FRESH, "data.value_bytes=4096"], set].concat();
        expanded_for("drive", lines, &set, &Ok(trace)).map_err(|error| error.render(false))
    };
    let shared = drive("", &["data.records=1048576", "run.database=shared"], of_drive());
    assert!(shared.unwrap_err().contains("discards change a database that the next case uses"));
    let plan = drive("depth = 32", &["data.records=1048576"], of_drive()).unwrap();
    let mix = mix_of(&plan);
    let ops: Vec<_> = mix.roles[0].mix.iter().map(|entry| entry.op.name()).collect();
    assert_eq!((ops, mix.roles[0].depth), (vec!["delete", "flush", "get", "update"], Some(32)));
    let whole = OfDrive { multiple_of: 512, fold: false };
    assert_eq!(mix.roles[0].replay.as_ref().unwrap().drive, Some(whole));
    let shape = &plan.cases[0].shape;
    assert_eq!((shape.records_max, shape.value_bytes_max), (1 << 20, 4_096));
    let longest = Requests { bytes_max: 128 << 10, multiple_of: 512, writes: true };
    assert_eq!(shape.requests, Some(longest));

    let message = drive("", &[], of_drive()).unwrap_err();
    for words in [
        "reaches to byte 4,294,967,296, and 1,000,000 records of 4,096 bytes are",
        "4,096,000,000",
        "expected at least 1,048,576 records",
        "`fold = true` next to `trace`",
    ] {
        assert!(message.contains(words), "{message}");
    }
    let plan =
        drive("fold = true", &["data.records=3"], Trace { value_bytes_max: 9, ..of_drive() });
    let requests = plan.unwrap().cases[0].shape.requests.clone().unwrap();
    assert_eq!((requests.bytes_max, requests.multiple_of), (9, 512));
    let message = drive("fold = true", &["data.records=3"], of_drive()).unwrap_err();
    assert!(message.contains("a request of 131,072 bytes"), "{message}");
    let message = drive("", &["data.records=2M", "data.verify=true"], of_drive()).unwrap_err();
    assert!(message.contains("expected verify = false"), "{message}");
    let message = drive("", &[], trace()).unwrap_err();
    assert!(message.contains("has records of one length"), "{message}");
    assert!(refused("", &[FRESH], &Ok(of_drive())).contains("lmdb stores keys and values"));
}

#[test]
fn a_load_of_what_is_read_first_has_so_many_records() {
    let first = Ok(Trace { first_reads: Some(1_234), ..trace() });
    let set = [FRESH, "phase.load.order=first_read", "data.records=2M"];
    let plan = expanded("", &set, &first).unwrap();
    let load = plan.cases[0].phases.iter().find_map(|phase| match &phase.work {
        Activity::Load(load) => Some(load.clone()),
        _ => None,
    });
    let Load { order, replay: Some(replay), .. } = load.as_ref().unwrap() else {
        panic!("{load:?}")
    };
    assert_eq!((*order, replay.requests, replay.keys), (LoadOrder::FirstRead, 1_234, 2_000_000));
    let share = ExpectedHits::Share { share: 617e-6, deviation: 0.0, or_more: false };
    assert_eq!(load.unwrap().expected_hits(2_000_000), share);
    assert!(plan.sized.iter().any(|note| note.contains("1,234 of the trace's 2,000,000 keys")));
    assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);

    let message = refused("", &set[..2], &first);
    assert!(
        message.contains("the data has 1,000,000 records, and the trace has 2,000,000 keys"),
        "{message}"
    );
    let drive = [&set[..2], &["data.value_bytes=4096", "data.records=1048576"]].concat();
    let message = expanded_for("drive", "", &drive, &Ok(of_drive())).unwrap_err().render(false);
    assert!(message.contains("a drive is always loaded completely"), "{message}");
    let message = refusal(SMALL, &super::set(&["phase.load.order=first_read"]));
    assert!(message.contains("no role replays a trace"), "{message}");
}

/// A speed shortens the times to live; those of a trace are rounded up to the engine's units, but
/// times below one unit are refused.
#[test]
fn recorded_times_to_live_are_kept_where_the_engine_can() {
    let seconds = 2 * TimeToLive::SECOND..=3_600 * TimeToLive::SECOND;
    let trace = Ok(Trace { ttl_ns: Some(seconds), ..trace() });
    let planned = |lines: &str, time_to_live: Option<TimeToLive>| {
        let text =
            SMALL.replace("mix = [{ op = \"get\" }]", &format!("trace = \"a.kvtrace\"\n{lines}"));
        let text = text.replace("name = \"null\"", "name = \"lmdb\"");
        let mut all = engines();
        engine_of(&mut all, "lmdb").capabilities.time_to_live = time_to_live;
        let mut suite = Suite::parse("small.toml", &text, &set(&[FRESH])).unwrap();
        suite.read_traces(|_, _| trace.clone())?;
        expand(&suite, &all, &HOST)
    };
    let seconds = Some(TimeToLive { unit_ns: TimeToLive::SECOND, longest_ns: None });
    let replay = |plan: &Plan| mix_of(plan).roles[0].replay.clone().unwrap();
    let without = planned("", None).unwrap();
    assert!(!replay(&without).recorded_ttl);
    assert!(without.sized.iter().any(|note| note.contains("recorded_ttl")), "{:?}", without.sized);
    assert!(replay(&planned("recorded_ttl = true", seconds).unwrap()).recorded_ttl);
    assert!(planned("recorded_ttl = true\nspeed = 2.0", seconds).is_ok());
    for (lines, engine, reason) in [
        ("recorded_ttl = true", None, "lmdb has no times to live"),
        ("recorded_ttl = true\nspeed = 3.0", seconds, "units of 1.00 s, found 667 ms"),
    ] {
        let message = planned(lines, engine).unwrap_err().render(false);
        assert!(message.contains(reason), "{message}");
    }
    let shared = refused("recorded_ttl = true", &["run.database=shared"], &trace);
    assert!(shared.contains("records expire from a database"), "{shared}");
    let message = refused("recorded_ttl = true", &[FRESH], &Ok(self::trace()));
    assert!(message.contains("this trace has no times to live"), "{message}");
    let alone = refusal(&SMALL.replace("mix =", "recorded_ttl = true\nmix ="), &set(&[FRESH]));
    assert!(alone.contains("without a trace"), "{alone}");
}
