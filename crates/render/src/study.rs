//! A published study beside a run: its question, its machine against this one, its tables with this
//! run's figures under each row; and what the suite claims.
//!
//! Published figures are marked in every row: they were measured elsewhere, and are in no figure of
//! the run.

mod claims;
mod csv;
mod rows;

pub(crate) use claims::table as claims;
pub use csv::tables as csv;
pub(crate) use csv::{CLAIMS, Figure, PUBLISHED, figures, points};
pub(crate) use rows::StudyRows;

use super::columns::{CellSource, Column, KINDS};
use super::footnotes::Footnotes;
use super::format;
use super::table::{Side, Table, Titled};
use super::wrap::wrap;
use kvdyno_analysis::answers::study::{
    Published, PublishedValue, RowRef, Selectors, StudyComparison,
};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::group::{Group, data};
use kvdyno_analysis::figures::metric::{Definition, Metric};
use kvdyno_record::hlog::Kind as Clock;

/// The tables that `show --study` and the page's first section are made of.
pub const NAMES: [&str; 3] = ["study", "claims", "published"];

/// The study's machine and data against this run's.
pub(crate) fn machines(summary: &Summary) -> Option<Titled> {
    let comparison = summary.study.as_ref()?;
    let study = &comparison.study;
    let columns = [("", Side::Left), ("study", Side::Left), ("this run", Side::Left)];
    let mut table = Table::new(columns);
    table.lead = Some(1);
    for item in &comparison.differences {
        let mark = item.consequence.as_ref().map(|why| format!(" {}", table.footnotes.mark(why)));
        let here_text = format!("{}{}", item.run_value, mark.unwrap_or_default());
        table.row(&[item.subject.clone(), item.study_value.clone(), here_text]);
    }
    let mut aid = vec![
        wrap(&format!("Its question: {}", study.question), 2),
        wrap(&format!("\"{}\", {}: {}", study.title, comparison.source(), study.url), 2),
    ];
    aid.extend(study.doubts.iter().map(|doubt| wrap(&format!("Doubt: {doubt}"), 2)));
    let title = format!("The study {} and this run", study.id);
    Some(Titled { name: "study", title: title.into(), table, aid: aid.join("\n") })
}

/// Each of the study's tables, with this run's rows under those that they are like.
pub(crate) fn tables(summary: &Summary) -> Vec<Titled> {
    let Some(comparison) = &summary.study else { return Vec::new() };
    let mut names: Vec<&str> = comparison.published.iter().map(|row| row.table.as_str()).collect();
    names.dedup();
    names.into_iter().map(|name| published_table(name, comparison, summary)).collect()
}

