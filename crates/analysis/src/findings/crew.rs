//! Whether the ranks of a crew were alike: as fast as each other, on schedule, begun together.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use crate::evidence::Evidence;
use crate::ranks::{Pace, paces, undone, upper_median};
use kvdyno_record::case::BEHIND;
use kvdyno_record::crew::RankResult;
use kvdyno_record::units::{duration, grouped, percent};

/// A rank below this share of the median one's pace stands apart, and one above as far; as of a
/// rate that changes while it is measured. Ranks that are alike differ by far less: four on one
/// processor beside their server by 1 % (docs/crew.md).
const APART: f64 = 0.75;

/// Fewer operations than this say nothing of a rank's pace: where they come at random a quarter
/// less of 400 is five standard deviations, and a thousand ranks have none such by chance.
const OPERATIONS_MIN: f64 = 400.0;

/// Ranks that began further apart than this part of a slice are together in it for less than nine
/// tenths of the time that it stands for.
const SKEW_MAX: f64 = 0.1;

pub(super) fn uneven(evidence: &Evidence) -> Option<Finding> {
    Finding::of_phases(Id::ClientsUneven, evidence, |at| {
        let open = at.mix.roles.iter().any(|role| role.rate.is_some());
        let closed = at.mix.roles.iter().any(|role| role.rate.is_none());
        let pace = closed.then(|| pace(at)).flatten();
        let behind = open.then(|| behind(at)).flatten();
        let all = [pace, behind, began_apart(at)];
        let words: Vec<String> = all.into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("{}: {}", at.phase.name, words.join("; ")))
    })
}

/// The rank that is furthest from the median one's pace.
fn pace(at: &Measured<'_>) -> Option<String> {
    let paces = paces(at.phase);
    let seconds = at.phase.wall_ns as f64 / 1e9;
    let distance = |pace: &Pace| {
        let share = pace.share().filter(|_| pace.expected_per_s * seconds >= OPERATIONS_MIN)?;
        Some(share.min(1.0 / share))
    };
    let apart: Vec<(usize, f64)> = paces
        .iter()
        .enumerate()
        .filter_map(|(rank, pace)| Some((rank, distance(pace)?)))
        .filter(|(_, distance)| *distance < APART)
        .collect();
    let (worst, _) = apart.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let (row, pace) = (at.phase.ranks.get(*worst)?, paces[*worst]);
    let cpus = |row: &RankResult| row.cpu_ns as f64 / row.window_ns.max(1) as f64;
    let mut all: Vec<f64> = at.phase.ranks.iter().map(cpus).collect();
    all.sort_by(f64::total_cmp);
    Some(format!(
        "{} made {} operations/s, {} of what its threads would have at the median rank's pace; \
         its worker had {:.2} CPUs, the median one {:.2}{}",
        who(row, at),
        grouped(pace.per_s.round() as u64),
        percent(pace.share()?),
        cpus(row),
        upper_median(&all)?,
        others(apart.len())
    ))
}

/// The rank that is furthest behind its schedule, where half of them kept it. (A crew that is
/// behind as a whole is another finding.)
fn behind(at: &Measured<'_>) -> Option<String> {
    let undone = undone(at.phase);
    let mut sorted = undone.clone();
    sorted.sort_by(f64::total_cmp);
    let median = upper_median(&sorted).filter(|median| *median <= BEHIND)?;
    // The last moment explains one operation a thread.
    let is_late = |row: &RankResult| row.backlog > u64::from(row.threads);
    let ranks = at.phase.ranks.iter().zip(undone);
    let late: Vec<_> = ranks.filter(|(row, share)| *share > BEHIND && is_late(row)).collect();
    let (row, share) = late.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "{} left {} of its operations undone, the median rank {}{}",
        who(row, at),
        percent(*share),
        percent(median),
        others(late.len())
    ))
}

/// The ranks that began first and last, as far as their clocks are sure of it.
fn began_apart(at: &Measured<'_>) -> Option<String> {
    let ranks = &at.phase.ranks;
    let sure = |row: &RankResult| row.clock_error_ns as i64;
    let first = ranks.iter().min_by_key(|row| row.skew_ns + sure(row))?;
    let last = ranks.iter().max_by_key(|row| row.skew_ns - sure(row))?;
    let apart = (last.skew_ns - sure(last)) - (first.skew_ns + sure(first));
    let slice_ns = at.case.case.slice_ns;
    (apart as f64 > SKEW_MAX * slice_ns as f64).then(|| {
        format!(
            "{} began {} after {}, a slice is {}",
            who(last, at),
            duration(apart.unsigned_abs()),
            who(first, at),
            duration(slice_ns)
        )
    })
}

fn who(row: &RankResult, at: &Measured<'_>) -> String {
    format!("rank {} of {} ({})", row.rank, at.phase.ranks.len(), row.host)
}

fn others(apart: usize) -> String {
    if apart < 2 { String::new() } else { format!("; {apart} ranks stand as far apart or further") }
}
