//! The number of records in the database after each phase, where it follows from the writes. No
//! engine is asked for it, and no operation pays for it.

use crate::missing::MissingKeys;
use crate::population::Population;
use crate::rng::Rng;
use crate::source::{KeySupply, LoadRange};
use kvdyno_record::crew::RankId;
use kvdyno_record::expected_hits::ExpectedHits;
use kvdyno_record::protocol::Job;
use kvdyno_record::replay::replays;
use kvdyno_record::workload::{Activity, Load, LoadOrder, Mix, Op, Phase};

/// The state that is known of the records of a case.
pub(super) struct LiveRecords {
    seat: RankId,
    is_graph: bool,
    has_gaps: bool,
    /// The records that the load writes.
    loaded: u64,
    is_known: bool,
}

impl LiveRecords {
    /// The state before the first phase of a job.
    pub(super) fn new(job: &Job, seat: RankId) -> Self {
        let records = job.data.records;
        let mut live = Self {
            seat,
            is_graph: job.data.graph.is_some(),
            has_gaps: has_gaps(job),
            loaded: find_load(job).map_or(records, |(_, load)| load.written_records(records)),
            is_known: true,
        };
        let mut before = job.phases_before.iter().filter_map(Phase::mix);
        // The keys that another case wrote are not known here.
        let may_change =
            |mix| leaves_keys_out(job) || live.loses_count(mix) || adds_or_removes(mix);
        live.is_known = !before.any(|mix| writes(mix) && may_change(mix));
        live
    }

    /// Returns this rank's number of records after a phase; none: it is not known.
    pub(super) fn count_after_phase(
        &mut self,
        phase: &Phase,
        population: &Population,
    ) -> Option<u64> {
        self.is_known &= !phase.mix().is_some_and(|mix| writes(mix) && self.loses_count(mix));
        let never_loaded = population.loaded_records().saturating_sub(self.loaded);
        let deducted = if self.seat.rank == 0 { never_loaded } else { 0 };
        self.is_known.then(|| population.live_records().saturating_sub(deducted))
    }

    /// Whether the number of records is unknown after this mix. Requests of a graph and of a trace
    /// have keys of their own. In a crew, no rank knows which keys the others deleted. Only the
    /// engine knows which records have expired.
    fn loses_count(&self, mix: &Mix) -> bool {
        self.is_graph
            || mix.roles.iter().any(|role| role.replay.is_some())
            || mix.entries().any(|entry| entry.ttl_ns.is_some())
            || mix.roles.iter().any(|role| role.expected_hits == ExpectedHits::Any)
            || self.has_gaps && self.seat.ranks > 1
    }
}

fn writes(mix: &Mix) -> bool {
    mix.entries().any(|entry| entry.op.writes())
}

fn adds_or_removes(mix: &Mix) -> bool {
    mix.entries().any(|entry| matches!(entry.op, Op::Insert | Op::Delete))
}

/// Returns the keys that are missing once the database is loaded; none: all exist, and stay.
pub(super) fn missing_keys(job: &Job, supply: &KeySupply) -> Option<MissingKeys> {
    let replayed = replays(&job.phases).chain(replays(&job.phases_before)).next().is_some();
    if job.data.graph.is_some() || replayed || !has_gaps(job) {
        return None;
    }
    let numbers = job.shape.records_max.max(job.data.records);
    let drawn_load = find_load(job).filter(|(_, load)| load.order == LoadOrder::Drawn);
    let Some((phase, load)) = drawn_load else { return Some(MissingKeys::none(numbers)) };
    let records = job.data.records;
    // The draws of the load, repeated.
    let written = (0..load.threads).flat_map(|thread| {
        let share = (thread, load.threads);
        let rng = Rng::for_thread(job.data.seed, job.trial, phase, 0, share);
        LoadRange::new(load.order, load.batch, records, share, supply, rng).numbers()
    });
    Some(MissingKeys::all_but(numbers, records, written))
}

/// Whether keys below the newest are missing, or will be.
fn has_gaps(job: &Job) -> bool {
    let mut entries = job.phases.iter().filter_map(Phase::mix).flat_map(Mix::entries);
    leaves_keys_out(job) || entries.any(|entry| entry.op == Op::Delete)
}

fn leaves_keys_out(job: &Job) -> bool {
    let leaves_out = |order| matches!(order, LoadOrder::Drawn | LoadOrder::FirstRead);
    find_load(job).is_some_and(|(_, load)| leaves_out(load.order))
}

