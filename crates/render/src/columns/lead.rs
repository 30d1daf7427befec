//! The first columns of every row.

use super::column::{Column, text, words};
use crate::cell::Cell;
use kvdyno_analysis::figures::group::data;

/// On a terminal: the engine always, the rest where it differs.
pub(crate) const AXES: &[Column] = &[
    words("engine", "", "", |row| Cell::text(row.group.engine_label())).left(),
    text("part", |line| line.row.group.part.clone().unwrap_or_default())
        .left()
        .when(|shown| shown.part),
    text("volume", |line| line.row.group.volume.clone().unwrap_or_default())
        .left()
        .when(|shown| shown.volume),
    text("durability", |line| line.row.group.durability.as_str().to_owned())
        .left()
        .when(|shown| shown.durability),
    text("power loss", |line| line.row.group.power_loss_in_words().to_owned())
        .left()
        .when(|shown| shown.power_loss),
    text("data", |line| data(line.row.group)).when(|shown| shown.data),
    text("RAM", |line| {
        let group = line.row.group;
        format!("{}{}", group.ram(), if group.is_held() { "" } else { " NOT HELD" })
    })
    .when(|shown| shown.ram),
    text("offered", |line| {
        let offered = |case: &String| line.shown.offered.get(case).cloned();
        let trials = &line.row.group.trials;
        let offered = trials.iter().find_map(|trial| offered(&trial.case));
        offered.unwrap_or_else(|| "-".to_owned())
    })
    .when(|shown| !shown.offered.is_empty()),
];

/// In exports: all that a row is about.
pub(crate) const ABOUT: &[Column] = &[
    words("", "label", "engine", |row| Cell::text(&row.group.label)),
    words("", "part", "part", |row| Cell::words(row.group.part.as_ref())),
    words("", "engine", "", |row| Cell::text(&row.group.engine)),
    words("", "durability", "durability", |row| Cell::text(row.group.durability.as_str())),
    words("", "power_loss", "power loss", |row| Cell::text(row.group.power_loss_in_words())),
    words("", "threads_swept", "threads swept", |row| count(row.group.threads_swept)),
    words("", "records", "records", |row| Cell::count(row.group.records)).count(),
    words("", "key_bytes", "key, B", |row| count(Some(row.group.key_bytes))),
    words("", "value_bytes_mean", "value, B (mean)", |row| Cell::count(row.group.value_bytes_mean)),
    words("", "ram_limit_bytes", "RAM limit, B", |row| Cell::count(row.group.ram_limit_bytes))
        .count(),
    words("", "tier", "tier", |row| Cell::words(row.group.tier.as_ref())),
    words("", "volume", "volume", |row| Cell::words(row.group.volume.as_ref())),
    words("", "trials_done", "", |row| {
        Cell::count(row.group.trials.iter().filter(|trial| trial.done).count() as u64)
    }),
    words("", "outcome", "", |row| {
        Cell::text(row.group.trouble().unwrap_or_else(|| "done".to_owned()))
    }),
    words("", "phase", "phase", |row| Cell::text(row.phase)),
];

/// A small number, or nothing.
pub(super) fn count(number: Option<u32>) -> Cell {
    Cell::count(number.map(u64::from))
}