/// A column that names rows: its title, its cell in a published row, and its cell in one of the
/// run.
type Head = (&'static str, fn(&Selectors) -> Option<String>, fn(&Group, &RowRef) -> String);

/// The columns of a study's table: those that name rows, and the figures.
struct Heads {
    columns: Vec<Head>,
    /// Name and unit.
    figures: Vec<(String, String)>,
}

impl Heads {
    fn from_rows(rows: &[&Published]) -> Self {
        let all: [Head; 9] = [
            ("engine", |row| row.engine.clone(), |group, _| group.engine_label().to_owned()),
            ("part", |row| row.part.clone(), |group, _| group.part.clone().unwrap_or_default()),
            (
                "volume",
                |row| row.volume.clone(),
                |group, _| group.volume.clone().unwrap_or_default(),
            ),
            ("RAM", |row| row.ram.clone(), |group, _| group.ram()),
            ("records", |row| row.records.clone(), |group, _| data(group)),
            (
                "threads",
                |row| row.threads.map(|n| n.to_string()),
                |group, _| group.threads.map(|n| n.to_string()).unwrap_or_default(),
            ),
            ("phase", |row| row.phase.clone(), phase),
            ("op", |row| row.op.clone(), |_, _| String::new()),
            ("I/O", job, |group, seat| format_job(group, seat).unwrap_or_default()),
        ];
        let columns = all
            .into_iter()
            .filter(|(_, text, _)| rows.iter().any(|row| text(&row.selectors).is_some()));
        let names_and_units = rows
            .iter()
            .flat_map(|row| &row.values)
            .map(|value| (value.figure.clone(), value.unit.clone()));
        let mut figures: Vec<(String, String)> = names_and_units.collect();
        let order = |name: &String| catalogue::ALL.iter().position(|known| known.name == name);
        figures.sort_by_key(|(name, _)| (order(name).is_none(), order(name), name.clone()));
        figures.dedup();
        Self { columns: columns.collect(), figures }
    }
}

fn published_table(name: &str, comparison: &StudyComparison, summary: &Summary) -> Titled {
    let rows: Vec<&Published> =
        comparison.published.iter().filter(|row| row.table == name).collect();
    let heads = Heads::from_rows(&rows);
    let left_column = |title: &str| (title.to_owned(), Side::Left);
    let figures = heads.figures.iter().map(|(name, unit)| (figure_title(name, unit), Side::Right));
    let first = std::iter::once(left_column(""))
        .chain(heads.columns.iter().map(|(title, ..)| left_column(title)));
    let has_words = rows.iter().any(|row| !row.selectors.details().is_empty());
    let words = has_words.then(|| left_column("of"));
    let mut table = Table::new(first.chain(words.clone()).chain(figures));
    let mut notes = Footnotes::default();
    for row in &rows {
        let mark = doubts(row, &mut notes);
        let mut cells = vec![format!("published{mark}")];
        cells.extend(
            heads.columns.iter().map(|(_, text, _)| text(&row.selectors).unwrap_or_default()),
        );
        cells.extend(words.iter().map(|_| row.selectors.details().join(", ")));
        cells.extend(heads.figures.iter().enumerate().map(|(at, (figure, _))| {
            let given_up = row.gave_up && at == 0;
            let value = row.value(figure).map(format_published).unwrap_or_default();
            if given_up { "given up".to_owned() } else { value }
        }));
        table.row(&cells);
        for seat in &row.own {
            let cells = own_row(seat, &heads, words.is_some(), summary, &mut notes);
            table.row(&cells);
        }
        if let Some(why) = &row.why_none {
            let mut cells = vec![String::new(); table.columns().len()];
            cells[0] = format!("this run - {}", notes.mark(why));
            table.row(&cells);
        }
    }
    table.footnotes = notes;
    table.lead = Some(1 + heads.columns.len() + usize::from(has_words));
    let title = format!("Published: {}", rows.first().map_or(name, |row| &row.title));
    let aid = wrap(&format!("published: {}, on {}.", comparison.source(), comparison.host()), 2);
    Titled { name: "published", title: title.into(), table, aid }
}

/// A row of this run under the published one that it is like.
fn own_row(
    seat: &RowRef,
    heads: &Heads,
    has_words: bool,
    summary: &Summary,
    notes: &mut Footnotes,
) -> Vec<String> {
    let metrics = seat.metrics(summary);
    let group = summary.groups.get(seat.group);
    let mut cells = vec!["this run".to_owned()];
    let name = |text: &fn(&Group, &RowRef) -> String| {
        group.map_or_else(String::new, |group| text(group, seat))
    };
    cells.extend(heads.columns.iter().map(|(.., text)| name(text)));
    cells.extend(has_words.then(String::new));
    for (figure, _) in &heads.figures {
        let metric = metrics.iter().flat_map(|metrics| &metrics.0).find(|m| m.name == *figure);
        cells.push(metric.map_or_else(String::new, |metric| value_or_why(metric, notes)));
    }
    cells
}

fn value_or_why(metric: &Metric, notes: &mut Footnotes) -> String {
    match (metric.value, &metric.missing) {
        (Some(value), _) => (format::text_by_unit(metric.unit, metric.name))(value),
        (None, Some(why)) => format!("- {}", notes.mark(why)),
        (None, None) => "-".to_owned(),
    }
}

/// Returns the mark of the doubt about a row: ` [1]`.
fn doubts(row: &Published, notes: &mut Footnotes) -> String {
    let doubt = row.doubt.as_ref();
    doubt.map_or_else(String::new, |doubt| format!(" {}", notes.mark(&format!("doubt: {doubt}"))))
}

/// A published figure, as tables show such figures.
pub(crate) fn format_published(value: &PublishedValue) -> String {
    value.text(format::text_by_unit(&value.unit, &value.figure))
}

/// A figure's title in the tables of runs, else its name and the unit that it is shown in.
fn figure_title(name: &str, unit: &str) -> String {
    let Some(figure) = catalogue::ALL.iter().find(|definition| definition.name == name) else {
        let shown_unit = match unit {
            "ns" => "us",
            "B" => "MiB",
            "B/s" => "MB/s",
            "1" => "x",
            other => other,
        };
        let name = name.trim_end_matches("_percent").replace('_', " ");
        return format!("{}\n{shown_unit}", name.replace("user bytes per s", "rate"));
    };
    let is_it = |column: &&Column| {
        let time = |at: usize| std::ptr::eq(catalogue::times(Clock::Service)[at], *figure);
        let is = column.definition().is_some_and(|own: &Definition| std::ptr::eq(own, *figure));
        !column.title.is_empty() && (is || matches!(column.from, CellSource::Time(at) if time(at)))
    };
    let column = KINDS.iter().flat_map(|kind| kind.columns).find(is_it);
    column.map_or_else(|| figure.name.replace('_', " "), |column| column.title.to_owned())
}

fn phase(group: &Group, seat: &RowRef) -> String {
    let load = || group.load.as_ref().map(|load| load.phase.clone());
    let run = seat.run.map(|run| group.runs.get(run).map(|run| run.phase.clone()));
    run.unwrap_or_else(load).unwrap_or_default()
}

/// `rand read 4KiB depth 16`.
fn job(selectors: &Selectors) -> Option<String> {
    let depth = selectors.depth.map(|depth| format!("depth {depth}"));
    let words = [selectors.io.clone(), selectors.block.clone(), depth];
    Some(words.into_iter().flatten().collect::<Vec<_>>().join(" ")).filter(|job| !job.is_empty())
}

fn format_job(group: &Group, seat: &RowRef) -> Option<String> {
    let job = group.runs.get(seat.run?)?.job.as_ref()?;
    let block = kvdyno_record::units::exact_bytes(job.block_bytes);
    Some(format!("{} {block} depth {} ({})", job.io, job.depth, job.method))
}

#[cfg(test)]
pub(crate) mod tests;