/// Finds the load of the database, with its index among the phases of its case.
fn find_load(job: &Job) -> Option<(u32, &Load)> {
    let mut numbered = (0..).zip(&job.phases_before).chain((0..).zip(&job.phases));
    numbered.find_map(|(number, phase)| match &phase.work {
        Activity::Load(load) => Some((number, load)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::supply;
    use kvdyno_engine::{DataShape, Durability, Location, Options};
    use kvdyno_record::PROTOCOL;
    use kvdyno_record::workload::{
        Choice, Data, Ends, Key, KeyFormat, MixEntry, Role, Size, ValueShape,
    };
    use std::collections::BTreeMap;

    const RECORDS: u64 = 100_000;

    fn load(order: LoadOrder) -> Phase {
        Phase::new("load", Activity::Load(Load { order, batch: 1, threads: 2, replay: None }))
    }

    fn measure(op: Op) -> Phase {
        let entry = MixEntry::new(op, 1.0, Choice::Uniform);
        let ends = Ends::after_operations(1);
        let roles = vec![Role::new("clients", 1, vec![entry])];
        Phase::new("measure", Activity::Measure(Mix { roles, ends }))
    }

    fn job(phases_before: Vec<Phase>, phases: Vec<Phase>) -> Job {
        let value = ValueShape { size: Size::Fixed { bytes: 20 }, compress_to: 1.0 };
        Job {
            protocol: PROTOCOL,
            case: "0001".to_owned(),
            location: Location::Directory("/nowhere".into()),
            options: Options { durability: Durability::Async, values: BTreeMap::new() },
            shape: DataShape::uniform(RECORDS, 16, 20),
            data: Data {
                records: RECORDS,
                key: Key::ordered(16, KeyFormat::Hex),
                value,
                seed: 1,
                verify: false,
                graph: None,
                from: None,
                packed: None,
            },
            phases,
            phases_before,
            slice_ns: 1_000_000_000,
            errors_max: 0,
            dir: "/nowhere".into(),
            trial: 1,
            crew: None,
            recordings: Vec::new(),
        }
    }

    /// The records after each phase of a job, if no operation is performed.
    fn live_after_each(job: &Job, seat: RankId) -> Vec<Option<u64>> {
        let missing = missing_keys(job, &supply());
        let population = Population::new(RECORDS, seat).with_missing(missing);
        let mut live = LiveRecords::new(job, seat);
        job.phases.iter().map(|phase| live.count_after_phase(phase, &population)).collect()
    }

    /// Regression test for fault 10, with `fillrandom` as `db_bench` runs it: in the case that
    /// loads, and in a case that reads the database of another.
    #[test]
    fn a_random_fill_has_0632_of_its_records() {
        let own = job(Vec::new(), vec![load(LoadOrder::Drawn), measure(Op::Get)]);
        let live = live_after_each(&own, RankId::ALONE);
        let share = live[0].unwrap() as f64 / RECORDS as f64;
        assert!((share - 0.632).abs() < 0.005, "{share}");
        assert_eq!(live[1], live[0]);
        let taken_over = job(vec![load(LoadOrder::Drawn)], vec![measure(Op::Update)]);
        assert_eq!(live_after_each(&taken_over, RankId::ALONE), [live[0]]);
        let full = job(Vec::new(), vec![load(LoadOrder::Random), measure(Op::Update)]);
        assert!(missing_keys(&full, &supply()).is_none(), "nothing to look at");
        assert_eq!(live_after_each(&full, RankId::ALONE), [Some(RECORDS); 2]);
    }

    #[test]
    fn what_others_wrote_is_not_known_where_keys_are_missing() {
        let before = vec![load(LoadOrder::Drawn), measure(Op::Update)];
        let shared = job(before, vec![measure(Op::Get)]);
        assert_eq!(live_after_each(&shared, RankId::ALONE), [None]);
        let before = vec![load(LoadOrder::Random), measure(Op::Delete)];
        let shared = job(before, vec![measure(Op::Get)]);
        assert_eq!(live_after_each(&shared, RankId::ALONE), [None]);
        let before = vec![load(LoadOrder::Random), measure(Op::Update)];
        let shared = job(before, vec![measure(Op::Get)]);
        assert_eq!(live_after_each(&shared, RankId::ALONE), [Some(RECORDS)]);
    }

    #[test]
    fn ranks_of_a_crew_add_up_until_they_delete() {
        let deletes =
            job(Vec::new(), vec![load(LoadOrder::Random), measure(Op::Delete), measure(Op::Get)]);
        let rank = |rank| live_after_each(&deletes, RankId { rank, ranks: 2 });
        assert_eq!(rank(0), [Some(RECORDS), None, None]);
        assert_eq!(rank(1), [Some(0), None, None]);
    }
}
