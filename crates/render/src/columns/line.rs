//! A row on a terminal, and what is known of its table as a whole.

use super::column::Column;
use super::row::Row;
use crate::footnotes::Footnotes;
use crate::format;
use crate::wrap::wrap;
use kvdyno_analysis::answers::search::SearchResult;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::{Group, data};
use kvdyno_analysis::figures::lists::has_several;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_record::column::ColumnName;
use kvdyno_record::search::Axis;
use kvdyno_record::text::escape_line;
use std::collections::BTreeMap;

/// Letters of the base's label in a title.
const BASE_MAX: usize = 8;

/// What decides which columns a table has: everything that is the same in all rows is left out.
/// (The durability class of each engine stands above the tables, too. The null engine stores
/// nothing in any class.)
#[expect(clippy::struct_excessive_bools, reason = "each is a column that is there or not")]
pub(crate) struct VisibleColumns {
    pub(super) wide: bool,
    /// The columns that the suite lists.
    requested: Vec<ColumnName>,
    pub(super) part: bool,
    pub(super) durability: bool,
    pub(super) power_loss: bool,
    pub(super) data: bool,
    pub(super) ram: bool,
    /// Several volumes among the engines.
    pub(super) volume: bool,
    /// Several volumes among these rows.
    pub(super) volumes: bool,
    pub(super) phases: bool,
    pub(super) devices: bool,
    pub(super) swept: bool,
    pub(super) open: bool,
    pub(super) swaps: bool,
    /// Servers are among these rows, which have clients.
    pub(super) clients: bool,
    /// Instructions were counted in place of times.
    pub(super) counted: bool,
    /// The rate that a search offered, by case; empty: nothing was searched, or no rate.
    pub(super) offered: BTreeMap<String, String>,
    /// The label of the base of all ratios, where there is one base alone.
    base: String,
}

