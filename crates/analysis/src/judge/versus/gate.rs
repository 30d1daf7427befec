//! The gate: whether any primary figure got worse by more than allowed.

use super::judge::{Row, Verdict, least_difference};
use super::pairing::{Pair, Unpaired};
use crate::figures::metric::Direction;
use crate::judge::rule::{self, Mean};
use kvdyno_record::units::percent;
use schemars::JsonSchema;
use serde::Serialize;

/// The result of the gate.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    /// The share by which a figure may get worse.
    pub allowed: f64,
    /// The result.
    pub result: GateResult,
    /// Figures that certainly got worse by more than that.
    pub regressed: Vec<String>,
    /// Figures and cases that cannot be judged, and why.
    pub not_judged: Vec<NotJudged>,
    /// Figures that may have got worse by more than that: more repeats would show it.
    pub may_hide: Vec<String>,
}

/// A figure or case that the gate could not judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotJudged {
    /// The case.
    pub case: String,
    /// The figure's scope and name; null: the whole case.
    pub figure: Option<String>,
    /// Why it could not be judged.
    pub reason: String,
}

/// The findings of a gate.
#[derive(Debug, Default)]
pub(crate) struct GateLists {
    /// Figures that certainly got worse by more than allowed.
    pub(crate) regressed: Vec<String>,
    /// Figures that may have got worse by more than allowed.
    pub(crate) may_hide: Vec<String>,
    /// Figures and cases that cannot be judged.
    pub(crate) not_judged: Vec<NotJudged>,
}

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// Every figure was judged, and none got worse by more than allowed.
    Passed,
    /// No figure certainly got worse by more than allowed, but some may have: their intervals are
    /// too wide.
    Undecided,
    /// At least one figure got worse by more than allowed.
    Failed,
    /// No figure certainly got worse by more than allowed, but not all could be judged.
    CannotJudge,
}

impl Gate {
    /// Judges the primary figures of all pairs of cases, which share the rule's chance of a false
    /// alarm.
    pub(super) fn judge(allowed: f64, pairs: &[Pair], unpaired: &[Unpaired]) -> Self {
        let all = pairs.iter().flat_map(|pair| pair.rows.iter().map(move |row| (pair, row)));
        let rows = all.filter(|(_, row)| row.primary);
        let rows: Vec<(&Pair, &Row)> =
            rows.filter(|(_, row)| row.direction != Direction::Neither).collect();
        let mut lists = GateLists::default();
        let (judged, beyond): (Vec<(&Pair, &Row)>, Vec<Mean>) = rows
            .iter()
            .filter_map(|(pair, row)| Some(((*pair, *row), worsening_beyond(row, allowed)?)))
            .unzip();
        for ((pair, row), worse) in judged.iter().zip(rule::means_above(&beyond, 0.0)) {
            let name = || format!("{}, {}", pair.name, figure(row));
            let by = row.ratio.map_or(0.0, |ratio| row.worsening_at(ratio));
            if worse {
                lists.regressed.push(format!("{} by {}", name(), percent(by)));
                continue;
            }
            let most = row
                .largest_worsening()
                .filter(|most| *most > allowed.max(least_difference(row.figure)));
            lists.may_hide.extend(most.map(|most| format!("{} (up to {})", name(), percent(most))));
        }
        // A figure that the base lacks cannot have got worse.
        let unjudged = rows.iter().filter(|(_, row)| match row.verdict {
            Verdict::NotComparable => row.base.value.is_some(),
            verdict => verdict == Verdict::TooFew,
        });
        lists.not_judged.extend(unjudged.map(|(pair, row)| NotJudged {
            case: pair.name.clone(),
            figure: Some(figure(row)),
            reason: row.reason.clone().unwrap_or_default(),
        }));
        let lost = unpaired.iter().filter(|case| case.in_base);
        lists.not_judged.extend(lost.map(|case| NotJudged {
            case: case.name.clone(),
            figure: None,
            reason: case.reason.clone(),
        }));
        if lists.not_judged.is_empty() && !rows.iter().any(|(_, row)| is_judged(row)) {
            lists.not_judged.push(NotJudged {
                case: "all cases".to_owned(),
                figure: None,
                reason: "no case has a figure to judge".to_owned(),
            });
        }
        Self::from_lists(allowed, lists)
    }

    /// A gate from its lists.
    pub(crate) fn from_lists(allowed: f64, lists: GateLists) -> Self {
        let GateLists { regressed, may_hide, not_judged } = lists;
        let result = match (&*regressed, &*not_judged, &*may_hide) {
            ([_, ..], _, _) => GateResult::Failed,
            ([], [_, ..], _) => GateResult::CannotJudge,
            ([], [], [_, ..]) => GateResult::Undecided,
            ([], [], []) => GateResult::Passed,
        };
        Self { allowed, result, regressed, not_judged, may_hide }
    }
}

fn figure(row: &Row) -> String {
    format!("{}: {}", row.scope, row.figure)
}

