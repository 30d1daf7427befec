//! `kvdyno versus`: two builds of one engine in one run, trial by trial, and what differs.
//!
//! It makes a suite of the two builds, has it run as any other, and asks `compare` for the rest.

use super::compare::{self, Asked};
use super::prepare::{self, Prepared, check_space, prepare_text};
use super::{plan, run};
use crate::cli::{SuiteArgs, VersusArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::runner::Ended;
use anyhow::Context as _;
use kvdyno_analysis::summary::verdict;
use kvdyno_analysis::versus::{Record, Sides};
use kvdyno_host::Root;
use kvdyno_record::blockio::Watch;
use kvdyno_record::exit::Exit;
use toml::{Table, Value};

/// The labels of two libraries, which have no better names.
const LABELS: [&str; 2] = ["base", "new"];

/// A build that is compared: the key and the value of `[[engine]]` that name it, and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Build {
    key: &'static str,
    value: String,
    label: String,
}

/// Runs both, and compares them.
pub fn run(args: &VersusArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let builds = builds(args)?;
    let asked = Asked::of(&args.asked)?;
    let mut prepared = prepared(args, &builds)?;
    if args.plan {
        plan::show(&prepared, printer);
        check_space(&prepared)?;
        return Ok(Exit::Ok);
    }
    prepared.named.clone_from(&args.named);
    let (folder, ended) = run::keep(&prepared, &args.runs.runs, Watch::Off, printer)?;
    if ended == Ended::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let record = Record::read(&folder)
        .with_context(|| format!("failed to read the run in `{}`", folder.path.display()))?;
    let [base, new] = &builds;
    let sides = Sides::engines(&record, &base.label, &new.label);
    let compared = compare::answer(&sides, asked, &args.runs.runs, printer)?;
    // What failed goes before what little could be compared.
    let exit = match verdict(&record.summary) {
        Exit::EngineFailed => Exit::EngineFailed,
        _ => compared,
    };
    printer.note(&format!("kvdyno show {}", folder.path.display()));
    Ok(exit)
}

/// The two builds, the base first.
fn builds(args: &VersusArgs) -> Result<[Build; 2], Complaint> {
    let versions = args.versions.iter().map(|version| Build {
        key: "version",
        value: version.clone(),
        label: format!("{}-{version}", args.engine),
    });
    let mut builds: Vec<Build> = versions.collect();
    for file in &args.libraries {
        let Some(value) = file.to_str() else {
            let what = format!("--library {}: its name is not UTF-8", file.display());
            return Err(Complaint::usage(what));
        };
        let label = LABELS.get(builds.len()).copied().unwrap_or_default().to_owned();
        builds.push(Build { key: "library", value: value.to_owned(), label });
    }
    let given = builds.len();
    let [base, new] = <[Build; 2]>::try_from(builds).map_err(|_| {
        Complaint::usage(format!("two builds are compared, and {given} came")).hint(
            "`--library BASE.so --library NEW.so`, `--version 9.10.0 --version 11.8.1`, or one of \
             each; of more than two write a suite with `versions = [...]`",
        )
    })?;
    if base.label == new.label {
        let what = format!("--version {} is there twice", base.value);
        return Err(Complaint::usage(what).hint("`kvdyno calibrate` runs one engine beside itself"));
    }
    Ok([base, new])
}

fn prepared(args: &VersusArgs, builds: &[Build; 2]) -> anyhow::Result<Prepared> {
    let (file, text) = prepare::read(&args.suite)?;
    let text = with_builds(&file, &text, &args.engine, builds)?;
    let suite = SuiteArgs {
        suite: args.suite.clone(),
        set: args.set.clone(),
        scale: args.scale.clone(),
        trials: args.trials,
        at: args.at.clone(),
        no_ram_limit: args.no_ram_limit,
        ..SuiteArgs::default()
    };
    let file = format!("{file} (its engines replaced by the two builds)");
    prepare_text(&file, text, &suite, &args.runs.runs, &Root::system())
}

