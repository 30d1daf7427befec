//! `kvdyno export`: a run's figures for other programs, unrounded.

use super::runs;
use crate::cli::ExportArgs;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::report::summary::Summary;
use crate::report::{long, wide};
use anyhow::Context as _;
use kvdyno_record::files::write_atomic;
use std::path::Path;

/// Writes the figures.
pub fn run(args: &ExportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = runs::find(&args.name)?;
    let summary = Summary::read(&folder)
        .with_context(|| format!("failed to read the run in `{}`", folder.path.display()))?;
    match &args.csv {
        None => printer.json(&summary)?,
        Some(path) if path == Path::new("-") => printer.verbatim(&long::csv(&summary)?),
        Some(path) => write_folder(&summary, path, printer)?,
    }
    Ok(Exit::Ok)
}

/// The long list and a file for each table.
fn write_folder(summary: &Summary, folder: &Path, printer: &Printer) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))?;
    let mut files = vec![("figures", long::csv(summary)?)];
    files.extend(wide::tables(summary)?);
    for (name, csv) in files {
        let path = folder.join(format!("{name}.csv"));
        write_atomic(&path, &csv)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}
