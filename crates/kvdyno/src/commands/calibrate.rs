//! `kvdyno calibrate`: one engine against itself, to learn what differences this machine can tell
//! from noise.

use super::prepare::{self, Prepared, prepare_text};
use super::{run, runs};
use crate::cli::{CalibrateArgs, SuiteArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::runner::Ended;
use crate::workers;
use anyhow::Context as _;
use kvdyno_analysis::findings::Severity;
use kvdyno_analysis::stats::MIN_TRIALS;
use kvdyno_analysis::summary::verdict;
use kvdyno_analysis::versus::{Calibration, Record, twins};
use kvdyno_host::Root;
use kvdyno_record::blockio::Watch;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunFolder;
use kvdyno_record::host::Host;
use kvdyno_render::versus as text;
use kvdyno_render::wrap::wrap;
use std::path::Path;
use toml::{Table, Value};

/// Runs the suite with the engine's twins, keeps the record, and says what it resolves.
pub fn run(args: &CalibrateArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let prepared = prepared(args)?;
    let trials = prepared.plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) as usize;
    if trials < MIN_TRIALS {
        let what = format!("the suite has {trials} trials, and {MIN_TRIALS} are the least");
        return Err(Complaint::usage(what).hint("`--trials 10`").into());
    }
    let (folder, ended) = run::keep(&prepared, &args.runs.runs, Watch::Off, printer)?;
    if ended == Ended::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let record = Record::read(&folder)
        .with_context(|| format!("failed to read the run in `{}`", folder.path.display()))?;
    let exit = verdict(&record.summary);
    for finding in record.summary.findings.iter().filter(|f| f.severity != Severity::Info) {
        printer.warning(&format!("{}: {}", finding.id.as_str(), finding.evidence));
    }
    let Some(known) = Calibration::of(&record) else {
        printer.warning("too few trials came to their end: nothing was calibrated");
        printer.hint(&format!("`kvdyno show {}` says why", folder.path.display()));
        return Ok(if exit == Exit::Ok { Exit::Invalid } else { exit });
    };
    if args.json {
        printer.json(&known)?;
    } else {
        print(&known, args.all, printer);
    }
    Ok(exit)
}

/// The newest complete calibration of a host among the runs.
pub fn newest(runs: &Path, host: &Host) -> Option<Calibration> {
    runs::folders(runs).into_iter().rev().find_map(|path| {
        let folder = RunFolder::open(path).ok()?;
        // The small files first: most runs are none.
        let is_one = folder.is_complete()
            && same_host(&folder.run().ok()?.host_before, host)
            && twins(&folder.plan().ok()?).is_some();
        if !is_one {
            return None;
        }
        Calibration::of(&Record::read(&folder).ok()?)
    })
}

/// By what decides speed, and the name: the kernel and the memory in use may change.
fn same_host(one: &Host, other: &Host) -> bool {
    let facts =
        |host: &Host| (host.hostname.clone(), host.machine.cpu_model.clone(), host.machine.cpus);
    facts(one) == facts(other)
}

fn print(known: &Calibration, all: bool, printer: &Printer) {
    printer.heading(&wrap(&text::resolution(known), 0));
    printer.data("");
    printer.data(&text::resolutions(known, all).text());
    printer.data(
        "resolves: 95 % of all random halvings of these trials have medians closer than that, and \
         the two\nlabels, between which nothing differs, were not further apart. `kvdyno compare` \
         claims no smaller\ndifference here; more or longer trials resolve more.",
    );
}

fn prepared(args: &CalibrateArgs) -> anyhow::Result<Prepared> {
    let (file, text) = prepare::read(&args.suite)?;
    let name = args.engine.clone();
    let text = with_twins(&file, &text, name.as_deref(), |name| workers::find(name).is_ok())?;
    let suite = SuiteArgs {
        suite: args.suite.clone(),
        set: args.set.clone(),
        trials: args.trials,
        at: args.at.clone(),
        no_ram_limit: args.no_ram_limit,
        ..SuiteArgs::default()
    };
    let file = format!("{file} (engines replaced by twins)");
    prepare_text(&file, text, &suite, &args.runs.runs, &Root::system())
}

