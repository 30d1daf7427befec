//! Tests of `[crew]`: its plan, and settings that it does not support.

use super::*;

/// Returns the small suite with four readers and this `[crew]`.
fn with(crew: &str) -> String {
    let threads = "name = \"readers\"\nthreads = 4";
    let text = SMALL.replace("name = \"readers\"", threads);
    text.replace("[[engine]]", &format!("[crew]\n{crew}\n[[engine]]"))
}

/// Returns engines among which some are servers; one of them is started on this machine.
fn served() -> Engines {
    let mut engines = engines();
    engine_of(&mut engines, "rocksdb").capabilities.external_processes = true;
    engines
}

#[track_caller]
fn refused(text: &str) -> String {
    let suite = Suite::parse("suite.toml", text, &Overrides::default());
    match suite.and_then(|suite| expand(&suite, &served(), &HOST)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.render(false),
    }
}

#[test]
fn a_crew_is_not_profiled() {
    let text = with("hosts = [\"localhost:3\"]");
    let text = text.replace("[[engine]]", "[run]\nprofile = true\n[[engine]]");
    let refusal = refused(&text);
    assert!(refusal.contains("a crew's workers cannot be profiled"), "{refusal}");
}

#[test]
fn a_crew_is_planned_with_its_launch() {
    let plan = plan(&with("hosts = [\"localhost:3\", \"10.0.0.2\"]"), &["run.trials=1"]);
    let crew = plan.cases[0].crew.as_ref().unwrap();
    assert_eq!(crew.ranks(), 4);
    let launch = crew.launch.join(" ");
    assert!(launch.starts_with("mpirun --host localhost:3,10.0.0.2:1 -n 4 "), "{launch}");
    let custom = "hosts = [\"localhost:2\"]\nlaunch = \"srun -n {ranks}  -w {hosts}\"";
    let custom = super::plan(&with(custom), &[]);
    assert_eq!(custom.cases[0].crew.as_ref().unwrap().launch.join("|"), "srun|-n|2|-w|localhost:2");
    // A crew does other work than one worker; its hosts make no difference.
    let keys = |text: &str| super::plan(text, &[]).cases[0].key.clone();
    let (two, elsewhere) = (with("hosts = [\"a:2\"]"), with("hosts = [\"a\", \"b\"]"));
    assert_eq!(keys(&two), keys(&elsewhere));
    assert_ne!(keys(&two), keys(&with("hosts = [\"a:4\"]")));
    assert_ne!(
        keys(&two),
        keys(&with("hosts = [\"a:4\"]").replace("[crew]\nhosts = [\"a:4\"]", ""))
    );
}

#[test]
fn what_is_no_crew_is_refused() {
    let mut all = String::new();
    for crew in [
        "hosts = []",
        "hosts = [\"localhost\"]",
        "hosts = [\"a\", \"a\", \"fe80::1\"]",
        "hosts = [\"a:2\"]\nlaunch = \"mpirun -n 2\"",
        "hosts = [\"a:2\"]\nlaunch = \"sh -c 'mpirun {hosts} {ranks}'\"",
        "host = [\"a:2\"]",
        "hosts = [\"localhost:5\"]",
    ] {
        all += &refused(&with(crew));
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_no_crew_can_do_is_refused() {
    let crew = with("hosts = [\"localhost:2\"]");
    let insert = "mix = [{ op = \"insert\" }]\n";
    let role = |more: &str| format!("{crew}[[phase.role]]\nname = \"others\"\nthreads = 2\n{more}");
    let mut all = String::new();
    for text in [
        crew.replace("\"null\"", "\"lmdb\""),
        with("hosts = [\"localhost:2\", \"b\"]").replace("\"null\"", "\"rocksdb\""),
        crew.replace(
            "[[phase]]\nkind = \"measure\"",
            "[[phase]]\nkind = \"evict\"\n[[phase]]\nkind = \"measure\"",
        ),
        role("mix = [{ op = \"get\" }]").replace("duration = \"5s\"", "operations = 100"),
        role(&format!(
            "{insert}[[phase.role]]\nname = \"scans\"\nmix = [{{ op = \"scan\", length = 5 }}]"
        )),
        role(&format!(
            "{insert}[[phase.role]]\nname = \"misses\"\nfound = 0.5\nmix = [{{ op = \"get\" }}]"
        )),
        role(insert).replace("kind = \"load\"", "kind = \"load\"\norder = \"drawn\""),
        format!("{crew}[drive]\nsize = \"1GiB\"\n"),
    ] {
        all += &refused(&text.replace("[[engine]]", "[run]\ndatabase = \"fresh\"\n[[engine]]"));
    }
    insta::assert_snapshot!(all);
    let inserts = plan(&role(insert), &["run.database=fresh"]);
    assert!(inserts.cases.iter().all(|case| case.crew.is_some()));
}
