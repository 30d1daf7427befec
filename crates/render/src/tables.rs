//! The tables of a run on a terminal: what the load took, what each role got, what that cost, how
//! far that is from the drive, and what the bare drive gave.

mod block_io;
mod cost;
mod drive;
mod efficiency;
mod history;
mod load;
pub(super) mod number;
mod run;
mod time;

use super::table::{Side, Table};
use super::wrap::wrap;
pub(super) use drive::jobs as drive_jobs;
use kvdyno_analysis::comparison::Beside;
use kvdyno_analysis::group::{Group, RunRow};
use kvdyno_analysis::group::{data, several};
use kvdyno_analysis::metric::{Definition, Metrics};
use kvdyno_analysis::search;
use kvdyno_analysis::summary::Summary;
use kvdyno_record::search::Axis;
pub(super) use number::ratio;
use std::collections::BTreeMap;

/// A table with its title and how to read it.
#[derive(Clone, Debug)]
pub struct Titled {
    /// Its short name, by which it is asked for.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// The table.
    pub table: Table,
    /// How to read it, in lines.
    pub aid: String,
}

/// The names of all tables, in their order.
pub const NAMES: [&str; 10] =
    ["search", "load", "run", "cost", "time", "io", "baseline", "drive", "drive-times", "history"];

/// Every table that has rows.
pub fn all(summary: &Summary, wide: bool) -> Vec<Titled> {
    let axes = Axes::of(summary);
    let tables = [
        curve(summary),
        load::load(summary, &axes, wide),
        run::run(summary, &axes, wide),
        cost::cost(summary, &axes, wide),
        time::time(summary, &axes, wide),
        block_io::block_io(summary, &axes, wide),
        efficiency::efficiency(summary, &axes, wide),
        drive::rates(summary, wide),
        drive::times(summary),
    ];
    let tables = tables
        .into_iter()
        .chain(history::history(summary, wide))
        .filter(|titled| !titled.table.is_empty());
    tables.map(|titled| with_hiccups(titled, summary)).collect()
}

/// The points of a search.
fn curve(summary: &Summary) -> Titled {
    let (table, aid) = match &summary.search {
        Some(answer) => (crate::search::curve(answer), crate::search::aid(answer)),
        None => Default::default(),
    };
    Titled { name: "search", title: "The search, point by point", table, aid }
}

/// Below every table of latencies: what the machine did to a thread that did nothing.
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

/// Engines, and the harness; a bare drive has tables of its own.
fn engines(summary: &Summary) -> impl Iterator<Item = &Group> {
    summary.groups.iter().filter(|group| !group.bare_drive)
}

/// Every measured phase of an engine with its group.
fn runs(summary: &Summary) -> impl Iterator<Item = (&Group, &RunRow)> {
    engines(summary).flat_map(|group| group.runs.iter().map(move |run| (group, run)))
}

/// The cells of one row. Where no trial has the main figure, it says how they ended, and the other
/// cells stay silent.
struct Cells<'t> {
    table: &'t mut Table,
    group: &'t Group,
    metrics: &'t Metrics,
    main: &'static Definition,
    dead: bool,
}

impl<'t> Cells<'t> {
    fn new(
        table: &'t mut Table,
        group: &'t Group,
        metrics: &'t Metrics,
        main: &'static Definition,
    ) -> Self {
        let dead = group.trouble().is_some() && metrics.value(main).is_none();
        Self { table, group, metrics, main, dead }
    }

    fn main(&mut self, format: impl Fn(f64) -> String) -> String {
        match self.group.trouble() {
            // A word or two stand in the cell, a sentence below the table.
            Some(trouble) if self.dead && !trouble.contains(" of ") => trouble,
            Some(trouble) if self.dead => format!("- {}", self.table.footnotes.mark(&trouble)),
            Some(trouble) => {
                let figure = self.figure(self.main, format);
                let mark = self.table.footnotes.mark(&format!("not of all trials: {trouble}"));
                format!("{figure} {mark}")
            }
            None => self.figure(self.main, format),
        }
    }

    fn figure(&mut self, definition: &Definition, format: impl Fn(f64) -> String) -> String {
        if self.dead {
            return "-".to_owned();
        }
        self.table.figure(self.metrics, definition, format)
    }
}

