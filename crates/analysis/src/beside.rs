//! A figure over the one that it stands beside, and whether the two can be told apart.

use super::metric::Metric;
use crate::stats::MIN_TRIALS;
use schemars::JsonSchema;
use serde::Serialize;

/// A figure over the base's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// The base: an engine's label, or a volume's name.
    pub base: String,
    /// How many times its figure.
    pub ratio: f64,
    /// Whether the two can be told apart.
    pub verdict: Significance,
}

/// Whether two figures can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// It is the base itself.
    Base,
    /// Their intervals (below six trials: their extremes) do not overlap.
    Different,
    /// They overlap.
    NotDistinguishable,
    /// They do not overlap, but one of them has fewer than [`MIN_TRIALS`] trials: equal engines
    /// look like this too often.
    SpreadUnknown,
}

impl Beside {
    pub(super) fn new(
        base: &str,
        base_metric: &Metric,
        own: &Metric,
        is_base: bool,
    ) -> Option<Self> {
        let (base_value, value) = (base_metric.value?, own.value?);
        if base_value <= 0.0 {
            return None;
        }
        let verdict = if is_base {
            Significance::Base
        } else if base_metric.n >= 2 && own.n >= 2 && overlap(base_metric.range()?, own.range()?) {
            Significance::NotDistinguishable
        } else if base_metric.n.min(own.n) < MIN_TRIALS {
            Significance::SpreadUnknown
        } else {
            Significance::Different
        };
        Some(Self { base: base.to_owned(), ratio: value / base_value, verdict })
    }

    /// In a table cell: `1.00`, `2.31`, `~1.02`, `1.4?`.
    pub fn cell(&self) -> String {
        match self.verdict {
            Significance::Base | Significance::Different => format!("{:.2}", self.ratio),
            Significance::NotDistinguishable => format!("~{:.2}", self.ratio),
            Significance::SpreadUnknown => format!("{:.2}?", self.ratio),
        }
    }
}

fn overlap(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_how_sure_they_are() {
        let cell = |verdict| Beside { base: "LMDB".into(), ratio: 1.0234, verdict }.cell();
        assert_eq!(cell(Significance::Base), "1.02");
        assert_eq!(cell(Significance::Different), "1.02");
        assert_eq!(cell(Significance::NotDistinguishable), "~1.02");
        assert_eq!(cell(Significance::SpreadUnknown), "1.02?");
    }

    #[test]
    fn ranges_that_touch_overlap() {
        assert!(overlap((1.0, 2.0), (2.0, 3.0)));
        assert!(overlap((1.0, 9.0), (2.0, 3.0)));
        assert!(!overlap((1.0, 2.0), (2.1, 3.0)));
    }
}
