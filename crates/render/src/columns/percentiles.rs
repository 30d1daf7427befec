//! The first columns of the percentiles that a user lists.

use super::column::{Column, export_column, text};
use super::lead::count;
use crate::cell::Cell;

/// The first columns on a terminal, after the axes.
pub(crate) const LEAD: &[Column] = &[
    text("threads", |line| line.own_threads()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    export_column("clients", "", "", |row| Cell::text_or_empty(row.role_name())).left_aligned(),
    text("op", |line| line.row.op_or_all().to_owned()).left_aligned(),
    text("time", |line| line.row.clock.as_str().to_owned()).left_aligned(),
];

/// The first columns in CSV, after those that say what a row is about.
pub(crate) const CSV_LEAD: &[Column] = &[
    export_column("", "role", "", |row| Cell::text_or_empty(row.role_name())),
    export_column("", "threads", "", |row| count(row.threads())),
    export_column("", "op", "", |row| Cell::text(row.op_or_all())),
    export_column("", "time", "", |row| Cell::text(row.clock.as_str())),
];
