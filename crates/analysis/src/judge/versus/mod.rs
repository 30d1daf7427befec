//! Two builds, each by several runs, or two engines of one run, compared figure by figure, with the
//! certainty of each difference.
//!
//! [`Versus`] is a pure function of records. `docs/method.md` explains its statistics.

mod answer;
mod calls;
mod choice;
pub mod classes;
pub mod differs;
pub mod explanation;
pub mod gate;
pub mod judge;
mod pairing;
pub mod profile;
mod refusal;
pub mod sides;
mod work;

pub(crate) use choice::FigureScope;
pub use choice::{FigureChoice, UnknownFigure};
pub use explanation::Explanation;
pub use gate::{Gate, GateResult, NotJudged};
pub use judge::{BIAS, Row, Sample, Verdict, least_difference};
pub(crate) use pairing::are_alike;
pub use pairing::{Pair, Unpaired};
pub use refusal::Refusal;
pub(crate) use sides::is_judged;
pub use sides::{Record, Side, Sides};
pub use work::Difference;

use super::rule;
use crate::figures::METHOD_VERSION;
use schemars::JsonSchema;
use serde::Serialize;

/// A comparison of two sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Versus {
    /// The version of the computation of figures, for both sides.
    pub method_version: u32,
    /// The base of the comparison.
    pub base: Side,
    /// The side that is compared with it.
    pub new: Side,
    /// Differences between the two besides the work: host, drive, versions, options.
    pub differences: Vec<Difference>,
    /// Cases that do equal work, with their figures.
    pub pairs: Vec<Pair>,
    /// Cases without a counterpart.
    pub unpaired: Vec<Unpaired>,
    /// The answer in sentences: the headline first.
    pub answer: Vec<String>,
    /// How many figures there are of each verdict.
    pub counts: Counts,
    /// How many of the judged figures chance alone would flag as different, if nothing differed.
    pub false_alarms_expected: f64,
    /// The result of the gate; null: there is none.
    pub gate: Option<Gate>,
    /// Why two builds of one engine differ, phase by phase.
    pub explanations: Vec<Explanation>,
}

/// How many figures there are of each verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Figures that had repeats enough to be judged.
    pub judged: usize,
    /// Judged figures that got better.
    pub improved: usize,
    /// Judged figures that got worse.
    pub regressed: usize,
    /// Judged figures that differ, where neither way is better.
    pub changed: usize,
    /// Judged figures that are equal: the whole interval is close to 1.
    pub equal: usize,
    /// Judged figures whose interval contains equality.
    pub undecided: usize,
    /// Figures that are not judged: too few repeats.
    pub too_few: usize,
    /// Figures that are not judged: they only describe.
    pub described: usize,
    /// Figures that are not judged: a side has no figure, or nothing to divide by.
    pub not_comparable: usize,
}

/// The parameters of a comparison.
#[derive(Clone, Debug)]
pub struct Question {
    /// The choice of figures.
    pub figures: FigureChoice,
    /// The share within which two figures are equal.
    pub within: f64,
    /// The share by which a figure may get worse.
    pub gate: Option<f64>,
}

impl Versus {
    /// Compares, or gives the reason why that would have no meaning.
    pub fn compare(sides: &Sides<'_>, question: &Question) -> Result<Self, Refusal> {
        let paired = pairing::pair(sides, question)?;
        let rows = || paired.pairs.iter().flat_map(|pair| &pair.rows);
        let counts = Counts::count(rows());
        let gate =
            question.gate.map(|allowed| Gate::judge(allowed, &paired.pairs, &paired.unpaired));
        let [base, new] = sides.describe_sides();
        let mut versus = Self {
            method_version: METHOD_VERSION,
            base,
            new,
            differences: sides.differences(&paired.labels),
            counts,
            false_alarms_expected: (1.0 - rule::CONFIDENCE) * counts.judged as f64,
            gate,
            pairs: paired.pairs,
            unpaired: paired.unpaired,
            answer: Vec::new(),
            explanations: Vec::new(),
        };
        calls::add_notes(&mut versus);
        versus.answer = answer::sentences(&versus);
        Ok(versus)
    }

    /// Adds the reasons for the differences, which takes reading the sides' counters and functions.
    pub fn explain(&mut self, sides: &Sides<'_>) {
        self.explanations = explanation::explain(sides, self);
        let sentences = self.explanations.iter().filter_map(Explanation::sentence);
        self.answer.extend(sentences);
    }
}

impl Counts {
    fn count<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            let (count, judged) = match row.verdict {
                Verdict::Improved => (&mut counts.improved, 1),
                Verdict::Regressed => (&mut counts.regressed, 1),
                Verdict::Changed => (&mut counts.changed, 1),
                Verdict::Equal => (&mut counts.equal, 1),
                Verdict::Undecided => (&mut counts.undecided, 1),
                Verdict::TooFew => (&mut counts.too_few, 0),
                Verdict::Described => (&mut counts.described, 0),
                Verdict::NotComparable => (&mut counts.not_comparable, 0),
            };
            *count += 1;
            counts.judged += judged;
        }
        counts
    }
}
