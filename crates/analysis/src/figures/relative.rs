//! A figure over the one that it is compared with, and whether they differ significantly.

use super::ratio::format_ratio;
use schemars::JsonSchema;
use serde::Serialize;

/// A figure over the base's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RelativeTo {
    /// The base: an engine's label, or a volume's name.
    pub base: String,
    /// The geometric mean of the ratios of the trials, pair by pair.
    pub ratio: f64,
    /// Lower end of the ratio's 99 % interval; null: the base itself, or too few trials.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Whether the two differ significantly.
    pub verdict: Significance,
    /// Whether it is decided that they differ, or that they are equal within the margin.
    pub decided: bool,
    /// About how many more pairs would decide; null: it is decided, none would, or more than 1,000.
    pub more_pairs: Option<usize>,
    /// Why the difference is not judged; null: it is, or pairs are too few.
    pub reason: Option<String>,
}

/// Whether two figures differ significantly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// It is the base itself.
    Base,
    /// They differ: the ratio's interval excludes 1.
    Different,
    /// Tied: undecided, or equal.
    NotDistinguishable,
    /// Too few trials to be sure: equal engines would often look like this.
    SpreadUnknown,
}

/// The words for a figure whose difference is not judged.
pub const NOT_COMPARABLE: &str = "not comparable";

impl RelativeTo {
    /// In a table cell: `1.00`, `2.31`, `=1.02`, `~1.02`, `1.4?`, `not comparable`.
    pub fn cell(&self) -> String {
        if self.reason.is_some() {
            return NOT_COMPARABLE.to_owned();
        }
        let ratio = format_ratio(self.ratio, 2);
        match self.verdict {
            Significance::Base | Significance::Different => ratio,
            Significance::NotDistinguishable if self.decided => format!("={ratio}"),
            _ if self.is_too_few() => format!("{ratio}?"),
            _ => format!("~{ratio}"),
        }
    }

    /// The cell with the ratio's interval, if it has one: `2.31 (1.9-2.8)`, `~1.02 (0.93-1.12)`.
    pub fn cell_with_interval(&self) -> String {
        match self.low.zip(self.high) {
            Some((low, high)) => {
                format!("{} ({}-{})", self.cell(), format_ratio(low, 2), format_ratio(high, 2))
            }
            None => self.cell(),
        }
    }

    /// Whether there are too few trials for a verdict: equal engines would often differ as much.
    pub fn is_too_few(&self) -> bool {
        match self.verdict {
            _ if self.reason.is_some() => false,
            Significance::Base | Significance::Different => false,
            Significance::NotDistinguishable => !self.decided && self.low.is_none(),
            Significance::SpreadUnknown => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_show_their_certainty() {
        let with = |verdict, low, decided| {
            let base = "LMDB".to_owned();
            let (high, more_pairs, reason) = (low, None, None);
            let ratio = 1.0234;
            RelativeTo { base, ratio, low, high, verdict, decided, more_pairs, reason }
        };
        let equal = with(Significance::NotDistinguishable, Some(1.0), true);
        assert_eq!(equal.cell_with_interval(), "=1.02 (1.00-1.00)");
        let few = with(Significance::SpreadUnknown, None, false);
        assert_eq!(few.cell_with_interval(), "1.02?");
        let void = RelativeTo { reason: Some("void: debug-build".to_owned()), ..few };
        assert_eq!((void.cell().as_str(), void.is_too_few()), ("not comparable", false));
        let with = |verdict, low, decided| with(verdict, low, decided).cell();
        let cell = |verdict| with(verdict, Some(1.0), false);
        assert_eq!(cell(Significance::Base), "1.02");
        assert_eq!(cell(Significance::Different), "1.02");
        assert_eq!(cell(Significance::NotDistinguishable), "~1.02");
        assert_eq!(cell(Significance::SpreadUnknown), "1.02?");
        assert_eq!(with(Significance::NotDistinguishable, Some(1.0), true), "=1.02");
        // Below four trials there is no interval.
        assert_eq!(with(Significance::NotDistinguishable, None, false), "1.02?");
    }
}
