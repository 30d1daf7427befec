//! Roles that replay a trace.

use super::*;
use kvdyno_record::workload::{Activity, Mix, Op, Rate, Schedule};
use std::path::PathBuf;

/// What came of reading one.
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
        of_drive: false,
    }
}

/// The small suite with a trace in place of its mix, and what `lines` say.
fn expanded(lines: &str, set: &[&str], trace: &Read) -> Result<Plan, SuiteError> {
    let text =
        SMALL.replace("mix = [{ op = \"get\" }]", &format!("trace = \"a.kvtrace\"\n{lines}"));
    let text = text.replace("name = \"null\"", "name = \"lmdb\"");
    let set = set.iter().map(|one| (*one).to_owned()).collect();
    let mut suite = Suite::parse("small.toml", &text, &Overrides { set, ..Overrides::default() })?;
    assert!(suite.replays());
    suite.read_traces(|named| {
        assert_eq!(named, "a.kvtrace");
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
        plan.warnings.iter().any(|told| told.contains("2,000,000 keys")),
        "{:?}",
        plan.warnings
    );
    // What was recorded here says how many were loaded: keys above were written by requests.
    let recorded = Trace { records: Some(1_000), ..trace() };
    let plan = expanded("", &[FRESH, "data.records=1000"], &Ok(recorded)).unwrap();
    assert!(!plan.warnings.iter().any(|told| told.contains("keys")), "{:?}", plan.warnings);
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
        ("found = 0.5", "expected either `trace` or `found`"),
        ("rate = 5", "expected either `trace` or `rate`"),
        ("speed = \"slow\"", "this is no speed"),
        ("speed = -1.0", "this is no speed"),
    ] {
        let said = refused(lines, &[FRESH], &Ok(trace()));
        assert!(said.contains(words), "{lines}: {said}");
    }
    for (set, words) in [
        ("phase.measure.warmup=1s", "no `warmup` beside it"),
        ("phase.measure.windows=1s", "no `windows` beside it"),
        ("crew.hosts=[\"a:2\"]", "no crew replays a trace"),
        ("run.database=shared", "deletes take from a database"),
    ] {
        let said = refused("", &[FRESH, set], &Ok(trace()));
        assert!(said.contains(words), "{set}: {said}");
    }
    let said = refused("", &[FRESH], &Err("cannot read it".to_owned()));
    assert!(said.contains("cannot read it") && said.contains("kvdyno trace import"), "{said}");
    let of_drive = Trace { of_drive: true, ..trace() };
    assert!(refused("", &[FRESH], &Ok(of_drive)).contains("made of a drive"));
    let empty = Trace { requests: BTreeMap::new(), ..trace() };
    assert!(refused("", &[FRESH], &Ok(empty)).contains("no request in it"));
    let speed = SMALL.replace("mix = ", "speed = 1.0\nmix = ");
    assert!(refusal(&speed, &Overrides::default()).contains("only a trace has a speed"));
}
