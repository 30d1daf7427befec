//! `kvdyno export`: a run's figures for other programs and for readers elsewhere.

use super::runs;
use crate::cli::{ExportArgs, RunName, RunsArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use anyhow::Context as _;
use kvdyno_analysis::evidence::Evidence;
use kvdyno_analysis::summary::Summary;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::{RunFolder, write_atomic};
use kvdyno_render::{brief, long, markdown, otava, time_csv, wide, xlsx};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check(args)?;
    let name = RunName { run: args.first().to_owned(), runs: args.runs.clone() };
    let folder = runs::find(&name)?;
    let evidence = read(&folder)?;
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
        let of = if args.brief { brief::page } else { markdown::page };
        let page = of(&summary);
        file(path, page.as_bytes(), printer)?;
    }
    if let Some(path) = &args.otava {
        otava_folder(args, summary, path, printer)?;
    }
    Ok(Exit::Ok)
}

/// What the command line's parser cannot know.
fn check(args: &ExportArgs) -> Result<(), Complaint> {
    let on_stdout = |path: &Option<_>| path.as_deref() == Some(Path::new("-"));
    let streams = [args.json, on_stdout(&args.csv), on_stdout(&args.markdown)];
    if streams.into_iter().filter(|used| *used).count() > 1 {
        let message = "only one thing can be written to standard output";
        return Err(Complaint::usage(message).hint("name a file or a folder in place of `-`"));
    }
    let ends_in_xlsx =
        |path: &&Path| path.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("xlsx"));
    if let Some(path) = args.xlsx.as_deref().filter(|path| !ends_in_xlsx(path)) {
        let message =
            format!("--xlsx writes Excel's format, and `{}` is not named so", path.display());
        return Err(Complaint::usage(message).hint(
            "name it FILE.xlsx; LibreOffice opens that, and `soffice --convert-to ods FILE.xlsx` \
             makes it an .ods",
        ));
    }
    let one_run = args.csv.is_some() || args.json || args.xlsx.is_some() || args.markdown.is_some();
    if one_run && (args.names.len() > 1 || args.all_runs) {
        return Err(Complaint::usage("several runs together are for --otava alone")
            .hint("export the others one by one"));
    }
    Ok(())
}

fn read(folder: &RunFolder) -> anyhow::Result<Evidence> {
    Evidence::read(folder).with_context(runs::unread(folder))
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
    lines(&folder.join("series.csv"), printer, |to| time_csv::series(evidence, to))?;
    lines(&folder.join("machine.csv"), printer, |to| time_csv::machine(evidence, to))
}

/// A file that is written line by line, and takes its name when it is whole.
fn lines(
    path: &Path,
    printer: &Printer,
    write: impl FnOnce(BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to write `{}`", path.display());
    let partial = path.with_extension("csv.tmp");
    let to = File::create(&partial).with_context(failed)?;
    write(BufWriter::new(to)).with_context(failed)?;
    std::fs::rename(&partial, path).with_context(failed)?;
    printer.note(&format!("wrote {}", path.display()));
    Ok(())
}

/// A file for each case and role, and the configuration that reads them.
fn otava_folder(
    args: &ExportArgs,
    first: Summary,
    folder: &Path,
    printer: &Printer,
) -> anyhow::Result<()> {
    if folder == Path::new("-") {
        let complaint = Complaint::usage("--otava writes several files: it takes a folder");
        return Err(complaint.hint("`--otava series/`").into());
    }
    let (suite, told) = (first.run.suite.clone(), first.run.id.clone());
    let mut summaries = vec![first];
    for name in args.names.iter().skip(1) {
        let name = RunName { run: name.clone(), runs: args.runs.clone() };
        let folder = runs::find(&name)?;
        summaries.push(Summary::from_evidence(&read(&folder)?)?);
    }
    if args.all_runs {
        summaries.extend(others(&args.runs, &suite, printer));
    }
    summaries.sort_by(|a, b| a.run.id.cmp(&b.run.id));
    summaries.dedup_by(|a, b| a.run.id == b.run.id);
    for other in summaries.iter().filter(|summary| summary.run.id != told) {
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
    printer.note(&format!("{} series of up to {most} runs beside it", series.len()));
    let strange = summaries.iter().filter(|summary| !otava::has_a_row(summary, &summaries)).count();
    if strange > 0 {
        printer.warning(&format!("{strange} runs did other work than the newest: in no series"));
    }
    Ok(())
}

/// All runs of a suite. One that cannot be read is said and left out.
fn others(runs: &RunsArgs, suite: &str, printer: &Printer) -> Vec<Summary> {
    let read = |path: PathBuf| {
        let summary = RunFolder::open(path.clone()).and_then(|folder| Summary::read(&folder));
        let left_out = |error: &_| {
            printer.warning(&format!("{} is left out: {error}", path.display()));
        };
        summary.inspect_err(left_out).ok().filter(|summary| summary.run.suite == suite)
    };
    runs::folders(&runs.runs).into_iter().filter_map(read).collect()
}

fn make(folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("failed to make the folder `{}`", folder.display()))
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
