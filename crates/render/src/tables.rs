//! The tables of a run on a terminal: what the load took, what each role got, what that cost, how
//! far that is from the drive, and what the bare drive gave.

mod history;
mod not_here;

use super::columns::{AXES, CellSource, Column, KINDS, Kind, Line, VisibleColumns};
use super::footnotes::Footnotes;
use super::ranking;
use super::study::{self, StudyRows};
use super::table::Table;
pub use super::table::Titled;
use super::wrap::wrap;
use kvdyno_analysis::answers::summary::Summary;

/// The names of all tables, in their order.
pub const NAMES: [&str; 19] = [
    "study",
    "claims",
    "search",
    "ranking",
    "load",
    "run",
    "scatter",
    "cost",
    "counters",
    "time",
    "ranks",
    "io",
    "profile",
    "ceiling",
    "drive",
    "drive-times",
    "history",
    "not-here",
    "published",
];

/// Every table that has rows.
pub fn all(summary: &Summary, wide: bool) -> Vec<Titled> {
    let search = summary.search.iter().map(|answer| Titled {
        name: "search",
        title: "The search, point by point".into(),
        table: crate::search::curve(answer),
        aid: crate::search::reading_aid(answer),
    });
    let first = study::machines(summary).into_iter().chain(study::claims(summary));
    let tables = first
        .chain(search)
        .chain(ranking::tables(summary, wide))
        .chain(KINDS.iter().map(|kind| table(kind, summary, wide)))
        .chain(history::history(summary, wide))
        .chain([not_here::table(summary)])
        .chain(study::tables(summary))
        .filter(|titled| !titled.table.is_empty());
    let tables = tables.map(|titled| with_hiccups(titled, summary));
    tables.map(|titled| if wide { titled.full_width() } else { titled }).collect()
}

fn table(kind: &Kind, summary: &Summary, wide: bool) -> Titled {
    let rows = (kind.rows)(summary);
    let shown = VisibleColumns::from_summary(summary, &rows, wide);
    let axes = if kind.engines { AXES } else { &[] };
    let columns = axes.iter().chain(kind.columns);
    let columns: Vec<_> = columns.filter(|column| shown.has(column)).collect();
    let titles = columns.iter().map(|column| (shown.title(column.title), column.side));
    let mut table = Table::new(titles);
    let mut notes = Footnotes::default();
    let published = StudyRows::from_summary(kind, summary);
    for row in &rows {
        let lines = (kind.lines)(row, wide);
        let is_shown = !lines.is_empty();
        for row in lines {
            let mut line = Line::new(row, kind.main, &shown, &mut notes);
            table.row(&columns.iter().map(|column| column.text(&mut line)).collect::<Vec<_>>());
        }
        let below = is_shown.then(|| published.below(row, &columns, &mut notes));
        below.iter().flatten().for_each(|cells| table.row(cells));
    }
    published.unmatched_lines(&columns, &mut notes).iter().for_each(|cells| table.row(cells));
    table.footnotes = notes;
    let is_figure =
        |column: &&Column| matches!(column.from, CellSource::Main(_) | CellSource::Figure(_));
    let lead = columns.iter().position(is_figure).unwrap_or(columns.len());
    table.lead = Some(lead).filter(|_| published.is_some());
    Titled {
        name: kind.name,
        title: kind.title.into(),
        aid: (kind.aid)(summary, &rows, &shown),
        table,
    }
}

/// Adds, below every table of latencies, what the machine did to a thread that did nothing.
fn with_hiccups(titled: Titled, summary: &Summary) -> Titled {
    let mut titles = titled.table.columns().iter();
    let has_latencies = titles.any(|(title, _)| title.starts_with("p99"));
    match &summary.hiccups {
        Some(hiccups) if has_latencies => {
            let aid = format!("{}\n{}", titled.aid, wrap(&hiccups.line(), 0));
            Titled { aid, ..titled }
        }
        _ => titled,
    }
}

#[cfg(test)]
mod tests;
