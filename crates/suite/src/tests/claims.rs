//! Claims: parsing, the plan's text, and mistakes at their lines.

use super::*;
use kvdyno_record::claim::{Bound, Need, Side, Test, Threads, Window};

const TWO: &str = r#"
[suite]
name = "two"
study = "symas-optane-2018"
[data]
records = "1M"
value_bytes = 100
[[volume]]
name = "flash"
kind = "directory"
path = "/mnt/flash"
[run]
threads = [1, 4]
[[engine]]
name = "lmdb"
[[engine]]
name = "rocksdb"
label = "rocks-9.1"
[[phase]]
kind = "load"
[[phase]]
kind = "measure"
duration = "5s"
[[phase.role]]
name = "readers"
threads = "sweep"
mix = [{ op = "get" }]
[[claim]]
text = "the log-structured engine writes less"
holds = "load.lmdb.write_amplification  /  load.rocks-9.1@flash.write_amplification in 1.15..1.35"
needs = ["volume flash", "cpus 16", "data_to_ram 4"]
[[claim]]
text = "reads grow with readers"
holds = "measure.readers.lmdb#max.ops_per_s / measure.readers.lmdb#1.ops_per_s > 2"
[[claim]]
text = "and take long"
holds = "measure.readers.get.rocks-9.1#1..4/1.5GiB*1M.service_ns_p99 < 10us"
"#;

fn with(holds: &str) -> String {
    let head = TWO.split("[[claim]]").next().unwrap();
    format!("{head}[[claim]]\ntext = \"so\"\nholds = \"{holds}\"\n")
}

#[test]
fn claims_and_the_study_are_in_the_plan() {
    let plan = plan(TWO, &[]);
    assert_eq!(plan.study.as_deref(), Some("symas-optane-2018"));
    let [writes, grow, long] = &plan.claims[..] else { panic!("{:?}", plan.claims) };
    let Side::Ratio(one, other) = &writes.relation.left else { panic!("{writes:?}") };
    assert_eq!((one.engine.as_str(), one.volume.as_deref()), ("lmdb", None));
    assert_eq!((other.engine.as_str(), other.volume.as_deref()), ("rocks-9.1", Some("flash")));
    assert_eq!(writes.relation.test, Test::Within { low: 1.15, high: 1.35 });
    let needs = [Need::Volume("flash".to_owned()), Need::Cpus(16), Need::DataToRam(4)];
    assert_eq!(writes.needs, needs);
    assert!(!writes.holds.contains("  "), "{}", writes.holds);
    let Side::Ratio(most, first) = &grow.relation.left else { panic!("{grow:?}") };
    assert_eq!(most.threads, Some(Threads::Most));
    assert_eq!(
        (first.threads, first.role.as_deref()),
        (Some(Threads::Exactly(1)), Some("readers"))
    );
    let Side::Figure(cell) = &long.relation.left else { panic!("{long:?}") };
    assert_eq!(cell.threads, Some(Threads::Between(1, 4)));
    assert_eq!((cell.op.as_deref(), cell.engine.as_str()), (Some("get"), "rocks-9.1"));
    assert_eq!((cell.ram_bytes, cell.records), (Some(3 << 29), Some(1_000_000)));
    assert_eq!(long.relation.test, Test::Below(Bound::Number(10_000.0)));
}

/// A claim about engines that this run leaves out is not a mistake: it is evaluated later.
#[test]
fn claims_stay_where_engines_are_left_out() {
    let overrides = Overrides { engines: vec!["lmdb".to_owned()], ..Overrides::default() };
    let plan = plan_of(TWO, &overrides).unwrap_or_else(|error| panic!("{}", error.render(false)));
    assert_eq!(plan.claims.len(), 3);
}

#[test]
fn plans_without_them_are_as_before() {
    let plan = serde_json::to_value(plan(SMALL, &[])).unwrap();
    assert!(plan.get("claims").is_none() && plan.get("study").is_none());
}

