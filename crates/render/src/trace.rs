//! A trace as sentences and tables.

use crate::table::{Side, Table};
use kvdyno_record::units;
use kvdyno_trace::{Header, Kind, Quantiles, Recorded, Statistics, Times, TtlRange, Window};
use std::path::Path;

/// Lines of the table of windows: they fit a screen.
const LINES: usize = 24;

/// Parts of the keys that have a line of their own.
const SHARES: [f64; 6] = [0.001, 0.01, 0.1, 0.25, 0.5, 1.0];

/// Describes a trace in a line, after its import or recording.
pub fn trace_summary(header: &Header, to: &Path, bytes: u64) -> String {
    let keys = match (header.kind, header.source.as_recorded()) {
        (Kind::Keys, Some(recorded)) => {
            format!("keys of {} records that were loaded", units::group_digits(recorded.records))
        }
        (Kind::Keys, None) => format!("{} distinct keys", units::group_digits(header.keys)),
        (Kind::Blocks, _) => format!("a drive of {} at least", units::bytes(header.keys)),
    };
    let requests = units::group_digits(header.requests);
    format!("{}: {requests} requests, {keys}, {}", to.display(), units::bytes(bytes))
}

/// The facts of the whole trace: a word and its text.
pub fn facts(statistics: &Statistics, digest: &str) -> Vec<(&'static str, String)> {
    let header = &statistics.header;
    let mut lines = vec![
        ("source", source(header)),
        ("checksum", digest.to_owned()),
        ("requests", units::group_digits(header.requests)),
        ("times", times(statistics)),
        (select_by_kind(header.kind, "keys", "4 KiB blocks"), distinct(statistics)),
    ];
    if header.joined > 0 {
        let joined = units::group_digits(header.joined);
        lines.push(("calls", format!("{joined} requests came in the call of the one before")));
    }
    if let Some(share) = statistics.sequential {
        let text = format!("{} of requests begin where the last one ended", units::percent(share));
        lines.push(("sequential", text));
    }
    if let Some(TtlRange { requests, shortest_ns, longest_ns }) = header.ttl {
        let (requests, least) = (units::group_digits(requests), units::duration(shortest_ns));
        let longest = units::duration(longest_ns);
        lines.push(("times to live", format!("{requests} writes, {least} to {longest}")));
    }
    for (from, count) in &header.mapped {
        lines.push(("taken", format!("{from}: {}", units::group_digits(*count))));
    }
    for (omission, count) in &header.left_out {
        lines.push(("left out", format!("{omission}: {}", units::group_digits(*count))));
    }
    lines.extend(header.cut_short.iter().map(|cut| ("cut short", cut.clone())));
    if statistics.cut_requests > 0 {
        let count = units::group_digits(statistics.cut_requests);
        let text =
            format!("{count} requests are longer than 64 MiB: the rest of them has no blocks");
        lines.push(("cut blocks", text));
    }
    if statistics.sampled < 1.0 {
        let share = 1.0 / statistics.sampled;
        let text = format!("figures of keys are of one key in {share:.1}, a million of them");
        lines.push(("sample", text));
    }
    lines
}

/// The facts as lines of text.
pub fn lines(statistics: &Statistics, digest: &str) -> String {
    let lines = facts(statistics, digest);
    let widest = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    lines.into_iter().map(|(name, text)| format!("{name:widest$}  {text}\n")).collect()
}

fn source(header: &Header) -> String {
    let Some(Recorded { phase, engine, records }) = header.source.as_recorded() else {
        return format!("{} ({})", header.file, header.source.name());
    };
    let (suite, records) = (&header.file, units::group_digits(*records));
    format!("phase {phase} of {suite}, recorded on {engine}; {records} records were loaded")
}

fn select_by_kind<T>(kind: Kind, keys: T, blocks: T) -> T {
    match kind {
        Kind::Keys => keys,
        Kind::Blocks => blocks,
    }
}

