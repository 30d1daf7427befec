//! Published rows among those of a run's own tables. Each stands below the row that it is like;
//! those that are like none stand at the end, below an empty row of the run with the reason.

use super::format_published;
use crate::columns::{CellSource, Column, Kind, Row};
use crate::footnotes::Footnotes;
use crate::format;
use kvdyno_analysis::answers::study::{Published, PublishedValue, StudyComparison, TableKind};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue::times;
use kvdyno_record::hlog::Kind as Clock;
use kvdyno_record::units;

/// The published rows of a table.
pub(crate) struct StudyRows<'s> {
    study: Option<&'s StudyComparison>,
    rows: Vec<&'s Published>,
}

impl<'s> StudyRows<'s> {
    pub(crate) fn from_summary(kind: &Kind, summary: &'s Summary) -> Self {
        let kind_name = match kind.name {
            "load" => Some(TableKind::Load),
            "run" => Some(TableKind::Run),
            "drive" => Some(TableKind::Drive),
            _ => None,
        };
        let study = summary.study.as_ref().filter(|_| kind_name.is_some());
        let all = study.iter().flat_map(|study| &study.published);
        Self { study, rows: all.filter(|row| row.matches == kind_name).collect() }
    }

    /// Whether there are any.
    pub(crate) fn is_some(&self) -> bool {
        !self.rows.is_empty()
    }

    /// The published lines below a row of the run.
    pub(crate) fn below(
        &self,
        row: &Row<'_>,
        columns: &[&Column],
        notes: &mut Footnotes,
    ) -> Vec<Vec<String>> {
        let (run, role) = (row.run.map(|(at, _)| at), row.role.map(|(at, _)| at));
        let like = |published: &&&Published| {
            row.op.is_none()
                && published.own.iter().any(|seat| {
                    let same_role = seat.role.is_none() || seat.role == role;
                    (seat.group, seat.run) == (row.at, run) && same_role
                })
        };
        let like = self.rows.iter().filter(like);
        like.map(|published| self.line(published, columns, notes)).collect()
    }

    /// The published lines that are like no row of the run, each below an empty one with the
    /// reason.
    pub(crate) fn unmatched_lines(
        &self,
        columns: &[&Column],
        notes: &mut Footnotes,
    ) -> Vec<Vec<String>> {
        let rest = self.rows.iter().filter(|row| row.own.is_empty());
        let lines =
            rest.flat_map(|row| [empty(row, columns, notes), self.line(row, columns, notes)]);
        lines.collect()
    }

    fn line(&self, row: &Published, columns: &[&Column], notes: &mut Footnotes) -> Vec<String> {
        let source = self.study.map_or_else(String::new, |study| {
            let (source, host) = (study.source(), study.host());
            format!("published: {source}, on {host}; in no figure of this run")
        });
        let mut mark = notes.mark(&source);
        if let Some(doubt) = &row.doubt {
            mark += &notes.mark(&format!("doubt: {doubt}"));
        }
        let cells = columns.iter().enumerate().map(|(at, column)| match column.title {
            _ if at == 0 => format!("published {} {mark}", name(row, columns)),
            _ if row.gave_up && matches!(column.from, CellSource::Main(_)) => "given up".to_owned(),
            "MB/s" => megabytes(row),
            title => figure(row, column).unwrap_or_else(|| row_text(row, title)),
        });
        cells.collect()
    }
}

/// The empty row of the run above a published one, with the reason.
fn empty(row: &Published, columns: &[&Column], notes: &mut Footnotes) -> Vec<String> {
    let mark = row.why_none.as_ref().map(|why| format!("- {}", notes.mark(why)));
    let cells = columns.iter().enumerate().map(|(at, column)| match column.from {
        _ if at == 0 => name(row, columns),
        CellSource::Main(_) => mark.clone().unwrap_or_default(),
        _ => row_text(row, column.title),
    });
    cells.collect()
}

/// The first words of a row: the engine or the drive, and what the table has no column for.
fn name(row: &Published, columns: &[&Column]) -> String {
    let selectors = &row.selectors;
    let first = selectors.engine.clone().or_else(|| selectors.drive.clone());
    let mut words = vec![first.unwrap_or_else(|| selectors.details().join(", "))];
    let has = |title: &str| columns.iter().any(|column| column.title == title);
    let volume = selectors.volume.as_ref().filter(|_| !has("volume") && selectors.drive.is_none());
    words.extend(volume.cloned());
    let others = [("part", &selectors.part), ("RAM", &selectors.ram), ("data", &selectors.records)];
    let others = others.into_iter().filter(|(title, _)| !has(title));
    words.extend(others.filter_map(|(_, text)| text.clone()));
    words.retain(|word| !word.is_empty());
    words.join(" ")
}

fn figure(row: &Published, column: &Column) -> Option<String> {
    let definition = match column.from {
        CellSource::Figure(definition) | CellSource::Main(definition) => definition,
        CellSource::Time(at) => times(Clock::Service)[at],
        _ => return None,
    };
    Some(row.value(definition.name).map(format_published).unwrap_or_default())
}

/// The text of a published row in a column of words.
fn row_text(row: &Published, title: &str) -> String {
    let selectors = &row.selectors;
    let text = match title {
        "part" => selectors.part.clone(),
        "volume" => selectors.volume.clone(),
        "threads" => selectors.threads.map(|threads| threads.to_string()),
        "phase" => selectors.phase.clone(),
        "clients" => selectors.role.clone(),
        "op" => selectors.op.clone(),
        "RAM" => selectors.ram.clone(),
        "data" => selectors.records.clone(),
        "I/O" => selectors.io.clone(),
        "block" => selectors.block.clone(),
        "depth" => selectors.depth.map(|depth| depth.to_string()),
        _ => None,
    };
    text.unwrap_or_default()
}

/// The published MB/s, else computed from the I/Os per second.
fn megabytes(row: &Published) -> String {
    let print = |bytes: f64| format::ratio(bytes / 1e6);
    if let Some(printed) = row.value("user_bytes_per_s") {
        return printed.text(print);
    }
    let block = row.selectors.block.as_ref().and_then(|block| units::parse_bytes(block).ok());
    let value = row.value("ops_per_s").zip(block);
    let text = |(value, block): (&PublishedValue, u64)| value.text(|ops| print(ops * block as f64));
    value.map(text).unwrap_or_default()
}
