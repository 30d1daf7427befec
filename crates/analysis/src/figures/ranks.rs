//! The figures of each rank of a crew: rates, costs, starts and clocks.

use super::catalogue as c;
use super::evidence::{CaseEvidence, Evidence};
use super::group::Group;
use super::metric::{Definition, Metrics, Reading, Why};
use super::spent::quotient;
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::crew::{RankId, RankResult};
use schemars::JsonSchema;
use serde::Serialize;

/// A rank of a crew in a load or a measured phase, over the trials of a group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankRow {
    /// Index of the summary's group.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// The rank's number, from 0.
    pub rank: u32,
    /// The number of ranks.
    pub ranks: u32,
    /// The machine it ran on, in the first trial.
    pub host: String,
    /// Processors that it could use there.
    pub cpus: u32,
    /// Its threads, of all roles.
    pub threads: u32,
    /// Its figures.
    pub metrics: Metrics,
}

/// How fast a rank was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pace {
    /// Its operations per second, of all roles; for a load its records.
    pub(super) per_s: f64,
    /// The rate of its threads at the median rank's pace; zero: they had nothing to do.
    pub(super) expected_per_s: f64,
}

impl Pace {
    /// Its rate over that at the median rank's pace.
    pub(crate) fn ratio_to_median(self) -> Option<f64> {
        (self.expected_per_s > 0.0).then_some(self.per_s / self.expected_per_s)
    }
}

/// A rank's threads of one role.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    threads: f64,
    per_s: f64,
}

/// How fast each rank of a phase was.
/// A rank is compared with the others role by role and thread by thread: threads are distributed as
/// evenly as possible, not exactly, and readers are faster than writers. Closed loops decide, since
/// an open loop's rate comes from its schedule; without closed loops the open ones do.
pub(crate) fn paces(phase: &PhaseRecord) -> Vec<Pace> {
    let closed = |role: &&RoleResult| role.offered_per_s.is_none();
    let any_closed = phase.roles.iter().any(|role| closed(&role));
    let roles = phase.roles.iter().filter(|role| !any_closed || closed(role));
    let mut paces = vec![Pace::default(); phase.ranks.len()];
    for role in roles {
        let parts = parts(phase, role);
        let mut each: Vec<f64> = parts
            .iter()
            .filter(|part| part.threads > 0.0)
            .map(|part| part.per_s / part.threads)
            .collect();
        each.sort_by(f64::total_cmp);
        let Some(median) = upper_median(&each) else { continue };
        for (pace, part) in paces.iter_mut().zip(parts) {
            pace.per_s += part.per_s;
            pace.expected_per_s += part.threads * median;
        }
    }
    paces
}

