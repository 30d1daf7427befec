//! Turns typed phases into resolved phases.

use crate::plan::setup::EngineSetup;
use crate::plan::sizing::SizedData;
use crate::written::operation::Entry;
use crate::written::part::Part;
use crate::written::phase::{ExpectedHitsKey, Load, Measure, Phase, Role};
use crate::written::phase_names::PhaseNames;
use crate::written::read::{At, Or as _};
use crate::written::scalar::{Count, Nanoseconds, Several, Switch, Threads};
use crate::written::scale::scaled_operations;
use kvdyno_record::engine::Options;
use kvdyno_record::operations::KeySource;
use kvdyno_record::replay::Replay;
use kvdyno_record::workload as plan;
use plan::{Activity, Choice, Ends, ExpectedHits, LoadOrder, Mix, MixEntry, Op};
use std::slice::Iter;

const SECOND: u64 = 1_000_000_000;
/// The longest time that an engine may continue its work after a phase that wrote, if the suite
/// sets no limit.
const SETTLE_LIMIT: u64 = 300 * SECOND;
/// Nodes or links in one batch when a graph is loaded.
const GRAPH_UNIT: u32 = 1_024;
/// Upper bound of data that `count = "auto"` scans: a longer scan would take longer than the
/// measurement.
const COUNT_MOST_BYTES: f64 = (16_u64 << 30) as f64;

/// Inputs of phases besides the suite.
#[derive(Clone, Copy)]
pub(crate) struct PhaseContext<'a> {
    pub(crate) setup: &'a EngineSetup<'a>,
    pub(crate) sized: &'a SizedData,
    pub(crate) swept: Option<u32>,
}

impl PhaseContext<'_> {
    /// Returns whether records are ids of a graph.
    fn is_graph(&self) -> bool {
        self.sized.data.graph.is_some()
    }

    /// Returns whether the data is smaller than the RAM limit; without a limit it always fits.
    fn fits_ram(&self) -> bool {
        self.setup.limit.bytes.is_none_or(|limit| self.sized.user_bytes() < limit as f64)
    }
}

/// Returns all phases of a case that loads its own database.
pub(crate) fn phases(part: &Part, context: PhaseContext<'_>) -> Vec<plan::Phase> {
    let typed = &part.typed.phase;
    let mut names = PhaseNames::from_phases(typed);
    let mut phases = Vec::new();
    let mut reopened = context.setup.reopened.iter();
    for (index, phase) in typed.iter().enumerate() {
        let name = phase.name().map(|name| name.0.clone());
        let name = match &phase.value {
            Phase::Measure(measure) => {
                let before = phases.len();
                add_measured_phases(part, measure, name, &mut names, context, &mut phases);
                // The names of the other phases are the same in the cases of every engine.
                if context.setup.skipped.iter().any(|skipped| skipped.phase == index) {
                    phases.truncate(before);
                }
                continue;
            }
            other => name.unwrap_or_else(|| names.unique_name(other.kind())),
        };
        if matches!(phase.value, Phase::Warm(_)) && !context.fits_ram() {
            continue;
        }
        let work = work(part, &phase.value, context, &mut reopened);
        let overwrites = overwrites(part, &work, context);
        phases.push(plan::Phase::new(name, work));
        phases
            .extend(overwrites.map(|work| plan::Phase::new(names.unique_name("overwrite"), work)));
    }
    insert_settle_phases(phases, &mut names)
}

/// Returns the updates that belong to a load, if there are any.
fn overwrites(part: &Part, load: &Activity, context: PhaseContext<'_>) -> Option<Activity> {
    let Activity::Load(load) = load else { return None };
    let times = part.typed.data.overwritten.as_ref().map_or(0, |times| times.0);
    let operations = context.sized.data.records.saturating_mul(times);
    let mix = vec![MixEntry::new(Op::Update, 1.0, Choice::Uniform)];
    let roles = vec![plan::Role::new("writers", load.threads, mix)];
    let ends = Ends { operations: Some(operations), ..Ends::default() };
    (times > 0).then_some(Activity::Warmup(Mix { roles, ends }))
}

