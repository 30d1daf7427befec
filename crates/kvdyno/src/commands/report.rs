//! `kvdyno report`: a run as one self-contained page of HTML.

use crate::cli::ReportArgs;
use crate::output;
use crate::printer::Printer;
use crate::records::bundle::ENDING;
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_record::exit::Exit;
use kvdyno_render::page::{PageData, TEMPLATE, html};
use serde::Serialize;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ReportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    let data = PageData::read(&dir).with_context(runs::read_failure(&dir))?;
    let path = args.output.clone().unwrap_or_else(|| page_path(dir.display_path()));
    write(&data, &path, printer)?;
    runs::warn_if_altered(&data.summary, printer);
    if !output::is_stdout(&path) && data.summary.verdict != Exit::Ok {
        printer
            .warning("an engine failed, or findings invalidate figures of this run: see the page");
    }
    Ok(Exit::Ok)
}

/// Writes a page to a file and prints its path; `-`: the page itself to standard output.
pub(crate) fn write(data: &impl Serialize, path: &Path, printer: &Printer) -> anyhow::Result<()> {
    let page = html(TEMPLATE, data).context("failed to create the page")?;
    if output::is_stdout(path) {
        printer.verbatim(page.as_bytes());
    } else {
        output::write(path, page.as_bytes())?;
        printer.data(&path.display().to_string());
    }
    Ok(())
}

/// The path of a run's page: next to its directory or bundle, as a sealed record stays unchanged.
pub(super) fn page_path(run: &Path) -> PathBuf {
    // `.` has no name of its own.
    let whole = run.file_name().is_none().then(|| run.canonicalize().ok()).flatten();
    let run = whole.as_deref().unwrap_or(run);
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(ENDING).unwrap_or(&name);
    run.with_file_name(format!("{name}.html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lies_beside_its_run() {
        let path = page_path(Path::new("runs/2026-11-20T10-15-02Z_quick_7f3a/"));
        assert_eq!(path, Path::new("runs/2026-11-20T10-15-02Z_quick_7f3a.html"));
        assert_eq!(page_path(Path::new("runs/v1.0")), Path::new("runs/v1.0.html"));
        let here = std::env::current_dir().unwrap();
        let name = format!("{}.html", here.file_name().unwrap().display());
        assert_eq!(page_path(Path::new(".")), here.with_file_name(name));
        assert_eq!(page_path(Path::new("a/quick.tar.zst")), Path::new("a/quick.html"));
    }
}
