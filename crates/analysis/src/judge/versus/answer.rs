//! A comparison in one line: what got worse, what better, and how much of the rest is unknown.
//! `11.8.1 against 9.10.0: worse: readers p99 +11 % (+8 % to +14 %); 20 undecided`, and how much
//! lower a rate may be that was not shown to differ.

use super::{GateResult, Pair, Row, Verdict, Versus};
use crate::figures::catalogue as c;
use crate::figures::lists::list;
use crate::figures::ratio::format_ratio;
use kvdyno_record::units::percent;

/// Figures of a kind that are named; the rest is counted.
const NAMED_MAX: usize = 3;

pub(super) fn sentences(versus: &Versus) -> Vec<String> {
    if let Some(price) = price(versus) {
        return std::iter::once(price).chain(describe_worst_rates(versus)).collect();
    }
    let counts = &versus.counts;
    let sides = match (&versus.new.label, &versus.base.label) {
        (Some(new), Some(base)) => format_sides(new, base),
        _ => "NEW against BASE".to_owned(),
    };
    let mut parts: Vec<String> = [
        ("worse", Verdict::Regressed),
        ("better", Verdict::Improved),
        ("changed", Verdict::Changed),
    ]
    .into_iter()
    .filter_map(|(word, verdict)| figures(versus, word, verdict))
    .collect();
    if counts.judged == 0 {
        parts.push("no figure could be judged".to_owned());
    }
    let rest = [(counts.undecided, "undecided"), (counts.equal, "equal")];
    let rest = rest.iter().filter(|(n, _)| *n > 0).map(|(n, word)| match *n {
        n if n == counts.judged => format!("all {n} figures {word}"),
        n => format!("{n} {word}"),
    });
    parts.extend(rest);
    parts.extend(versus.gate.as_ref().map(|gate| {
        let result = match gate.result {
            GateResult::Passed => "passed",
            GateResult::Undecided => "undecided",
            GateResult::Failed => "FAILED",
            GateResult::CannotJudge => "cannot judge",
        };
        format!("gate of {} {result}", percent(gate.allowed))
    }));
    let headline = format!("{sides}: {}", parts.join("; "));
    std::iter::once(headline).chain(describe_worst_rates(versus)).collect()
}

/// The price of a durability promise, where the sides differ in it: no side is better for that.
fn price(versus: &Versus) -> Option<String> {
    let pair = versus.pairs.first()?;
    let (base, new) = (pair.durability, pair.other_durability?);
    // From the stronger to the weaker class the ratios show what giving the promise up yields.
    let costs_or_yields = if new > base { "costs over" } else { "yields over" };
    let judged = |row: &&Row| {
        let verdicts = [Verdict::Improved, Verdict::Regressed, Verdict::Equal, Verdict::Changed];
        verdicts.contains(&row.verdict) && row.op.is_none()
    };
    let rows = versus.pairs.iter().flat_map(|pair| pair.rows.iter().map(move |row| (pair, row)));
    let mut rows: Vec<(f64, String)> = rows
        .filter(|(_, row)| judged(row))
        .filter_map(|(pair, row)| {
            Some((row.ratio?.ln().abs(), describe_change(versus, pair, row)?))
        })
        .collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    let costs: Vec<String> = rows.into_iter().take(NAMED_MAX).map(|(_, text)| text).collect();
    let costs =
        if costs.is_empty() { "no figure could be judged".to_owned() } else { costs.join(", ") };
    Some(format!(
        "What durability {} {costs_or_yields} {}: {costs}. The classes promise different things",
        new.as_str(),
        base.as_str()
    ))
}

/// Two versions of one engine: `rocksdb 11.8.1 against 9.10.0`.
fn format_sides(new: &str, base: &str) -> String {
    match (new.rsplit_once('-'), base.rsplit_once('-')) {
        (Some((engine, new)), Some((other, base))) if engine == other => {
            format!("{engine} {new} against {base}")
        }
        _ => format!("{new} against {base}"),
    }
}