/// Adds a phase after each phase that writes, which waits for the engine's deferred work. Of
/// consecutive windows only the last is followed by one: they are one measurement.
fn insert_settle_phases(phases: Vec<plan::Phase>, names: &mut PhaseNames) -> Vec<plan::Phase> {
    let mut all = Vec::with_capacity(phases.len());
    let mut rest = phases.into_iter().peekable();
    while let Some(phase) = rest.next() {
        let follows = rest.peek().is_some_and(|next| {
            let is_next_window = next.window.as_ref().is_some_and(|next| {
                next.number > 1 && phase.window.as_ref().is_some_and(|own| own.phase == next.phase)
            });
            is_next_window || matches!(next.work, Activity::Settle { .. })
        });
        let settle = phase.writes() && !follows;
        let settle = settle.then(|| {
            let name = names.unique_name(&format!("{}-settle", phase.name));
            plan::Phase::new(name, Activity::Settle { limit_ns: SETTLE_LIMIT })
        });
        all.push(phase);
        all.extend(settle);
    }
    all
}

/// Returns the order in which a part loads its records.
pub(crate) fn load_order(part: &Part) -> LoadOrder {
    let order = part.typed.loads().next().and_then(|load| load.order.as_ref());
    order.map_or(LoadOrder::Sequential, |order| order.value)
}

/// Adds a measured phase, or one for each of its windows, after its warmup.
fn add_measured_phases(
    part: &Part,
    measure: &Measure,
    typed_name: Option<String>,
    names: &mut PhaseNames,
    context: PhaseContext<'_>,
    phases: &mut Vec<plan::Phase>,
) {
    let (warmup, mix) = mixes(part, measure, context);
    if let Some(warmup) = warmup {
        let base = typed_name.as_ref().map_or("warmup".to_owned(), |n| format!("{n}-warmup"));
        phases.push(plan::Phase::new(names.unique_name(&base), Activity::Warmup(warmup)));
    }
    let name = typed_name.unwrap_or_else(|| names.unique_name("measure"));
    let windows = measure.windows.as_ref().zip(mix.ends.duration_ns);
    let Some((At { value: Nanoseconds(window), .. }, duration)) = windows else {
        phases.push(plan::Phase::new(name, Activity::Measure(mix)));
        return;
    };
    let count = duration.div_ceil(*window);
    let width = count.to_string().len();
    for number in 1..=count {
        let rest = duration - (number - 1) * window;
        let ends = Ends::after_ns(rest.min(*window));
        let window = plan::PhaseWindow { phase: name.clone(), number: number as u32 };
        let name = names.unique_name(&format!("{name}-w{number:0width$}"));
        let work = Activity::Measure(Mix { ends, ..mix.clone() });
        phases.push(plan::Phase { name, window: Some(window), work });
    }
}

/// Returns the number of leading phases that load and verify the database, including phases that
/// run once.
pub(crate) fn making(part: &Part, phases: &[plan::Phase]) -> usize {
    let makes = |phase: &&plan::Phase| {
        use Activity::{Load, Reopen, Settle, Verify, Warmup};
        match &phase.work {
            Load(_) | Settle { .. } | Verify { .. } | Reopen { .. } => true,
            // The updates that belong to a load end after a number of operations, warmups by time.
            Warmup(mix) => mix.ends.operations.is_some(),
            _ => false,
        }
    };
    let once = part.typed.measures().filter(|(_, measure)| measure.once.value_or(false));
    let names = once.filter_map(|(_, measure)| Some(&measure.name.as_ref()?.0));
    let ends = names.filter_map(|name| Some(phase_position(phases, name)? + 1));
    let once = ends.max().unwrap_or(0);
    once + phases[once..].iter().take_while(makes).count()
}

/// Returns the index of the phase with this name.
pub(crate) fn phase_position(phases: &[plan::Phase], name: &str) -> Option<usize> {
    phases.iter().position(|phase| phase.name == name)
}

/// Returns the maximum number of threads that work at the same time.
pub(crate) fn sessions(phases: &[plan::Phase]) -> u32 {
    max_over_phases(phases, threads)
}

