//! `kvdyno quick`: a comparison without a file. It writes a suite, and runs it like `kvdyno run`.

mod text;

use super::{plan, run};
use crate::cli::QuickArgs;
use crate::exit::Complaint;
use crate::output;
use crate::printer::Printer;
use crate::running::prepare::{PreparedRun, describe, prepare_text};
use crate::running::workers;
use kvdyno_record::engine::Durability;
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_suite::{Overrides, Pick};
use std::path::{Path, PathBuf};
use text::{AskedEngine, Extras};

/// The default engines.
const USUAL: [&str; 2] = ["lmdb", "rocksdb"];

/// The durability classes, the preferred first.
const CLASSES: [Durability; 3] = [Durability::Async, Durability::Commit, Durability::None];

/// The least RAM limit in bytes: under a smaller one, engines may be killed.
const LIMIT_LEAST: u64 = 64 << 20;

pub(crate) fn run(args: &QuickArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let engines = engines(args)?;
    let engines: Vec<AskedEngine> =
        engines.into_iter().map(describe_asked_engine).collect::<anyhow::Result<_>>()?;
    let args = &with_durability(args, &engines, printer)?;
    let is_installed =
        |name: &str| !engines.iter().any(|e| e.name == name) && workers::find(name).is_ok();
    // An engine that stores nothing cannot open the user's database.
    let null = args.from.is_none() && is_installed("null");
    let extras = Extras { null, drive: !args.no_drive && is_installed("drive") };
    let mut text = text::suite(args, &engines, extras);
    let options = options_file(args, &engines);
    let prepared = |args, text: &str| prepare_quick_run(args, text, options.as_ref(), printer);
    let mut prepared_run = prepared(args, &text)?;
    let limits = prepared_run.plan.cases.iter().filter_map(|case| case.ram_limit_bytes);
    let (least, most) = (limits.clone().min(), limits.max());
    let is_typed = args.ram.is_some() || args.data_to_ram.is_some();
    let limit_least = limit_least(&engines);
    let too_small = |limit: &u64| *limit < limit_least && !is_typed;
    if let (Some(limit), None) = (least.filter(too_small), most.filter(too_small)) {
        return Err(Complaint::usage(format!(
            "a quarter of the smallest data is {}, less RAM than an engine needs, and other data \
             is larger: one limit cannot serve all",
            units::bytes(limit)
        ))
        .hint(format!(
            "use `--ram all` for no limit, or `--ram {}MiB` for all, or more similar sizes",
            limit_least >> 20
        ))
        .into());
    }
    if let Some(limit) = most.filter(too_small) {
        printer.note(&format!(
            "no RAM limit: a quarter of the data is {}, less than an engine needs",
            units::bytes(limit)
        ));
        let args = &QuickArgs { ram: Some("all".to_owned()), ..args.clone() };
        text = text::suite(args, &engines, extras);
        prepared_run = prepared(args, &text)?;
    }
    if let Some(limit) = least.filter(|limit| is_typed && *limit < limit_least) {
        printer.warning(&format!(
            "a RAM limit of {}: engines that need more are killed; these run with {} or more",
            units::bytes(limit),
            units::bytes(limit_least)
        ));
    }
    args.budget.set_within(&mut prepared_run.plan)?;
    if let Some(path) = &args.save_suite {
        save(path, &text, args, options.as_ref(), printer)?;
    }
    if args.plan {
        return plan::show_plan(&prepared_run, args.view.json, printer);
    }
    run::to_tables(&mut prepared_run, &args.keep, args.budget.time()?, &args.view, printer)
}

/// The least RAM in bytes with which all of these engines run.
fn limit_least(engines: &[AskedEngine]) -> u64 {
    let described = engines.iter().filter_map(|engine| engine.description.as_ref());
    described.map(|engine| engine.planning.ram_bytes_min).fold(LIMIT_LEAST, u64::max)
}

/// Plans the suite's text on this machine.
fn prepare_quick_run(
    args: &QuickArgs,
    text: &str,
    options: Option<&(String, String)>,
    printer: &Printer,
) -> anyhow::Result<PreparedRun> {
    let file = match &args.save_suite {
        Some(path) => path.display().to_string(),
        None => "the suite that `kvdyno quick` wrote".to_owned(),
    };
    let runs = &args.keep.runs.runs;
    let duration = args.duration.clone().filter(|_| args.has_ycsb());
    let overrides = Overrides { set: args.set.clone(), duration, ..Overrides::default() };
    let mut overrides = args.ycsb.overrides(overrides)?;
    if let Some((path, text)) = options {
        overrides.db_bench.push(options_flag(path));
        overrides.db_bench_files.push((path.clone(), text.clone()));
    }
    prepare_text(&file, text.to_owned(), overrides, &args.location, runs, printer)
}

/// The flag for an OPTIONS file, quoted as for a shell: flags are read as a command line.
fn options_flag(path: &str) -> String {
    format!("--options_file={}", kvdyno_record::text::shell_word(path))
}

/// The path and the text of the newest OPTIONS file in the user's `RocksDB` database.
fn options_file(args: &QuickArgs, engines: &[AskedEngine]) -> Option<(String, String)> {
    let database = args.from.as_deref()?;
    if !engines.iter().any(|engine| engine.name == "rocksdb") {
        return None;
    }
    let entries = std::fs::read_dir(database).ok()?.flatten();
    let is_options = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_prefix("OPTIONS-").is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()))
    };
    // The numbers in these names have one length, so the last name is the newest.
    let newest = entries.map(|entry| entry.path()).filter(is_options).max()?;
    let text = std::fs::read_to_string(&newest).ok()?;
    Some((newest.display().to_string(), text))
}

