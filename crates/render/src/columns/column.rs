//! What a table and a column are made of.

use super::line::{Line, VisibleColumns};
use super::row::Row;
use crate::cell::Cell;
use crate::format::{self, Show};
use crate::table::Side;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue::{tail, times};
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_analysis::figures::relative::RelativeTo;
use kvdyno_analysis::figures::spent::Spent;
use kvdyno_record::case::{OpResult, RoleResult};
use kvdyno_record::column::ColumnName;

/// A table: its rows and columns.
pub(crate) struct Kind {
    /// The name that selects it.
    pub(crate) name: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// Its sheet in the workbook; empty: it has none.
    pub(crate) sheet: &'static str,
    /// Whether the sheet exists even without a row.
    pub(crate) always: bool,
    /// Whether it is among the CSV files.
    pub(crate) csv: bool,
    /// Whether its rows belong to engines: the columns that tell engines apart then come first.
    pub(crate) engines: bool,
    /// The figure without which a row of a case in trouble says nothing.
    pub(crate) main: Option<&'static Definition>,
    /// Its columns, in the order of the terminal.
    pub(crate) columns: &'static [Column],
    /// Its rows.
    pub(crate) rows: for<'s> fn(&'s Summary) -> Vec<Row<'s>>,
    /// The lines of a row on a terminal, which may be none; the flag is true in a wide table.
    pub(crate) lines: for<'s> fn(&Row<'s>, bool) -> Vec<Row<'s>>,
    /// The text on how to read it.
    pub(crate) aid: fn(&Summary, &[Row<'_>], &VisibleColumns) -> String,
}

/// Where a column's cells come from.
#[derive(Clone, Copy)]
pub(crate) enum CellSource {
    /// A figure of the catalogue.
    Figure(&'static Definition),
    /// A figure of the catalogue, in whose place a row of a case in trouble says how the case
    /// ended.
    Main(&'static Definition),
    /// The time of the row's clock that has this index in [`times`].
    Time(usize),
    /// The figure of the row's clock that has this index in [`tail`].
    Tail(usize),
    /// A cell made from the row.
    Words(fn(&Row<'_>) -> Cell),
    /// A text for a terminal alone.
    Text(fn(&mut Line<'_, '_>) -> String),
    /// In the workbook alone: a count of a phase in the record that is no figure by itself.
    Phase(fn(Spent<'_>, &CaseEvidence) -> f64),
    /// In the workbook alone: a count of a role.
    Role(fn(&RoleResult, &OpResult) -> f64),
    /// In lines of all trials: a number of the ratio to the base engine.
    OverBase(fn(&RelativeTo) -> Option<f64>),
    /// In lines of all trials: whether it can be told apart from the base, in words.
    Verdict,
    /// In lines of all trials: an end of the range of a figure.
    Range(&'static Definition, fn((f64, f64)) -> f64),
}

/// A column: the source of its cells, its names, and how it is shown.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) from: CellSource,
    /// Its title on a terminal, in one line or two; empty: it is not there.
    pub(crate) title: &'static str,
    pub(crate) side: Side,
    /// Whether it is on a terminal now.
    pub(crate) when: fn(&VisibleColumns) -> bool,
    /// The name by which a suite asks for it, to have it on a terminal.
    pub(crate) requested: Option<ColumnName>,
    /// Its name in CSV, where it is no figure; figures have their own names there.
    pub(crate) csv: &'static str,
    /// Its heading in the workbook; empty: it is not there.
    pub(crate) heading: &'static str,
    /// Its width in the workbook, in characters.
    pub(crate) width: u16,
    show: Option<Show>,
    /// Its formula in the workbook, over other columns: `{by, their}/{headings, s}`.
    pub(crate) formula: &'static str,
}

pub(super) const fn column(
    from: CellSource,
    title: &'static str,
    csv: &'static str,
    head: &'static str,
) -> Column {
    Column {
        from,
        title,
        side: Side::Right,
        when: |_| true,
        requested: None,
        csv,
        heading: head,
        width: 13,
        show: None,
        formula: "",
    }
}

/// A column of a figure.
pub(super) const fn figure(
    definition: &'static Definition,
    title: &'static str,
    heading: &'static str,
) -> Column {
    column(CellSource::Figure(definition), title, "", heading)
}

/// A column of the figure in whose place a case in trouble says how it ended.
pub(super) const fn main(
    definition: &'static Definition,
    title: &'static str,
    heading: &'static str,
) -> Column {
    column(CellSource::Main(definition), title, "", heading)
}

/// A column of cells made from the row.
pub(super) const fn export_column(
    title: &'static str,
    csv: &'static str,
    heading: &'static str,
    cell: fn(&Row<'_>) -> Cell,
) -> Column {
    column(CellSource::Words(cell), title, csv, heading)
}

/// A column of a terminal alone.
pub(super) const fn text(title: &'static str, cell: fn(&mut Line<'_, '_>) -> String) -> Column {
    column(CellSource::Text(cell), title, "", "")
}

/// A column of the workbook alone.
pub(super) const fn sheet(heading: &'static str, from: CellSource) -> Column {
    column(from, "", "", heading)
}

impl Column {
    /// Shows the column only where this holds.
    pub(super) const fn when(self, when: fn(&VisibleColumns) -> bool) -> Self {
        Self { when, ..self }
    }

    /// Shows the column only in wide tables.
    pub(super) const fn wide_only(self) -> Self {
        self.when(|shown| shown.wide)
    }

    /// Shows the column in wide tables, and where the suite asks for it.
    pub(super) const fn optional(self, name: ColumnName) -> Self {
        Self { requested: Some(name), ..self.wide_only() }
    }

    /// Aligns the column to the left, as it holds words.
    pub(super) const fn left_aligned(self) -> Self {
        Self { side: Side::Left, ..self }
    }

    pub(super) const fn width(self, width: u16) -> Self {
        Self { width, ..self }
    }

    /// Shows its numbers as counts, in groups of three digits.
    pub(super) const fn count(self) -> Self {
        self.show(Show::Count)
    }

    pub(super) const fn show(self, show: Show) -> Self {
        Self { show: Some(show), ..self }
    }

    /// Computes the column from others in the workbook.
    pub(super) const fn formula(self, formula: &'static str) -> Self {
        Self { formula, ..self }
    }

    /// Its cell in exports, where it is no figure.
    pub(crate) fn export_cell(&self, row: &Row<'_>) -> Cell {
        match self.from {
            CellSource::Words(cell) => cell(row),
            _ => Cell::Empty,
        }
    }

    /// Its cell on a terminal.
    pub(crate) fn text(&self, line: &mut Line<'_, '_>) -> String {
        match self.from {
            CellSource::Figure(definition) => line.figure(definition),
            CellSource::Main(definition) => line.main(definition),
            // Only wide tables have the times of several operations together.
            CellSource::Time(_) | CellSource::Tail(_)
                if line.row.is_pooled() && !line.shown.wide =>
            {
                String::new()
            }
            CellSource::Time(at) => line.figure(times(line.row.clock)[at]),
            CellSource::Tail(at) => match tail(line.row.clock) {
                Some(figures) => line.figure(figures[at]),
                None => "-".to_owned(),
            },
            CellSource::Words(cell) => match cell(&line.row) {
                Cell::Text(text) => text,
                Cell::Number(number) => number.to_string(),
                Cell::Empty | Cell::Formula { .. } => "-".to_owned(),
            },
            CellSource::Text(cell) => cell(line),
            _ => String::new(),
        }
    }

    /// The figure that it shows.
    pub(crate) fn definition(&self) -> Option<&'static Definition> {
        match self.from {
            CellSource::Figure(definition) | CellSource::Main(definition) => Some(definition),
            _ => None,
        }
    }

    /// How its numbers are shown in the workbook.
    pub(crate) fn number_format(&self) -> Show {
        let own_show = match self.from {
            CellSource::Figure(definition)
            | CellSource::Main(definition)
            | CellSource::Range(definition, _) => format::figure_format(definition).show,
            CellSource::OverBase(..) => Show::Ratio,
            CellSource::Words(_) | CellSource::Text(_) | CellSource::Verdict => Show::Plain,
            CellSource::Phase(_)
            | CellSource::Role(_)
            | CellSource::Time(_)
            | CellSource::Tail(_) => Show::Count,
        };
        self.show.unwrap_or(own_show)
    }
}
