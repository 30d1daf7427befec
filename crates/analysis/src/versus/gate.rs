//! The gate: whether any figure got worse by more than allowed.

use super::super::metric::Direction;
use super::judge::{Row, Verdict};
use super::pairing::{Pair, Unpaired};
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
    /// Figures that passed, but may have got worse by more than that: more trials, or a quieter
    /// machine, would show it.
    pub may_hide: Vec<String>,
}

/// A figure or case that the gate could not judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotJudged {
    /// The case.
    pub case: String,
    /// The figure's scope and name; null: the whole case.
    pub figure: Option<String>,
    /// Why not.
    pub reason: String,
}

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateResult {
    /// Every figure was judged, and none certainly got worse by more than allowed.
    Passed,
    /// At least one is.
    Failed,
    /// None is, but not all could be judged.
    CannotJudge,
}

impl Gate {
    /// Judges the figures of all pairs.
    pub fn judge(allowed: f64, pairs: &[Pair], unpaired: &[Unpaired]) -> Self {
        let (mut regressed, mut not_judged, mut may_hide) = (Vec::new(), Vec::new(), Vec::new());
        for pair in pairs {
            for row in &pair.rows {
                let figure = || format!("{}: {}", row.place(), row.figure);
                let name = || format!("{}, {}", pair.name, figure());
                let worse = row.ratio.map_or(0.0, |ratio| row.worse_by(ratio));
                let unjudged = || NotJudged {
                    case: pair.name.clone(),
                    figure: Some(figure()),
                    reason: row.reason.clone().unwrap_or_default(),
                };
                match row.verdict {
                    Verdict::Regressed if worse > allowed => {
                        regressed.push(format!("{} by {}", name(), percent(worse)));
                    }
                    // Certainly above the gate, but possibly because of the machine's noise.
                    Verdict::Equal | Verdict::Undecided if worse > allowed && row.is_certain() => {
                        not_judged.push(unjudged());
                    }
                    Verdict::Equal | Verdict::Undecided => {
                        let most = row.worst_by().filter(|most| *most > allowed);
                        let most = most.map(|most| format!("{} (up to {})", name(), percent(most)));
                        may_hide.extend(most);
                    }
                    // A figure that the base lacks cannot have got worse, and one over other
                    // operations has no better or worse.
                    Verdict::NotComparable if row.base.n == 0 || row.other_work => {}
                    Verdict::TooFewTrials | Verdict::NotComparable => not_judged.push(unjudged()),
                    Verdict::Improved | Verdict::Regressed | Verdict::Changed => {}
                }
            }
        }
        let lost = unpaired.iter().filter(|case| case.in_base);
        not_judged.extend(lost.map(|case| NotJudged {
            case: case.name.clone(),
            figure: None,
            reason: case.reason.clone(),
        }));
        if not_judged.is_empty() && !pairs.iter().flat_map(|pair| &pair.rows).any(is_judged) {
            not_judged.push(NotJudged {
                case: "all cases".to_owned(),
                figure: None,
                reason: "no case has a figure to judge".to_owned(),
            });
        }
        Self::from_lists(allowed, regressed, not_judged, may_hide)
    }

    /// A gate from its lists.
    pub(crate) fn from_lists(
        allowed: f64,
        regressed: Vec<String>,
        not_judged: Vec<NotJudged>,
        may_hide: Vec<String>,
    ) -> Self {
        let result = match (regressed.as_slice(), not_judged.as_slice()) {
            ([_, ..], _) => GateResult::Failed,
            ([], [_, ..]) => GateResult::CannotJudge,
            ([], []) => GateResult::Passed,
        };
        Self { allowed, result, regressed, not_judged, may_hide }
    }
}

/// Whether a row was judged: a figure without a better direction cannot get worse.
fn is_judged(row: &Row) -> bool {
    let left_open = matches!(row.verdict, Verdict::TooFewTrials | Verdict::NotComparable);
    row.direction != Direction::Neither && !left_open
}

#[cfg(test)]
mod tests {
    use super::super::super::catalogue as c;
    use super::super::super::metric::{Definition, Metric};
    use super::super::judge::{Bout, Spot, Trials};
    use super::*;
    use kvdyno_record::engine::Durability;

    fn gate(allowed: f64, noise: f64, figure: &Definition, sides: [&[f64]; 2]) -> Gate {
        let metric = |values: &[f64]| Metric::new(figure, values.iter().copied().map(Ok).collect());
        let [base, new] = sides.map(metric);
        let side = |metric| Trials { metric: Some(metric), numbers: &[1, 2, 3, 4, 5, 6] };
        let spot = Spot { phase: "measure", role: None, op: None };
        let (base, new) = (side(&base), side(&new));
        let row = Bout { spot, base, new, paired: false, noise }.row();
        let pair = Pair {
            name: "lmdb t1".to_owned(),
            base_label: "lmdb".to_owned(),
            new_label: "lmdb".to_owned(),
            base_key: String::new(),
            new_key: String::new(),
            durability: Durability::Commit,
            threads: Some(1),
            ram_limit_bytes: None,
            rows: row.into_iter().collect(),
        };
        Gate::judge(allowed, &[pair], &[])
    }

    /// From zero to a value there is no ratio, and no pass either.
    #[test]
    fn a_figure_that_rises_from_zero_is_not_judged() {
        let rises = gate(0.05, 0.02, &c::ERRORS, [&[0.0; 6], &[4096.0; 6]]);
        assert_eq!((rises.result, rises.not_judged.len()), (GateResult::CannotJudge, 1));
        assert!(rises.not_judged[0].figure.is_some(), "{rises:?}");
        let stays = gate(0.05, 0.02, &c::ERRORS, [&[0.0; 6], &[0.0; 6]]);
        assert_eq!(stays.result, GateResult::Passed);
    }

    /// A gate below the machine's noise.
    #[test]
    fn a_certain_change_below_the_noise_is_not_judged() {
        let base = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let worse = base.map(|value| value * 1.08);
        let gate_with = |allowed, noise| gate(allowed, noise, &c::SERVICE_P99, [&base, &worse]);
        let below = gate_with(0.05, 0.1);
        assert_eq!((below.result, below.not_judged.len()), (GateResult::CannotJudge, 1));
        assert!(below.not_judged[0].reason.contains("noise") && below.may_hide.is_empty());
        assert_eq!(gate_with(0.05, 0.02).result, GateResult::Failed);
        assert_eq!(gate_with(0.09, 0.1).result, GateResult::Passed);
        let better = gate(0.05, 0.1, &c::SERVICE_P99, [&worse, &base]);
        assert_eq!(better.result, GateResult::Passed);
    }
}
