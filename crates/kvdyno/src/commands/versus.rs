//! `kvdyno versus`: two builds of one engine in one run, trial by trial, and their differences.
//!
//! It makes a suite of the two builds, runs it like any other, and calls `compare` for the result.

use super::{compare, plan};
use crate::cli::VersusArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::pair::{self, PairSource};
use kvdyno_analysis::judge::versus::{Question, Sides};
use kvdyno_record::exit::Exit;
use kvdyno_render::command::command_line;
use std::path::Path;
use toml::{Table, Value};

/// The labels of two libraries without distinct names.
const LABELS: [&str; 2] = ["base", "new"];

/// A build to compare: the key and the value of `[[engine]]` that select it, and its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ComparedBuild {
    key: &'static str,
    value: String,
    label: String,
}

impl ComparedBuild {
    /// The build in a library's file.
    pub(crate) fn library(file: &Path, label: &str) -> Self {
        let value = file.display().to_string();
        Self { key: "library", value, label: label.to_owned() }
    }
}

pub(crate) fn run(args: &VersusArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let builds = builds(args)?;
    let question = compare::question(&args.comparison)?;
    let what = format!("two builds of {}", args.engine);
    let pair = |engines: &[Table]| with_builds(engines, &args.engine, &builds);
    let source = PairSource {
        suite: args.pair.suite.as_deref().unwrap_or("versus"),
        overrides: args.pair.overrides()?,
        location: &args.pair.bend.location,
        runs: &args.pair.keep.runs.runs,
    };
    let mut prepared = pair::prepare_pair(source, &what, pair, printer)?;
    args.pair.budget.set_within(&mut prepared.plan)?;
    prepared.plan.gate = question.gate;
    if args.plan {
        return plan::show_plan(&prepared, false, printer);
    }
    let (dir, record) = pair::run(&prepared, &args.pair.keep, args.pair.budget.time()?, printer)?;
    let [base, new] = &builds;
    let Some(record) = record else {
        let (path, both) = (dir.path.display(), format!("{},{}", base.label, new.label));
        let words = ["kvdyno".to_owned(), "compare".to_owned(), path.to_string()];
        let words = [&words[..], &["--engines".to_owned(), both]].concat();
        printer.note(&format!("compare what was measured: {}", command_line(&words)));
        return Ok(Exit::Interrupted);
    };
    let sides = Sides::engines(&record, &base.label, &new.label);
    let question = Question { within: record.evidence.plan.within, ..question };
    let versus = compare::answer(&sides, &question, &args.comparison, printer)?;
    if args.pair.why && versus.explanations.is_empty() {
        printer.note("nothing to explain: no rate and no count of instructions differs");
    }
    // A failed case takes precedence over a comparison of the rest.
    let exit = match record.figures.verdict {
        Exit::EngineFailed => Exit::EngineFailed,
        _ => compare::verdict(&versus, &args.comparison),
    };
    printer.note(&format!("kvdyno show {}", dir.path.display()));
    Ok(exit)
}

/// The two builds, the base first.
fn builds(args: &VersusArgs) -> Result<[ComparedBuild; 2], Complaint> {
    let versions = args.versions.iter().map(|version| ComparedBuild {
        key: "version",
        value: version.clone(),
        label: format!("{}-{version}", args.engine),
    });
    let mut builds: Vec<ComparedBuild> = versions.collect();
    for file in &args.libraries {
        let Some(value) = file.to_str() else {
            let what = format!("--library {}: its name is not UTF-8", file.display());
            return Err(Complaint::usage(what));
        };
        let label = LABELS.get(builds.len()).copied().unwrap_or_default().to_owned();
        builds.push(ComparedBuild { key: "library", value: value.to_owned(), label });
    }
    let count = builds.len();
    let [base, new] = <[ComparedBuild; 2]>::try_from(builds).map_err(|_| {
        Complaint::usage(format!("expected two builds, found {count}")).hint(
            "use `--library BASE.so --library NEW.so`, `--version 9.10.0 --version 11.8.1`, or one \
             of each; for more than two write a suite with `versions = [...]`",
        )
    })?;
    if base.label == new.label {
        let what = format!("--version {} occurs twice", base.value);
        return Err(Complaint::usage(what)
            .hint("`--library` with a copy of its file compares a build with itself"));
    }
    Ok([base, new])
}

/// The two builds, with options and durability of the suite's engine of that name, if it has one.
pub(crate) fn with_builds(
    engines: &[Table],
    engine: &str,
    builds: &[ComparedBuild; 2],
) -> [Table; 2] {
    let is_engine = |table: &&Table| table.get("name").and_then(Value::as_str) == Some(engine);
    let mut plain = engines.iter().find(is_engine).cloned().unwrap_or_default();
    for which in ["label", "version", "versions", "library"] {
        plain.remove(which);
    }
    plain.insert("name".to_owned(), engine.into());
    builds.each_ref().map(|build| {
        let mut table = plain.clone();
        table.insert("label".to_owned(), build.label.as_str().into());
        table.insert(build.key.to_owned(), build.value.as_str().into());
        table
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::running::pair::with_two;

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
        assert!(builds(&args(&[], &["a.so"])).is_err());
        assert!(builds(&args(&["9.10.0"], &["a.so", "b.so"])).is_err());
        assert!(builds(&args(&["9.10.0", "9.10.0"], &[])).is_err());
    }

    #[test]
    fn both_have_the_options_of_the_suites_own_engine() {
        let both = builds(&args(&["11.8.1"], &["b.so"])).unwrap();
        let two = |engines: &[Table]| with_builds(engines, "rocksdb", &both);
        let text = with_two("mine.toml", SUITE, "two builds", two).unwrap();
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