/// The suite with one engine twice in place of its own: the one asked for, else the first it has
/// that is found and stores anything, else the null engine.
fn with_twins(
    file: &str,
    text: &str,
    asked: Option<&str>,
    is_found: impl Fn(&str) -> bool,
) -> anyhow::Result<String> {
    let mut suite: Table = text
        .parse()
        .map_err(|error: toml::de::Error| Complaint::usage(format!("{file}: {error}")))?;
    let engines: Vec<Table> = match suite.get("engine").and_then(Value::as_array) {
        Some(engines) => engines.iter().filter_map(Value::as_table).cloned().collect(),
        None => Vec::new(),
    };
    let word =
        |engine: &Table, key: &str| engine.get(key).and_then(Value::as_str).map(str::to_owned);
    let is_called = |engine: &&Table, name: &str| {
        [word(engine, "label"), word(engine, "name")].contains(&Some(name.to_owned()))
    };
    let chosen = match asked {
        Some(name) => engines.iter().find(|engine| is_called(engine, name)),
        None => engines.iter().find(|engine| {
            word(engine, "name").is_some_and(|name| name != "null" && is_found(&name))
        }),
    };
    let name = asked.unwrap_or("null").to_owned();
    let plain = || Table::from_iter([("name".to_owned(), Value::String(name.clone()))]);
    let chosen = chosen.cloned().unwrap_or_else(plain);
    let stem = word(&chosen, "label").or_else(|| word(&chosen, "name")).unwrap_or(name);
    let stem = stem.trim_end_matches("-a").trim_end_matches("-b");
    let twin = |letter: char| {
        let mut twin = chosen.clone();
        twin.insert("label".to_owned(), Value::String(format!("{stem}-{letter}")));
        Value::Table(twin)
    };
    suite.insert("engine".to_owned(), Value::Array(vec![twin('a'), twin('b')]));
    // The drive has no twin.
    suite.remove("drive");
    let its_name = suite.get_mut("suite").and_then(|table| table.get_mut("name"));
    if let Some(Value::String(its_name)) = its_name
        && !is_calibration(its_name)
    {
        *its_name = format!("{NAME}-{its_name}");
    }
    Ok(format!("# Made of {file} by `kvdyno calibrate`: one engine under two labels.\n{suite}"))
}

/// The built-in suite, and what the names of others that calibrate begin with.
const NAME: &str = "calibrate";

/// Whether a suite is one of this command's, by its name.
pub(super) fn is_calibration(suite: &str) -> bool {
    suite.strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "\
        [suite]\nname = \"mine\"\n\
        [[engine]]\nname = \"null\"\n\
        [[engine]]\nname = \"rocksdb\"\nlabel = \"rocks\"\ndurability = \"async\"\n\
        [[engine]]\nname = \"lmdb\"\n[engine.options]\nreadahead = true\n\
        [drive]\npreset = \"ceiling\"\n\
        [[phase]]\nkind = \"load\"\n";

    fn engines(asked: Option<&str>, found: &[&str]) -> Vec<String> {
        let text = with_twins("mine.toml", SUITE, asked, |name| found.contains(&name)).unwrap();
        let suite: Table = text.parse().unwrap();
        assert_eq!(suite["suite"]["name"].as_str(), Some("calibrate-mine"));
        assert_eq!(suite["phase"].as_array().map(Vec::len), Some(1));
        assert!(!suite.contains_key("drive"), "{suite}");
        suite["engine"].as_array().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_engine_stands_beside_itself() {
        let [a, b] = &engines(Some("lmdb"), &[])[..] else { panic!() };
        assert!(a.contains("lmdb-a") && a.contains("readahead = true"), "{a}");
        assert_eq!(a.replace("lmdb-a", "lmdb-b"), *b);
        assert!(engines(Some("rocksdb"), &[])[0].contains("rocks-a"));
        assert!(engines(Some("mine"), &[])[0].contains("mine-a"));
    }

    #[test]
    fn the_first_that_is_found_and_stores_anything() {
        assert!(engines(None, &["null", "lmdb"])[1].contains("lmdb-b"));
        assert!(engines(None, &["null", "lmdb", "rocksdb"])[1].contains("rocks-b"));
        assert!(engines(None, &["null"])[0].contains("null-a"));
    }

    #[test]
    fn a_suite_that_is_no_toml_is_a_mistake() {
        let error = with_twins("mine.toml", "[suite", None, |_| true).unwrap_err();
        assert_eq!(crate::exit::of_error(&error), Exit::Usage);
    }
}
