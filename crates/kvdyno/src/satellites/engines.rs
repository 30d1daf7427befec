//! `kvdyno engines`: the installed engines and their descriptions.

mod build;
mod crates;
mod debian;
mod get;
mod go;
mod list;
mod maven;
mod plugin;
mod releases;
mod sources;
mod tool;

use crate::cli::{EnginesAction, EnginesArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::workers::{self, Worker};
use kvdyno_record::engine::{Capabilities, Durability, OptionKind, OptionSpec, Value};
use kvdyno_record::exit::Exit;
use kvdyno_record::protocol::WorkerDescription;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::tone::Tone;
use kvdyno_render::wrap::wrap;
use serde::Serialize;
use std::path::PathBuf;

#[derive(Serialize)]
struct FoundEngine {
    name: String,
    path: PathBuf,
    description: Option<WorkerDescription>,
    problem: Option<String>,
}

pub(crate) fn run(args: &EnginesArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        Some(EnginesAction::Get(get)) => return get::run(get, printer),
        Some(EnginesAction::Build(build)) => return build::run(build, printer),
        Some(EnginesAction::List { json }) => return list::run(*json, printer),
        None => {}
    }
    if let Some(name) = &args.name {
        return print_engine(name, args.json, printer);
    }
    let engines: Vec<FoundEngine> = workers::find_all()
        .into_iter()
        .map(|(name, worker)| describe_engine(name, &worker))
        .collect();
    if args.json {
        printer.json(&engines)?;
        return Ok(Exit::Ok);
    }
    if engines.is_empty() {
        let hint = format!(
            "`make engines` in kvdyno's sources builds them; kvdyno searches its own directory, {} \
             and PATH",
            workers::PATH_VARIABLE
        );
        return Err(Complaint::usage("no engines found").hint(hint).into());
    }
    printer.data(&table(&engines));
    for engine in &engines {
        if let Some(problem) = &engine.problem {
            printer.warning(problem);
        }
    }
    printer.hint(
        "`kvdyno engines NAME` shows an engine's options, `kvdyno engines list` the installed \
         versions",
    );
    Ok(Exit::Ok)
}

fn describe_engine(name: String, worker: &Worker) -> FoundEngine {
    let path = worker.path.clone();
    let (description, problem) = match worker.describe() {
        Ok(description) => (Some(description), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    FoundEngine { name, path, description, problem }
}

fn table(engines: &[FoundEngine]) -> String {
    let columns = ["engine", "version", "durability", "writers", "remarks"];
    let mut table = Table::new(columns.map(|title| (title, Side::Left)));
    for engine in engines {
        let (version, durability, writers, remarks) = match &engine.description {
            Some(description) => {
                let engine = &description.engine;
                let classes = engine.capabilities.durability.keys();
                let classes: Vec<&str> = classes.map(Durability::as_str).collect();
                let debug = if description.debug_build { " (debug build)" } else { "" };
                let version = format!("{} {}{debug}", engine.title, engine.version);
                let capabilities = &engine.capabilities;
                let writers =
                    capabilities.concurrent_writers.map_or("many".to_owned(), |n| n.to_string());
                (version, classes.join(" "), writers, remarks(capabilities))
            }
            None => ("cannot be used".to_owned(), String::new(), String::new(), String::new()),
        };
        table.row(&[engine.name.clone(), version, durability, writers, remarks]);
    }
    table.text()
}

/// Returns an engine's unusual properties as text.
fn remarks(capabilities: &Capabilities) -> String {
    let scans = capabilities.scan_forward;
    let remarks = [
        (capabilities.external_processes, "server"),
        (capabilities.numbered_keys_only, "numbered keys only"),
        (capabilities.stores_nothing, "stores nothing"),
        (!capabilities.delete, "no delete"),
        (!scans, "no scan"),
        (scans && !capabilities.scan_reverse, "no reverse scan"),
    ];
    let applies = remarks.iter().filter(|(applies, _)| *applies).map(|(_, remark)| *remark);
    applies.collect::<Vec<_>>().join(", ")
}

fn abilities(capabilities: &Capabilities) -> String {
    let writers = capabilities.concurrent_writers.map(|n| match n {
        1 => "one writer".to_owned(),
        n => format!("{n} writers"),
    });
    let properties = [
        (capabilities.delete, "delete"),
        (capabilities.scan_forward, "scan"),
        (capabilities.scan_reverse, "reverse scan"),
        (capabilities.native_multiget, "multiget"),
        (capabilities.atomic_read_modify_write, "atomic rmw"),
        (capabilities.external_processes, "server"),
        (capabilities.numbered_keys_only, "numbered keys only"),
        (capabilities.stores_nothing, "stores nothing"),
    ];
    let has = properties.iter().filter(|(has, _)| *has).map(|(_, name)| (*name).to_owned());
    has.chain(writers).collect::<Vec<_>>().join(", ")
}

fn print_engine(name: &str, json: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let worker = workers::find(name)?;
    let description = worker.describe()?;
    if json {
        printer.json(&description)?;
        return Ok(Exit::Ok);
    }
    let engine = &description.engine;
    let line =
        |word: &str, text: &str| printer.marked_data(Tone::Strong, &format!("{word:<12}"), text);
    line("engine", &format!("{} {}", engine.title, engine.version));
    line("program", &worker.path.display().to_string());
    for (what, value) in &engine.build {
        line("build", &format!("{what}: {value}"));
    }
    line("abilities", &wrap(&abilities(&engine.capabilities), 12));
    for (class, promise) in &engine.capabilities.durability {
        let (settings, lost) = (&promise.settings, promise.power_loss.as_str());
        let text = format!("{}: {settings}; in a power loss it {lost}", class.as_str());
        line("durability", &wrap(&text, 12));
    }
    printer.data("");
    printer.heading("Options");
    for option in &engine.options {
        let default = format_value(option, &option.default);
        let word = format!("  {} = {default}", option.name);
        printer.marked_data(
            Tone::Strong,
            &word,
            &format!("\n      {}", wrap(option.help.as_str(), 6)),
        );
        printer.data(&format!("      {}", wrap(&option.kind.format_expected(), 6)));
        for setting in &option.presets {
            let preset = setting.preset.as_str();
            let value = format_value(option, &setting.value);
            let (reason, source) = (&setting.reason, &setting.source);
            let text = format!("{preset}: {value}. {reason} ({source})");
            printer.data(&format!("      {}", wrap(&text, 8)));
        }
    }
    Ok(Exit::Ok)
}

fn format_value(option: &OptionSpec, value: &Value) -> String {
    match (&option.kind, value) {
        (OptionKind::Bytes, Value::Integer(bytes)) => units::exact_bytes(*bytes),
        (_, Value::Text(text)) => format!("\"{text}\""),
        (_, value) => value.to_string(),
    }
}
