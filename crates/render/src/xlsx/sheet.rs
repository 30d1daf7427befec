//! One sheet: headings that stay in sight, cells with the number format of their column, and the
//! only places at which text and formulas are written.

use crate::cell::Cell;
use crate::format::Show;
use kvdyno_record::text::escape_line;
use rust_xlsxwriter::{
    Chart, Format, FormatAlign, FormatBorder, Formula, Worksheet, XlsxError, utility,
};

/// Longer texts are cut: a cell holds 32,767 characters.
const TEXT_MAX: usize = 8_000;

impl Show {
    fn format(self) -> &'static str {
        match self {
            Self::Plain | Self::Words => "General",
            Self::Count => "#,##0",
            Self::Tenth => "#,##0.0",
            Self::Ratio => "#,##0.00",
            Self::Fine => "#,##0.000",
        }
    }
}

/// A column's head.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    /// The title, with the unit last.
    pub(super) title: &'static str,
    /// Width of the column, in characters.
    pub(super) width: u16,
    /// How its numbers are shown.
    pub(super) show: Show,
}

/// A heading.
pub(super) const fn heading(title: &'static str, width: u16, show: Show) -> Heading {
    Heading { title, width, show }
}

/// A sheet in the making.
pub(super) struct Sheet {
    inner: Worksheet,
    name: &'static str,
    columns: Vec<[Format; 2]>,
    next_row: u32,
}

impl Sheet {
    /// A table: its headings stay in sight, and the `fixed` columns that say what a row is about.
    pub(super) fn table(
        name: &'static str,
        headings: &[Heading],
        fixed: u16,
    ) -> Result<Self, XlsxError> {
        let mut table = Self::new(name, headings)?;
        let head = Format::new()
            .set_bold()
            .set_text_wrap()
            .set_align(FormatAlign::Top)
            .set_border_bottom(FormatBorder::Thin);
        for (column, heading) in (0..).zip(headings) {
            table.inner.write_string_with_format(0, column, heading.title, &head)?;
        }
        table.inner.set_freeze_panes(1, fixed)?;
        table.next_row = 1;
        Ok(table)
    }

    /// A sheet without a head.
    pub(super) fn new(name: &'static str, headings: &[Heading]) -> Result<Self, XlsxError> {
        let mut sheet = Worksheet::new();
        sheet.set_name(name)?;
        let mut columns = Vec::new();
        for (column, heading) in (0..).zip(headings) {
            sheet.set_column_width(column, heading.width)?;
            let mut plain = Format::new().set_num_format(heading.show.format());
            if heading.show == Show::Words {
                plain = plain.set_text_wrap().set_align(FormatAlign::Top);
            }
            columns.push([plain.clone(), plain.set_bold()]);
        }
        Ok(Self { inner: sheet, name, columns, next_row: 0 })
    }

    /// Its name, as formulas and charts refer to it.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of the next row.
    pub(super) fn next_row(&self) -> u32 {
        self.next_row
    }

    /// Adds a row and returns its number.
    pub(super) fn row(&mut self, cells: &[Cell]) -> Result<u32, XlsxError> {
        self.write(cells, false)
    }

    /// Adds a row that stands out.
    pub(super) fn strong_row(&mut self, cells: &[Cell]) -> Result<u32, XlsxError> {
        self.write(cells, true)
    }

    fn write(&mut self, cells: &[Cell], strong: bool) -> Result<u32, XlsxError> {
        let row = self.next_row;
        for ((column, cell), formats) in (0..).zip(cells).zip(&self.columns) {
            let format = &formats[usize::from(strong)];
            match cell {
                Cell::Empty => {}
                Cell::Text(text) => {
                    self.inner.write_string_with_format(row, column, cell_text(text), format)?;
                }
                Cell::Number(number) => {
                    self.inner.write_number_with_format(row, column, *number, format)?;
                }
                Cell::Formula { formula, result } => {
                    let formula = Formula::new(formula).set_result(result.to_string());
                    self.inner.write_formula_with_format(row, column, formula, format)?;
                }
            }
        }
        self.next_row += 1;
        Ok(row)
    }

    /// Leaves rows empty.
    pub(super) fn skip(&mut self, rows: u32) {
        self.next_row += rows;
    }

    /// Lets rows be folded away below the one before them.
    pub(super) fn fold(&mut self, first: u32, last: u32) -> Result<(), XlsxError> {
        self.inner.group_symbols_above(true);
        self.inner.group_rows(first, last)?;
        Ok(())
    }

    /// Lets rows be filtered by the headings' arrows.
    pub(super) fn filter(&mut self) -> Result<(), XlsxError> {
        let last = u16::try_from(self.columns.len()).unwrap_or(1).saturating_sub(1);
        self.inner.autofilter(0, 0, self.next_row.saturating_sub(1), last)?;
        Ok(())
    }

    /// Adds a chart with its corner on a cell.
    pub(super) fn chart(&mut self, row: u32, column: u16, chart: &Chart) -> Result<(), XlsxError> {
        self.inner.insert_chart(row, column, chart)?;
        Ok(())
    }

    /// Returns the worksheet, to go into a workbook.
    pub(super) fn finish(self) -> Worksheet {
        self.inner
    }
}

/// Returns the address of a cell: `C7`.
pub(super) fn address(row: u32, column: u16) -> String {
    utility::row_col_to_cell(row, column)
}

/// Returns a text on one line, harmless, and no longer than a cell may be.
fn cell_text(text: &str) -> String {
    let line = escape_line(text);
    match line.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.into_owned(),
    }
}
