//! The first columns of every row.

use super::column::{Column, export_column, text};
use crate::cell::Cell;
use kvdyno_analysis::figures::group::data;

/// The first columns on a terminal: the engine always, the others where they differ.
pub(crate) const AXES: &[Column] = &[
    export_column("engine", "", "", |row| Cell::text(row.group.engine_label())).left_aligned(),
    text("part", |line| line.row.group.part.clone().unwrap_or_default())
        .left_aligned()
        .when(|shown| shown.part),
    text("volume", |line| line.row.group.volume.clone().unwrap_or_default())
        .left_aligned()
        .when(|shown| shown.volume),
    text("durability", |line| line.row.group.durability.as_str().to_owned())
        .left_aligned()
        .when(|shown| shown.durability),
    text("power loss", |line| line.row.group.power_loss_in_words().to_owned())
        .left_aligned()
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

/// The first columns in exports: all that a row is about.
pub(crate) const ABOUT: &[Column] = &[
    export_column("", "label", "engine", |row| Cell::text(&row.group.label)),
    export_column("", "part", "part", |row| Cell::text_or_empty(row.group.part.as_ref())),
    export_column("", "engine", "", |row| Cell::text(&row.group.engine)),
    export_column("", "durability", "durability", |row| Cell::text(row.group.durability.as_str())),
    export_column("", "power_loss", "power loss", |row| {
        Cell::text(row.group.power_loss_in_words())
    }),
    export_column("", "threads_swept", "threads swept", |row| count(row.group.threads_swept)),
    export_column("", "records", "records", |row| Cell::count(row.group.records)).count(),
    export_column("", "key_bytes", "key, B", |row| count(Some(row.group.key_bytes))),
    export_column("", "value_bytes_mean", "value, B (mean)", |row| {
        Cell::count(row.group.value_bytes_mean)
    }),
    export_column("", "ram_limit_bytes", "RAM limit, B", |row| {
        Cell::count(row.group.ram_limit_bytes)
    })
    .count(),
    export_column("", "tier", "tier", |row| Cell::text_or_empty(row.group.tier.as_ref())),
    export_column("", "volume", "volume", |row| Cell::text_or_empty(row.group.volume.as_ref())),
    export_column("", "trials_done", "", |row| {
        Cell::count(row.group.trials.iter().filter(|trial| trial.done).count() as u64)
    }),
    export_column("", "outcome", "", |row| {
        Cell::text(row.group.describe_outcomes().unwrap_or_else(|| "done".to_owned()))
    }),
    export_column("", "phase", "phase", |row| Cell::text(row.phase)),
];

/// A small number, or nothing.
pub(super) fn count(number: Option<u32>) -> Cell {
    Cell::count(number.map(u64::from))
}
