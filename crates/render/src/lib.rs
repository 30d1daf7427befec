//! From a summary to what people and programs read: the screen, tables, Markdown, CSV, workbook,
//! JSON and page.
//!
//! Nothing is computed here that a reader could take for a figure: that is `kvdyno-analysis`. Text
//! of a record is made harmless on its way out.

pub mod brief;
mod cell;
mod columns;
pub mod command;
mod figure_series;
mod fit;
pub mod fleet;
pub mod footnotes;
mod format;
pub mod header;
pub mod inert;
pub mod long;
mod machine_rates;
pub mod markdown;
pub mod moved;
pub mod openmetrics;
pub mod page;
pub mod percentiles;
pub mod profile;
mod ranking;
pub mod schemas;
pub mod screen;
pub mod search;
pub mod study;
pub mod table;
pub mod tables;
pub mod target;
pub mod time_csv;
pub mod tone;
pub mod trace;
pub mod trackers;
pub mod trend;
pub mod versus;
pub mod wide;
pub mod wrap;
pub mod xlsx;

pub use tone::Tone;