fn max_over_phases(phases: &[plan::Phase], threads: fn(&Mix) -> u32) -> u32 {
    let threads = |phase: &plan::Phase| match &phase.work {
        Activity::Load(load) => load.threads,
        _ => phase.mix().map_or(1, threads),
    };
    phases.iter().map(threads).max().unwrap_or(1)
}

/// Returns the maximum number of threads in a case's worker.
pub fn max_threads(case: &kvdyno_record::plan::Case) -> u32 {
    let threads =
        |mix: &Mix| mix.roles.iter().map(|role| role.count_os_threads(role.threads)).sum();
    // A separate thread loads the nodes of a graph.
    max_over_phases(&case.phases, threads).saturating_add(case.data.graph.is_some().into())
}

/// Counts the threads of all roles.
pub(crate) fn threads(mix: &Mix) -> u32 {
    mix.roles.iter().map(|role| role.threads).fold(0, u32::saturating_add)
}

fn work(
    part: &Part,
    phase: &Phase,
    context: PhaseContext<'_>,
    reopened: &mut Iter<'_, Options>,
) -> Activity {
    match phase {
        Phase::Load(load) => Activity::Load(plan::Load {
            order: load.order.value_or(LoadOrder::Sequential),
            replay: first_read_replay(part, load),
            batch: load.batch.value_or(Several(if context.is_graph() { GRAPH_UNIT } else { 1 })).0,
            threads: load.threads.value_or(Threads::Are(1)).resolve(context.swept),
        }),
        Phase::Settle(settle) => {
            Activity::Settle { limit_ns: settle.limit.value_or(Nanoseconds(SETTLE_LIMIT)).0 }
        }
        // A graph is verified by all of its counts.
        Phase::Verify(_) if context.is_graph() => Activity::Verify { samples: 0, count: true },
        Phase::Verify(verify) => Activity::Verify {
            samples: verify.samples.value_or(Count(10_000)).0,
            count: counts(verify.count.value_or(Switch::Auto), context),
        },
        // `reopened` has one set of options for each reopen phase.
        Phase::Reopen(_) => reopened
            .next()
            .map_or(Activity::Evict, |options| Activity::Reopen { options: options.clone() }),
        // The caller has already handled measure phases, and an evict phase has no settings.
        Phase::Evict(_) | Phase::Measure(_) => Activity::Evict,
        Phase::Warm(_) => Activity::Warm,
    }
}

/// Returns whether all records are counted.
fn counts(count: Switch, context: PhaseContext<'_>) -> bool {
    let abilities = &context.setup.description.capabilities;
    match count {
        Switch::Is(count) => count && abilities.scan_forward,
        // An engine that stores nothing has nothing to count.
        Switch::Auto => {
            abilities.scan_forward
                && !abilities.stores_nothing
                && context.sized.user_bytes() <= COUNT_MOST_BYTES
        }
    }
}

/// Returns the replay of a load in the order of a trace's first reads.
fn first_read_replay(part: &Part, load: &Load) -> Option<Replay> {
    load.order.as_ref().filter(|order| order.value == LoadOrder::FirstRead)?;
    let trace = part.typed.roles().find_map(|role| role.replayed_trace())?;
    Some(Replay { requests: trace.first_reads.unwrap_or(0), ..trace.replay(None) })
}

/// Returns the warmup, if there is one, and the measured work.
fn mixes(part: &Part, measure: &Measure, context: PhaseContext<'_>) -> (Option<Mix>, Mix) {
    let duration_ns = measure.duration.as_ref().map(|duration| duration.most_ns());
    let role = |role| resolve_role(part, role, duration_ns, context);
    let roles: Vec<_> = measure.role.iter().map(|at| role(at)).collect();
    let warmup = measure.warmup.as_ref().map(|&At { value: Nanoseconds(ns), .. }| Mix {
        roles: roles.clone(),
        ends: Ends::after_ns(ns),
    });
    let recorded = roles.first().and_then(|role| role.replay.as_ref());
    let recorded = recorded.map(|replay| replay.requests);
    let operations = measure.operations.as_ref();
    let operations = operations.map(|count| scaled_operations(part.scale, count.value));
    let ends = Ends {
        duration_ns,
        least_ns: measure.duration.as_ref().and_then(|duration| Some(duration.earliest_end()?.0)),
        operations: operations.into_iter().chain(recorded).min(),
        turn_ns: None,
    };
    (warmup, Mix { roles, ends })
}