/// The suite with the two builds in place of its engines. Options and durability are those of the
/// suite's own engine of that name, if it has one.
fn with_builds(
    file: &str,
    text: &str,
    engine: &str,
    builds: &[Build; 2],
) -> anyhow::Result<String> {
    let mut suite: Table = text
        .parse()
        .map_err(|error: toml::de::Error| Complaint::usage(format!("{file}: {error}")))?;
    let engines = suite.get("engine").and_then(Value::as_array);
    let tables = engines.into_iter().flatten().filter_map(Value::as_table);
    let mut own =
        tables.filter(|table| table.get("name").and_then(Value::as_str) == Some(engine)).cloned();
    let mut plain = own.next().unwrap_or_default();
    for which in ["label", "version", "versions", "library"] {
        plain.remove(which);
    }
    plain.insert("name".to_owned(), engine.into());
    let both = builds.iter().map(|build| {
        let mut table = plain.clone();
        table.insert("label".to_owned(), build.label.as_str().into());
        table.insert(build.key.to_owned(), build.value.as_str().into());
        Value::Table(table)
    });
    let both = both.collect();
    suite.insert("engine".to_owned(), Value::Array(both));
    // What limits both alike tells nothing of either.
    suite.remove("drive");
    let its_name = suite.get_mut("suite").and_then(|table| table.get_mut("name"));
    if let Some(Value::String(its_name)) = its_name.filter(|name| name.as_str() != Some(NAME)) {
        *its_name = format!("{NAME}-{its_name}");
    }
    Ok(format!("# Made of {file} by `kvdyno versus`: two builds of {engine}.\n{suite}"))
}

/// The built-in suite, and what the names of others begin with.
const NAME: &str = "versus";

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = "\
        [suite]\nname = \"mine\"\n\
        [[engine]]\nname = \"lmdb\"\n\
        [[engine]]\nname = \"rocksdb\"\nversions = [\"9.10.0\"]\ndurability = \"commit\"\n\
        options = { bloom_bits = 10 }\n\
        [drive]\npreset = \"ceiling\"\n\
        [[phase]]\nkind = \"load\"\n";

    fn args(versions: &[&str], libraries: &[&str]) -> VersusArgs {
        VersusArgs {
            engine: "rocksdb".to_owned(),
            versions: versions.iter().map(ToString::to_string).collect(),
            libraries: libraries.iter().map(Into::into).collect(),
            ..VersusArgs::default()
        }
    }

    fn labels(versions: &[&str], libraries: &[&str]) -> [String; 2] {
        builds(&args(versions, libraries)).unwrap().map(|build| build.label)
    }

    #[test]
    fn two_builds_are_compared_and_the_first_is_the_base() {
        assert_eq!(labels(&[], &["a.so", "b.so"]), ["base", "new"]);
        assert_eq!(labels(&["9.10.0", "11.8.1"], &[]), ["rocksdb-9.10.0", "rocksdb-11.8.1"]);
        assert_eq!(labels(&["11.8.1"], &["b.so"]), ["rocksdb-11.8.1", "new"]);
    }

    #[test]
    fn one_or_three_are_not_compared() {
        let refused = builds(&args(&[], &["a.so"])).unwrap_err();
        assert!(refused.message.ends_with("1 came"), "{refused:?}");
        let refused = builds(&args(&["9.10.0"], &["a.so", "b.so"])).unwrap_err();
        assert!(refused.message.ends_with("3 came"), "{refused:?}");
        assert!(builds(&args(&["9.10.0", "9.10.0"], &[])).is_err());
    }

    #[test]
    fn both_have_the_options_of_the_suites_own_engine() {
        let both = builds(&args(&["11.8.1"], &["b.so"])).unwrap();
        let text = with_builds("mine.toml", SUITE, "rocksdb", &both).unwrap();
        let suite: Table = text.parse().unwrap();
        assert_eq!(suite["suite"]["name"].as_str(), Some("versus-mine"));
        assert!(!suite.contains_key("drive"), "{suite}");
        let engines = suite["engine"].as_array().unwrap();
        assert_eq!(engines.len(), 2);
        for engine in engines {
            assert_eq!(engine["durability"].as_str(), Some("commit"));
            assert_eq!(engine["options"]["bloom_bits"].as_integer(), Some(10));
            assert!(engine.get("versions").is_none(), "{engine}");
        }
        assert_eq!(engines[0]["version"].as_str(), Some("11.8.1"));
        assert_eq!(engines[1]["library"].as_str(), Some("b.so"));
    }
}
