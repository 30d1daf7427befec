//! What an engine loses when the power goes: the verdict beside its speed.
//!
//! A run does not test that. A record of its own does, and whoever reads that one fills this in.

use kvdyno_record::torture::{Tally, at_most};
use schemars::JsonSchema;
use serde::Serialize;

/// States of a power loss that an engine was opened in, and those in which it had lost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lost {
    /// All of them.
    pub states: u64,
    /// Those in which a write was gone that had been acknowledged.
    pub lost: u64,
    /// Those in which it did not open, or showed what was never written, or half a batch.
    pub corrupt: u64,
}

impl Lost {
    /// What was found when the power went; states whose filesystem did not mount say nothing.
    pub fn from_tally(power: &Tally) -> Self {
        Self { states: power.judged(), lost: power.lost, corrupt: power.corrupt }
    }

    /// `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %), corrupt 3`.
    pub fn words(self) -> String {
        let Self { states, lost, corrupt } = self;
        let percent = |share: f64| (1000.0 * share).round() / 10.0;
        let mut words = format!("lost {lost} of {states}");
        // What is corrupt may have lost something as well, and nobody can see it.
        let bound = at_most(states).filter(|_| lost + corrupt == 0);
        if let Some(bound) = bound {
            words += &format!(" (< {} %)", percent(bound));
        } else if lost > 0 {
            words += &format!(" ({} %)", percent(lost as f64 / states.max(1) as f64));
        }
        if corrupt > 0 {
            words += &format!(", corrupt {corrupt}");
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lost_is_not_nothing_to_lose() {
        let words = |lost, states| Lost { states, lost, corrupt: 0 }.words();
        assert_eq!(words(0, 300), "lost 0 of 300 (< 1 %)");
        assert_eq!(words(0, 30), "lost 0 of 30 (< 10 %)");
        assert_eq!(words(0, 1000), "lost 0 of 1000 (< 0.3 %)");
        assert_eq!(words(12, 300), "lost 12 of 300 (4 %)");
        let tally = Tally { states: 303, unmounted: 3, corrupt: 5, ..Tally::default() };
        assert_eq!(Lost::from_tally(&tally).words(), "lost 0 of 300, corrupt 5");
        assert_eq!(words(0, 2), "lost 0 of 2");
    }
}
