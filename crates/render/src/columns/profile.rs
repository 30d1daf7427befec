//! The table of functions, where they were sampled.

use super::block_io::NO_FIGURES;
use super::column::{Column, Kind, text};
use super::line::Line;
use super::row::Row;
use crate::format::ratio;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::profile::{FunctionSamples, ThreadsSamples};
use kvdyno_record::profile::ThreadOwner;
use kvdyno_record::text::escape_line;
use kvdyno_record::units::group_digits;

const AID: &str = "\
The functions that threads were in, of their time on a CPU; all trials together. self: in the
function itself. total: with all that it called. ns/op: self, per operation of the role; of the
engine's own threads, per operation of all roles; of a load, per record. Waiting is not sampled.
--wide: more functions, their files, and what of the stacks is missing.";

/// So many functions of a kind of threads are shown.
const SHOWN: usize = 10;

/// A row for each function.
pub(super) static KIND: Kind = Kind {
    name: "profile",
    title: "Functions, by samples of time on a CPU",
    sheet: "",
    always: false,
    csv: false,
    engines: true,
    main: None,
    columns: COLUMNS,
    rows,
    lines: |row, wide| {
        let is_shown = row.function.is_some_and(|(threads, function)| {
            wide || threads.functions.iter().take(SHOWN).any(|shown| shown == function)
        });
        if is_shown { vec![*row] } else { Vec::new() }
    },
    aid: |summary, _, _| {
        let mut aid = AID.to_owned();
        let sampled = summary.profile.iter().map(|threads| &threads.sampled);
        for sampled in sampled.filter(|sampled| sampled.is_incomplete()) {
            let label = summary.groups.get(sampled.group).map_or("", |group| &group.label);
            let ThreadsSamples { phase, threads: name, samples, cut, lost, .. } = sampled;
            let percent = percent(*cut, *samples);
            aid += &format!(
                "\nIncomplete: {} {} {}: {percent} % of {} stacks are cut, {} samples were lost.",
                escape_line(label),
                escape_line(phase),
                escape_line(name),
                group_digits(*samples),
                group_digits(*lost)
            );
        }
        aid
    },
};

fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let rows = summary.profile.iter().flat_map(|threads| {
        threads.functions.iter().filter_map(move |function| {
            let sampled = &threads.sampled;
            let group = summary.groups.get(sampled.group)?;
            let of_phase = Row::new(sampled.group, group, &sampled.phase, &NO_FIGURES);
            Some(Row { function: Some((threads, function)), ..of_phase })
        })
    });
    rows.collect()
}

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_of_all()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned(),
    text("of", |line| cell(line, |sampled, _| kind(sampled))).left_aligned(),
    text("self\n%", |line| cell(line, |sampled, function| percent(function.own, sampled.samples))),
    text("total\n%", |line| {
        cell(line, |sampled, function| percent(function.total, sampled.samples))
    }),
    text("self\nns/op", |line| cell(line, self_ns)),
    text("samples", |line| cell(line, |_, function| group_digits(function.own))).wide_only(),
    text("code of", |line| cell(line, |_, function| function.origin.as_str().to_owned()))
        .left_aligned(),
    text("file", |line| cell(line, |_, function| escape_line(&function.module).into_owned()))
        .left_aligned()
        .wide_only(),
    text("function", |line| cell(line, |_, function| short(&function.name))).left_aligned(),
];

fn cell(line: &Line<'_, '_>, word: impl Fn(&ThreadsSamples, &FunctionSamples) -> String) -> String {
    line.row
        .function
        .map_or_else(String::new, |(threads, function)| word(&threads.sampled, function))
}

/// Returns the name of the threads, with their owner.
fn kind(sampled: &ThreadsSamples) -> String {
    let name = escape_line(&sampled.threads);
    match sampled.owner {
        ThreadOwner::Role | ThreadOwner::LoadGenerator => name.into_owned(),
        ThreadOwner::Engine => format!("engine's {name}"),
        ThreadOwner::Server => format!("server's {name}"),
    }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1}", 100.0 * part as f64 / whole.max(1) as f64)
}

fn self_ns(sampled: &ThreadsSamples, function: &FunctionSamples) -> String {
    sampled.ns_per_op(function.own).map_or_else(|| "-".to_owned(), ratio)
}

/// Longer names of functions are shortened: those of templates fill screens.
const NAME_MAX: usize = 80;

/// A function's name, as far as a line of a table has room for it.
pub(crate) fn short(name: &str) -> String {
    let name = escape_line(name);
    if name.chars().count() <= NAME_MAX {
        return name.into_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['\u{2026}']).collect()
}
