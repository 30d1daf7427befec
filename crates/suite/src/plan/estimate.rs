//! Estimates the cost of a plan: time, bytes written, space. The estimates are rough and high, and
//! the plan marks them as estimates.

use crate::plan::growth::{WRITES_PER_THREAD_S, inserts_expected, writes_expected};
use crate::plan::workload::mean_per_operation;
use kvdyno_record::engine::{Description, Durability};
use kvdyno_record::graph::Graph;
use kvdyno_record::operations::OpTrait;
use kvdyno_record::plan::{Case, Estimate, Plan};
use kvdyno_record::units;
use kvdyno_record::volume::{FilesystemKind, Format, Medium};
use kvdyno_record::workload::{Activity, Choice, Load, LoadOrder, Mix, MixEntry, Op, Phase, Role};
use std::collections::BTreeMap;

/// Assumed speeds.
#[derive(Clone, Copy)]
struct Pace {
    /// Records loaded per second, at most.
    load_records_per_s: f64,
    /// Bytes of user data loaded per second, at most, in key order.
    load_bytes_per_s: f64,
    /// The same in random order, unless the RAM limit begins after the load.
    random_load_bytes_per_s: f64,
    /// Operations per second of one thread, in phases that end after a number of operations.
    operations_per_thread_s: f64,
    /// Durable commits per second of a drive, all threads together.
    commits_per_s: f64,
    /// Bytes of a database copied per second: read, written and synced to the drive.
    copy_bytes_per_s: f64,
    /// Time to look up one key.
    sample_s: f64,
    /// Bytes scanned per second while counting.
    count_bytes_per_s: f64,
    /// Time to start a worker, to open and close the engine, and to evict.
    case_s: f64,
    /// Time to close an engine, to evict its files, and to open it.
    open_s: f64,
    /// Phases that end once their rates are steady take their least time.
    is_steady_at_once: bool,
}

/// Reads from a drive, estimated high: a case may take five times as long.
const SLOW: Pace = Pace {
    load_records_per_s: 100_000.0,
    load_bytes_per_s: 100e6,
    random_load_bytes_per_s: 25e6,
    operations_per_thread_s: 10_000.0,
    commits_per_s: 500.0,
    copy_bytes_per_s: 200e6,
    sample_s: 0.000_2,
    count_bytes_per_s: 200e6,
    case_s: 1.0,
    open_s: 0.5,
    is_steady_at_once: false,
};

/// Reads from memory.
const FAST: Pace = Pace {
    load_records_per_s: 1e6,
    load_bytes_per_s: DRIVE_BYTES_PER_S,
    random_load_bytes_per_s: DRIVE_BYTES_PER_S,
    operations_per_thread_s: 200_000.0,
    commits_per_s: 1e6,
    copy_bytes_per_s: 1e9,
    sample_s: 0.000_005,
    count_bytes_per_s: 1e9,
    case_s: 0.3,
    open_s: 0.02,
    is_steady_at_once: true,
};

/// The slowdown under a counter of instructions, at most and at least (docs/count.md). Data is then
/// in memory.
const COUNTED_TIMES: [f64; 2] = [60.0, 20.0];
/// Seconds that a process writes before it is killed and its database is recovered.
const RECOVERY_WRITES_S: f64 = 1.0;
/// Time to start a worker under a counter of instructions.
const COUNTED_CASE_S: f64 = 3.0;

impl Pace {
    /// Returns the slowest and the fastest pace of a case.
    fn case_bounds(case: &Case) -> [Self; 2] {
        if case.is_counted() { COUNTED_TIMES.map(Self::with_count_slowdown) } else { [SLOW, FAST] }
    }

    /// Returns the pace of an engine that stores nothing: records take the same time, however long
    /// they are.
    fn without_storage(self, record_bytes: f64) -> Self {
        let bytes_per_s = LOAD_GENERATOR_PER_S * record_bytes;
        Self {
            operations_per_thread_s: LOAD_GENERATOR_PER_S,
            count_bytes_per_s: bytes_per_s,
            load_bytes_per_s: bytes_per_s,
            random_load_bytes_per_s: bytes_per_s,
            ..self
        }
    }

    fn with_count_slowdown(times: f64) -> Self {
        Self {
            load_records_per_s: FAST.load_records_per_s / times,
            operations_per_thread_s: FAST.operations_per_thread_s / times,
            sample_s: FAST.sample_s * times,
            count_bytes_per_s: FAST.count_bytes_per_s / times,
            case_s: COUNTED_CASE_S,
            ..FAST
        }
    }
}