fn resolve_role(
    part: &Part,
    role: &Role,
    duration_ns: Option<u64>,
    context: PhaseContext<'_>,
) -> plan::Role {
    let keys = role.keys.as_ref().map_or(Choice::Uniform, |keys| keys.value.clone());
    let entry = |entry: &At<Entry>| {
        let keys = match &entry.keys {
            // The operation chooses no keys: the plan has the same text for every such entry.
            _ if entry.op.info().keys != KeySource::Chosen => Choice::Uniform,
            Some(keys) => keys.value.clone(),
            None => keys.clone(),
        };
        let ttl_ns = entry.ttl.as_ref().map(|ttl| ttl.0);
        MixEntry { ttl_ns, ..MixEntry::new(entry.op.clone(), entry.weight.value_or(1.0), keys) }
    };
    let mix: Vec<MixEntry> = role.entries().iter().map(entry).collect();
    let (replay, recorded) = role.to_replay().unzip();
    let operation_bytes = || mean_records_written(&mix) * context.sized.record_bytes;
    plan::Role {
        name: role.name.0.clone(),
        threads: role.threads.value_or(Threads::Are(1)).resolve(context.swept),
        rate: match &role.rate {
            Some(rate) => rate.resolve(operation_bytes(), duration_ns),
            None => recorded.flatten(),
        },
        pilot: role.rate.as_ref().and_then(|rate| Some(rate.pilot()?.value.clone())),
        depth: role.depth.as_ref().map(|depth| depth.0),
        think_ns: role.think_time.as_ref().map(|time| time.0),
        os_threads: role.os_threads.as_ref().map(|threads| threads.0),
        flush_every: None,
        expected_hits: expected_hits(role, &mix, hits_after_load(part, context)),
        replay,
        mix,
    }
}

/// Returns the share of keys that exist after the load, and possibly more if a role writes later.
fn hits_after_load(part: &Part, context: PhaseContext<'_>) -> ExpectedHits {
    // It is unknown whether the database has the keys of a file.
    if part.typed.data.from.as_ref().is_some_and(|from| from.keys_file.is_some()) {
        return ExpectedHits::Share { share: 0.0, deviation: 0.0, or_more: true };
    }
    let mut entries = part.typed.roles().flat_map(|role| role.entries());
    let writes = entries.any(|entry| entry.op.writes());
    match load_order(part).expected_hits(context.sized.data.records) {
        ExpectedHits::Share { share, deviation, .. } => {
            ExpectedHits::Share { share, deviation, or_more: writes }
        }
        other => other,
    }
}

/// Returns the expected hits of a role: as typed; otherwise none for missing keys, or the hits
/// after the load.
fn expected_hits(role: &Role, mix: &[MixEntry], after_load: ExpectedHits) -> ExpectedHits {
    let absent = mix.iter().any(|entry| !entry.keys.finds());
    match role.expected_hits.as_ref().map(|hits| hits.value) {
        None if absent => ExpectedHits::None,
        None | Some(ExpectedHitsKey::Drawn) => after_load,
        Some(ExpectedHitsKey::All) => ExpectedHits::All,
        Some(ExpectedHitsKey::None) => ExpectedHits::None,
        Some(ExpectedHitsKey::Any) => ExpectedHits::Any,
        Some(ExpectedHitsKey::Share(share)) => {
            ExpectedHits::Share { share, deviation: 0.0, or_more: false }
        }
    }
}

/// Returns the mean number of records that an operation of the mix writes.
fn mean_records_written(mix: &[MixEntry]) -> f64 {
    mean_per_operation(mix, |entry| entry.op.records_written())
}

/// Returns the mean of `each` over the operations of a mix.
pub(crate) fn mean_per_operation(mix: &[MixEntry], each: impl Fn(&MixEntry) -> f64) -> f64 {
    let sum: f64 = mix.iter().map(|entry| entry.weight * each(entry)).sum();
    sum / mix.iter().map(|entry| entry.weight).sum::<f64>()
}
