//! Whether the ranks of a crew were alike: equally fast, on schedule, and started together.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use crate::figures::evidence::Evidence;
use crate::figures::ranks::{Pace, paces, undone, upper_median};
use kvdyno_record::case::BEHIND;
use kvdyno_record::crew::RankResult;
use kvdyno_record::units::{duration, group_digits, percent};

/// A rank whose pace differs from the median rank's by more than this factor is an outlier. Similar
/// ranks differ by far less: four on one processor next to their server by 1 % (docs/crew.md).
const APART: f64 = 0.75;

/// With fewer operations a rank's pace is not judged: at random arrivals, a quarter less of 400 is
/// five standard deviations, which none of a thousand ranks reaches by chance.
const OPERATIONS_MIN: f64 = 400.0;

/// Ranks that started further apart than this part of a slice share less than nine tenths of it.
const SKEW_MAX: f64 = 0.1;

pub(super) fn uneven_clients(evidence: &Evidence) -> Option<Finding> {
    Finding::from_phases(Id::ClientsUneven, evidence, |measured| {
        let open = measured.mix.roles.iter().any(|role| role.rate.is_some());
        let closed = measured.mix.roles.iter().any(|role| role.rate.is_none());
        let pace = closed.then(|| uneven_pace(measured)).flatten();
        let behind = open.then(|| late_rank(measured)).flatten();
        let all = [pace, behind, uneven_start(measured)];
        let words: Vec<String> = all.into_iter().flatten().collect();
        (!words.is_empty()).then(|| format!("{}: {}", measured.phase.name, words.join("; ")))
    })
}

/// The rank whose pace is furthest from the median rank's.
fn uneven_pace(measured: &Measured<'_>) -> Option<String> {
    let paces = paces(measured.phase);
    let seconds = measured.phase.wall_ns as f64 / 1e9;
    let distance = |pace: &Pace| {
        let share =
            pace.ratio_to_median().filter(|_| pace.expected_per_s * seconds >= OPERATIONS_MIN)?;
        Some(share.min(1.0 / share))
    };
    let outliers: Vec<(usize, f64)> = paces
        .iter()
        .enumerate()
        .filter_map(|(rank, pace)| Some((rank, distance(pace)?)))
        .filter(|(_, distance)| *distance < APART)
        .collect();
    let (worst, _) = outliers.iter().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let (row, pace) = (measured.phase.ranks.get(*worst)?, paces[*worst]);
    let cpus = |row: &RankResult| row.cpu_ns as f64 / row.window_ns.max(1) as f64;
    let mut all: Vec<f64> = measured.phase.ranks.iter().map(cpus).collect();
    all.sort_by(f64::total_cmp);
    Some(format!(
        "{} made {} operations/s, {} of what its threads would have at the median rank's pace; \
         its worker had {:.2} CPUs, the median one's {:.2}{}",
        rank_name(row, measured),
        group_digits(pace.per_s.round() as u64),
        percent(pace.ratio_to_median()?),
        cpus(row),
        upper_median(&all)?,
        format_outliers(outliers.len())
    ))
}

/// The rank that is furthest behind its schedule, where half of the ranks kept it. (A crew that is
/// behind as a whole is another finding.)
fn late_rank(measured: &Measured<'_>) -> Option<String> {
    let undone = undone(measured.phase);
    let mut sorted = undone.clone();
    sorted.sort_by(f64::total_cmp);
    let median = upper_median(&sorted).filter(|median| *median <= BEHIND)?;
    // At the end of the phase one operation per thread may be due.
    let is_late = |row: &RankResult| row.backlog > u64::from(row.threads);
    let ranks = measured.phase.ranks.iter().zip(undone);
    let late: Vec<_> = ranks.filter(|(row, share)| *share > BEHIND && is_late(row)).collect();
    let (row, share) = late.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(format!(
        "{} left {} of its operations undone, the median rank {}{}",
        rank_name(row, measured),
        percent(*share),
        percent(median),
        format_outliers(late.len())
    ))
}

/// The ranks that started first and last, within the error of their clocks.
fn uneven_start(measured: &Measured<'_>) -> Option<String> {
    let ranks = &measured.phase.ranks;
    let clock_error = |row: &RankResult| row.clock_error_ns as i64;
    let first = ranks.iter().min_by_key(|row| row.skew_ns + clock_error(row))?;
    let last = ranks.iter().max_by_key(|row| row.skew_ns - clock_error(row))?;
    let apart = (last.skew_ns - clock_error(last)) - (first.skew_ns + clock_error(first));
    let slice_ns = measured.case.case.slice_ns;
    (apart as f64 > SKEW_MAX * slice_ns as f64).then(|| {
        format!(
            "{} began {} after {}, a slice is {}",
            rank_name(last, measured),
            duration(apart.unsigned_abs()),
            rank_name(first, measured),
            duration(slice_ns)
        )
    })
}

fn rank_name(row: &RankResult, measured: &Measured<'_>) -> String {
    format!("rank {} of {} ({})", row.rank, measured.phase.ranks.len(), row.host)
}

fn format_outliers(outliers: usize) -> String {
    if outliers < 2 { String::new() } else { format!("; {outliers} ranks are that far apart") }
}