/// Upper bound of bytes written to a drive per second, whatever the factors are.
const DRIVE_BYTES_PER_S: f64 = 500e6;
/// Engines state the write factor of their worst load, in random order. In key order, data is
/// written at most twice: to the log and to its table; a B-tree fills its pages one after the
/// other.
const SEQUENTIAL_WRITE_FACTOR_MAX: f64 = 2.0;
/// Records per second, and operations per second and thread, of an engine that stores nothing.
const LOAD_GENERATOR_PER_S: f64 = 1e6;

/// Upper bound of the space that requests add to a graph, relative to the loaded graph.
const GRAPH_GROWTH_MAX: f64 = 2.0;

/// The cost of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cost {
    pub(crate) wall_ns: u64,
    /// The duration if all data were in memory.
    pub(crate) wall_least_ns: u64,
    pub(crate) write_bytes: u64,
    /// The size of its database at the end, or of its copy together with the original.
    pub(crate) space_bytes: u64,
}

/// Estimates the cost of one case from its engine's description.
pub(crate) fn cost(case: &Case, engine: &Description) -> Cost {
    let record_bytes = record_bytes(case);
    let written: f64 = case.phases.iter().map(|phase| phase_write_bytes(phase, case, engine)).sum();
    let space = |records: f64| records * record_bytes * engine.planning.space_factor;
    let records = case.data.records as f64;
    let added = inserts_expected(&case.phases, record_bytes) as f64 * written_bytes(case);
    let added = match case.data.graph {
        // Most requests add nothing: in twelve hours one graph grew from 16 to 45 GB
        // (callaghan-linkbench-2015).
        Some(_) => (GRAPH_GROWTH_MAX * space(records)).min(added),
        None => added * engine.planning.space_factor,
    };
    let original = if case.copies_state() { space(records) } else { 0.0 };
    let copied = if is_cloned(case) { 0.0 } else { original };
    let wall_ns = |pace: Pace| {
        let phases = case.phases.iter().map(|phase| phase_s(phase, case, engine, pace));
        ((pace.case_s + phases.sum::<f64>() + copied / pace.copy_bytes_per_s) * 1e9) as u64
    };
    let [slow, fast] = Pace::case_bounds(case);
    Cost {
        wall_ns: wall_ns(slow),
        wall_least_ns: wall_ns(fast),
        write_bytes: (written + copied) as u64,
        space_bytes: (space(records) + added + original) as u64,
    }
}

/// Returns whether the filesystem is known to copy by reflinks. For a directory it is unknown
/// before the run.
fn is_cloned(case: &Case) -> bool {
    let format = match case.volume.as_ref().map(|volume| &volume.medium) {
        Some(Medium::Loop { format, .. } | Medium::Device { format, .. }) => format,
        Some(Medium::Directory { .. }) | None => return false,
    };
    let Format::Filesystem { filesystem, .. } = format else { return false };
    !case.writes() && *filesystem != FilesystemKind::Ext4
}

/// Estimates the sums of all cases, and the maximum space at one time.
pub fn estimate(cases: &[Case], engines: &BTreeMap<&str, &Description>) -> Estimate {
    let mut estimate = Estimate { assumptions: assumptions(cases), ..Estimate::default() };
    let (mut alive, mut ended): (BTreeMap<&str, u64>, Vec<&str>) = Default::default();
    for (index, case) in cases.iter().enumerate() {
        let Some(engine) = engines.get(case.engine.as_str()) else { continue };
        let cost = cost(case, engine);
        let in_place = match case.volume.as_ref().map(|volume| &volume.medium) {
            None => cost.space_bytes,
            // An image takes all of its space at once; volumes elsewhere take none of the data
            // directory.
            Some(Medium::Loop { bytes, directory: None, .. }) => *bytes,
            Some(_) => 0,
        };
        estimate.wall_ns = estimate.wall_ns.saturating_add(cost.wall_ns);
        let least_ns = estimate.wall_least_ns.unwrap_or(0).saturating_add(cost.wall_least_ns);
        estimate.wall_least_ns = Some(least_ns);
        estimate.write_bytes = estimate.write_bytes.saturating_add(cost.write_bytes);
        estimate.record_bytes = estimate.record_bytes.saturating_add(filed_bytes(case, engine));
        let database = alive.entry(&case.database.id).or_default();
        *database = in_place.max(*database);
        let recorded = estimate.databases.entry(case.database.id.clone()).or_default();
        *recorded = cost.space_bytes.max(*recorded);
        let together = alive.values().copied().fold(0, u64::saturating_add);
        let image = case.tier.as_ref().map_or(0, |tier| tier.memory.image_bytes());
        estimate.space_bytes = estimate.space_bytes.max(together.saturating_add(image));
        // Two cases that take turns have their databases at the same time.
        let waits =
            cases.get(index + 1).is_some_and(|next| case.turns_with.as_ref() == Some(&next.id));
        ended.extend(case.database.last_use.then_some(case.database.id.as_str()));
        if !waits {
            alive.retain(|id, _| !ended.contains(id));
            ended.clear();
        }
    }
    estimate
}

