//! `kvdyno export`: a run's figures for other programs and for readers elsewhere.

use crate::cli::ExportArgs;
use crate::exit::Complaint;
use crate::output;
use crate::printer::Printer;
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::figures::metric::Direction;
use kvdyno_analysis::figures::percentiles;
use kvdyno_analysis::figures::profile;
use kvdyno_record::exit::Exit;
use kvdyno_render::{self as render, brief, long, markdown, time_csv, wide, xlsx};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ExportArgs, printer: &Printer) -> anyhow::Result<Exit> {
    check(args)?;
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    let evidence = Evidence::read(&dir).with_context(runs::read_failure(&dir))?;
    let summary = Summary::from_evidence(&evidence).with_context(runs::read_failure(&dir))?;
    runs::warn_if_altered(&summary, printer);
    if args.json {
        printer.json(&summary)?;
    }
    if let Some(path) = &args.csv {
        if output::is_stdout(path) {
            file(path, &long::csv(&summary)?, printer)?;
        } else {
            csv_dir(&evidence, &summary, path, printer)?;
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
    if let Some(path) = &args.slack {
        file(path, brief::slack_message(&summary).as_bytes(), printer)?;
    }
    trackers(args, &summary, printer)?;
    stacks(args, &evidence, &summary, printer)?;
    Ok(Exit::Ok)
}

/// Writes the sampled stacks of a profiled run.
fn stacks(
    args: &ExportArgs,
    evidence: &Evidence,
    summary: &Summary,
    printer: &Printer,
) -> anyhow::Result<()> {
    let requested = [("--folded", &args.folded), ("--speedscope", &args.speedscope)];
    let Some((option, _)) = requested.into_iter().find(|(_, path)| path.is_some()) else {
        return Ok(());
    };
    let profiles = profile::read(evidence, &summary.groups);
    if profiles.is_empty() {
        let what = format!("{option}: {} has no profile", summary.run.id);
        return Err(Complaint::usage(what).hint("`kvdyno run --profile` samples functions").into());
    }
    if let Some(path) = &args.folded {
        file(path, render::profile::folded_stacks(&profiles).as_bytes(), printer)?;
    }
    if let Some(path) = &args.speedscope {
        file(path, &render::profile::speedscope(&summary.run.id, &profiles)?, printer)?;
    }
    Ok(())
}

/// Writes files for services that follow figures over time.
fn trackers(args: &ExportArgs, summary: &Summary, printer: &Printer) -> anyhow::Result<()> {
    if let Some(path) = &args.bencher {
        file(path, &render::trackers::bencher(summary)?, printer)?;
    }
    if let Some(path) = &args.github_benchmark {
        for (ending, direction) in
            [("bigger.json", Direction::Higher), ("smaller.json", Direction::Lower)]
        {
            let json = render::trackers::github(summary, direction)?;
            let name = path.to_string_lossy();
            let name = name.strip_suffix(".json").unwrap_or(&name);
            file(Path::new(&format!("{name}.{ending}")), &json, printer)?;
        }
    }
    if let Some(path) = &args.openmetrics {
        file(path, render::openmetrics::run(summary).as_bytes(), printer)?;
    }
    Ok(())
}

/// Refuses combinations of options that the command line's parser cannot check.
fn check(args: &ExportArgs) -> Result<(), Complaint> {
    let on_stdout = |path: &Option<PathBuf>| path.as_deref().is_some_and(output::is_stdout);
    let streams = [
        args.json,
        on_stdout(&args.csv),
        on_stdout(&args.markdown),
        on_stdout(&args.slack),
        on_stdout(&args.bencher),
        on_stdout(&args.openmetrics),
        on_stdout(&args.folded),
        on_stdout(&args.speedscope),
    ];
    if streams.into_iter().filter(|used| *used).count() > 1 {
        let message = "only one output can go to standard output";
        return Err(Complaint::usage(message).hint("use a file or a directory instead of `-`"));
    }
    if on_stdout(&args.github_benchmark) {
        let message = "--github-benchmark: expected a file, found `-`";
        return Err(Complaint::usage(message).hint("it writes two files: rates and times"));
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

/// Writes the long list, a file for each table, and the time lines.
fn csv_dir(
    evidence: &Evidence,
    summary: &Summary,
    dir: &Path,
    printer: &Printer,
) -> anyhow::Result<()> {
    make(dir)?;
    let mut files = vec![("figures", long::csv(summary)?)];
    files.extend(wide::tables(summary)?);
    for (name, csv) in files {
        file(&dir.join(format!("{name}.csv")), &csv, printer)?;
    }
    lines(&dir.join("series.csv"), printer, |output| time_csv::series(evidence, output))?;
    lines(&dir.join("machine.csv"), printer, |output| time_csv::machine(evidence, output))
}

/// Writes a file line by line. The file gets its name when it is complete.
fn lines(
    path: &Path,
    printer: &Printer,
    write: impl FnOnce(BufWriter<File>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    output::write_with(path, |file| write(BufWriter::new(file)))?;
    printer.note(&format!("wrote {}", path.display()));
    Ok(())
}

fn make(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)
        .with_context(|| format!("failed to create the directory `{}`", dir.display()))
}

/// Writes a file; `-`: to standard output.
fn file(path: &Path, bytes: &[u8], printer: &Printer) -> anyhow::Result<()> {
    if output::is_stdout(path) {
        printer.verbatim(bytes);
    } else {
        output::write(path, bytes)?;
        printer.note(&format!("wrote {}", path.display()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use std::fs;

    #[test]
    fn a_run_is_written_for_other_services() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        Fixture::with_trials(6).write(&path("run"));
        let mut args = ExportArgs {
            csv: Some(path("csv")),
            bencher: Some(path("bmf.json")),
            github_benchmark: Some(path("bench.json")),
            openmetrics: Some(path("kvdyno.prom")),
            percentiles: vec!["99.95".parse().unwrap()],
            ..ExportArgs::default()
        };
        args.name.run = path("run").display().to_string();
        let (printer, _) = Printer::new_captured();
        assert_eq!(run(&args, &printer).unwrap(), Exit::Ok);
        let text = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert!(text("csv/percentiles.csv").lines().next().unwrap().contains("ns_p99_95_low"));
        assert!(text("csv/run.csv").lines().next().unwrap().contains("ops_per_s_high"));
        assert!(text("bmf.json").starts_with('{'));
        assert!(text("bench.bigger.json").contains("ops_per_s"));
        assert!(text("bench.smaller.json").contains("service_ns_p99"));
        assert!(text("kvdyno.prom").ends_with("# EOF\n"));
    }

    #[test]
    fn two_files_or_a_table_of_percentiles_need_a_name() {
        let stdout = || Some(PathBuf::from("-"));
        let github = ExportArgs { github_benchmark: stdout(), ..ExportArgs::default() };
        let list = vec!["95".parse().unwrap()];
        let percentiles = ExportArgs { csv: stdout(), percentiles: list, ..ExportArgs::default() };
        let two = ExportArgs { bencher: stdout(), openmetrics: stdout(), ..ExportArgs::default() };
        for args in [github, percentiles, two] {
            assert!(check(&args).is_err());
        }
    }
}