/// The upper median: at least half of the values are as large or smaller. Of two values it is the
/// larger, so that a slow rank does not make the other one look fast.
pub(crate) fn upper_median(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

/// Each rank's threads of a role: by their own windows, where these are recorded. Otherwise the
/// role is the only one (a load, or a number of operations), and the rank's row has its figures.
fn parts(phase: &PhaseRecord, role: &RoleResult) -> Vec<Part> {
    let ranks = phase.ranks.len() as u32;
    let part = |(rank, row): (u32, &RankResult)| {
        let threads_range = RankId { rank, ranks }.threads(role.threads);
        let threads = f64::from(threads_range.end - threads_range.start);
        let windows = role.windows.get(threads_range.start as usize..threads_range.end as usize);
        let per_s = |count: u64, ns: u64| if ns > 0 { count as f64 * 1e9 / ns as f64 } else { 0.0 };
        let per_s = if role.windows.len() == role.threads as usize {
            let windows = windows.unwrap_or_default().iter();
            windows.map(|thread| per_s(thread.operations, thread.window_ns)).sum()
        } else {
            per_s(row.operations, row.window_ns)
        };
        Part { threads, per_s }
    };
    (0..).zip(&phase.ranks).map(part).collect()
}

/// Each rank's backlog as a share of the operations that its open loops had due.
pub(crate) fn undone(phase: &PhaseRecord) -> Vec<f64> {
    let open = phase.roles.iter().filter(|role| role.offered_per_s.is_some());
    let mut done = vec![0; phase.ranks.len()];
    for role in open {
        for (rank, done) in (0..).zip(&mut done) {
            let threads_range =
                RankId { rank, ranks: phase.ranks.len() as u32 }.threads(role.threads);
            let windows =
                role.windows.get(threads_range.start as usize..threads_range.end as usize);
            *done +=
                windows.unwrap_or_default().iter().map(|thread| thread.operations).sum::<u64>();
        }
    }
    let share = |(row, done): (&RankResult, u64)| {
        if row.backlog == 0 { 0.0 } else { row.backlog as f64 / (row.backlog + done) as f64 }
    };
    phase.ranks.iter().zip(done).map(share).collect()
}

/// The ranks of every crew.
pub(crate) fn read(evidence: &Evidence, groups: &[Group]) -> Vec<RankRow> {
    let rows = groups.iter().enumerate().flat_map(|(group, group_of_row)| {
        let cases = evidence.cases.iter().filter(|case| case.case.key == group_of_row.key);
        let cases: Vec<&CaseEvidence> = cases.collect();
        let first = cases.first().map_or(&[][..], |case| &case.case.phases);
        first.iter().flat_map(|phase| phase_rows(group, &phase.name, &cases)).collect::<Vec<_>>()
    });
    rows.collect()
}

fn phase_rows(group: usize, phase: &str, cases: &[&CaseEvidence]) -> Vec<RankRow> {
    let Some(first) = cases.iter().find_map(|case| case.shown_phase(phase)) else {
        return Vec::new();
    };
    let paces: Vec<Option<Vec<Pace>>> =
        cases.iter().map(|case| case.shown_phase(phase).map(paces)).collect();
    let rows = first.ranks.iter().enumerate().map(|(index, row)| RankRow {
        group,
        phase: phase.to_owned(),
        rank: row.rank,
        ranks: first.ranks.len() as u32,
        host: row.host.clone(),
        cpus: row.cpus,
        threads: row.threads,
        metrics: metrics(phase, index, cases, &paces),
    });
    rows.collect()
}

/// A rank's figures, for each trial.
fn metrics(
    phase: &str,
    index: usize,
    cases: &[&CaseEvidence],
    paces: &[Option<Vec<Pace>>],
) -> Metrics {
    let row = |case: &CaseEvidence| -> Result<RankResult, Why> {
        let row = case.phase(phase)?.ranks.get(index).cloned();
        row.ok_or_else(|| "the crew had fewer ranks".into())
    };
    let mut metrics = Metrics::default();
    let mut add = |definition: &Definition, read: &dyn Fn(&RankResult) -> Reading| {
        let readings = cases.iter().map(|case| row(case).and_then(|row| read(&row)));
        metrics.add(definition, readings.collect());
    };
    let many = |count: u64| Ok(count as f64);
    add(&c::OPERATIONS, &|row| many(row.operations));
    add(&c::WINDOW, &|row| many(row.window_ns));
    add(&c::ERRORS, &|row| many(row.errors));
    add(&c::BACKLOG, &|row| many(row.backlog));
    add(&c::RANK_CPU_PER_OP, &|row| {
        quotient(row.cpu_ns as f64, row.operations as f64, "no operation was done")
    });
    add(&c::RANK_CPUS, &|row| {
        quotient(row.cpu_ns as f64, row.window_ns as f64, "the rank has no window")
    });
    add(&c::RANK_SKEW, &|row| Ok(row.skew_ns as f64));
    add(&c::CLOCK_OFFSET, &|row| Ok(row.clock_offset_ns as f64));
    add(&c::CLOCK_ERROR, &|row| many(row.clock_error_ns));
    let pace_readings = |read: fn(Pace) -> Reading| {
        let reading = |(case, paces): (&&CaseEvidence, &Option<Vec<Pace>>)| {
            case.phase(phase)?;
            let pace = paces.as_ref().and_then(|paces| paces.get(index).copied());
            read(pace.ok_or("the crew had fewer ranks")?)
        };
        cases.iter().zip(paces).map(reading).collect()
    };
    metrics.add(&c::RANK_OPS_PER_S, pace_readings(|pace| Ok(pace.per_s)));
    let share = |pace: Pace| {
        Ok(100.0 * pace.ratio_to_median().ok_or("the rank's threads had nothing to do")?)
    };
    metrics.add(&c::RANK_PACE, pace_readings(share));
    metrics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use kvdyno_record::case::ThreadWindow;

    fn measured(change: impl FnOnce(&mut PhaseRecord)) -> PhaseRecord {
        let mut fixture = Fixture::with_crew();
        let phase = fixture.case("lmdb_t2_r1").phase("measure");
        change(phase);
        phase.clone()
    }

    fn percent(phase: &PhaseRecord) -> Vec<u32> {
        let share = |pace: Pace| (100.0 * pace.ratio_to_median().unwrap()).round() as u32;
        paces(phase).into_iter().map(share).collect()
    }

    #[test]
    fn a_rank_is_compared_with_the_others_thread_by_thread() {
        assert_eq!(percent(&measured(|_| {})), [100, 98, 101, 97]);
        let slow = measured(|phase| {
            let threads = phase.roles[0].windows.len();
            phase.roles[0].windows[threads - 1].operations /= 4;
        });
        let rest = percent(&slow);
        assert!(rest[3] < 70 && rest[..3].iter().all(|pace| (97..=103).contains(pace)), "{rest:?}");
        // Two threads where others have one are no faster.
        let uneven = measured(|phase| {
            let role = &mut phase.roles[0];
            let window = ThreadWindow { window_ns: 1_000_000_000, operations: 500 };
            (role.threads, role.windows) = (5, vec![window; 5]);
            phase.roles.truncate(1);
        });
        let per_s: Vec<f64> = paces(&uneven).iter().map(|pace| pace.per_s).collect();
        assert_eq!(per_s, [1000.0, 500.0, 500.0, 500.0]);
        assert_eq!(percent(&uneven), [100; 4]);
    }

    /// An open loop's rate is its schedule's: it would hide the closed loop's.
    #[test]
    fn closed_loops_decide() {
        let both = measured(|phase| {
            phase.roles[1].offered_per_s = Some(40.0);
            let window = ThreadWindow { window_ns: 1_000_000_000, operations: 10 };
            phase.roles[1].windows.fill(window);
            phase.ranks[2].backlog = 10;
            let readers = &mut phase.roles[0].windows;
            (readers[2].operations, readers[3].operations) = (0, 0);
        });
        assert_eq!(percent(&both)[1], 0, "its readers did nothing: {:?}", paces(&both));
        assert_eq!(undone(&both), [0.0, 0.0, 0.5, 0.0]);
    }

    #[test]
    fn of_two_ranks_the_faster_one_is_the_reference() {
        assert_eq!(upper_median(&[40.0, 100.0]), Some(100.0));
        assert_eq!(upper_median(&[1.0, 2.0, 3.0]), Some(2.0));
        assert_eq!(upper_median(&[]), None);
    }
}
