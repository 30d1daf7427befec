//! Screens that are a list: what became of engines without figures, the jobs of a bare drive, the
//! points of a search. A line for each, as many as fit.

use super::super::columns::{Row as TableRow, jobs};
use super::super::format::{self, format_spread, ratio, ratio_cell};
use super::super::table::{Side, Table};
use super::super::wrap::wrap;
use super::contest::Contest;
use super::line::{Line, Part, cut, sentence};
use kvdyno_analysis::answers::search::SearchResult;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::job::drive_words;
use kvdyno_analysis::figures::lists::has_several;
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_record::units;

/// Lines of an engine's fate.
const FATE_LINES: usize = 3;

/// Lines of a search's answer.
const SENTENCE_LINES: usize = 8;

/// As many rows of a table as fit; its title stays.
pub(super) fn fit_table(table: &Table, room: usize, what: &str) -> Part {
    let text = table.text();
    let mut lines: Vec<Line> = text.lines().map(Line::plain).collect();
    let mut left_out = None;
    if lines.len() > room {
        // The reasons below a table go before its rows do.
        let notes = table.footnotes.lines().len();
        lines.truncate(lines.len().saturating_sub(notes).max(1).min(room.max(1)));
        let head = text.lines().count() - notes - table.rows().len();
        let shown = lines.len().saturating_sub(head);
        let more = table.rows().len().saturating_sub(shown);
        left_out = (more > 0).then(|| format!("{more} more {what}"));
    }
    Part { lines, left_out }
}

/// A figure, with its number of trials where some are missing (`3/4`); else what became of the
/// engine.
pub(super) fn figure(group: &Group, metrics: Option<&Metrics>, definition: &Definition) -> String {
    let format = format::figure_format(definition).text;
    let Some(metric) = metrics.and_then(|metrics| metrics.get(definition)) else {
        return "-".to_owned();
    };
    match metric.value {
        Some(value) if group.describe_missing_figures(Some(metric)).is_some() => {
            format!("{} {}/{}", format(value), group.count_trials(metric), group.trials.len())
        }
        Some(value) => format(value),
        None => {
            let fate = group.describe_missing_figures(None);
            let fate = fate.as_deref().and_then(|fate| fate.split(" (").next());
            fate.map_or_else(|| "-".to_owned(), |fate| cut(fate, 12))
        }
    }
}

/// What became of each engine, where none has a figure: in the words of its first case that has
/// any.
pub(super) fn engine_outcomes(contest: &Contest<'_>, room: usize) -> Part {
    let line = |label: &&str| {
        let has_label = |group: &&&Group| group.label == **label;
        let groups = || contest.groups.iter().filter(has_label);
        let fate = groups().find_map(|group| group.describe_missing_figures(None))?;
        let message = groups().flat_map(|group| &group.trials).find_map(|t| t.message.as_deref());
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        Some(sentence(None, "", &format!("{} {fate}{message}", contest.name(label)), FATE_LINES))
    };
    let fates: Vec<Vec<Line>> = contest.labels.iter().filter_map(line).collect();
    let mut lines: Vec<Line> = Vec::new();
    let fit = fates.iter().take_while(|fate| {
        let fits = lines.len() + fate.len() <= room;
        if fits {
            lines.extend_from_slice(fate);
        }
        fits
    });
    let more = fates.len() - fit.count();
    Part { lines, left_out: (more > 0).then(|| format!("{more} more engines")) }
}

type DriveColumn = (&'static str, Side, fn(&TableRow<'_>) -> String);

