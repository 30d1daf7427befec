//! A table of text: columns with a title and a side, cells that are harmless on a terminal.

use super::fit::{self, Block, Column};
use super::footnotes::Footnotes;
use super::wrap::{WIDTH, wrap};
use comfy_table::{Cell, CellAlignment, LineStyle, TableStyle};
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_record::text::escape_line;
use std::borrow::Cow;

/// Rules only below the titles: reads the same in a terminal, a mail and a diff.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('-').junction('-'));

/// Which side a column's cells stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table in the making.
#[derive(Clone, Debug, Default)]
pub struct Table {
    titles: Vec<(String, Side)>,
    rows: Vec<Vec<String>>,
    /// Why cells are empty.
    pub footnotes: Footnotes,
    /// Number of first columns that name a row, where the text is to be no wider than a terminal:
    /// they stand again before figures without room beside others; none: the text has its full
    /// width.
    pub lead: Option<usize>,
}

/// A table with its title and how to read it.
#[derive(Clone, Debug)]
pub struct Titled {
    /// The short name that selects it.
    pub name: &'static str,
    /// Its heading.
    pub title: Cow<'static, str>,
    /// The table.
    pub table: Table,
    /// How to read it, in lines.
    pub aid: String,
}

impl Titled {
    /// Lets the table have its full width.
    pub(crate) fn full_width(mut self) -> Self {
        self.table.lead = None;
        self
    }
}

impl Table {
    /// A table of columns: titles may have two lines.
    pub fn new(columns: impl IntoIterator<Item = (impl Into<String>, Side)>) -> Self {
        let titles = columns.into_iter().map(|(title, side)| (title.into(), side)).collect();
        Self { titles, ..Self::default() }
    }

    /// Adds a row; it has a cell for every column.
    pub fn row(&mut self, cells: &[String]) {
        debug_assert_eq!(cells.len(), self.titles.len());
        self.rows.push(cells.iter().map(|cell| escape_line(cell).into_owned()).collect());
    }

    /// Changes every cell.
    pub(super) fn map_cells(mut self, change: impl Fn(&str) -> String) -> Self {
        let cells = self.rows.iter_mut().flatten();
        cells.for_each(|cell| *cell = change(cell));
        self
    }

    /// Its columns: titles, and the side their cells stand on.
    pub fn columns(&self) -> &[(String, Side)] {
        &self.titles
    }

    /// Its rows.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A figure's cell: its value through `format`; `-` with a footnote where there is none.
    pub fn figure(
        &mut self,
        metrics: &Metrics,
        definition: &Definition,
        format: impl Fn(f64) -> String,
    ) -> String {
        let metric = metrics.get(definition);
        match metric.and_then(|metric| metric.value) {
            Some(value) => format(value),
            None => match metric.and_then(|metric| metric.missing.as_deref()) {
                Some(why) => format!("- {}", self.footnotes.mark(why)),
                None => "-".to_owned(),
            },
        }
    }

    /// Returns the table as text for a terminal: titles, a rule, rows, and the footnotes below. No
    /// line ends in a space.
    pub fn text(&self) -> String {
        self.text_within(WIDTH)
    }

    /// Returns the table as text within another width than a terminal's.
    pub(super) fn text_within(&self, width: usize) -> String {
        let columns: Vec<Column> = self.measure_columns().collect();
        let blocks = match self.lead {
            Some(lead) => fit::blocks(&columns, lead, width),
            None => vec![columns.iter().map(|column| column.width).enumerate().collect()],
        };
        let blocks: Vec<String> = blocks.iter().map(|block| self.block(block)).collect();
        let mut lines = vec![blocks.join("\n\n")];
        lines.extend(self.footnotes.lines().iter().map(|line| match self.lead {
            Some(_) => wrap(&escape_line(line), 4),
            None => escape_line(line).into_owned(),
        }));
        lines.join("\n")
    }

    /// How wide each column is, and how narrow it may get.
    fn measure_columns(&self) -> impl Iterator<Item = Column> + '_ {
        self.titles.iter().enumerate().map(|(at, (title, side))| {
            let cells = self.rows.iter().map(|row| row[at].as_str());
            let lines: Vec<&str> = title.lines().chain(cells).collect();
            let longest =
                |measure: fn(&str) -> usize| lines.iter().copied().map(measure).max().unwrap_or(0);
            let width = longest(|line| line.chars().count());
            Column { side: *side, width, least: longest(fit::longest_piece) }
        })
    }

    /// Returns the text of some of its columns.
    fn block(&self, block: &Block) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        let aligned = |text: &str, side| {
            Cell::new(text).set_alignment(match side {
                Side::Left => CellAlignment::Left,
                Side::Right => CellAlignment::Right,
            })
        };
        let titles = block.iter().map(|(at, _)| &self.titles[*at]);
        table.set_header(titles.map(|(title, side)| aligned(title, *side)));
        for row in &self.rows {
            let cell = |(at, width): &(usize, usize)| {
                let side = self.titles[*at].1;
                let words = side == Side::Left;
                aligned(
                    &if words { fit::break_lines(&row[*at], *width) } else { row[*at].clone() },
                    side,
                )
            };
            table.add_row(block.iter().map(cell));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 1));
        }
        let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_cells_stay_on_their_line() {
        let mut table = Table::new([("name", Side::Left), ("n", Side::Right)]);
        table.row(&["a\x1b[2J\nb".into(), "1".into()]);
        table.row(&["LMDB".into(), "1,234".into()]);
        let mark = table.footnotes.mark("no\r\nreason");
        table.row(&["x".into(), format!("- {mark}")]);
        assert_eq!(
            table.text(),
            "name               n\n\
             ---------------------\n\
             a\\u{1b}[2J\\nb      1\n\
             LMDB           1,234\n\
             x              - [1]\n\
             [1] no\\r\\nreason"
        );
    }
}