#[test]
fn mistakes_of_claims_are_shown_under_their_lines() {
    let wrong = [
        "load.lmbd.wall_ns > 1s",
        "load.lmdb.wall > 1s",
        "laod.lmdb.wall_ns > 1s",
        "measure.reader.lmdb.ops_per_s > 1k",
        "load.lmdb@flesh.wall_ns > 1s",
        "load.lmdb.wall_ns / in 1..2",
        "load.lmdb.wall_ns in 2..1",
        "load.lmdb.wall_ns",
        "load.lmdb.wall_ns > 1s and more",
        "load.lmdb#0x.wall_ns > 1",
        "wall_ns > 1",
    ];
    let mut text: String =
        wrong.iter().map(|holds| refusal(&with(holds), &Overrides::default()) + "\n").collect();
    let needs = with("load.lmdb.wall_ns > 1s") + "needs = [\"volume flesh\", \"cpu 4\"]\n";
    text += &refusal(&needs, &Overrides::default());
    let study = TWO.replace("symas-optane-2018", "symas-optane");
    text += &refusal(&study, &Overrides::default());
    insta::assert_snapshot!(text);
}

#[test]
fn a_claim_may_name_a_phase_that_is_not_selected() {
    let overrides = Overrides { phases: vec!["load".to_owned()], ..Overrides::default() };
    let plan = plan_of(&with("measure.readers.lmdb.ops_per_s > 1"), &overrides).unwrap();
    let mut phases = plan.cases.iter().flat_map(|case| &case.phases);
    assert!(phases.all(|phase| phase.name != "measure"));
    assert_eq!(plan.claims.len(), 1);
}

#[test]
fn a_cell_may_name_a_window_of_its_phase() {
    let holds = "measure-w2.readers.lmdb.ops_per_s / measure-wmax.readers.lmdb.ops_per_s > 1";
    let plan = plan(&with(holds), &[]);
    let Side::Ratio(second, last) = &plan.claims[0].relation.left else { panic!("{plan:?}") };
    assert_eq!((second.phase.as_str(), second.window), ("measure", Some(Window::Number(2))));
    assert_eq!((last.phase.as_str(), last.window), ("measure", Some(Window::Last)));
    // Tables show the number of a window with leading zeros.
    let padded = self::plan(&with("measure-w02.readers.lmdb.ops_per_s > 1"), &[]);
    let Side::Figure(padded) = &padded.claims[0].relation.left else { panic!("{padded:?}") };
    assert_eq!(padded, second);
    for wrong in ["measure-w0", "measure-wlast", "laod-w1"] {
        let refused =
            refusal(&with(&format!("{wrong}.readers.lmdb.ops_per_s > 1")), &Overrides::default());
        assert!(refused.contains(&format!("no phase with figures `{wrong}`")), "{refused}");
    }
}

/// A phase without a name has the plan's name.
#[test]
fn a_claim_may_name_a_second_phase_of_a_kind() {
    let again = "[[phase]]\nkind = \"measure\"\nduration = \"5s\"\n[[phase.role]]\n\
                 name = \"scanners\"\nmix = [{ op = \"scan\" }]\n[[claim]]";
    let text = |phase: &str| {
        with(&format!("{phase}.scanners.lmdb.ops_per_s > 1")).replace("[[claim]]", again)
    };
    let plan = plan(&text("measure-2"), &[]);
    let Side::Figure(cell) = &plan.claims[0].relation.left else { panic!("{plan:?}") };
    let mut phases = plan.cases.iter().flat_map(|case| &case.phases);
    assert!(phases.any(|phase| phase.name == cell.phase), "{}", cell.phase);
    let refused = refusal(&text("measure-3"), &Overrides::default());
    assert!(refused.contains("no phase with figures `measure-3`"), "{refused}");
}

#[test]
fn a_claim_may_name_a_role_of_the_version_as_run() {
    let phase = "[phases.other]\nkind = \"measure\"\nduration = \"5s\"\n\
                 role.readers = { mix = [{ op = \"get\" }] }\n[phases.other.as-run]\n\
                 role.scanners = { mix = [{ op = \"scan\" }] }\n[[claim]]";
    let text = with("other.scanners.lmdb.ops_per_s > 1").replace("[[claim]]", phase);
    assert_eq!(plan(&text, &["run.phases=[\"load\", \"measure\"]"]).claims.len(), 1);
}

#[test]
fn what_is_needed_and_not_there_is_told_by_name() {
    for need in ["part x", "tier x"] {
        let text = with("load.lmdb.wall_ns > 1s") + &format!("needs = [\"{need}\"]\n");
        let refused = refusal(&text, &Overrides::default());
        let (what, name) = need.split_once(' ').unwrap();
        assert!(refused.contains(&format!("the suite has no {what} `{name}`")), "{refused}");
    }
}
