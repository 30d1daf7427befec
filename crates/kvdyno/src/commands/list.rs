//! `kvdyno list`: all runs, oldest first.

use crate::cli::ListArgs;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::figures::about;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_host::data_directory::leftover_databases;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Default, Serialize)]
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
    took_ns: Option<u64>,
    cases_done: usize,
    cases_planned: usize,
    state: String,
}

pub(crate) fn run(args: &ListArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let entries: Vec<Entry> = runs::dirs(&args.runs.runs).iter().map(|p| entry(p)).collect();
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
        id: runs::id(path),
        path: path.to_owned(),
        state: format!("unreadable: {error:#}"),
        ..Entry::default()
    })
}

fn read(path: &Path) -> anyhow::Result<Entry> {
    let dir = RunDir::open(path.to_owned())?;
    let evidence = Evidence::read(&dir)?;
    let failed = evidence.recorded_cases().filter(|(case, _)| !case.is_done()).count();
    let state = match (evidence.complete, failed) {
        (true, 0) => "complete".to_owned(),
        (true, failed) => format!("ended: {} not done", units::pluralize(failed, "case")),
        (false, _) if runs::is_at_work(&dir) => "running".to_owned(),
        (false, _) => {
            let databases =
                match leftover_databases(Path::new(&evidence.run.data_dir), &evidence.run.id).len()
                {
                    0 => String::new(),
                    1 => ", and removes 1 remaining database".to_owned(),
                    n => format!(", and removes {n} remaining databases"),
                };
            format!("partial: `kvdyno resume {}` continues{databases}", evidence.run.id)
        }
    };
    Ok(Entry {
        engines: about::engines(&evidence),
        user_bytes: about::user_bytes(&evidence),
        cases_done: evidence.cases.iter().filter(|case| case.is_done()).count(),
        cases_planned: evidence.cases.len(),
        took_ns: evidence.run.took_ns(),
        id: evidence.run.id,
        suite: evidence.run.suite,
        name: evidence.run.name,
        note: evidence.run.note,
        path: path.to_owned(),
        host: evidence.run.host_before.hostname,
        started_unix_ns: evidence.run.started_unix_ns,
        ended_unix_ns: evidence.run.ended_unix_ns,
        state,
    })
}

fn table(entries: &[Entry]) -> String {
    use Side::{Left, Right};
    let several_hosts = entries.iter().any(|entry| entry.host != entries[0].host);
    let mut columns = vec![
        ("run", Left),
        ("name", Left),
        ("data", Right),
        ("engines", Left),
        ("host", Left),
        ("took", Right),
        ("cases", Right),
        ("state", Left),
    ];
    columns.retain(|(name, _)| several_hosts || *name != "host");
    let mut table = Table::new(columns);
    for entry in entries {
        let row = [
            Some(entry.id.clone()),
            Some(entry.name.clone().unwrap_or_else(|| entry.suite.clone())),
            Some(entry.user_bytes.map_or_else(|| "-".to_owned(), units::bytes)),
            Some(entry.engines.join(", ")),
            several_hosts.then(|| entry.host.clone()),
            Some(entry.took_ns.map_or_else(|| "-".to_owned(), units::duration)),
            Some(format!("{}/{}", entry.cases_done, entry.cases_planned)),
            Some(entry.state.clone()),
        ];
        table.row(&row.into_iter().flatten().collect::<Vec<_>>());
    }
    table.text()
}
