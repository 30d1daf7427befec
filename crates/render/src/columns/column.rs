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
    /// What it is.
    pub(crate) title: &'static str,
    /// Its sheet in the workbook; empty: it has none.
    pub(crate) sheet: &'static str,
    /// The sheet is there without a row, too.
    pub(crate) always: bool,
    /// It is among the CSV files.
    pub(crate) csv: bool,
    /// Rows are engines': what tells those apart stands first.
    pub(crate) engines: bool,
    /// The figure without which a row of a case in trouble says nothing.
    pub(crate) main: Option<&'static Definition>,
    /// Its columns, in the order of the terminal.
    pub(crate) columns: &'static [Column],
    /// Its rows.
    pub(crate) rows: for<'s> fn(&'s Summary) -> Vec<Row<'s>>,
    /// Which of them stand on a terminal, as how many lines.
    pub(crate) lines: for<'s> fn(&Row<'s>, bool) -> Vec<Row<'s>>,
    /// How it is read.
    pub(crate) aid: fn(&Summary, &[Row<'_>], &VisibleColumns) -> String,
}

/// Where a column's cells come from.
#[derive(Clone, Copy)]
pub(crate) enum CellSource {
    /// A figure of the catalogue.
    Figure(&'static Definition),
    /// The same; a row of a case in trouble says here how that ended.
    Main(&'static Definition),
    /// Of the times of the row's clock, the one at this place.
    Time(usize),
    /// Of what [`tail`] has of the row's clock, the one at this place.
    Tail(usize),
    /// Words of the row.
    Words(fn(&Row<'_>) -> Cell),
    /// Words for a terminal alone.
    Text(fn(&mut Line<'_, '_>) -> String),
    /// In the workbook alone: a count of the record that is no figure by itself.
    Phase(fn(Spent<'_>, &CaseEvidence) -> f64),
    /// The same of a role.
    Role(fn(&RoleResult, &OpResult) -> f64),
    /// In lines of all trials: a number of what stands over the base engine's.
    OverBase(fn(&RelativeTo) -> Option<f64>),
    /// In lines of all trials: whether it can be told apart from the base, in words.
    Verdict,
    /// In lines of all trials: an end of the range of a figure.
    Range(&'static Definition, fn((f64, f64)) -> f64),
}

/// A column: where it is from, what it is called where, and how it is shown.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(crate) from: CellSource,
    /// On a terminal, in one line or two; empty: it is not there.
    pub(crate) title: &'static str,
    pub(crate) side: Side,
    /// Whether it is on a terminal now.
    pub(crate) when: fn(&VisibleColumns) -> bool,
    /// As a suite asks for it, who then has it on a terminal.
    pub(crate) requested: Option<ColumnName>,
    /// In CSV, for words; figures are there by their names.
    pub(crate) csv: &'static str,
    /// In the workbook; empty: it is not there.
    pub(crate) heading: &'static str,
    /// In characters.
    pub(crate) width: u16,
    show: Option<Show>,
    /// In the workbook: how it follows from other columns, `{by, their}/{headings, s}`.
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

/// A figure.
pub(super) const fn figure(
    definition: &'static Definition,
    title: &'static str,
    heading: &'static str,
) -> Column {
    column(CellSource::Figure(definition), title, "", heading)
}

/// The figure that says how a case in trouble ended.
pub(super) const fn main(
    definition: &'static Definition,
    title: &'static str,
    heading: &'static str,
) -> Column {
    column(CellSource::Main(definition), title, "", heading)
}

/// Words of a row.
pub(super) const fn export_column(
    title: &'static str,
    csv: &'static str,
    heading: &'static str,
    cell: fn(&Row<'_>) -> Cell,
) -> Column {
    column(CellSource::Words(cell), title, csv, heading)
}

/// A cell of a terminal.
pub(super) const fn text(title: &'static str, cell: fn(&mut Line<'_, '_>) -> String) -> Column {
    column(CellSource::Text(cell), title, "", "")
}

/// A column of the workbook alone.
pub(super) const fn sheet(heading: &'static str, from: CellSource) -> Column {
    column(from, "", "", heading)
}

impl Column {
    /// Only where this holds.
    pub(super) const fn when(self, when: fn(&VisibleColumns) -> bool) -> Self {
        Self { when, ..self }
    }

    /// Only in wide tables.
    pub(super) const fn wide_only(self) -> Self {
        self.when(|shown| shown.wide)
    }

    /// In wide tables, and where the suite asks for it.
    pub(super) const fn optional(self, name: ColumnName) -> Self {
        Self { requested: Some(name), ..self.wide_only() }
    }

    /// It holds words.
    pub(super) const fn left_aligned(self) -> Self {
        Self { side: Side::Left, ..self }
    }

    pub(super) const fn width(self, width: u16) -> Self {
        Self { width, ..self }
    }

    /// Its words are counts, in groups of three digits.
    pub(super) const fn count(self) -> Self {
        self.show(Show::Count)
    }

    pub(super) const fn show(self, show: Show) -> Self {
        Self { show: Some(show), ..self }
    }

    /// In the workbook it follows from other columns.
    pub(super) const fn formula(self, formula: &'static str) -> Self {
        Self { formula, ..self }
    }

    /// Its words.
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
            // Only wide tables have them of several operations together.
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
