//! The first sheet: which run, which machine, which engines; the findings; the command; and how the
//! other sheets are read.

use super::series::Series;
use super::sheet::{Heading, Sheet, heading};
use crate::cell::Cell;
use crate::command::command_line;
use crate::format::Show::{Plain, Words};
use crate::header;
use crate::markdown::title;
use kvdyno_analysis::answers::answer::answers;
use kvdyno_analysis::answers::summary::Summary;

const COLUMNS: [Heading; 4] = [
    heading("", 16, Plain),
    heading("", 80, Words),
    heading("", 80, Words),
    heading("", 40, Words),
];

/// This sheet exists where the drive was measured by itself.
const DRIVE: &str = "Drive";

/// This sheet exists where several engines do equal work.
const RANKING: &str = "Ranking";

/// This sheet exists where a study stands beside the run.
const PUBLISHED: &str = "Published";

/// This sheet exists where a crew drove the servers.
const RANKS: &str = "Ranks";

/// This sheet exists where the suite claims anything.
const CLAIMS: &str = "Claims";

const SHEETS: [(&str, &str); 14] = [
    (
        "Charts",
        "throughput, p99 and cost over threads; their numbers are taken from the other sheets",
    ),
    (RANKING, "engines in order, question by question: place, and how many times behind the best"),
    (PUBLISHED, "what a study published on another machine, next to the figures of this run"),
    (CLAIMS, "what the suite claims, point by point: holds, does not hold, or undecided"),
    ("Load", "what each load took, with the columns of the published studies"),
    (
        "Run",
        "what each role got. vs. base: over the first engine's of equal work and \
         durability class, the geometric mean over pairs of trials, with its 99 % interval",
    ),
    ("Cost", "CPU, context switches, device, memory and space of a phase, all roles together"),
    ("Time", "where the time of each phase went"),
    (RANKS, "what each worker of the crew got"),
    (DRIVE, "the figures of each job of the bare drive, and the limit of engines: Cost, share"),
    ("Latency percentiles", "of each operation, the median of the trials' own"),
    ("Series", "slice by slice"),
    ("Host", "every fact about the machine, before and after"),
    ("Figures", "every figure of every trial, one a row"),
];

const ROWS: &str = "\
In Load, Run, Cost and Time a bold line stands for all trials (medians; of operations, errors and
the backlog sums; of peaks the largest), its trials folded away below it. Counts and readings are as
recorded; what follows from them is a formula. An empty cell was not measured, and the last column
says why.";

/// The sheet.
pub(super) fn sheet(summary: &Summary, series: &Series) -> anyhow::Result<Sheet> {
    let mut sheet = Sheet::new("Summary", &COLUMNS)?;
    sheet.strong_row(&[Cell::text(title(summary))])?;
    for answer in answers(summary, summary.search.as_ref()) {
        sheet.row(&[Cell::text(answer.workload), Cell::text(answer.sentence)])?;
    }
    for (word, text) in header::lines(summary) {
        sheet.row(&[Cell::text(word), Cell::text(text)])?;
    }
    sheet.row(&[Cell::text("command"), Cell::text(command_line(&summary.run.command))])?;
    sheet
        .row(&[Cell::text("method"), Cell::text(format!("version {}", summary.method_version))])?;
    sheet.skip(1);
    findings(summary, &mut sheet)?;
    sheet.skip(1);
    sheet.strong_row(&[Cell::text("Sheets")])?;
    let drive = summary.groups.iter().any(|group| group.runs.iter().any(|run| run.job.is_some()));
    let ranked = !summary.rankings.is_empty();
    let is_there = |name: &str| match name {
        DRIVE => drive,
        RANKING => ranked,
        PUBLISHED => summary.study.is_some(),
        CLAIMS => !summary.claims.is_empty(),
        RANKS => !summary.ranks.is_empty(),
        _ => true,
    };
    for (name, what) in SHEETS.into_iter().filter(|(name, _)| is_there(name)) {
        sheet.row(&[Cell::text(name), Cell::text(what)])?;
    }
    if series.cases_left_out > 0 {
        let left_out = format!(
            "{} cases have no room here: their slices are in the record, cases/*/series.ndjson",
            series.cases_left_out
        );
        sheet.row(&[Cell::text("Series"), Cell::text(left_out)])?;
    }
    sheet.row(&[Cell::text("rows"), Cell::text(ROWS.replace('\n', " "))])?;
    Ok(sheet)
}

fn findings(summary: &Summary, sheet: &mut Sheet) -> anyhow::Result<()> {
    if summary.findings.is_empty() {
        sheet.strong_row(&[Cell::text("No findings")])?;
        return Ok(());
    }
    let heads = ["Findings", "what was found", "what would help", "cases"];
    sheet.strong_row(&heads.map(Cell::text))?;
    for finding in &summary.findings {
        sheet.row(&[
            Cell::text(header::severity(finding.severity)),
            Cell::text(format!("{}: {}", finding.id.as_str(), finding.evidence)),
            Cell::text(&finding.advice),
            Cell::text(finding.cases.join(", ")),
        ])?;
    }
    Ok(())
}
