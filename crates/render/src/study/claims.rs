//! The table of a suite's claims: the verdict on each, and why it is undecided.

use crate::format::ratio;
use crate::table::{Side, Table, Titled};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::judge::claim::Claimed;
use kvdyno_record::units;

const AID: &str = "\
A claim is judged by each trial's own figures, at every measured value of what it omits. value: the
figure; of several points the lowest and the highest. interval: 99 %, from four trials on; the claim
holds if it lies within the bounds, does not hold if outside, and is undecided across a bound.
A claim that one is larger than the other does not hold where both are equal within --within.
Claims do not change the exit code.";

pub(crate) fn table(summary: &Summary) -> Option<Titled> {
    if summary.claims.is_empty() {
        return None;
    }
    let columns = [
        ("verdict", Side::Left),
        ("value", Side::Right),
        ("interval", Side::Right),
        ("n", Side::Right),
        ("claim", Side::Left),
    ];
    let mut table = Table::new(columns);
    table.lead = Some(1);
    for claim in &summary.claims {
        let mark = claim.reason.as_ref().map(|why| format!(" {}", table.footnotes.mark(why)));
        let verdict = format!("{}{}", claim.verdict.as_str(), mark.unwrap_or_default());
        let trials = claim.points.iter().map(|point| point.trials).min();
        let trials = trials.map_or_else(|| "-".to_owned(), |n| n.to_string());
        let claimed = format!("{} ({})", claim.text, claim.holds);
        table.row(&[verdict, value(claim), interval(claim), trials, claimed]);
    }
    let title = "What the suite claims".into();
    Some(Titled { name: "claims", title, table, aid: AID.to_owned() })
}

/// Returns how a claim's values are shown with their unit.
fn value_format(claim: &Claimed) -> fn(f64) -> String {
    match claim.unit() {
        Some("ns") => |ns| units::duration(ns as u64),
        Some("1/s") => units::rate,
        Some("B") => |bytes| units::bytes(bytes as u64),
        Some("%") => |percent| format!("{} %", ratio(percent)),
        _ => ratio,
    }
}

fn value(claim: &Claimed) -> String {
    let text = value_format(claim);
    match claim.values() {
        None => "-".to_owned(),
        Some((least, _)) if claim.points.len() == 1 => text(least),
        Some((least, most)) => format!("{} to {}", text(least), text(most)),
    }
}

fn interval(claim: &Claimed) -> String {
    let text = value_format(claim);
    match &claim.points[..] {
        [point] => match point.low.zip(point.high) {
            Some((low, high)) => format!("{} to {}", text(low), text(high)),
            None => "-".to_owned(),
        },
        points => match points.iter().filter(|point| point.value.is_some()).count() {
            0 => "-".to_owned(),
            n => format!("{n} points"),
        },
    }
}
