//! The newest run compared with the last stable level.

use super::{Course, finite_values};
use crate::figures::metric::Direction;
use crate::judge::versus::gate::NotJudged;
use crate::stats::{median, next_within};
use kvdyno_record::units::percent;

/// A level is stable from this many runs on.
pub(super) const STABLE: usize = 4;
/// The confidence that the next run of a level lies within the variation of its runs.
const SURE: f64 = 0.999;

/// The newest value of a figure compared with the last stable level.
pub(super) enum Judged {
    /// It is worse by this share, more than the level's own runs vary.
    Worse(f64),
    /// It is within their variation, or better; at worst it may be worse by this share.
    Within(f64),
    /// Why it cannot be judged.
    Not(String),
}

impl Judged {
    pub(super) fn judge(course: &Course) -> Self {
        let values: Vec<(usize, f64)> = finite_values(&course.values).collect();
        let Some((&(newest, value), before)) = values.split_last() else {
            return Self::Not("no run has a value".to_owned());
        };
        if newest + 1 < course.values.len() {
            return Self::Not("the newest run has no value".to_owned());
        }
        let Some(level) = stable(course, before) else {
            let before = before.len();
            return Self::Not(format!(
                "expected {STABLE} earlier runs at one level, found too few among {before}"
            ));
        };
        let Some((middle, (low, high))) = median(&level).zip(next_within(&level, SURE)) else {
            return Self::Not("the level before it has no median".to_owned());
        };
        if middle <= 0.0 {
            return if value <= 0.0 {
                Self::Within(0.0)
            } else {
                Self::Not("the level before it is zero, so there is no ratio".to_owned())
            };
        }
        let (worse, may_be, beyond) = match course.direction {
            Direction::Higher => (middle / value - 1.0, middle / low.max(0.0) - 1.0, value < low),
            Direction::Lower | Direction::Neither => {
                (value / middle - 1.0, high / middle - 1.0, value > high)
            }
        };
        if beyond { Self::Worse(worse) } else { Self::Within(may_be) }
    }

    /// Adds the figure to the gate's list that it belongs to.
    pub(super) fn file(
        &self,
        course: &Course,
        allowed: f64,
        [regressed, may_hide]: [&mut Vec<String>; 2],
        not_judged: &mut Vec<NotJudged>,
    ) {
        match self {
            Self::Worse(by) if *by > allowed => {
                regressed.push(format!("{} by {}", course.name(), percent(*by)));
            }
            Self::Within(most) if *most > allowed => {
                may_hide.push(format!("{} (up to {})", course.name(), percent(*most)));
            }
            Self::Worse(_) | Self::Within(_) => {}
            Self::Not(why) => not_judged.push(NotJudged {
                case: course.case.clone(),
                figure: Some(format!("{}: {}", course.place(), course.figure)),
                reason: why.clone(),
            }),
        }
    }
}

/// The values of the last level with enough runs, without the newest run's.
fn stable(course: &Course, before: &[(usize, f64)]) -> Option<Vec<f64>> {
    let mut end = before.len();
    for from in course.changes.iter().rev().map(|change| change.run_index).chain([0]) {
        let start = before.partition_point(|(index, _)| *index < from).min(end);
        if end - start >= STABLE {
            return Some(before[start..end].iter().map(|(_, value)| *value).collect());
        }
        end = start;
    }
    None
}
