//! `kvdyno show`: a run on one screen, or selected parts of it.

use super::{fleet, judge, report};
use crate::cli::{NO_STUDY, OWN_STUDY, RunsArgs, ShowArgs, ViewArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use crate::running::runner::Ended;
use anyhow::Context as _;
use kvdyno_analysis::answers::answer::answers;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::figures::findings::Severity;
use kvdyno_host::data_directory::leftover_databases;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::known::STUDIES;
use kvdyno_record::text::escape_line;
use kvdyno_render::header;
use kvdyno_render::screen::{self, Ending, Line};
use kvdyno_render::study;
use kvdyno_render::tables::{self, Titled};
use kvdyno_render::tone::Tone;
use kvdyno_render::wrap::wrap;
use std::path::Path;

/// The tables of a drive.
const OF_DRIVE: [&str; 3] = ["ceiling", "drive", "drive-times"];

pub(crate) fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<Exit> {
    if args.fleet.by.is_some() {
        return fleet::show(args, printer);
    }
    let [name] = args.names.as_slice() else {
        let what = format!("cannot show {} runs at once", args.names.len());
        let hint = "use `--by host` for one suite's runs of many machines, or `kvdyno compare BASE \
                    NEW` for two runs";
        return Err(Complaint::usage(what).hint(hint).into());
    };
    show(&runs::find(name, &args.runs.runs)?, &args.view, printer)
}

/// Shows a run that just ended, and returns the exit code.
pub(crate) fn show_ended(
    dir: RunDir,
    ended: Ended,
    view: &ViewArgs,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let verdict = show(&dir.into(), view, printer)?;
    Ok(if ended == Ended::Interrupted { Exit::Interrupted } else { verdict })
}

/// Prints a run, and returns the exit code.
fn show(dir: &runs::FoundRun, view: &ViewArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut summary = runs::read_summary(dir)?;
    match_study(&mut summary, view)?;
    if view.json {
        printer.json(&summary)?;
    } else {
        print(&summary, view, &ending(dir), printer)?;
        if !view.percentiles.is_empty() {
            percentiles(dir, &summary, view, printer)?;
        }
        report_leftovers(&summary, printer);
    }
    let judged = view.target.as_ref().map(|target| judge::judge_shown(dir, target, printer));
    Ok(judged.transpose()?.unwrap_or(summary.verdict))
}

/// Replaces the suite's own study by the requested one.
fn match_study(summary: &mut Summary, view: &ViewArgs) -> Result<(), Complaint> {
    match view.with_study.as_deref() {
        Some(NO_STUDY) => summary.match_study(None),
        Some(OWN_STUDY) | None => {}
        Some(id) => summary.match_study(Some(id)),
    }
    let shows_study = view.study || view.with_study.as_deref() == Some(OWN_STUDY);
    if shows_study && summary.study.is_none() {
        let what = format!("the suite `{}` repeats no published study", summary.run.suite);
        let hint = format!("use --with-study with one of: {}", STUDIES.join(", --with-study "));
        return Err(Complaint::usage(what).hint(hint));
    }
    Ok(())
}

/// The run's name in commands, and the path of its report.
fn ending(dir: &runs::FoundRun) -> Ending {
    let run_path = dir.display_path();
    let current = std::env::current_dir().unwrap_or_default();
    let short = run_path.strip_prefix(&current).unwrap_or(run_path).display().to_string();
    let real = |path: &Path| path.canonicalize().ok();
    let is_latest = runs::find("latest", &RunsArgs::default().runs)
        .is_ok_and(|dir| real(dir.display_path()).is_some_and(|path| Some(path) == real(run_path)));
    let run = (!is_latest).then_some(short);
    let page = report::page_path(run_path);
    let page_text = page.strip_prefix(&current).unwrap_or(&page).display().to_string();
    let mut ending = Ending { run, report: page_text };
    if !page.is_file() {
        ending.report = format!("{} writes {}", ending.command("report"), ending.report);
    }
    ending
}

/// Warns of databases that a killed run left in its data directory: its record lacks them.
fn report_leftovers(summary: &Summary, printer: &Printer) {
    let run = &summary.run;
    let databases = leftover_databases(Path::new(&run.data_dir), &run.id);
    if databases.is_empty() || run.complete {
        return;
    }
    let databases: Vec<String> = databases.iter().map(|path| path.display().to_string()).collect();
    printer.warning(&format!(
        "databases of this run are still in its data directory: {}",
        databases.join(" ")
    ));
    printer.hint(&format!("`kvdyno resume {}` removes them and runs the remaining cases", run.id));
}

/// Prints a summary: its screen, or what `view` selects.
fn print(
    summary: &Summary,
    view: &ViewArgs,
    ending: &Ending,
    printer: &Printer,
) -> anyhow::Result<()> {
    let selects = !view.table.is_empty()
        || !view.percentiles.is_empty()
        || view.drive
        || view.findings
        || view.config
        || view.study;
    if view.full || (view.wide && !selects) {
        full(summary, view.wide, printer);
        return Ok(());
    }
    if !selects {
        for Line { tone, word, text } in screen::lines(summary, ending) {
            match tone {
                Some(tone) => printer.marked_data(tone, &word, &text),
                None => printer.data(&text),
            }
        }
        return Ok(());
    }
    if view.config {
        config(summary, printer);
    }
    let all = tables::all(summary, view.wide);
    check_rows(summary, view, &all)?;
    let is_selected = |name: &str| {
        view.table.iter().any(|selected| selected == name)
            || (view.drive && OF_DRIVE.contains(&name))
            || (view.study && study::NAMES.contains(&name))
    };
    for titled in all.iter().filter(|titled| is_selected(titled.name)) {
        table(titled, printer);
    }
    if view.findings {
        if let Some(words) = summary.verdicts.description() {
            printer.marked_data(Tone::Strong, "verdicts ", &wrap(&escape_line(&words), 9));
        }
        findings(summary, printer);
    }
    Ok(())
}

/// Prints the percentiles that the user lists.
fn percentiles(
    dir: &runs::FoundRun,
    summary: &Summary,
    view: &ViewArgs,
    printer: &Printer,
) -> anyhow::Result<()> {
    let evidence = Evidence::read(dir).with_context(runs::read_failure(dir))?;
    let list = &view.percentiles;
    let rows = kvdyno_analysis::figures::percentiles::read(&evidence, summary, list)?;
    if rows.is_empty() {
        let what = format!("{} has no times of operations", summary.run.id);
        let hint = format!("`kvdyno show {} --full` shows all figures", summary.run.id);
        return Err(Complaint::usage(what).hint(hint).into());
    }
    table(&kvdyno_render::percentiles::table(summary, list, &rows, view.wide), printer);
    Ok(())
}

/// Refuses a requested table without rows, with the names of the tables that have rows.
fn check_rows(summary: &Summary, view: &ViewArgs, all: &[Titled]) -> Result<(), Complaint> {
    let has = |name: &str| all.iter().any(|titled| titled.name == name);
    let missing = view.table.iter().find(|name| !has(name)).cloned();
    let missing = missing.or_else(|| {
        let drive = view.drive && !OF_DRIVE.iter().any(|name| has(name));
        drive.then(|| "drive".to_owned())
    });
    let Some(name) = missing else { return Ok(()) };
    let what = format!("{} has no rows for the table `{name}`", summary.run.id);
    let names: Vec<&str> = all.iter().map(|titled| titled.name).collect();
    let made_by = match name.as_str() {
        "counters" => "; counters need `--count=processor`",
        "profile" => "; a profile needs `--profile`",
        "io" => "; block I/O needs `--io-latency`",
        _ => "",
    };
    Err(Complaint::usage(what).hint(format!("tables with rows: {}{made_by}", names.join(", "))))
}

/// Prints the header, the result, all tables and the findings.
fn full(summary: &Summary, wide: bool, printer: &Printer) {
    head(summary, printer);
    let answers = answers(summary, summary.search.as_ref());
    if !answers.is_empty() {
        printer.data("");
        printer.heading("In short");
    }
    for answer in answers {
        let word = format!("{:<8} ", escape_line(&answer.workload));
        let indent = word.chars().count();
        printer.marked_data(Tone::Strong, &word, &wrap(&escape_line(&answer.sentence), indent));
    }
    for titled in tables::all(summary, wide) {
        table(&titled, printer);
    }
    findings(summary, printer);
}

fn head(summary: &Summary, printer: &Printer) {
    for (word, text) in header::lines(summary) {
        printer.marked_data(Tone::Strong, &format!("{word:<10} "), &wrap(&text, 11));
    }
}

fn table(titled: &Titled, printer: &Printer) {
    printer.data("");
    printer.heading(&wrap(&escape_line(&titled.title), 0));
    printer.data(&titled.table.text());
    printer.data(&titled.aid);
}

fn findings(summary: &Summary, printer: &Printer) {
    if summary.findings.is_empty() {
        return;
    }
    printer.data("");
    printer.heading("Findings");
    for finding in &summary.findings {
        let tone = match finding.severity {
            Severity::Invalid => Tone::Bad,
            Severity::Warning => Tone::Warning,
            Severity::Info => Tone::Good,
        };
        let word = format!("{:<8}", header::severity(finding.severity));
        printer.marked_data(tone, &word, &header::finding(finding));
    }
}

/// Prints the machine, and each engine with all of its options.
fn config(summary: &Summary, printer: &Printer) {
    head(summary, printer);
    for engine in summary.engines.iter().filter(|engine| !engine.options.is_empty()) {
        let options: Vec<String> =
            engine.options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let class = engine.durability.as_str();
        printer.data("");
        printer.heading(&format!("Options of {}, durability {class}", escape_line(&engine.label)));
        printer.data(&wrap(&escape_line(&options.join(", ")), 0));
    }
}

#[cfg(test)]
mod tests;
