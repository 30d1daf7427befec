//! `kvdyno state`: makes, lists, checks and removes the databases that are kept for later runs.

use super::show;
use crate::cli::{ListStatesArgs, MakeArgs, StateAction, StateArgs, StoreArgs, ViewArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::prepare::prepare;
use crate::running::runner::states::stores;
use crate::running::start;
use anyhow::Context as _;
use kvdyno_host::meter;
use kvdyno_host::states::{StateSummary, States};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// By default, `kvdyno state make` keeps up to this size in all.
const MAKE_BYTES: &str = "20GiB";

pub(crate) fn run(args: &StateArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        StateAction::Make(args) => make(args, printer),
        StateAction::List(args) => list(args, printer),
        StateAction::Check(args) => Ok(check(&select(&args.ids, &args.stores)?, printer)),
        StateAction::Remove(args) => remove(&select(&args.ids, &args.stores)?, printer),
    }
}

/// Runs the cases that make states, all of which must be kept.
fn make(args: &MakeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut prepared = prepare(&args.suite, &args.keep.runs.runs, printer)?;
    if !prepared.plan.cases.iter().any(Case::makes_state) {
        let what = format!(
            "{}: expected `database = \"state\"` or \"shared\" in [run], a load before the first \
             measured phase, no phase with `once = true`, and a volume that stays",
            args.suite.suite
        );
        return Err(Complaint::usage(what)
            .hint("`--set run.database=state` adds the first")
            .into());
    }
    prepared.plan.cases.retain(Case::makes_state);
    let mut keep = args.keep.clone();
    keep.states.get_or_insert_with(|| MAKE_BYTES.to_owned());
    if keep.states_bytes()? == Some(0) {
        return Err(Complaint::usage("--states: expected a size above 0, found 0")
            .hint("for example `--states 50GiB`")
            .into());
    }
    let (dir, ended) = start::run_prepared(&prepared, &keep, None, printer)?;
    let exit = show::show_ended(dir.clone(), ended, &ViewArgs::default(), printer)?;
    let run = dir.path.file_name().unwrap_or_default().to_string_lossy();
    let data_dir = args.suite.bend.location.data_dir.as_deref();
    let states = list_states(&args.keep.runs.runs, data_dir)?;
    let is_made = |entry: &&Listed| {
        entry.state.record.as_ref().is_ok_and(|record| record.description.run == run)
    };
    let (new_states, planned) = (states.iter().filter(is_made).count(), prepared.plan.cases.len());
    let restored = dir.case_records()?;
    let restored = restored.iter().filter(|(_, record)| record.restored.is_some()).count();
    printer.note(&format!("{new_states} states made, {restored} of {planned} were there"));
    Ok(if exit == Exit::Ok && new_states + restored < planned { Exit::Invalid } else { exit })
}

/// A state and its store.
struct Listed {
    store: States,
    state: StateSummary,
}

fn list_all(args: &StoreArgs) -> anyhow::Result<Vec<Listed>> {
    list_states(&args.runs.runs, args.data_dir.as_deref())
}

fn list_states(runs: &Path, data_dir: Option<&Path>) -> anyhow::Result<Vec<Listed>> {
    let mut all = Vec::new();
    for dir in stores(runs, data_dir) {
        let store = States::open(&dir).context("failed to open the store of states")?;
        let states = store.list().context("failed to list states")?;
        all.extend(states.into_iter().map(|state| Listed { store: store.clone(), state }));
    }
    Ok(all)
}

/// Returns the states with these ids, or all states if there are no ids.
fn select(ids: &[String], args: &StoreArgs) -> anyhow::Result<Vec<Listed>> {
    let mut all = list_all(args)?;
    for id in ids {
        if !all.iter().any(|entry| entry.state.id == *id) {
            let what = format!("expected the id of a state, found {id}");
            return Err(Complaint::usage(what).hint("`kvdyno state list` lists them").into());
        }
    }
    all.retain(|entry| ids.is_empty() || ids.contains(&entry.state.id));
    Ok(all)
}

#[derive(Serialize)]
struct Entry {
    id: String,
    label: Option<String>,
    engine_version: Option<String>,
    run: Option<String>,
    bytes: u64,
    last_use_unix_ns: Option<u64>,
    in_use: bool,
    broken: Option<String>,
    store: PathBuf,
}

impl From<&Listed> for Entry {
    fn from(Listed { store, state }: &Listed) -> Self {
        let record = state.record.as_ref();
        let description = record.ok().map(|record| record.description.clone());
        let label = description.as_ref().map(|description| description.label.clone());
        let last_use = state.last_use.duration_since(UNIX_EPOCH).ok();
        Self {
            id: state.id.clone(),
            label,
            engine_version: description
                .as_ref()
                .map(|description| description.engine_version.clone()),
            run: description.map(|description| description.run),
            bytes: state.bytes,
            last_use_unix_ns: last_use.map(|time| time.as_nanos() as u64),
            in_use: state.in_use,
            broken: record.err().cloned(),
            store: store.dir().to_owned(),
        }
    }
}

fn list(args: &ListStatesArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let entries: Vec<Entry> = list_all(&args.stores)?.iter().map(Entry::from).collect();
    if args.json {
        printer.json(&entries)?;
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        printer.note("no states; `kvdyno state make SUITE` makes those of a suite");
        return Ok(Exit::Ok);
    }
    let mut table = Table::new([
        ("state", Side::Left),
        ("size", Side::Right),
        ("used", Side::Right),
        ("database", Side::Left),
    ]);
    for entry in &entries {
        let since =
            |used| format!("{} ago", units::duration(meter::unix_ns().saturating_sub(used)));
        let last_use = entry.last_use_unix_ns.map_or_else(String::new, since);
        let what = entry.broken.clone().or(entry.label.clone()).unwrap_or_default();
        table.row(&[entry.id.clone(), units::bytes(entry.bytes), last_use, what]);
    }
    printer.data(&table.text());
    Ok(Exit::Ok)
}

fn check(states: &[Listed], printer: &Printer) -> Exit {
    let mut exit = Exit::Ok;
    for Listed { store, state } in states {
        match store.check(&state.id, &mut |_| true) {
            Ok(_) => printer.note(&format!("{}: all bytes as they were made", state.id)),
            Err(error) => {
                printer.error(&anyhow::Error::new(error));
                exit = Exit::Invalid;
            }
        }
    }
    exit
}

fn remove(states: &[Listed], printer: &Printer) -> anyhow::Result<Exit> {
    for Listed { store, state } in states {
        store.remove(&state.id).map_err(|error| Complaint::usage(error.to_string()))?;
        printer.note(&format!("removed {} ({})", state.id, units::bytes(state.bytes)));
    }
    Ok(Exit::Ok)
}
