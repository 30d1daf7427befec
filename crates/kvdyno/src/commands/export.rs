//! `kvdyno export`: a run's figures for other programs and for readers elsewhere.

use crate::cli::{ExportArgs, RunsArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::{RunFolder, write_atomic};
use kvdyno_render::{brief, long, markdown, otava, time_csv, wide, xlsx};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check(args)?;
    let folder = runs::find(args.first(), &args.runs.runs)?;
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
    if let Some(path) = &args.otava {
        otava_folder(args, summary, path, printer)?;
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
    let ends_in_xlsx =
        |path: &&Path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("xlsx"));
    if let Some(path) = args.xlsx.as_deref().filter(|path| !ends_in_xlsx(path)) {
        let message = format!("--xlsx: expected a file FILE.xlsx, found `{}`", path.display());
        return Err(Complaint::usage(message).hint(
            "LibreOffice opens .xlsx, and `soffice --convert-to ods FILE.xlsx` converts it to .ods",
        ));
    }
    let one_run = args.csv.is_some() || args.json || args.xlsx.is_some() || args.markdown.is_some();
    if one_run && (args.names.len() > 1 || args.all_runs) {
        return Err(Complaint::usage("only --otava accepts several runs")
            .hint("export the runs one by one"));
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

/// A file for each case and role, and Otava's configuration.
fn otava_folder(
    args: &ExportArgs,
    first: Summary,
    folder: &Path,
    printer: &Printer,
) -> anyhow::Result<()> {
    if folder == Path::new("-") {
        let complaint = Complaint::usage("--otava writes several files: expected a directory");
        return Err(complaint.hint("`--otava series/`").into());
    }
    let (suite, newest) = (first.run.suite.clone(), first.run.id.clone());
    let mut summaries = vec![first];
    for name in args.names.iter().skip(1) {
        summaries.push(runs::read_summary(&*runs::find(name, &args.runs.runs)?)?);
    }
    if args.all_runs {
        summaries.extend(others(&args.runs, &suite, printer));
    }
    summaries.sort_by(|a, b| a.run.id.cmp(&b.run.id));
    summaries.dedup_by(|a, b| a.run.id == b.run.id);
    for other in summaries.iter().filter(|summary| summary.run.id != newest) {
        runs::warn_if_altered(other, printer);
    }
    let series = otava::series(&summaries)?;
    make(folder)?;
    for series in &series {
        write_atomic(&folder.join(format!("{}.csv", series.name)), &series.csv)?;
    }
    let config = otava::config(&suite, &series, folder);
    file(&folder.join("otava.yaml"), config.as_bytes(), printer)?;
    let most = series.iter().map(|series| series.rows).max().unwrap_or(0);
    printer.note(&format!("{} series of up to {most} runs, next to it", series.len()));
    let strange = summaries.iter().filter(|summary| !otava::has_a_row(summary, &summaries)).count();
    if strange > 0 {
        printer.warning(&format!("left out {strange} runs that did other work than the newest"));
    }
    Ok(())
}

/// All runs of a suite. Unreadable ones are reported and left out.
fn others(runs: &RunsArgs, suite: &str, printer: &Printer) -> Vec<Summary> {
    let read = |path: PathBuf| {
        let summary = RunFolder::open(path.clone()).and_then(|folder| Summary::read(&folder));
        let left_out = |error: &_| {
            printer.warning(&format!("left out {}: {error}", path.display()));
        };
        summary.inspect_err(left_out).ok().filter(|summary| summary.run.suite == suite)
    };
    runs::folders(&runs.runs).into_iter().filter_map(read).collect()
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
