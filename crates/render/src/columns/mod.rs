//! The catalogue of columns: for each kind of table what its rows are, and what each column says on
//! a terminal, in CSV and in the workbook. The writers know no single figure: a column is added
//! here, and nowhere else.

mod block_io;
mod ceiling;
mod column;
mod cost;
mod counters;
mod drive;
mod lead;
mod line;
mod load;
mod percentiles;
mod profile;
mod ranks;
mod row;
mod run;
mod scatter;
mod time;

pub(crate) use column::{CellSource, Column, Kind};
pub(crate) use lead::{ABOUT, AXES};
pub(crate) use line::{Line, VisibleColumns};
pub(crate) use percentiles::{CSV_LEAD, LEAD as PERCENTILES_LEAD};
pub(crate) use profile::short;
pub(crate) use row::{Row, explained_rows, jobs, loads, phases};

/// All kinds of tables, in their order.
pub(crate) static KINDS: [&Kind; 12] = [
    &load::KIND,
    &run::KIND,
    &scatter::KIND,
    &cost::KIND,
    &counters::KIND,
    &time::KIND,
    &ranks::KIND,
    &block_io::KIND,
    &profile::KIND,
    &ceiling::KIND,
    &drive::KIND,
    &drive::TIMES,
];