/// The line of each job.
const DRIVE: [DriveColumn; 13] = [
    ("job", Side::Left, |row| match row.op {
        Some(_) => String::new(),
        None => cut(&row.group.label, 24),
    }),
    ("volume", Side::Left, |row| row.group.volume.clone().unwrap_or_default()),
    ("I/O", Side::Left, |row| match row.op {
        Some(op) => format!("  {}", drive_words(op).1),
        None => row.drive_io().unwrap_or_default().to_owned(),
    }),
    ("block", Side::Right, |row| {
        row.block_bytes().map_or_else(|| "-".to_owned(), units::exact_bytes)
    }),
    ("depth", Side::Right, |row| {
        row.role.and_then(|(_, role)| role.depth).unwrap_or(1).to_string()
    }),
    ("threads", Side::Right, |row| row.threads().unwrap_or(0).to_string()),
    ("IOPS", Side::Right, |row| figure(row.group, Some(row.metrics), &c::OPS_PER_S)),
    ("spread %", Side::Right, |row| format_spread(row.metric(&c::OPS_PER_S))),
    (OVER_VOLUME, Side::Right, |row| ratio_cell(row.relative_volume())),
    ("MB/s", Side::Right, |row| {
        let blocks = || Some(row.value(&c::OPS_PER_S)? * row.block_bytes()? as f64);
        let bytes = row.replayed_bytes_per_s().or_else(blocks);
        bytes.map_or_else(|| "-".to_owned(), |bytes| ratio(bytes / 1e6))
    }),
    ("p50 us", Side::Right, |row| latency(row, &c::SERVICE_P50)),
    ("p99 us", Side::Right, |row| latency(row, &c::SERVICE_P99)),
    ("p99.9 us", Side::Right, |row| latency(row, &c::SERVICE_P999)),
];

/// IOPS over those on the first volume, whose name stands in the title.
const OVER_VOLUME: &str = "over volume";

/// The columns that only several volumes have.
const OF_VOLUMES: [&str; 2] = ["volume", OVER_VOLUME];

/// The columns that give way to them: the name of a job has its block.
const OF_ONE_VOLUME: [&str; 4] = ["block", "threads", "spread %", "MB/s"];

/// A latency; where a job reads and writes, reads and writes have their own.
fn latency(row: &TableRow<'_>, definition: &Definition) -> String {
    if row.is_pooled() {
        return String::new();
    }
    figure(row.group, Some(row.metrics), definition)
}

/// A line for each job of a bare drive.
pub(super) fn drives(summary: &Summary, room: usize) -> Part {
    let table = drive_table(summary);
    table.map_or_else(Part::default, |table| fit_table(&table, room, "jobs").cut_lines())
}

/// A line for each job of a bare drive, and each kind of its I/Os; none: there is no job.
pub(crate) fn drive_table(summary: &Summary) -> Option<Table> {
    let jobs = || jobs(summary).into_iter();
    jobs().next()?;
    let volumes = has_several(jobs().map(|row| &row.group.volume));
    let others: &[&str] = if volumes { &OF_ONE_VOLUME } else { &OF_VOLUMES };
    let columns = || DRIVE.iter().filter(|(title, ..)| !others.contains(title));
    let base = jobs().find_map(|row| row.relative_volume().map(|relative| relative.base.clone()));
    let over_base = format!("/ {}", base.as_deref().unwrap_or("the first volume"));
    let titles = columns().map(|(title, side, _)| match *title {
        OVER_VOLUME => (over_base.clone(), *side),
        title => (title.to_owned(), *side),
    });
    let mut table = Table::new(titles);
    for row in jobs().flat_map(TableRow::roles) {
        table.row(&columns().map(|(.., cell)| cell(&row)).collect::<Vec<_>>());
    }
    Some(table)
}

/// The answer of a search, and its points.
pub(super) fn search(answer: &SearchResult, room: usize) -> Part {
    let sentences = wrap(&kvdyno_record::text::escape_line(&answer.sentences.join(" ")), 0);
    let mut lines: Vec<Line> = sentences.lines().take(SENTENCE_LINES).map(Line::plain).collect();
    lines.push(Line::blank());
    let curve =
        fit_table(&crate::search::curve(answer), room.saturating_sub(lines.len()), "points");
    lines.extend(curve.lines);
    Part { lines, left_out: curve.left_out }.cut_lines()
}
