//! The first columns of the percentiles that a user lists.

use super::column::{Column, text, words};
use super::lead::count;
use crate::cell::Cell;

/// On a terminal, after the axes.
pub(crate) const LEAD: &[Column] = &[
    text("threads", |line| line.own_threads()),
    text("phase", |line| line.row.phase.to_owned()).left().when(|shown| shown.phases),
    words("clients", "", "", |row| Cell::words(row.role_name())).left(),
    text("op", |line| line.row.op_or_all().to_owned()).left(),
    text("time", |line| line.row.clock.as_str().to_owned()).left(),
];

/// In CSV, after what a row is about.
pub(crate) const CSV_LEAD: &[Column] = &[
    words("", "role", "", |row| Cell::words(row.role_name())),
    words("", "threads", "", |row| count(row.threads())),
    words("", "op", "", |row| Cell::text(row.op_or_all())),
    words("", "time", "", |row| Cell::text(row.clock.as_str())),
];
