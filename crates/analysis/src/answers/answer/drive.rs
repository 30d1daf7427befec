//! How far engines are from the drive, in words.

use crate::figures::catalogue as c;
use crate::figures::efficiency::{CeilingCase, Efficiency};
use crate::figures::group::RunRow;
use crate::figures::lists::group_equal;
use crate::judge::rule::LEAST;
use kvdyno_record::units;

/// ` Of the raw-device ceiling (4 threads at queue depth 1, psync: 21.3 k I/Os of 4 KiB per
/// second), LMDB reaches 78 % (75 to 81 %), limited by the drive.` Empty where no engine has a
/// share.
pub(super) fn sentence(engines: Vec<(&str, &RunRow)>) -> String {
    let shares = engines.into_iter().filter_map(|(name, run)| {
        let standing = run.efficiency.as_ref()?;
        let ceiling = standing.ceiling.as_ref()?;
        let reached = format_reached_share(name, run, standing, ceiling)?;
        Some((format_ceiling(ceiling, standing.reads_alone), reached))
    });
    let by_ceiling = group_equal(shares, |(a, _), (b, _)| a == b);
    let sentences = by_ceiling.into_iter().map(|shares| {
        let (ceilings, engines): (Vec<_>, Vec<_>) = shares.into_iter().unzip();
        format!(" Of {}, {}.", ceilings[0], engines.join("; "))
    });
    sentences.collect()
}

fn format_ceiling(ceiling: &CeilingCase, reads_alone: bool) -> String {
    let CeilingCase { in_flight, method, ios_per_s, block_bytes, .. } = ceiling;
    let kind = if reads_alone { "reads" } else { "I/Os" };
    let who = match (ceiling.blocking, in_flight) {
        (true, 1) => "1 thread at queue depth 1".to_owned(),
        (true, n) => format!("{n} threads at queue depth 1"),
        (false, n) => format!("{n} in flight"),
    };
    let per_s = units::si(*ios_per_s);
    let block = units::bytes(*block_bytes);
    format!("the raw-device ceiling ({who}, {method}: {per_s} {kind} of {block} per second)")
}

fn format_reached_share(
    name: &str,
    run: &RunRow,
    standing: &Efficiency,
    ceiling: &CeilingCase,
) -> Option<String> {
    let share = run.metrics.get(&c::CEILING_SHARE)?;
    let value = share.value?;
    let trials = share.n.min(ceiling.n);
    let (low, high) = run.ceiling_share_range()?;
    // A range that spans 100 % gives no answer.
    if low < 100.0 && high >= 100.0 {
        return None;
    }
    let sure = match trials {
        0 | 1 => " (one trial: no spread known)".to_owned(),
        n if n < LEAST => format!(" ({n} trials: too few to be sure)"),
        _ => format!(" ({low:.0} to {high:.0} %)"),
    };
    let limit = standing.limit.map_or_else(String::new, |cause| format!(", {}", cause.clause()));
    let cached = if standing.cached { " (served from memory)" } else { "" };
    Some(format!("{name} reaches {value:.0} %{sure}{limit}{cached}"))
}
