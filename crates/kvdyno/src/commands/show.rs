//! `kvdyno show`: a run's tables.

use super::runs;
use crate::cli::ShowArgs;
use crate::exit::Exit;
use crate::findings::Severity;
use crate::host::place::left_by;
use crate::printer::{Printer, Tone, one_line};
use crate::report::answer::answers;
use crate::report::summary::{Summary, verdict};
use crate::report::wrap::wrap;
use crate::report::{header, tables};
use anyhow::Context as _;
use std::path::Path;

/// Prints a run that is kept.
pub fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = runs::find(&args.name)?;
    let summary = Summary::read(&folder)
        .with_context(|| format!("failed to read the run in `{}`", folder.path.display()))?;
    if args.json {
        printer.json(&summary)?;
    } else {
        print(&summary, args.wide, printer);
        tell_left_behind(&summary, printer);
    }
    Ok(verdict(&summary))
}

/// What a killed run left in its place: only the machine knows, not the record.
fn tell_left_behind(summary: &Summary, printer: &Printer) {
    let run = &summary.run;
    let left = left_by(Path::new(&run.place), &run.id);
    if left.is_empty() || run.complete {
        return;
    }
    let left: Vec<String> = left.iter().map(|path| path.display().to_string()).collect();
    printer.warning(&format!("databases of this run are still in place: {}", left.join(" ")));
    printer.hint(&format!("`kvdyno resume {}` removes them and does what is left", run.id));
}

/// Prints a summary: header, what it comes to, tables, findings. `kvdyno run` ends with this, too.
pub fn print(summary: &Summary, wide: bool, printer: &Printer) {
    for (word, text) in header::lines(summary) {
        printer.marked(Tone::Strong, &format!("{word:<10}"), &wrap(&text, 10));
    }
    let answers = answers(summary);
    if !answers.is_empty() {
        printer.data("");
        printer.heading("In short");
    }
    for answer in answers {
        let word = format!("{:<8} ", one_line(&answer.workload));
        let indent = word.chars().count();
        printer.marked(Tone::Strong, &word, &wrap(&one_line(&answer.sentence), indent));
    }
    for titled in tables::all(summary, wide) {
        printer.data("");
        printer.heading(titled.title);
        printer.data(&titled.table.text());
        printer.data(&titled.aid);
    }
    if !summary.findings.is_empty() {
        printer.data("");
        printer.heading("Findings");
        for finding in &summary.findings {
            let tone = match finding.severity {
                Severity::Invalid => Tone::Bad,
                Severity::Warning => Tone::Warning,
                Severity::Info => Tone::Good,
            };
            let word = format!("{:<8}", header::severity(finding.severity));
            printer.marked(tone, &word, &header::finding(finding));
        }
    }
}