/// The worsening of a figure beyond the allowed share; none: it has no interval.
fn worsening_beyond(row: &Row, allowed: f64) -> Option<Mean> {
    Some(subtract_allowed(row.mean_worsening()?, allowed, (row.figure, row.direction)))
}

/// Subtracts the allowed share from a mean worsening; both as logarithms.
pub(crate) fn subtract_allowed(
    worse: Mean,
    allowed: f64,
    (figure, direction): (&str, Direction),
) -> Mean {
    // A smaller difference may be a bias of the builds.
    let allowed = allowed.max(least_difference(figure));
    let bound = match direction {
        Direction::Higher => -(1.0 - allowed).max(0.0).ln(),
        Direction::Lower | Direction::Neither => allowed.ln_1p(),
    };
    Mean { value: worse.value - bound, ..worse }
}

fn is_judged(row: &Row) -> bool {
    !matches!(row.verdict, Verdict::TooFew | Verdict::NotComparable)
}

#[cfg(test)]
mod tests {
    use super::super::judge::{FigurePair, Repeats, Spot};
    use super::*;
    use crate::figures::catalogue as c;
    use crate::figures::metric::{Definition, Metric};
    use crate::judge::rule::Margins;
    use kvdyno_record::engine::Durability;

    fn gate(allowed: f64, figure: &Definition, sides: [&[f64]; 2]) -> Gate {
        let metric = |values: &[f64]| Metric::new(figure, values.iter().copied().map(Ok).collect());
        gate_of_metrics(allowed, sides.map(metric))
    }

    fn gate_of_metrics(allowed: f64, [base, new]: [Metric; 2]) -> Gate {
        let side = |metric| Repeats::trials(Some(metric), &[1, 2, 3, 4, 5, 6]);
        let spot = Spot { phase: "measure", role: None, op: None };
        let row = |primary| {
            let (base, new, margins) = (side(&base), side(&new), Margins::default());
            FigurePair { spot, base, new, paired: true, primary, margins }.row()
        };
        let pair = Pair {
            name: "lmdb t1".to_owned(),
            base_label: "lmdb".to_owned(),
            new_label: "lmdb".to_owned(),
            base_key: String::new(),
            new_key: String::new(),
            durability: Durability::Commit,
            other_durability: None,
            threads: Some(1),
            ram_limit_bytes: None,
            // A figure that only describes does not fail the gate.
            rows: [row(true), row(false)].into_iter().flatten().collect(),
        };
        Gate::judge(allowed, &[pair], &[])
    }

    /// A rise from zero has no ratio, and does not pass either.
    #[test]
    fn a_figure_that_rises_from_zero_is_not_judged() {
        let rises = gate(0.05, &c::ERRORS, [&[0.0; 6], &[4096.0; 6]]);
        assert_eq!((rises.result, rises.not_judged.len()), (GateResult::CannotJudge, 1));
        assert!(rises.not_judged[0].figure.is_some(), "{rises:?}");
        let stays = gate(0.05, &c::ERRORS, [&[0.0; 6], &[0.0; 6]]);
        assert_eq!(stays.result, GateResult::Passed);
    }

    #[test]
    fn a_base_with_a_short_trial_does_not_let_it_pass() {
        let metric = |last| {
            let readings = [Ok(9.0), Ok(9.1), Ok(9.2), Ok(9.0), Ok(9.1), last];
            let is_short = readings[5].is_err();
            Metric::from_histograms(&c::RESPONSE_P99, Ok(90.0), readings.into(), is_short)
        };
        let short = || metric(Err("990 samples".into()));
        for sides in [[short(), metric(Ok(9.1))], [metric(Ok(9.1)), short()], [short(), short()]] {
            let gate = gate_of_metrics(0.05, sides);
            assert_eq!((gate.result, gate.not_judged.len()), (GateResult::CannotJudge, 1));
            assert!(gate.not_judged[0].reason.ends_with("enough samples: 990 samples"));
        }
    }

    #[test]
    fn it_fails_by_what_is_certainly_worse_by_more_than_allowed() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let worse = [108.4, 108.0, 107.5, 107.9, 108.3, 107.8];
        let gate_of = |allowed| gate(allowed, &c::SERVICE_P99, [&base, &worse]);
        let failed = gate_of(0.05);
        assert_eq!((failed.result, failed.regressed.len()), (GateResult::Failed, 1), "{failed:?}");
        // Worse by 8 %, and how much more than 7.5 % is not certain.
        let near = gate_of(0.075);
        assert_eq!((near.result, near.may_hide.len()), (GateResult::Undecided, 1), "{near:?}");
        let passed = gate_of(0.2);
        assert_eq!((passed.result, passed.may_hide.len()), (GateResult::Passed, 0));
        let better = gate(0.05, &c::SERVICE_P99, [&worse, &base]);
        assert_eq!((better.result, better.may_hide.len()), (GateResult::Passed, 0));
    }
}