/// A client group's own threads; where another number is swept, that too: `1 @4`.
fn own_threads(own: u32, group: &Group) -> String {
    match group.threads.filter(|swept| *swept != own) {
        Some(swept) => format!("{own} @{swept}"),
        None => own.to_string(),
    }
}

/// What ratios are over, as a column's title: the base's label where there is one base alone.
fn base_title<'b>(besides: impl Iterator<Item = &'b Beside>) -> String {
    let mut bases = besides.map(|beside| beside.base.as_str());
    let first = bases.next().unwrap_or("base");
    if bases.any(|other| other != first) { "base".to_owned() } else { first.to_owned() }
}

/// Columns whose ratios are over `base`.
fn with_base(columns: Vec<(&'static str, Side)>, base: &str) -> Vec<(String, Side)> {
    let base: String = kvdyno_record::text::one_line(base).chars().take(BASE_MAX).collect();
    let title = |title: &str| match title {
        "vs.\nbase" => format!("vs.\n{base}"),
        other => other.to_owned(),
    };
    columns.into_iter().map(|(name, side)| (title(name), side)).collect()
}

/// Letters of the base's label in a title.
const BASE_MAX: usize = 8;

/// How to read a figure beside its own on the first volume.
fn by_volume(beside: Option<&Beside>) -> String {
    let base = beside.map_or("the first volume", |beside| &beside.base);
    format!("\n{}", wrap(&format!("vs. vol: over the same engine's on {base}."), 0))
}

/// What tells groups apart: the engine always, the rest where it differs. (The durability class of
/// each engine stands above the tables, too. The null engine stores nothing in any class.)
#[expect(clippy::struct_excessive_bools, reason = "each is a column that is there or not")]
struct Axes {
    durability: bool,
    data: bool,
    ram: bool,
    volume: bool,
    /// By case, what a search for a rate offered to it; empty: nothing was searched, or no rate.
    offered: BTreeMap<String, String>,
}

impl Axes {
    fn of(summary: &Summary) -> Self {
        let groups = &summary.groups;
        let real = groups.iter().filter(|group| group.competes());
        let engines = || groups.iter().filter(|group| !group.bare_drive);
        Self {
            durability: several(real.map(|group| group.durability)),
            data: several(engines().map(data)),
            ram: several(engines().map(Group::ram)),
            volume: several(engines().map(|group| &group.volume)),
            offered: summary.search.as_ref().map(offered).unwrap_or_default(),
        }
    }

    fn columns(&self) -> Vec<(&'static str, Side)> {
        let mut columns = vec![("engine", Side::Left)];
        if self.volume {
            columns.push(("volume", Side::Left));
        }
        if self.durability {
            columns.push(("durability", Side::Left));
        }
        if self.data {
            columns.push(("data", Side::Right));
        }
        if self.ram {
            columns.push(("RAM", Side::Right));
        }
        if !self.offered.is_empty() {
            columns.push(("offered", Side::Right));
        }
        columns
    }

    fn cells(&self, group: &Group) -> Vec<String> {
        let mut cells = vec![group.label.clone()];
        if self.volume {
            cells.push(group.volume.clone().unwrap_or_default());
        }
        if self.durability {
            cells.push(group.durability.as_str().to_owned());
        }
        if self.data {
            cells.push(data(group));
        }
        if self.ram {
            let held = group.ram_limit_held != Some(false) && group.tier_held != Some(false);
            cells.push(if held { group.ram() } else { format!("{} NOT HELD", group.ram()) });
        }
        if !self.offered.is_empty() {
            let offered = group.trials.iter().find_map(|trial| self.offered.get(&trial.case));
            cells.push(offered.cloned().unwrap_or_else(|| "-".to_owned()));
        }
        cells
    }
}

/// Points of a search for a rate have nothing else by which they are told apart.
fn offered(answer: &search::Answer) -> BTreeMap<String, String> {
    if answer.axis == Axis::Ram {
        return BTreeMap::new();
    }
    let mut offered = BTreeMap::new();
    for point in answer.points.iter().chain(&answer.fastest) {
        let words = point.value.map_or_else(|| "closed".to_owned(), |value| answer.words(value));
        offered.extend(point.cases.iter().map(|case| (case.clone(), words.clone())));
    }
    offered
}

#[cfg(test)]
mod tests;
