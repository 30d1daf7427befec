//! Tests of two engines that take turns, and of the user's own databases.

use super::*;
use kvdyno_record::origin::{Origin, Sample};
use kvdyno_record::plan::Counting;
use kvdyno_record::workload::{Phase, Size};
use std::path::Path;

fn two_engines() -> String {
    let second = "[[engine]]\nname = \"lmdb\"\ndurability = \"async\"\n[[phase]]";
    let run = "[run]\ndatabase = \"fresh\"\nthreads = [1, 2]\nturns = \"1s\"\n[[engine]]";
    let writes = "[[phase]]\nkind = \"measure\"\nname = \"writes\"\nduration = \"5s\"\n\
                  [[phase.role]]\nname = \"writers\"\nmix = [{ op = \"update\" }]\n";
    let text = SMALL.replacen("[[phase]]", second, 1).replacen("[[engine]]", run, 1);
    text.replace("mix = [{ op = \"get\" }]", "threads = \"sweep\"\nmix = [{ op = \"get\" }]")
        + writes
}

/// Checks that pairs are neighbours with one thread count and one trial.
fn check_pairs(plan: &Plan) {
    let pilots = plan.cases.iter().filter(|case| case.trial == 0).count();
    for pair in plan.cases[pilots..].chunks(2) {
        let [first, second] = pair else { panic!("one is left: {pair:?}") };
        assert_eq!(first.turns_with.as_ref(), Some(&second.id));
        assert_eq!(second.turns_with.as_ref(), Some(&first.id));
        assert_eq!((first.threads, first.trial), (second.threads, second.trial));
        assert_ne!(first.label, second.label);
    }
}

#[test]
fn cases_of_two_engines_are_pairs_and_stay_pairs() {
    let mut plan = plan(&two_engines(), &[]);
    check_pairs(&plan);
    let firsts = plan.cases.iter().step_by(2).filter(|case| case.label == "lmdb").count();
    assert_eq!((plan.cases.len(), firsts), (16, 4), "each comes first as often as the other");
    let turns = |phase: &Phase| phase.mix().and_then(|mix| mix.ends.turn_ns);
    let turns: Vec<Option<u64>> = plan.cases[0].phases.iter().map(turns).collect();
    assert!(turns.contains(&Some(1_000_000_000)) && turns.last() != Some(&Some(1_000_000_000)));
    let note = "writes: one engine after the other, not in turns: it writes";
    assert!(plan.sized.iter().any(|sentence| sentence.starts_with(note)), "{:?}", plan.sized);
    append_trial(&mut plan, |_| true);
    assert_eq!(plan.cases.len(), 20);
    check_pairs(&plan);
    // Both databases exist at the same time.
    let space = |case: usize| plan.estimate.databases[&plan.cases[case].database.id];
    assert_eq!(plan.estimate.space_bytes, space(0) + space(1));
}

#[test]
fn what_is_counted_takes_no_turns() {
    let overrides = Overrides { count: Some(Counting::Valgrind), ..Overrides::default() };
    let plan = plan_of(&two_engines(), &overrides).unwrap();
    assert!(plan.cases.iter().all(|case| case.turns_with.is_none()));
}

/// `--why` does not change the pairs, and the counted cases are a part of their own.
#[test]
fn why_counts_beside_the_pairs() {
    let overrides = Overrides { explain: Some(Explain::Beside), ..Overrides::default() };
    let plan = plan_of(&two_engines(), &overrides).unwrap();
    let (counted, timed): (Vec<_>, Vec<_>) =
        plan.cases.iter().partition(|case| plan.is_beside(case));
    assert_eq!(timed.len(), 16);
    let pairs = Plan { cases: timed.into_iter().cloned().collect(), ..plan.clone() };
    check_pairs(&pairs);
    // Each engine has four trials with one thread, in which no phase ends by time.
    assert_eq!(counted.len(), 8);
    for case in counted {
        assert_eq!((case.part.as_deref(), case.turns_with.as_ref()), (Some("counted"), None));
        let mut mixes = case.phases.iter().filter_map(Phase::mix);
        assert!(mixes.all(|mix| mix.ends.operations.is_some() && mix.ends.duration_ns.is_none()));
        assert!(case.threads == Some(1) && case.ram_limit_bytes.is_none());
    }
    assert!(plan.sized.iter().any(|note| note.starts_with("--why: ")), "{:?}", plan.sized);
}