/// Bytes of a case's record: a fixed part, a reading of the machine, a line per operation, and a
/// histogram. Two hours of reads and updates with data four times the RAM took 1,150, 133 and 830
/// bytes; in memory a histogram takes half of that.
const CASE_BYTES: f64 = 16e3;
const READING_BYTES: f64 = 1_500.0;
const SERIES_BYTES: f64 = 130.0;
const HISTOGRAM_BYTES: f64 = 830.0;

/// Estimates the bytes of a case's record. Slices of at most a second have one reading per second.
fn filed_bytes(case: &Case, engine: &Description) -> u64 {
    let slice_s = case.slice_ns.max(1) as f64 / 1e9;
    let phase = |phase: &Phase| {
        let seconds = phase_s(phase, case, engine, SLOW);
        let histograms = |role: &Role| {
            let kinds =
                1 + usize::from(role.rate.is_some()) + 2 * usize::from(role.depth.is_some());
            let each = SERIES_BYTES + kinds as f64 * HISTOGRAM_BYTES;
            role.mix.len() as f64 * each
        };
        let ops = match &phase.work {
            Activity::Load(_) => SERIES_BYTES + HISTOGRAM_BYTES,
            Activity::Measure(mix) => mix.roles.iter().map(histograms).sum(),
            _ => return seconds * READING_BYTES,
        };
        seconds / slice_s * ops + seconds / slice_s.max(1.0) * READING_BYTES
    };
    (CASE_BYTES + case.phases.iter().map(phase).sum::<f64>()) as u64
}

/// Returns a lower bound of bytes written: the user data of each load and each copy, once, if the
/// engine stores any. Writes during measured phases are not included: their rate is unknown.
pub fn write_bytes_least(plan: &Plan) -> u64 {
    let stores = |case: &&Case| {
        plan.estimate.databases.get(&case.database.id).is_some_and(|space| *space > 0)
    };
    let writes = |case: &&Case| {
        case.copies_state() && !is_cloned(case)
            || case.phases.iter().any(|phase| matches!(phase.work, Activity::Load(_)))
    };
    let loads = plan.cases.iter().filter(stores).filter(writes);
    let bytes = loads.map(Case::user_bytes).fold(0, u64::saturating_add);
    bytes.min(plan.estimate.write_bytes)
}

fn phase_s(phase: &Phase, case: &Case, engine: &Description, pace: Pace) -> f64 {
    let user_bytes = case.data.records as f64 * record_bytes(case);
    match &phase.work {
        Activity::Load(load) => load_s(load, case, engine, pace),
        Activity::Settle { limit_ns } => {
            let load = case.data.records as f64 / pace.load_records_per_s;
            (*limit_ns as f64 / 1e9).min(load / 4.0)
        }
        Activity::Verify { samples, count } => {
            let counting = if *count { user_bytes / pace.count_bytes_per_s } else { 0.0 };
            *samples as f64 * pace.sample_s + counting
        }
        Activity::Warm if engine.capabilities.stores_nothing => 0.0,
        Activity::Warm if engine.capabilities.scan_forward => user_bytes / pace.count_bytes_per_s,
        Activity::Warm => case.data.records as f64 * pace.sample_s,
        _ => phase.mix().map_or(0.0, |mix| mix_s(mix, case, engine, pace)),
    }
}

/// Returns the seconds to flush this many commits; 0 if the case does not wait for them.
fn commits_s(commits: f64, case: &Case, pace: Pace) -> f64 {
    let waits = case.options.durability == Durability::Commit;
    if waits { commits / pace.commits_per_s } else { 0.0 }
}

