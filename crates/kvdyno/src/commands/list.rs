//! `kvdyno list`: the runs that are kept, oldest first.

use super::runs;
use crate::cli::ListArgs;
use crate::exit::Exit;
use crate::host::place::left_by;
use crate::printer::Printer;
use crate::report::evidence::Evidence;
use crate::report::header::moment;
use crate::report::table::{Side, Table};
use crate::units;
use kvdyno_record::files::RunFolder;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One run.
#[derive(Serialize)]
struct Entry {
    id: String,
    suite: String,
    path: PathBuf,
    host: String,
    started_unix_ns: u64,
    ended_unix_ns: Option<u64>,
    cases_done: usize,
    cases_planned: usize,
    state: String,
}

/// Prints the runs.
pub fn run(args: &ListArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let entries: Vec<Entry> = runs::folders(&args.runs.runs).iter().map(|p| entry(p)).collect();
    if args.json {
        printer.json(&entries)?;
    } else if entries.is_empty() {
        printer.note(&format!(
            "no runs in `{}`; `kvdyno run quick` makes one",
            args.runs.runs.display()
        ));
    } else {
        printer.data(&table(&entries));
    }
    Ok(Exit::Ok)
}

fn entry(path: &Path) -> Entry {
    read(path).unwrap_or_else(|error| Entry {
        id: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        suite: String::new(),
        path: path.to_owned(),
        host: String::new(),
        started_unix_ns: 0,
        ended_unix_ns: None,
        cases_done: 0,
        cases_planned: 0,
        state: format!("cannot be read: {error:#}"),
    })
}

fn read(path: &Path) -> anyhow::Result<Entry> {
    let evidence = Evidence::read(&RunFolder::open(path.to_owned())?)?;
    let done = evidence.cases.iter().filter(|case| case.is_done()).count();
    let failed = evidence.recorded().filter(|(case, _)| !case.is_done()).count();
    let state = match (evidence.complete, failed) {
        (true, 0) => "complete".to_owned(),
        (true, failed) => format!("complete, {failed} not done"),
        (false, _) => {
            let left_behind = match left_by(Path::new(&evidence.run.place), &evidence.run.id).len()
            {
                0 => String::new(),
                1 => ", and removes 1 database it left".to_owned(),
                n => format!(", and removes {n} databases it left"),
            };
            format!("partial: `kvdyno resume` goes on{left_behind}")
        }
    };
    Ok(Entry {
        id: evidence.run.id,
        suite: evidence.run.suite,
        path: path.to_owned(),
        host: evidence.run.host_before.hostname,
        started_unix_ns: evidence.run.started_unix_ns,
        ended_unix_ns: evidence.run.ended_unix_ns,
        cases_done: done,
        cases_planned: evidence.cases.len(),
        state,
    })
}

fn table(entries: &[Entry]) -> String {
    let mut table = Table::new([
        ("run", Side::Left),
        ("suite", Side::Left),
        ("host", Side::Left),
        ("began", Side::Left),
        ("took", Side::Right),
        ("cases", Side::Right),
        ("state", Side::Left),
    ]);
    for entry in entries {
        let took = entry.ended_unix_ns.and_then(|end| end.checked_sub(entry.started_unix_ns));
        table.row(&[
            entry.id.clone(),
            entry.suite.clone(),
            entry.host.clone(),
            moment(entry.started_unix_ns),
            took.map_or_else(|| "-".to_owned(), units::duration),
            format!("{}/{}", entry.cases_done, entry.cases_planned),
            entry.state.clone(),
        ]);
    }
    table.text()
}
