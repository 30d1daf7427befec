//! `kvdyno engines list`: the engines with their installed libraries, and the available releases.

use super::releases::Published;
use super::{get, releases};
use crate::printer::Printer;
use crate::running::workers::{self, Worker};
use kvdyno_record::engine::library;
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Serialize)]
struct EngineCode {
    libraries: Vec<Row>,
    /// Known releases that are not installed.
    to_get: Vec<Release>,
}

/// An engine's code: a library, or the worker that contains it.
#[derive(Clone, Default, Serialize)]
struct Row {
    engine: String,
    version: Option<String>,
    /// `official`, `native`, `system`, `yours`; null: the worker contains it.
    build: Option<&'static str>,
    bytes: Option<u64>,
    sha256: Option<String>,
    source: Option<String>,
    path: Option<PathBuf>,
    /// The reason why it cannot run.
    problem: Option<String>,
}

#[derive(Serialize)]
struct Release {
    engine: String,
    version: String,
}

pub(super) fn run(json: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let published = releases::all()?;
    let workers = workers::find_all();
    // A plugin that is not installed is not missing: it has no worker of its own.
    let own_worker = |(_, published): &(&String, &Published)| {
        matches!(published, Published::Maven(_) | Published::Debian(_))
    };
    let published_names = published.iter().filter(own_worker).map(|(name, _)| name);
    let names: BTreeSet<&String> = workers.keys().chain(published_names).collect();
    let libraries: Vec<Row> =
        names.into_iter().flat_map(|name| rows(name, workers.get(name))).collect();
    let mut to_get = Vec::new();
    for (engine, published) in &published {
        let versions = published.versions().into_iter();
        let missing = versions.filter(|version| get::find_current(engine, version).is_none());
        let release =
            |version: &str| Release { engine: engine.clone(), version: version.to_owned() };
        to_get.extend(missing.map(release));
    }
    if json {
        printer.json(&EngineCode { libraries, to_get })?;
        return Ok(Exit::Ok);
    }
    printer.data(&table(&libraries));
    let problems = libraries.iter().filter_map(|row| Some((&row.engine, row.problem.as_ref()?)));
    for (engine, problem) in problems.collect::<BTreeSet<_>>() {
        printer.warning(&format!("{engine}: {problem}"));
    }
    for (engine, published) in &published {
        if published.versions().is_empty() && library::list_installed(engine).is_empty() {
            printer.hint(&format!("`kvdyno engines get {engine}` (the system's package)"));
        }
        let of_engine = to_get.iter().filter(|release| release.engine == *engine);
        let versions: Vec<&str> = of_engine.map(|release| release.version.as_str()).collect();
        if !versions.is_empty() {
            let versions = versions.join(" ");
            let others = if published.takes_any_release() { " (or any release)" } else { "" };
            printer.hint(&format!("`kvdyno engines get {engine} {versions}`{others}"));
        }
    }
    Ok(Exit::Ok)
}

/// An engine's libraries, newest first; without any, its worker.
fn rows(engine: &str, worker: Option<&Worker>) -> Vec<Row> {
    let no_worker = || format!("cannot find the worker `kvdyno-{engine}`");
    let row = Row {
        engine: engine.to_owned(),
        path: worker.map(|worker| worker.path.clone()),
        problem: worker.is_none().then(no_worker),
        ..Row::default()
    };
    let installed = library::list_installed(engine);
    if !installed.is_empty() {
        let of_library = |library: library::Installed| Row {
            version: Some(library.version),
            build: Some(library.build.as_str()),
            bytes: library.path.metadata().ok().map(|meta| meta.len()),
            sha256: Some(library.sha256).filter(|sum| !sum.is_empty()),
            source: Some(library.source).filter(|source| !source.is_empty()),
            path: Some(library.path),
            ..row.clone()
        };
        return installed.into_iter().map(of_library).collect();
    }
    let described = worker.map(Worker::describe);
    vec![match described {
        None => row,
        Some(Err(error)) => Row { problem: Some(format!("{error:#}")), ..row },
        Some(Ok(description)) => Row { version: Some(description.engine.version), ..row },
    }]
}

fn table(rows: &[Row]) -> String {
    let columns = ["engine", "version", "build", "size", "file"];
    let mut table = Table::new(columns.map(|title| (title, Side::Left)));
    for row in rows {
        let none = || "-".to_owned();
        table.row(&[
            row.engine.clone(),
            row.version.clone().unwrap_or_else(none),
            row.build
                .unwrap_or(if row.problem.is_some() { "-" } else { "in its worker" })
                .to_owned(),
            row.bytes.map_or_else(none, units::bytes),
            row.path.as_ref().map_or_else(none, |path| path.display().to_string()),
        ]);
    }
    table.text()
}
