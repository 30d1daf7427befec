//! What an engine loses when the power goes: the verdict beside its speed.
//!
//! A run does not test that. A record of its own does, and whoever reads that one fills this in.

use schemars::JsonSchema;
use serde::Serialize;

/// With nothing found in so many tries, the truth is below three of them, 95 times of a hundred
/// (J. A. Hanley, A. Lippman-Hand, If nothing goes wrong, is everything all right?, JAMA 249,
/// 1983).
const RULE_OF_THREE: f64 = 3.0;

/// States of a power loss that an engine was opened in, and those in which it had lost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lost {
    /// All of them.
    pub states: u64,
    /// Those in which a write was gone that had been acknowledged.
    pub lost: u64,
}

impl Lost {
    /// `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %)`.
    pub fn words(self) -> String {
        let Self { states, lost } = self;
        let (below, tries) = if lost == 0 { ("< ", RULE_OF_THREE) } else { ("", lost as f64) };
        let tenths = (1000.0 * tries / states.max(1) as f64).round();
        format!("lost {lost} of {states} ({below}{} %)", tenths / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lost_is_not_nothing_to_lose() {
        let words = |lost, states| Lost { states, lost }.words();
        assert_eq!(words(0, 300), "lost 0 of 300 (< 1 %)");
        assert_eq!(words(0, 30), "lost 0 of 30 (< 10 %)");
        assert_eq!(words(12, 300), "lost 12 of 300 (4 %)");
    }
}
