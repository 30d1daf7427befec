//! `kvdyno export`: a run's figures for other programs and for readers elsewhere.

use crate::cli::ExportArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::figures::percentiles;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::write_atomic;
use kvdyno_render::{self as render, brief, long, markdown, time_csv, wide, xlsx};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check(args)?;
    let folder = runs::find(&args.name.run, &args.name.runs.runs)?;
    let evidence = Evidence::read(&folder).with_context(runs::unread(&folder))?;
    let summary = Summary::from_evidence(&evidence).with_context(runs::unread(&folder))?;
    runs::warn_if_altered(&summary, printer);
    if args.json {
        printer.json(&summary)?;
    }
    if let Some(path) = &args.csv {
        if path == Path::new("-") {
            file(path, &long::csv(&summary)?, printer)?;
        } else {
            csv_folder(&evidence, &summary, path, printer)?;
            if !args.percentiles.is_empty() {
                let list = &args.percentiles;
                let rows = percentiles::read(&evidence, &summary, list)?;
                let csv = render::percentiles::csv(&summary, list, &rows)?;
                file(&path.join("percentiles.csv"), &csv, printer)?;
            }
        }
    }
    if let Some(path) = &args.xlsx {
        file(path, &xlsx::workbook(&evidence, &summary)?, printer)?;
    }
    if let Some(path) = &args.markdown {
        let page = if args.brief { brief::page } else { markdown::page };
        let page = page(&summary);
        file(path, page.as_bytes(), printer)?;
    }
    Ok(Exit::Ok)
}

/// Checks that the command line's parser cannot do.
fn check(args: &ExportArgs) -> Result<(), Complaint> {
    let on_stdout = |path: &Option<_>| path.as_deref() == Some(Path::new("-"));
    let streams = [args.json, on_stdout(&args.csv), on_stdout(&args.markdown)];
    if streams.into_iter().filter(|used| *used).count() > 1 {
        let message = "only one output can go to standard output";
        return Err(Complaint::usage(message).hint("use a file or a directory instead of `-`"));
    }
    if !args.percentiles.is_empty() && on_stdout(&args.csv) {
        let message = "--percentiles: expected `--csv DIR`, found `--csv -`";
        return Err(Complaint::usage(message).hint("name the directory for percentiles.csv"));
    }
    let ends_in_xlsx =
        |path: &&Path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("xlsx"));
    if let Some(path) = args.xlsx.as_deref().filter(|path| !ends_in_xlsx(path)) {
        let message = format!("--xlsx: expected a file FILE.xlsx, found `{}`", path.display());
        return Err(Complaint::usage(message).hint(
            "LibreOffice opens .xlsx, and `soffice --convert-to ods FILE.xlsx` converts it to .ods",
        ));
    }
    Ok(())
}

/// The long list, a file for each table, and the time lines.
fn csv_folder(
    evidence: &Evidence,
    summary: &Summary,
    folder: &Path,
    printer: &Printer,
) -> anyhow::Result<()> {
    make(folder)?;
    let mut files = vec![("figures", long::csv(summary)?)];
    files.extend(wide::tables(summary)?);
    for (name, csv) in files {
        file(&folder.join(format!("{name}.csv")), &csv, printer)?;
    }
    lines(&folder.join("series.csv"), printer, |output| time_csv::series(evidence, output))?;
    lines(&folder.join("machine.csv"), printer, |output| time_csv::machine(evidence, output))
}

/// A file that is written line by line, and gets its name when it is complete.
fn lines(
    path: &Path,
    printer: &Printer,
    write: impl FnOnce(BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    let partial = path.with_extension("csv.tmp");
    let output = File::create(&partial).with_context(failed)?;
    write(BufWriter::new(output)).with_context(failed)?;
    std::fs::rename(&partial, path).with_context(failed)?;
    printer.note(&format!("wrote {}", path.display()));
    Ok(())
}

fn make(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to create the directory `{}`", folder.display()))
}

/// `-`: to standard output.
fn file(path: &Path, bytes: &[u8], printer: &Printer) -> anyhow::Result<()> {
    if path == Path::new("-") {
        printer.verbatim(bytes);
    } else {
        write_atomic(path, bytes)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}