/// Whether a figure is a cost: rates and latencies come before costs.
fn is_cost(figure: &str) -> bool {
    let rates = [&c::OPS_PER_S, &c::RECORDS_PER_S];
    !c::is_latency(figure) && rates.iter().all(|rate| rate.name != figure)
}

/// `readers p99 +11 % (+8 % to +14 %)`: the change with its interval.
fn describe_change(versus: &Versus, pair: &Pair, row: &Row) -> Option<String> {
    let case = if versus.pairs.len() > 1 { case(&pair.name) } else { String::new() };
    let what = format!("{} {}{case} {}", row.scope, short(row.figure), change(row.ratio?));
    let ends = row.ratio_low.zip(row.ratio_high);
    Some(ends.map_or_else(
        || what.clone(),
        |(low, high)| format!("{what} ({} to {})", change(low), change(high)),
    ))
}

/// `worse: readers p99 +11 % (+8 % to +14 %)`, the largest change first.
fn figures(versus: &Versus, word: &str, verdict: Verdict) -> Option<String> {
    let rows = versus.pairs.iter().flat_map(|pair| pair.rows.iter().map(move |row| (pair, row)));
    let mut rows: Vec<(bool, f64, String)> = rows
        .filter(|(_, row)| row.verdict == verdict)
        .filter_map(|(pair, row)| {
            let size = row.ratio?.ln().abs();
            Some((is_cost(row.figure), size, describe_change(versus, pair, row)?))
        })
        .collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let more = rows.len().saturating_sub(NAMED_MAX);
    let changes: Vec<String> = rows.into_iter().take(NAMED_MAX).map(|(.., text)| text).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!changes.is_empty()).then(|| format!("{word}: {}{more}", changes.join(", ")))
}

/// The number of threads in a case's name: ` at t4`.
fn case(name: &str) -> String {
    let word = name.rsplit(' ').next().unwrap_or_default();
    let threads = word.strip_prefix('t').is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()));
    if threads { format!(" at {word}") } else { String::new() }
}

/// The most by which rates without a significant difference may have got worse.
fn describe_worst_rates(versus: &Versus) -> Option<String> {
    let rates = [&c::OPS_PER_S, &c::RECORDS_PER_S];
    let open = versus.pairs.iter().flat_map(|pair| &pair.rows).filter(|row| {
        matches!(row.verdict, Verdict::Undecided | Verdict::Equal)
            && row.op.is_none()
            && rates.iter().any(|rate| rate.name == row.figure)
    });
    let most = |row: &Row| {
        let worst = row.largest_worsening().filter(|worst| *worst > 0.0)?;
        Some(format!("{} {} at most {} lower", row.scope, short(row.figure), percent(worst)))
    };
    let each: Vec<String> = open.filter_map(most).take(NAMED_MAX).collect();
    (!each.is_empty()).then(|| format!("Not shown to differ: {}.", list(&each)))
}

/// `+11 %`, `-3.5 %`; for large changes `2.4x`.
fn change(ratio: f64) -> String {
    match ratio {
        ..0.5 | 2.0.. => format!("{}x", format_ratio(ratio, 2)),
        ..0.905 | 1.095.. => format!("{:+.0} %", 100.0 * (ratio - 1.0)),
        _ => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
    }
}

/// `p99.9`, `ops/s`: the usual short name of a figure.
pub(crate) fn short(figure: &str) -> String {
    let time = |clock: &str| figure.strip_prefix(clock).map(|rest| rest.replace('_', "."));
    match figure {
        "ops_per_s" => "ops/s".to_owned(),
        "records_per_s" => "records/s".to_owned(),
        "cpu_ns_per_op" => "CPU/op".to_owned(),
        "instructions_per_op" => "instructions/op".to_owned(),
        "database_used_bytes" => "size".to_owned(),
        "device_write_bytes_per_op" => "device writes/op".to_owned(),
        _ => {
            let time = time("service_ns_").or_else(|| time("response_ns_"));
            time.unwrap_or_else(|| figure.to_owned())
        }
    }
}
