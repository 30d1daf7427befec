//! Tests of phases that are selected by name, have two versions, reopen the engine with other
//! options, or have windows; and of engines with volumes of their own.

use super::*;
use kvdyno_record::plan::Case;
use kvdyno_record::workload::{Activity, Phase};

/// Named phases, two versions of each, and included phases.
const NAMED: &str = r#"
include = ["db_bench"]
[suite]
name = "named"
[data]
records = "1M"
value_bytes = 100
[run]
threads = 4
trials = 1
phases = ["fill", "reads", "readwhilewriting"]
[[engine]]
name = "rocksdb"
[phases.fill]
kind = "load"
order = "random"
[phases.fill.as-run]
batch = 10
[phases.reads]
kind = "measure"
duration = "5s"
role.readers = { threads = 2, mix = [{ op = "get" }], keys = { distribution = "zipf", theta = 1 } }
role.writer = { mix = [{ op = "update" }] }
[phases.reads.as-run]
operations = 1000
role.readers = { keys = { distribution = "uniform" } }
[phases.readwhilewriting]
duration = "7s"
"#;

/// Returns the phases of a case as in the record.
fn outline(case: &Case) -> String {
    let lines = case.phases.iter().map(|phase| serde_json::to_string(phase).unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the phases of all cases, whichever case loads.
fn all(text: &str, arguments: &[&str]) -> String {
    let plan = plan(text, arguments);
    plan.cases.iter().map(outline).collect::<Vec<_>>().join("\n")
}

#[test]
fn phases_are_picked_by_name_in_two_versions() {
    let written = all(NAMED, &[]);
    assert_eq!(all(NAMED, &["fidelity=as-written"]), written);
    let run = all(NAMED, &["fidelity=as-run"]);
    insta::assert_snapshot!(format!("{written}\n\n{run}"));
    let plan = plan(NAMED, &["fidelity=as-run"]);
    assert_eq!(plan.sized, ["phases run in the version as run (fidelity)"]);
    // A part can have its own version and its own order.
    let both =
        plan_of(NAMED, &set(&["part=[{ name = \"a\" }, { name = \"b\", fidelity = \"as-run\" }]"]));
    let both = both.unwrap();
    let batch = |part: &str| {
        let case = both.cases.iter().find(|case| case.part.as_deref() == Some(part)).unwrap();
        let Activity::Load(load) = &case.phases[0].work else { panic!("{case:?}") };
        load.batch
    };
    assert_eq!((batch("a"), batch("b")), (1, 10));
}

/// Returns the names of a case's phases, without the settle phases.
fn phases_but_settling(case: &Case) -> Vec<String> {
    let settles = |phase: &&Phase| matches!(phase.work, Activity::Settle { .. });
    case.phases.iter().filter(|phase| !settles(phase)).map(|phase| phase.name.clone()).collect()
}

#[test]
fn each_phase_that_writes_is_settled_once() {
    let phases = |text: &str| -> Vec<String> {
        let plan = plan(text, &[]);
        let trial = plan.cases.iter().filter(|case| case.trial == 1);
        trial.flat_map(|case| &case.phases).map(|phase| phase.name.clone()).collect()
    };
    let update = "mix = [{ op = \"update\" }]";
    let text = SMALL.replace("mix = [{ op = \"get\" }]", update);
    assert_eq!(phases(&text), ["load", "load-settle", "measure", "measure-settle"]);
    assert_eq!(phases(SMALL), ["load", "load-settle", "measure"]);
    let typed = text.replace("kind = \"load\"", "kind = \"load\"\n[[phase]]\nkind = \"settle\"");
    assert_eq!(phases(&typed), ["load", "settle", "measure", "measure-settle"]);
    let windows = text.replace("duration = \"5s\"", "duration = \"3s\"\nwindows = \"1s\"");
    let expected =
        ["load", "load-settle", "measure-w1", "measure-w2", "measure-w3", "measure-w3-settle"];
    assert_eq!(phases(&windows), expected, "windows are one measurement");
}

#[test]
fn all_included_phases_can_be_done() {
    let names = "[\"fillseq\", \"readrandomwriterandom\", \"overwrite\", \"readrandom\", \
                 \"multireadrandom\", \"seekrandom\", \"updaterandom\", \"readwhilewriting\"]";
    let plan = plan(NAMED, &[&format!("run.phases={names}"), "phases.fill=", "phases.reads="]);
    assert_eq!(plan.cases.iter().map(|case| phases_but_settling(case).len()).sum::<usize>(), 8);
    let random = "run.phases=[\"fillrandom\"]";
    assert!(matches!(
        super::plan(NAMED, &[random, "run.threads="]).cases[0].phases[0].work,
        Activity::Load(_)
    ));
    let short = Overrides { duration: Some("1s".to_owned()), ..set(&[]) };
    let ends = |case: &Case| {
        case.phases
            .iter()
            .filter_map(|p| p.mix())
            .map(|mix| mix.ends.duration_ns)
            .collect::<Vec<_>>()
    };
    let short = plan_of(NAMED, &short).unwrap();
    assert!(short.cases.iter().flat_map(ends).all(|ns| ns == Some(1_000_000_000)));
}

#[test]
fn phases_are_picked_on_the_command_line() {
    let pick = |phases: &[&str], arguments: &[&str]| Overrides {
        phases: phases.iter().map(ToString::to_string).collect(),
        ..set(arguments)
    };
    let names =
        |plan: Plan| -> Vec<String> { plan.cases.iter().flat_map(phases_but_settling).collect() };
    let picked = plan_of(NAMED, &pick(&["fillseq", "readrandom"], &[])).unwrap();
    assert_eq!(names(picked), ["fillseq", "readrandom"]);
    // The option selects the phases of every part, whatever it selects itself.
    let parts = "part=[{ name = \"a\", phases = [\"fill\"] }, { name = \"b\" }]";
    let picked = plan_of(NAMED, &pick(&["fill", "readseq"], &[parts])).unwrap();
    assert_eq!(names(picked), ["fill", "readseq", "fill", "readseq"]);
    let refused = refusal(NAMED, &pick(&["fill", "readrando"], &[]));
    for words in ["there is no phase `readrando`", "did you mean `readrandom`?", "mixgraph"] {
        assert!(refused.contains(words), "{refused}");
    }
    let refused = refusal(NAMED, &set(&["include=[\"db_bench\", \"dbbench\"]"]));
    assert!(refused.contains("`db_bench` and `dbbench` both define `fillrandom`"), "{refused}");
}

/// Every phase that can be included, in both versions: one suite per load, because the load is the
/// first phase.
#[test]
fn every_included_phase_can_be_planned_in_both_versions() {
    for (name, data) in [("db_bench", "db_bench"), ("dbbench", "hex"), ("ycsb", "ycsb")] {
        let text = format!(
            "include = [\"{name}\"]\n[suite]\nname = \"all\"\n[data]\nrecords = 1000\n\
             key_format = \"{data}\"\nvalue_bytes = 100\n[run]\nthreads = 2\ntrials = 1\n\
             database = \"fresh\"\n[[engine]]\nname = \"lmdb\"\n"
        );
        let names = refusal(&text, &Overrides { phases: vec!["?".to_owned()], ..set(&[]) });
        let (_, names) = names.split_once("known names: ").unwrap();
        let names: Vec<&str> = names.split([',', ' ', '\n']).filter(|n| !n.is_empty()).collect();
        let load = |name: &str| ["fill", "bulk", "load"].iter().any(|l| name.starts_with(l));
        let (loads, others): (Vec<&str>, Vec<_>) = names.iter().partition(|name| load(name));
        assert!(!loads.is_empty() && others.len() > 4, "{names:?}");
        for load in &loads {
            for fidelity in ["fidelity=as-written", "fidelity=as-run"] {
                let phases = [load].into_iter().chain(&others).map(ToString::to_string).collect();
                let plan = plan_of(&text, &Overrides { phases, ..set(&[fidelity]) });
                let plan = plan.unwrap_or_else(|error| panic!("{}", error.render(false)));
                assert_eq!(phases_but_settling(&plan.cases[0]).len(), 1 + others.len());
            }
        }
    }
}

#[test]
fn ycsbs_workloads_are_its_mixes() {
    const YCSB: &str = r#"
include = ["ycsb"]
[suite]
name = "ycsb"
[data]
records = "1M"
key_format = "ycsb"
value_bytes = 1000
[run]
threads = 2
trials = 1
database = "fresh"
phases = ["load", "a", "b", "c", "d", "e", "f"]
[[engine]]
name = "lmdb"
"#;
    insta::assert_snapshot!(format!("{}\n\n{}", all(YCSB, &[]), all(YCSB, &["fidelity=as-run"])));
}

#[test]
fn what_no_phase_is_meant_by_is_refused() {
    let refused: Vec<String> = [
        &["run.phases=[\"fill\", \"readz\"]"][..],
        &["run.phases="],
        &["run.phases=[]"],
        &["run.phases=[\"fill\", \"reads\", \"reads\"]"],
        &["include=[\"dbench\"]"],
        &["fidelity=as-told"],
        &["phases.fill.name=other"],
        &["phases.fill.as-run.ordr=random", "fidelity=as-run"],
        &["phases.fill.as-run=1", "fidelity=as-run"],
        &["phases.fill=1"],
        &["phases=[\"fill\"]"],
        &["phases.readwhilewriting.rate=1"],
    ]
    .into_iter()
    .map(|arguments| refusal(NAMED, &set(arguments)))
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

const REOPENED: &str = r#"
[suite]
name = "reopened"
[data]
records = "1M"
value_bytes = 100
[run]
threads = [1, 2]
trials = 1
[[engine]]
name = "rocksdb"
options = { bloom_bits = 1, compression = "none", block_cache = ["10MiB", "20MiB"] }
[[engine]]
name = "lmdb"
[[phase]]
kind = "load"
[[phase]]
kind = "reopen"
options.rocksdb = { bloom_bits = 10 }
[[phase]]
kind = "settle"
[[phase]]
kind = "measure"
duration = "5s"
[[phase.role]]
name = "readers"
threads = "sweep"
mix = [{ op = "get" }]
[[phase]]
kind = "reopen"
options.rocksdb = { compression = "snappy" }
"#;

#[test]
fn an_engine_is_opened_again_with_other_options() {
    let plan = plan(REOPENED, &[]);
    let line = |case: &Case| {
        let options =
            |options: &kvdyno_record::engine::Options| match &options.values.get("bloom_bits") {
                Some(bits) => format!(
                    "{bits} {} {}",
                    options.values["compression"], options.values["block_cache"]
                ),
                None => "its own".to_owned(),
            };
        let phases = case.phases.iter().map(|phase| match &phase.work {
            Activity::Reopen { options: new } => format!("{} ({})", phase.name, options(new)),
            _ => phase.name.clone(),
        });
        let phases = phases.collect::<Vec<_>>().join(", ");
        format!("{} ({}): {phases}", case.id, options(&case.options))
    };
    let mut cases: Vec<&Case> = plan.cases.iter().collect();
    cases.sort_by_key(|case| case.listed);
    insta::assert_snapshot!(cases.into_iter().map(line).collect::<Vec<_>>().join("\n"));
    // Engines do equal work, whatever their options.
    let work = |label: &str| {
        let case =
            plan.cases.iter().find(|case| case.label.starts_with(label) && case.threads == Some(2));
        let work = kvdyno_record::work::Work::from_case(case.unwrap(), &plan);
        work.equal(kvdyno_record::work::Purpose::Engines)
    };
    assert_eq!(work("lmdb"), work("rocksdb"));
    let other = super::plan(REOPENED, &["phase.1.options.rocksdb.bloom_bits=9"]);
    let keys = |plan: &Plan| -> Vec<String> {
        let rocksdb = plan.cases.iter().filter(|case| case.engine == "rocksdb");
        rocksdb.map(|case| case.key.clone()).collect()
    };
    assert!(keys(&plan).iter().all(|key| !keys(&other).contains(key)));
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

#[test]
fn options_are_for_a_phase_that_opens() {
    let refused: Vec<String> = [
        "phase.load.options.rocksdb.bloom_bits=1",
        "phase.1.options.rockdb.bloom_bits=1",
        "phase.1.options.rocksdb.bloom=1",
        "phase.1.options.rocksdb.bloom_bits=[1, 2]",
        "phase.1.options.rocksdb.bloom_bits=none",
        "phase.1.options.rocksdb=1",
    ]
    .into_iter()
    .map(|argument| refusal(REOPENED, &set(&[argument])))
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn a_phase_is_cut_into_windows() {
    let windows =
        ["phase.measure.duration=150m", "phase.measure.windows=1h", "phase.measure.warmup=1m"];
    let plan = plan(SMALL, &windows);
    let case = &plan.cases[1];
    let phases: Vec<_> = case
        .phases
        .iter()
        .map(|phase| {
            (phase.name.as_str(), phase.mix().unwrap().ends.duration_ns.unwrap() / 60_000_000_000)
        })
        .collect();
    assert_eq!(phases, [("warmup", 1), ("measure-w1", 60), ("measure-w2", 60), ("measure-w3", 30)]);
    assert!(case.budget_ns > 150 * 60_000_000_000);
    let day = super::plan(SMALL, &["phase.measure.duration=1d", "phase.measure.windows=1h"]);
    assert_eq!(day.cases[1].phases.last().unwrap().name, "measure-w24");
    assert_eq!(day.cases[1].phases[0].name, "measure-w01");
    let short = Overrides { duration: Some("1s".to_owned()), ..set(&windows) };
    assert_eq!(plan_of(SMALL, &short).unwrap().cases[1].phases.len(), 2);
    let refused: Vec<String> = [
        &["phase.measure.windows=5s"][..],
        &["phase.measure.windows=4"],
        &["phase.measure.windows=1ms"],
        &["phase.measure.windows=1s", "phase.measure.operations=10"],
        &["phase.measure.windows=1s", "phase.measure.duration="],
        &["phase.load.windows=1s"],
    ]
    .into_iter()
    .map(|arguments| refusal(SMALL, &set(arguments)))
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

const ON_VOLUMES: &str = r#"
[suite]
name = "on-volumes"
[data]
records = "1M"
value_bytes = 100
[[volume]]
name = "ext4"
kind = "directory"
path = "/mnt/ext4"
[[volume]]
name = "xfs"
kind = "directory"
path = "/mnt/xfs"
[run]
trials = 1
[[engine]]
name = "lmdb"
volumes = ["ext4"]
[[engine]]
name = "rocksdb"
[[phase]]
kind = "load"
"#;

#[test]
fn an_engine_has_volumes_of_its_own() {
    let locations = |plan: &Plan| -> Vec<String> {
        let location =
            |case: &Case| format!("{} {}", case.label, case.volume.as_ref().unwrap().name);
        let mut locations: Vec<String> = plan.cases.iter().map(location).collect();
        locations.sort();
        locations
    };
    let whole = plan(ON_VOLUMES, &[]);
    assert_eq!(locations(&whole), ["lmdb ext4", "rocksdb ext4", "rocksdb xfs"]);
    // The work is the same as when every engine is on every volume.
    let every = plan(ON_VOLUMES, &["engine.lmdb.volumes="]);
    assert!(whole.cases.iter().all(|case| every.cases.iter().any(|other| other.key == case.key)));
    let part = plan(ON_VOLUMES, &["part=[{ name = \"x\", volumes = [\"xfs\"] }]"]);
    assert_eq!(locations(&part), ["rocksdb x xfs"]);
    let left_out = sentences(&part.left_out);
    assert_eq!(left_out, ["part x: lmdb is not run: it uses none of the selected volumes"]);
    let refused: Vec<String> = [
        &["engine.lmdb.volumes=[\"ext3\"]"][..],
        &["engine.lmdb.volumes=[]"],
        &["engine.lmdb.volumes=ext4"],
        &["part=[{ name = \"x\", volumes = [\"xfs\"], engines = [\"lmdb\"] }]"],
    ]
    .into_iter()
    .map(|arguments| refusal(ON_VOLUMES, &set(arguments)))
    .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

/// A suite can run only its load, although its thread counts belong to its other phases.
#[test]
fn a_load_alone_is_planned_and_numbers_nobody_takes_are_dropped() {
    let load = |overrides: Overrides| {
        let suite = Suite::parse("db_bench", builtin_text("db_bench"), &overrides).unwrap();
        let mut engines = engines();
        let options = &mut engine_of(&mut engines, "rocksdb").options;
        options.push(OptionSpec::choice("cache_type", &["auto_hyper_clock_cache"], ""));
        options.push(OptionSpec::choice("perf_level", &["disable"], ""));
        options.push(OptionSpec::flag("level_compaction_dynamic_level_bytes", true, ""));
        options.push(OptionSpec::flag("enable_pipelined_write", false, ""));
        options.push(OptionSpec::bytes("delayed_write_rate", 0, ""));
        expand(&suite, &engines, &HOST).unwrap()
    };
    let phases = vec!["fillrandom".to_owned()];
    let plan = load(Overrides { phases: phases.clone(), ..Overrides::default() });
    let of_case = |case: &Case| phases_but_settling(case).len() == 1;
    assert!(plan.cases.len() == 12 && plan.cases.iter().all(of_case), "{}", plan.cases.len());
    let dropped = |numbers: &str| {
        format!("threads {numbers} are not swept: nothing that was picked uses them")
    };
    assert!(plan.sized.contains(&dropped("1, 4")), "{:?}", plan.sized);
    let typed = load(Overrides { phases, threads: vec![1], ..Overrides::default() });
    assert!(typed.sized.contains(&dropped("1")), "{:?}", typed.sized);
    let flags = "--benchmarks=fillseq --threads=8".to_owned();
    let flagged = load(Overrides { db_bench: vec![flags], ..Overrides::default() });
    assert!(flagged.sized.contains(&dropped("8")), "{:?}", flagged.sized);
    let note = "--threads=8: the threads of fillseq write `num` records together";
    assert!(flagged.sized.iter().any(|other| other.starts_with(note)), "{:?}", flagged.sized);
    let Activity::Load(load) = &flagged.cases[0].phases[0].work else { panic!("no load") };
    assert_eq!(load.threads, 8);
}

/// Updates after the load belong to the loading case, and need a database with all records.
#[test]
fn records_are_overwritten_before_a_state_is_kept() {
    let text = SMALL.replace("\"null\"", "\"lmdb\"");
    let plan = plan(&text, &["data.overwritten=2", "run.database=state", "run.trials=1"]);
    let load = plan.cases.iter().find(|case| case.makes_state()).unwrap();
    let names: Vec<&str> = load.phases.iter().map(|phase| phase.name.as_str()).collect();
    let expected = ["load", "load-settle", "overwrite", "overwrite-settle"];
    assert_eq!(names[..4], expected, "{names:?}");
    let Activity::Warmup(mix) = &load.phases[2].work else { panic!("{:?}", load.phases[2]) };
    assert_eq!(mix.ends.operations, Some(2 * load.data.records));
    let by_load = |case: &&Case| case.database.loaded_by == load.id && case.id != load.id;
    let measured = plan.cases.iter().find(by_load);
    assert!(measured.unwrap().phases.iter().all(|phase| phase.name != "overwrite"));
    let drawn = SMALL.replace("kind = \"load\"", "kind = \"load\"\norder = \"drawn\"");
    let refused = refusal(&drawn, &set(&["data.overwritten=2"]));
    assert!(refused.contains("leaves records out"), "{refused}");
}

/// Plans a suite with times to live, on an engine with this unit and limit of them; `None`: the
/// engine keeps none.
fn expiring(mix: &str, time_to_live: Option<TimeToLive>) -> Result<Plan, SuiteError> {
    let text = SMALL.replace("mix = [{ op = \"get\" }]", &format!("mix = [{mix}]"));
    let mut all = engines();
    engine_of(&mut all, "null").capabilities.time_to_live = time_to_live;
    let suite = Suite::parse("suite.toml", &text, &set(&["run.database=fresh"]))?;
    expand(&suite, &all, &HOST)
}

#[test]
fn times_to_live_are_kept_or_refused_by_name() {
    let year_ns = 365 * 24 * 3_600 * TimeToLive::SECOND;
    let seconds = Some(TimeToLive { unit_ns: TimeToLive::SECOND, longest_ns: Some(year_ns) });
    let both = "{ op = \"get\" }, { op = \"update\", ttl = \"1h\" }";
    let plan = expiring(both, seconds).unwrap();
    let mixes = plan.cases.iter().flat_map(|case| &case.phases).filter_map(|phase| phase.mix());
    let entries: Vec<_> = mixes.flat_map(kvdyno_record::workload::Mix::entries).collect();
    assert!(entries.iter().any(|entry| entry.ttl_ns == Some(3_600 * TimeToLive::SECOND)));
    assert!(entries.iter().all(|entry| entry.op.writes() == entry.ttl_ns.is_some()));
    let refused = |mix: &str, engine| expiring(mix, engine).unwrap_err().render(false);
    for (mix, engine, reason) in [
        (both, None, "null has no times to live"),
        ("{ op = \"update\", ttl = \"1500ms\" }", seconds, "units of 1.00 s, found 1.50 s"),
        ("{ op = \"rmw\", ttl = \"500d\" }", seconds, "at most"),
        ("{ op = \"get\", ttl = \"1h\" }", seconds, "a get takes no time to live"),
        ("{ op = \"batch\", ttl = \"1h\" }", seconds, "a batch takes no time to live"),
    ] {
        let message = refused(mix, engine);
        assert!(message.contains(reason), "{message}");
    }
    // Records that expire are missing in the next case.
    let text = SMALL.replace("mix = [{ op = \"get\" }]", &format!("mix = [{both}]"));
    let shared = refusal(&text, &set(&["run.database=shared"]));
    assert!(shared.contains("times to live change a database"), "{shared}");
    // If any record may expire, a kept state is refused too.
    let all = SMALL.replace("mix =", "expected_hits = \"any\"\nmix =");
    for database in ["shared", "state"] {
        let refused = refusal(&all, &set(&[&format!("run.database={database}")]));
        assert!(refused.contains("may be gone before the next case"), "{refused}");
    }
}

#[test]
fn a_share_of_hits_may_be_a_whole_number() {
    for share in ["0", "1", "0.5"] {
        plan(&SMALL.replace("mix =", &format!("expected_hits = {share}\nmix =")), &[]);
    }
    let over = refusal(&SMALL.replace("mix =", "expected_hits = 2\nmix ="), &Overrides::default());
    assert!(over.contains("2 is not a share of keys"), "{over}");
}