/// Estimates the bytes that a phase writes to the drive.
fn phase_write_bytes(phase: &Phase, case: &Case, engine: &Description) -> f64 {
    let factor = engine.planning.write_factor;
    if let Activity::Load(load) = &phase.work {
        let factor = match load.order {
            LoadOrder::Sequential if case.data.graph.is_none() => {
                factor.min(SEQUENTIAL_WRITE_FACTOR_MAX)
            }
            _ => factor,
        };
        return load.written_records(case.data.records) as f64 * record_bytes(case) * factor;
    }
    let Some(mix) = phase.mix() else { return 0.0 };
    let records = writes_expected(std::slice::from_ref(phase), record_bytes(case)) as f64;
    let bytes = records * written_bytes(case) * factor;
    // Counted operations write all of their bytes, however long it takes.
    if mix.ends.duration_ns.is_none() {
        return bytes;
    }
    bytes.min(DRIVE_BYTES_PER_S * mix_s(mix, case, engine, SLOW))
}

fn load_s(load: &Load, case: &Case, engine: &Description, pace: Pace) -> f64 {
    let loaded = load.written_records(case.data.loaded_items()) as f64;
    if engine.capabilities.stores_nothing {
        return loaded / LOAD_GENERATOR_PER_S;
    }
    let in_order = load.order == LoadOrder::Sequential && case.data.graph.is_none();
    // If the limit begins after the load, the load can use all memory.
    let bytes_per_s = if in_order || case.ram_limit_from > 0 {
        pace.load_bytes_per_s
    } else {
        pace.random_load_bytes_per_s
    };
    let bytes = load.written_records(case.data.records) as f64 * record_bytes(case);
    let singly = engine.capabilities.commits_singly(case.options.durability);
    let batch = if singly { 1.0 } else { f64::from(load.batch.max(1)) };
    let seconds = (loaded / pace.load_records_per_s).max(bytes / bytes_per_s);
    seconds.max(commits_s(loaded / batch, case, pace))
}

fn mix_s(mix: &Mix, case: &Case, engine: &Description, pace: Pace) -> f64 {
    let record_bytes = record_bytes(case);
    let stores_nothing = engine.capabilities.stores_nothing;
    let pace = if stores_nothing { pace.without_storage(record_bytes) } else { pace };
    let least_ns = mix.ends.least_ns.filter(|_| pace.is_steady_at_once);
    let by_time = least_ns.or(mix.ends.duration_ns).map(|ns| ns as f64 / 1e9);
    let commits_s = || commits_s(counted_commits(mix, case, engine), case, pace);
    let by_count = count_s(mix, record_bytes, pace);
    let by_count =
        by_count.map(|count_s| if stores_nothing { count_s } else { count_s.max(commits_s()) });
    let first = by_time.into_iter().chain(by_count).fold(f64::INFINITY, f64::min);
    if first.is_finite() { first } else { 0.0 }
}

/// Returns the seconds until a count of operations ends a phase on a slow drive; none: it has no
/// count.
pub(crate) fn slow_count_s(mix: &Mix, record_bytes: f64) -> Option<f64> {
    count_s(mix, record_bytes, SLOW)
}

/// Returns the commits of the counted operations.
fn counted_commits(mix: &Mix, case: &Case, engine: &Description) -> f64 {
    let singly = engine.capabilities.commits_singly(case.options.durability);
    let commits = |entry: &MixEntry| {
        let records = entry.op.records_written();
        if singly { records } else { records.min(1.0) }
    };
    let first = mix.roles.first();
    let each = first.map_or(0.0, |role| mean_per_operation(&role.mix, commits));
    mix.ends.operations.unwrap_or(0) as f64 * each
}

/// Only the operations of the first role are counted.
fn count_s(mix: &Mix, record_bytes: f64, pace: Pace) -> Option<f64> {
    let (count, role) = (mix.ends.operations?, mix.roles.first()?);
    let closed = || f64::from(role.threads) / operation_s(role, record_bytes, pace);
    let per_s = role.rate.as_ref().map_or_else(closed, |rate| rate.operations_per_s);
    Some(count as f64 / per_s)
}

