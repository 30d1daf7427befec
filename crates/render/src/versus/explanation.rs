//! Why two builds differ, as a table: functions, parts of the time, counters.

use crate::format::{format_count, ratio};
use crate::table::{Side, Table};
use kvdyno_analysis::judge::versus::Versus;
use kvdyno_analysis::judge::versus::explanation::{CounterChange, Explanation, Ledger, TimeChange};
use kvdyno_record::units;

/// Parts of the time that changed by less than this share of it are not listed.
const PART_LEAST: f64 = 0.002;

const OF_INSTRUCTIONS: &str = "\
Instructions are those of a function itself, of threads in their operations, per operation (per
record of a load), counted by valgrind in trials of their own. Only functions that changed by more
than from trial to trial are named; all rows add up to the difference.";
const OF_TIME: &str = "Time is threads / rate, in parts.";
const OF_COUNTERS: &str = "Counters are the engine's, per operation.";

/// The table and how to read it; none where nothing differs.
pub fn table(versus: &Versus) -> Option<(Table, String)> {
    if versus.explanations.is_empty() {
        return None;
    }
    let columns = [
        ("phase", Side::Left),
        ("why", Side::Left),
        ("of", Side::Left),
        ("base", Side::Right),
        ("new", Side::Right),
        ("change", Side::Right),
    ];
    let mut table = Table::new(columns);
    for explanation in &versus.explanations {
        let phase = if versus.pairs.len() > 1 {
            format!("{} {}", explanation.case, explanation.phase)
        } else {
            explanation.phase.clone()
        };
        for row in rows(explanation) {
            let mut cells = vec![phase.clone()];
            cells.extend(row);
            table.row(&cells);
        }
    }
    Some((table, explain_rows(&versus.explanations)))
}

/// How to read the rows that there are.
fn explain_rows(explanations: &[Explanation]) -> String {
    let any = |has: fn(&Explanation) -> bool| explanations.iter().any(has);
    let sentences = [
        (any(|one| one.instructions.is_some()), OF_INSTRUCTIONS),
        (any(|one| !one.time.is_empty()), OF_TIME),
        (any(|one| one.counters_compared > 0), OF_COUNTERS),
    ];
    let shown = sentences.into_iter().filter_map(|(is_needed, text)| is_needed.then_some(text));
    shown.collect::<Vec<_>>().join("\n")
}

fn rows(explanation: &Explanation) -> Vec<[String; 5]> {
    let mut rows: Vec<[String; 5]> =
        explanation.instructions.iter().flat_map(instructions).collect();
    rows.extend(explanation.time.iter().flat_map(time));
    rows.extend(explanation.counters.iter().map(counter));
    if explanation.counters.is_empty() && explanation.counters_compared > 0 {
        let none = format!("none of {} changed", explanation.counters_compared);
        rows.push(["counter".to_owned(), none, String::new(), String::new(), String::new()]);
    }
    rows
}

fn instructions(ledger: &Ledger) -> Vec<[String; 5]> {
    let kind = || "instructions".to_owned();
    let share = units::percent((ledger.new / ledger.base - 1.0).abs());
    let sign = if ledger.new < ledger.base { "-" } else { "+" };
    let mut rows = vec![[
        kind(),
        "all".to_owned(),
        format_count(ledger.base),
        format_count(ledger.new),
        format!("{} ({sign}{share})", format_signed(ledger.change(), format_count)),
    ]];
    rows.extend(ledger.functions.iter().map(|function| {
        [
            kind(),
            function.short_name(),
            format_count(function.base),
            format_count(function.new),
            format_signed(function.change(), format_count),
        ]
    }));
    let others = format_signed(ledger.others, format_count);
    rows.push([kind(), "all other functions".to_owned(), String::new(), String::new(), others]);
    rows
}

fn time(change: &TimeChange) -> Vec<[String; 5]> {
    let role = change.role.as_deref().unwrap_or("load");
    let time = |ns: f64| units::duration(ns.round() as u64);
    let row = |what: String, base: f64, new: f64| {
        ["time".to_owned(), what, time(base), time(new), format_signed(new - base, time)]
    };
    let mut rows = vec![row(role.to_owned(), change.base_ns, change.new_ns)];
    let least = PART_LEAST * change.base_ns;
    let parts = change.parts.iter().filter(|part| part.change_ns().abs() >= least.max(1.0));
    rows.extend(
        parts.map(|part| {
            row(format!("{role}: {}", part_name(part.figure)), part.base_ns, part.new_ns)
        }),
    );
    rows
}

/// A part of the time by its figure.
fn part_name(figure: &str) -> &str {
    match figure {
        "time_user_percent" => "on a CPU, user mode",
        "time_system_percent" => "on a CPU, kernel mode",
        "time_runqueue_percent" => "waiting for a CPU",
        "time_device_percent" => "waiting for the device",
        "time_stall_percent" => "stalled by the engine",
        "time_lock_percent" => "waiting for other threads",
        "time_idle_percent" => "idle",
        "time_network_percent" => "waiting for the network",
        _ => "other",
    }
}

fn counter(change: &CounterChange) -> [String; 5] {
    let number = |value: f64| format!("{}", (value * 1e6).round() / 1e6);
    let by =
        change.ratio.map_or_else(|| "only one side".to_owned(), |by| format!("{}x", ratio(by)));
    ["counter".to_owned(), change.name.clone(), number(change.base), number(change.new), by]
}

fn format_signed(value: f64, format: impl Fn(f64) -> String) -> String {
    let sign = if value < 0.0 { "-" } else { "+" };
    format!("{sign}{}", format(value.abs()))
}
