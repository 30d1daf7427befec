//! `kvdyno list`: the runs that are kept, oldest first.

use super::runs;
use crate::cli::ListArgs;
use crate::printer::Printer;
use kvdyno_analysis::about;
use kvdyno_analysis::evidence::Evidence;
use kvdyno_host::place::left_by;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunFolder;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// One run.
#[derive(Serialize)]
struct Entry {
    id: String,
    suite: String,
    name: Option<String>,
    note: Option<String>,
    engines: Vec<String>,
    user_bytes: Option<u64>,
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
        name: None,
        note: None,
        engines: Vec::new(),
        user_bytes: None,
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
    let folder = RunFolder::open(path.to_owned())?;
    let evidence = Evidence::read(&folder)?;
    let done = evidence.cases.iter().filter(|case| case.is_done()).count();
    let failed = evidence.recorded().filter(|(case, _)| !case.is_done()).count();
    let state = match (evidence.complete, failed) {
        (true, 0) => "complete".to_owned(),
        (true, failed) => format!("ended: {} not done", units::cases(failed)),
        (false, _) if runs::is_at_work(&folder) => "running".to_owned(),
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
        engines: about::engines(&evidence),
        user_bytes: about::user_bytes(&evidence),
        id: evidence.run.id,
        suite: evidence.run.suite,
        name: evidence.run.name,
        note: evidence.run.note,
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
    let several_hosts = entries.iter().any(|entry| entry.host != entries[0].host);
    let mut columns = vec![
        ("run", Side::Left),
        ("name", Side::Left),
        ("data", Side::Right),
        ("engines", Side::Left),
        ("host", Side::Left),
        ("took", Side::Right),
        ("cases", Side::Right),
        ("state", Side::Left),
    ];
    let host = 4;
    if !several_hosts {
        columns.remove(host);
    }
    let mut table = Table::new(columns);
    for entry in entries {
        let took = entry.ended_unix_ns.and_then(|end| end.checked_sub(entry.started_unix_ns));
        let mut row = vec![
            entry.id.clone(),
            entry.name.clone().unwrap_or_else(|| entry.suite.clone()),
            entry.user_bytes.map_or_else(|| "-".to_owned(), units::bytes),
            entry.engines.join(", "),
            entry.host.clone(),
            took.map_or_else(|| "-".to_owned(), units::duration),
            format!("{}/{}", entry.cases_done, entry.cases_planned),
            entry.state.clone(),
        ];
        if !several_hosts {
            row.remove(host);
        }
        table.row(&row);
    }
    table.text()
}