impl VisibleColumns {
    pub(crate) fn from_summary(summary: &Summary, rows: &[Row<'_>], wide: bool) -> Self {
        let real = || summary.groups.iter().filter(|group| group.competes());
        let engines = || summary.groups.iter().filter(|group| !group.bare_drive);
        let measured = rows.iter().filter(|row| !row.explained.is_some_and(|one| one.load));
        let mut bases =
            rows.iter().filter_map(Row::relative).map(|relative| relative.base.as_str());
        let base = bases.next().filter(|base| bases.all(|other| other == *base)).unwrap_or("base");
        Self {
            wide,
            requested: summary.run.columns.clone(),
            part: rows.iter().any(|row| row.group.part.is_some()),
            durability: has_several(real().map(|group| group.durability)),
            power_loss: has_several(real().map(|group| group.power_loss)),
            data: has_several(engines().map(data)),
            ram: has_several(engines().map(Group::ram)),
            volume: has_several(engines().map(|group| &group.volume)),
            volumes: has_several(rows.iter().map(|row| &row.group.volume)),
            phases: has_several(measured.map(|row| row.phase)),
            devices: has_several(rows.iter().filter_map(|row| Some(&row.io?.1.device))),
            swept: rows.iter().any(|row| row.group.threads_swept.is_some()),
            open: rows.iter().any(|row| row.role.is_some_and(|(_, role)| role.open_loop)),
            swaps: rows.iter().any(|row| row.metrics.get(&c::SWAP_IN_BYTES_PER_OP).is_some()),
            clients: rows.iter().any(|row| row.metrics.get(&c::CLIENT_CPU_PER_OP).is_some()),
            counted: engines().any(Group::is_counted),
            offered: summary.search.as_ref().map(offered_by_case).unwrap_or_default(),
            base: escape_line(base).chars().take(BASE_MAX).collect(),
        }
    }

    /// Whether a column is there.
    pub(crate) fn has(&self, column: &Column) -> bool {
        let requested = column.requested.is_some_and(|name| self.requested.contains(&name));
        !column.title.is_empty() && (requested || (column.when)(self))
    }

    /// A column's title with the base's label in it.
    pub(crate) fn title(&self, title: &str) -> String {
        title.replace("{base}", &self.base)
    }

    /// How to read the ratio of a figure to the same engine's on the first volume.
    pub(super) fn volume_note(&self, rows: &[Row<'_>]) -> String {
        if !self.volume {
            return String::new();
        }
        let base = rows.iter().find_map(Row::relative_volume);
        let base = base.map_or("the first volume", |relative| &relative.base);
        format!("\n{}", wrap(&format!("vs. vol: over the same engine's on {base}."), 0))
    }
}

/// Returns the rate offered to each case: points of a search for a rate differ in nothing else.
fn offered_by_case(answer: &SearchResult) -> BTreeMap<String, String> {
    let mut offered = BTreeMap::new();
    if answer.axis != Axis::Ram {
        for point in answer.points.iter().chain(&answer.fastest) {
            let words =
                point.value.map_or_else(|| "closed".to_owned(), |value| answer.format_value(value));
            offered.extend(point.cases.iter().map(|case| (case.clone(), words.clone())));
        }
    }
    offered
}

/// A row while its cells are made. Where no trial has the main figure, its cell says how the trials
/// ended, and the other cells stay silent.
pub(crate) struct Line<'l, 's> {
    pub(crate) row: Row<'s>,
    pub(crate) shown: &'l VisibleColumns,
    pub(crate) notes: &'l mut Footnotes,
    /// Whether it has no main figure.
    pub(crate) dead: bool,
}

impl<'l, 's> Line<'l, 's> {
    pub(crate) fn new(
        row: Row<'s>,
        main: Option<&Definition>,
        shown: &'l VisibleColumns,
        notes: &'l mut Footnotes,
    ) -> Self {
        let silent = main.is_some_and(|main| row.value(main).is_none());
        Self { row, shown, notes, dead: silent && row.group.describe_outcomes().is_some() }
    }

    pub(super) fn main(&mut self, definition: &Definition) -> String {
        match self.row.group.describe_outcomes() {
            // A word or two stand in the cell, a sentence below the table.
            Some(trouble) if self.dead && !trouble.contains(" of ") => trouble,
            Some(trouble) if self.dead => format!("- {}", self.notes.mark(&trouble)),
            Some(trouble) => {
                let figure = self.figure(definition);
                let mark = self.notes.mark(&format!("not of all trials: {trouble}"));
                format!("{figure} {mark}")
            }
            None => self.figure(definition),
        }
    }

    pub(super) fn figure(&mut self, definition: &Definition) -> String {
        self.figure_as(definition, format::figure_format(definition).text)
    }

    /// A figure's value through `format`; `-` with a footnote where there is none.
    pub(super) fn figure_as(
        &mut self,
        definition: &Definition,
        format: impl Fn(f64) -> String,
    ) -> String {
        let metric = self.row.metric(definition).filter(|_| !self.dead);
        match metric.and_then(|metric| metric.value) {
            Some(value) => format(value),
            None => match metric.and_then(|metric| metric.missing.as_deref()) {
                Some(why) => format!("- {}", self.notes.mark(why)),
                None => "-".to_owned(),
            },
        }
    }

    /// The row's own threads; where another number is swept, that too: `1 @4`.
    pub(super) fn own_threads(&self) -> String {
        let threads = self.row.threads().unwrap_or(0);
        match self.row.group.threads_swept.filter(|swept| *swept != threads) {
            Some(swept) => format!("{threads} @{swept}"),
            None => threads.to_string(),
        }
    }

    /// The threads of a row of all roles: the number swept, or that of all roles.
    pub(super) fn threads_of_all(&self) -> String {
        self.row.group.threads_swept.or(self.row.threads()).unwrap_or(0).to_string()
    }

    /// The number swept; none for a load before a sweep.
    pub(super) fn threads_swept(&self) -> String {
        self.row.group.threads_swept.map_or_else(|| "-".to_owned(), |threads| threads.to_string())
    }
}