/// Adds the description of its worker to an engine; none: it is not available. The suite's parser
/// refuses such an engine.
fn describe_asked_engine(typed: String) -> anyhow::Result<AskedEngine> {
    let (name, version) = text::split_version(&typed);
    let pick = version.map_or(Pick::Newest, |version| Pick::Version(version.to_owned()));
    let (name, description) = (name.to_owned(), describe(name, pick)?);
    Ok(AskedEngine { typed, name, description })
}

/// The typed engines, otherwise the installed defaults.
fn engines(args: &QuickArgs) -> Result<Vec<String>, Complaint> {
    if !args.engines.is_empty() {
        return Ok(args.engines.iter().flat_map(|e| e.split(',')).map(str::to_owned).collect());
    }
    let installed: Vec<String> =
        USUAL.iter().filter(|e| workers::find(e).is_ok()).map(ToString::to_string).collect();
    if installed.is_empty() {
        return Err(Complaint::usage("neither LMDB nor RocksDB is installed").hint(
            "name an installed engine (`kvdyno engines` lists them): `kvdyno quick ENGINE`",
        ));
    }
    Ok(installed)
}

/// The options with a durability class that all engines have: `async`, unless an engine lacks it.
fn with_durability(
    args: &QuickArgs,
    engines: &[AskedEngine],
    printer: &Printer,
) -> Result<QuickArgs, Complaint> {
    let has = |engine: &AskedEngine, class: Durability| {
        let described = engine.description.as_ref();
        described.is_none_or(|engine| engine.capabilities.durability.contains_key(&class))
    };
    let common = CLASSES.into_iter().find(|class| engines.iter().all(|engine| has(engine, *class)));
    let typed = args.durability.as_deref();
    // With several classes, each engine runs in those that it has. An unknown word is a mistake in
    // the suite.
    let requested = CLASSES.into_iter().find(|class| typed.unwrap_or("async") == class.as_str());
    let lacking = |class| engines.iter().find(|engine| !has(engine, class));
    let lacking = requested.and_then(|class| Some((class.as_str(), &lacking(class)?.name)));
    let Some((class, engine)) = lacking else { return Ok(args.clone()) };
    match common.map(|class| class.as_str()) {
        Some(common) if typed.is_none() => {
            printer.note(&format!("durability {common}: {engine} has no durability {class}"));
            Ok(QuickArgs { durability: Some(common.to_owned()), ..args.clone() })
        }
        Some(common) => Err(Complaint::usage(format!("{engine} has no durability {class}"))
            .hint(format!("use `--durability {common}`, which all of these engines have"))),
        None => Err(Complaint::usage("these engines have no durability class in common")
            .hint("`--durability commit,async,none` runs each engine in the classes that it has")),
    }
}

/// Writes the suite to a file; never replaces an existing one.
fn save(
    path: &Path,
    text: &str,
    args: &QuickArgs,
    options: Option<&(String, String)>,
    printer: &Printer,
) -> anyhow::Result<()> {
    if path.exists() {
        let message = format!("--save-suite {}: the file exists already", path.display());
        return Err(Complaint::usage(message).hint("use another name, or remove it").into());
    }
    output::write(path, text.as_bytes())?;
    let path = path.display().to_string();
    let options = options.map(|(options, _)| options.as_str());
    let command = run_command(&path, args, options);
    printer.note(&format!("wrote {path}; `{command}` does the same work"));
    Ok(())
}

/// The command that runs the suite of `quick` in a file; `options` is the database's OPTIONS file.
fn run_command(path: &str, args: &QuickArgs, options: Option<&str>) -> String {
    let properties = args.ycsb.properties.iter().map(|text| ("--set-ycsb", text));
    let duration = args.duration.iter().filter(|_| args.has_ycsb());
    let duration = duration.map(|time| ("--duration", time));
    let set = args.set.iter().map(|set| ("--set", set));
    let typed = properties.chain(duration).chain(set);
    let typed = typed.map(|(option, value)| (option, value.clone()));
    let of_database = options.map(|options| ("--set-db_bench", options_flag(options)));
    let options = typed.chain(of_database);
    let options = options.flat_map(|(option, value)| [option.to_owned(), value]);
    let words = ["kvdyno", "run", path].map(str::to_owned);
    kvdyno_render::command::command_line(&words.into_iter().chain(options).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::YcsbArgs;

    #[test]
    fn the_command_that_is_shown_can_be_pasted() {
        let properties = vec!["-p table='a b'".to_owned(), "recordcount=7".to_owned()];
        let args = QuickArgs {
            ycsb: YcsbArgs { properties },
            duration: Some("5s".to_owned()),
            set: vec!["run.trials=2".to_owned()],
            ..QuickArgs::default()
        };
        assert_eq!(
            run_command("my suite.toml", &args, None),
            "kvdyno run 'my suite.toml' --set-ycsb '-p table='\\''a b'\\''' --set-ycsb \
             recordcount=7 --duration 5s --set run.trials=2"
        );
        assert_eq!(
            run_command("s.toml", &QuickArgs::default(), Some("/my db/OPTIONS-7")),
            r"kvdyno run s.toml --set-db_bench '--options_file='\''/my db/OPTIONS-7'\'''"
        );
    }
}