fn times(statistics: &Statistics) -> String {
    let header = &statistics.header;
    let (Some(mean), Some(most)) = (statistics.mean_per_s, statistics.most_in_a_second) else {
        return "the source has none: only the order is known".to_owned();
    };
    let spread = match header.times {
        Times::SpreadOverSeconds => "; whole seconds, requests spread evenly over each",
        _ => "",
    };
    let span = units::duration(header.span_ns);
    let (mean, most) = (units::rate(mean), units::group_digits(most));
    format!("{span}, {mean} on average, {most} in the busiest second{spread}")
}

fn distinct(statistics: &Statistics) -> String {
    let part = |keys: f64| {
        units::percent(if statistics.distinct > 0.0 { keys / statistics.distinct } else { 0.0 })
    };
    let (once, read) = (part(statistics.once), part(statistics.read_first));
    let distinct = units::group_digits(statistics.distinct.round() as u64);
    format!("{distinct} distinct; {once} requested once, {read} read before they are written")
}

/// Tables with their titles.
pub fn tables(statistics: &Statistics) -> Vec<(&'static str, Table)> {
    let kind = statistics.header.kind;
    vec![
        ("Mix", mix(statistics)),
        ("Sizes in bytes", sizes(statistics)),
        (select_by_kind(kind, "Popular keys", "Popular blocks"), popular(statistics)),
        ("Working set over time", windows(statistics)),
    ]
}

fn mix(statistics: &Statistics) -> Table {
    let mut table =
        Table::new([("operation", Side::Left), ("requests", Side::Right), ("share", Side::Right)]);
    for (op, count) in &statistics.header.ops {
        let share = statistics.mix.get(op).copied().unwrap_or(0.0);
        table.row(&[op.name().to_owned(), units::group_digits(*count), units::percent(share)]);
    }
    table
}

fn sizes(statistics: &Statistics) -> Table {
    let titles = ["requests", "mean", "min", "p50", "p90", "p99", "max"];
    let columns = titles.map(|title| (title, Side::Right));
    let mut table = Table::new([("of", Side::Left)].into_iter().chain(columns));
    let kind = statistics.header.kind;
    for (name, lengths) in [
        ("keys", statistics.key_bytes),
        (select_by_kind(kind, "values written", "writes"), statistics.written_bytes),
        (select_by_kind(kind, "values read", "reads"), statistics.read_bytes),
    ] {
        let Some(Quantiles { count, mean, min, p50, p90, p99, max }) = lengths else { continue };
        let numbers =
            [count, mean.round() as u64, min, p50, p90, p99, max].map(units::group_digits);
        let cells: Vec<String> = [name.to_owned()].into_iter().chain(numbers).collect();
        table.row(&cells);
    }
    table
}

/// The share of requests for few keys, and the hits of a cache of as many.
fn popular(statistics: &Statistics) -> Table {
    let mut table = Table::new([
        ("of the keys", Side::Right),
        ("go to the most\npopular of them", Side::Right),
        ("an LRU cache of\nas many has", Side::Right),
    ]);
    for point in statistics.popular.iter().filter(|point| SHARES.contains(&point.keys)) {
        table.row(&[point.keys, point.requests, point.lru_hits].map(units::percent));
    }
    table
}

fn windows(statistics: &Statistics) -> Table {
    let timed = statistics.header.times != Times::None;
    let begins = if timed { "from" } else { "from request" };
    let kind = statistics.header.kind;
    let mut table = Table::new([
        (begins, Side::Right),
        ("requests", Side::Right),
        ("writes", Side::Right),
        (select_by_kind(kind, "keys", "blocks"), Side::Right),
        ("never requested\nbefore", Side::Right),
    ]);
    for window in thin_windows(&statistics.windows) {
        let begins =
            if timed { units::duration(window.begins) } else { units::group_digits(window.begins) };
        let share =
            |part: f64, share: f64| units::percent(if share > 0.0 { part / share } else { 0.0 });
        table.row(&[
            begins,
            units::group_digits(window.requests),
            share(window.writes as f64, window.requests as f64),
            units::group_digits(window.keys.round() as u64),
            share(window.new_keys, window.keys),
        ]);
    }
    table
}

/// Returns no more windows than fit a screen, evenly apart. They are not merged, since sets of keys
/// cannot be added up.
fn thin_windows(windows: &[Window]) -> impl Iterator<Item = &Window> {
    windows.iter().step_by(windows.len().div_ceil(LINES).max(1))
}