/// Returns the seconds that an operation and the pause after it take one thread of a role.
fn operation_s(role: &Role, record_bytes: f64, pace: Pace) -> f64 {
    if let Some(seconds) = opening_s(role, pace) {
        return seconds;
    }
    let each = |entry: &MixEntry| {
        let (lookups, records) = match &entry.op {
            Op::Multiget { keys } => (keys.mean(), keys.mean()),
            Op::Scan { length, .. } | Op::Walk { length, .. } => (1.0, length.mean()),
            Op::Batch { writes } => (1.0, writes.mean()),
            Op::Delete | Op::Flush => (1.0, 0.0),
            _ => (1.0, 1.0),
        };
        let bytes_per_s = match entry.keys {
            _ if !entry.op.info().has(OpTrait::WritesValues) => pace.count_bytes_per_s,
            Choice::Sequential { .. } => pace.load_bytes_per_s,
            _ => pace.random_load_bytes_per_s,
        };
        lookups / pace.operations_per_thread_s + records * record_bytes / bytes_per_s
    };
    mean_per_operation(&role.mix, each) + role.think_ns.unwrap_or(0) as f64 / 1e9
}

/// Returns the seconds of one opening, with the writes before a recovery; none: it opens nothing.
fn opening_s(role: &Role, pace: Pace) -> Option<f64> {
    match role.mix.first()?.op {
        Op::Open { .. } => Some(pace.open_s),
        Op::Recover { .. } => Some(RECOVERY_WRITES_S + pace.open_s),
        _ => None,
    }
}

fn record_bytes(case: &Case) -> f64 {
    match &case.data.graph {
        // The mean of all keys that an ordered store has for one id.
        Some(_) => case.shape.user_bytes() as f64 / case.data.records as f64,
        None => case.data.key.bytes_mean() + case.shape.value_bytes_mean as f64,
    }
}

/// Returns the bytes of one write: of a record; in a graph of a link, which is stored by its ids
/// and by its time.
fn written_bytes(case: &Case) -> f64 {
    let link = |graph: &Graph| 2.0 * (Graph::LINK_BYTES as f64 + graph.link_bytes.mean());
    case.data.graph.as_ref().map_or_else(|| record_bytes(case), link)
}

fn ends_by_count(phase: &Phase) -> bool {
    phase.mix().is_some_and(|mix| mix.ends.operations.is_some())
}

fn assumptions(cases: &[Case]) -> Vec<String> {
    let mut assumptions = vec![
        format!(
            "longest load: the slower of {} and {} of user data ({} in random order, unless the \
             RAM limit begins after it); shortest load: {} and {}",
            units::rate(SLOW.load_records_per_s),
            units::byte_rate(SLOW.load_bytes_per_s),
            units::byte_rate(SLOW.random_load_bytes_per_s),
            units::rate(FAST.load_records_per_s),
            units::byte_rate(FAST.load_bytes_per_s),
        ),
        format!(
            "least writes: each load's user data once, nothing in measured phases; most writes: \
             user data times the engines' own factors for random loads (sequential loads at most \
             {SEQUENTIAL_WRITE_FACTOR_MAX} times), writers included"
        ),
        format!(
            "writers in a timed phase: the suite's rate, or {} for each thread, which is an \
             assumption; at most {} for all together, a fast drive",
            units::rate(WRITES_PER_THREAD_S),
            units::byte_rate(DRIVE_BYTES_PER_S)
        ),
        "space: user data times the engines' own factors".to_owned(),
    ];
    if cases.iter().flat_map(|case| &case.phases).any(ends_by_count) {
        assumptions.push(format!(
            "phases that end by a count: between {} for each thread, as from a drive, and {}, as \
             in memory; long records, many of them in an operation, and pauses take more",
            units::rate(SLOW.operations_per_thread_s),
            units::rate(FAST.operations_per_thread_s)
        ));
    }
    if cases.iter().any(|case| case.options.durability == Durability::Commit) {
        assumptions.push(format!(
            "class commit: {} commits a second or more, of all threads together",
            SLOW.commits_per_s
        ));
    }
    if cases.iter().any(Case::is_counted) {
        let [most, least] = COUNTED_TIMES;
        assumptions.push(format!(
            "under a counter of instructions: data in memory, all work {least} to {most} times as \
             long"
        ));
    }
    if cases.iter().any(Case::copies_state) {
        assumptions.push(format!(
            "copies of databases: {} to {}, reflinks no time; original and copy may both grow to \
             the same size",
            units::byte_rate(SLOW.copy_bytes_per_s),
            units::byte_rate(FAST.copy_bytes_per_s)
        ));
    }
    assumptions
}
