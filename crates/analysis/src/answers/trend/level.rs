//! The newest run compared with the last stable level.

use super::RunSeries;
use crate::answers::series::present;
use crate::figures::metric::Direction;
use crate::judge::rule::{self, LEAST, Margins, Mean};
use crate::judge::versus::gate::{GateLists, NotJudged, subtract_allowed};
use kvdyno_record::units::percent;

/// A level is stable from this many runs on.
pub(super) const STABLE: usize = LEAST;

/// By how much the newest value is worse than the last stable level, as a logarithm; or why that
/// cannot be judged.
fn compare_newest(series: &RunSeries) -> Result<Mean, String> {
    let values: Vec<(usize, f64)> = present(&series.values).collect();
    let Some((&(newest, value), before)) = values.split_last() else {
        return Err("no run has a value".to_owned());
    };
    if newest + 1 < series.values.len() {
        return Err("the newest run has no value".to_owned());
    }
    let Some(level) = last_stable_level(series, before) else {
        let before = before.len();
        return Err(format!(
            "expected {STABLE} earlier runs at one level, found too few among {before}"
        ));
    };
    if value == 0.0 && level.iter().all(|value| *value == 0.0) {
        return Ok(Mean { value: 0.0, error: 0.0, freedom: level.len() });
    }
    let judgement = rule::judge_runs(&level, &[value], Margins::default());
    let Some(mean) = judgement.and_then(|judgement| judgement.mean) else {
        return Err("a value of 0 or less has no ratio".to_owned());
    };
    let sign = if series.judgement.direction == Direction::Higher { -1.0 } else { 1.0 };
    Ok(Mean { value: sign * mean.value, ..mean })
}

/// Compares the newest run with the last stable level, of which it may lose the share `allowed`.
pub(super) fn judge_newest(figures: &[RunSeries], allowed: f64) -> GateLists {
    let mut lists = GateLists::default();
    let (mut judged, mut beyond) = (Vec::new(), Vec::new());
    for series in figures.iter().filter(|series| series.judgement.primary) {
        match compare_newest(series) {
            Ok(mean) => {
                let figure = (series.figure, series.judgement.direction);
                beyond.push(subtract_allowed(mean, allowed, figure));
                judged.push((series, mean));
            }
            Err(why) => lists.not_judged.push(NotJudged {
                case: series.case.clone(),
                figure: Some(format!("{}: {}", series.owner(), series.figure)),
                reason: why,
            }),
        }
    }
    let judged = judged.into_iter().zip(&beyond).zip(rule::means_above(&beyond, 0.0));
    for (((series, mean), beyond), worse) in judged {
        // The share of the level that is lost, or that came on top.
        let share = |log: f64| match series.judgement.direction {
            Direction::Higher => percent(-(-log).exp_m1()),
            Direction::Lower | Direction::Neither => percent(log.exp_m1()),
        };
        let (_, most) = mean.interval();
        if worse {
            lists.regressed.push(format!("{} by {}", series.name(), share(mean.value)));
        } else if beyond.interval().1 > 0.0 {
            lists.may_hide.push(format!("{} (up to {})", series.name(), share(most)));
        }
    }
    lists
}

/// The values of the last level with enough runs, without the newest run's.
fn last_stable_level(series: &RunSeries, before: &[(usize, f64)]) -> Option<Vec<f64>> {
    let mut end = before.len();
    for from in series.judgement.changes.iter().rev().map(|change| change.run_index).chain([0]) {
        let start = before.partition_point(|(index, _)| *index < from).min(end);
        if end - start >= STABLE {
            return Some(before[start..end].iter().map(|(_, value)| *value).collect());
        }
        end = start;
    }
    None
}
