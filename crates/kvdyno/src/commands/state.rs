//! `kvdyno state`: makes, lists, checks and removes the databases that are kept for later runs.

use super::run::to_tables;
use crate::cli::{ListStatesArgs, MakeArgs, StateAction, StateArgs, StoreArgs, ViewArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::prepare::prepare;
use crate::running::runner::states::stores;
use anyhow::Context as _;
use kvdyno_host::meter;
use kvdyno_host::states::{StateSummary, States};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

pub(crate) fn run(args: &StateArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        StateAction::Make(args) => make(args, printer),
        StateAction::List(args) => list(args, printer),
        StateAction::Check(args) => Ok(check(&named(&args.ids, &args.stores)?, printer)),
        StateAction::Remove(args) => remove(&named(&args.ids, &args.stores)?, printer),
    }
}

/// A run of the cases that make states.
fn make(args: &MakeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut prepared = prepare(&args.suite, &args.keep.runs.runs)?;
    if !prepared.plan.cases.iter().any(Case::makes_state) {
        let what = format!("{}: expected `database = \"state\"` in [run]", args.suite.suite);
        return Err(Complaint::usage(what).hint("`--set run.database=state` adds it").into());
    }
    prepared.plan.cases.retain(Case::makes_state);
    to_tables(&prepared, &args.keep, None, &ViewArgs::default(), printer)
}

/// A state and its store.
struct InStore {
    store: States,
    state: StateSummary,
}

fn all(args: &StoreArgs) -> anyhow::Result<Vec<InStore>> {
    let mut all = Vec::new();
    for folder in stores(&args.runs.runs, args.location.data_dir.as_deref()) {
        let store = States::open(&folder).context("failed to open the store of states")?;
        let states = store.list().context("failed to list states")?;
        all.extend(states.into_iter().map(|state| InStore { store: store.clone(), state }));
    }
    Ok(all)
}

/// Those of these ids, or all if there are none.
fn named(ids: &[String], args: &StoreArgs) -> anyhow::Result<Vec<InStore>> {
    let mut all = all(args)?;
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

impl From<&InStore> for Entry {
    fn from(InStore { store, state }: &InStore) -> Self {
        let record = state.record.as_ref();
        let description = record.ok().map(|record| record.description.clone());
        let label = description.as_ref().map(|description| description.label.clone());
        let last_use = state.last_use.duration_since(UNIX_EPOCH).ok();
        Self {
            id: state.id.clone(),
            label,
            engine_version: description.as_ref().map(|known| known.engine_version.clone()),
            run: description.map(|known| known.run),
            bytes: state.bytes,
            last_use_unix_ns: last_use.map(|time| time.as_nanos() as u64),
            in_use: state.in_use,
            broken: record.err().cloned(),
            store: store.folder().to_owned(),
        }
    }
}

fn list(args: &ListStatesArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let entries: Vec<Entry> = all(&args.stores)?.iter().map(Entry::from).collect();
    if args.json {
        printer.json(&entries)?;
        return Ok(Exit::Ok);
    }
    if entries.is_empty() {
        printer.note("no states; a suite with `database = \"state\"` keeps what it loads");
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

fn check(states: &[InStore], printer: &Printer) -> Exit {
    let mut exit = Exit::Ok;
    for InStore { store, state } in states {
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

fn remove(states: &[InStore], printer: &Printer) -> anyhow::Result<Exit> {
    for InStore { store, state } in states {
        store.remove(&state.id).map_err(|error| Complaint::usage(error.to_string()))?;
        printer.note(&format!("removed {} ({})", state.id, units::bytes(state.bytes)));
    }
    Ok(Exit::Ok)
}