const OWN: &str = "from = { path = \"/var/lib/app\", keys = 1000 }";

fn own(text: &str, sample: &Result<Sample, &str>) -> Result<Plan, String> {
    let mut suite = Suite::parse("suite.toml", text, &Overrides::default())
        .map_err(|error| format!("{error:?}"))?;
    let engines = engines();
    let look = |database: &OwnDatabase<'_>| {
        assert_eq!(
            (database.path.as_path(), database.keys_max),
            (Path::new("/var/lib/app"), 1_000)
        );
        let (path, state, keys) = (database.path.clone(), "00".to_owned(), "keys".into());
        sample.clone().map(|sample| Origin { path, state, keys, sample }).map_err(str::to_owned)
    };
    suite.read_databases(&engines, 1 << 30, look).map_err(|error| format!("{error:?}"))?;
    expand(&suite, &engines, &HOST).map_err(|error| format!("{error:?}"))
}

#[test]
fn a_database_of_ones_own_is_planned_by_what_it_holds() {
    let text = SMALL.replace("records = \"1M\"\nvalue_bytes = 100", OWN);
    let text = text.replacen("[[phase]]\nkind = \"load\"\n", "", 1).replace("\"null\"", "\"lmdb\"");
    let sample = Sample {
        records: 70_000,
        keys: 1_000,
        key_bytes: Size::empirical(&[(8, 1.0), (24, 1.0)]),
        value_bytes: Size::Fixed { bytes: 300 },
    };
    // Records that expire in the user's own database are gone for every case alike.
    let any = text.replace("mix =", "expected_hits = \"any\"\nmix =");
    own(&any, &Ok(sample.clone())).unwrap();
    let plan = own(&text, &Ok(sample)).unwrap();
    let [loader, measured] = &plan.cases[..2] else { panic!("{:?}", plan.cases) };
    assert!(loader.phases.is_empty() && loader.makes_state(), "{loader:?}");
    assert!(measured.copies_state() && measured.database.loaded_by == loader.id);
    assert_eq!((measured.data.records, measured.shape.key_bytes), (70_000, 24));
    assert_eq!(measured.shape.value_bytes_mean, 300);
    assert!(plan.sized.iter().any(|note| note.contains("1,000 of their keys")), "{:?}", plan.sized);
    let refused = own(&text, &Err("it is open")).unwrap_err();
    assert!(refused.contains("it is open"), "{refused}");
}

#[test]
fn what_ones_own_database_cannot_do_is_refused() {
    let text = SMALL.replace("records = \"1M\"\nvalue_bytes = 100", OWN);
    insta::assert_snapshot!(refusal(&text, &Overrides::default()));
    let more = text.replace("[data]", "[run]\ndatabase = \"fresh\"\n[data]\nrecords = 5");
    let more = more.replace("\"get\"", "\"insert\"");
    insta::assert_snapshot!(refusal(&more, &Overrides::default()));
}

/// A pair works on one data set, and a turn ends with a slice.
#[test]
fn a_pair_has_one_data_set_and_keeps_its_slices() {
    let several = two_engines().replacen("value_bytes = 100", "value_bytes = [100, 1000]", 1);
    let plan = plan(&several, &[]);
    check_pairs(&plan);
    for pair in plan.cases.chunks(2) {
        assert_eq!(pair[0].data, pair[1].data, "{} {}", pair[0].id, pair[1].id);
    }
    let hours = plan_of(
        &two_engines().replace("duration = \"5s\"", "duration = \"6h\""),
        &Overrides::default(),
    );
    for case in hours.unwrap().cases {
        assert_eq!(case.slice_ns, 1_000_000_000, "{}", case.id);
    }
}
