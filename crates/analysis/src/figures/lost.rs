//! The data that an engine loses when the power goes: a verdict to show next to its speed.
//!
//! A run does not test it. `kvdyno torture` writes its own record, and the reader of that record
//! fills this in.

use kvdyno_record::torture::{Tally, loss_bound};
use schemars::JsonSchema;
use serde::Serialize;

/// Power-loss states after the first acknowledgement, and those in which an engine had lost data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lost {
    /// States after the first acknowledgement in which the filesystem did mount.
    pub states: u64,
    /// States in which an acknowledged write was missing.
    pub lost: u64,
    /// States in which it did not open, or returned a partial batch, or data that nobody wrote.
    pub corrupt: u64,
}

impl Lost {
    /// The losses at power failures. States without a promise do not count: nothing had been
    /// acknowledged, or the filesystem did not mount.
    pub fn from_tally(power: &Tally) -> Self {
        Self { states: power.promised_states(), lost: power.lost, corrupt: power.corrupt }
    }

    /// `lost 0 of 300 (< 1 %)`, `lost 12 of 300 (4 %), corrupt 3`.
    pub fn description(self) -> String {
        // A corrupt state may have lost data as well, which cannot be determined.
        let bound = loss_bound(self.states).filter(|_| self.lost + self.corrupt == 0);
        let bound = bound.map_or_else(String::new, |bound| format!(" (< {} %)", percent(bound)));
        self.counts() + &bound
    }

    /// Like [`Self::description`], but without an upper bound.
    pub fn counts(self) -> String {
        let Self { states, lost, corrupt } = self;
        let mut words = format!("lost {lost} of {states}");
        if lost > 0 {
            words += &format!(" ({} %)", percent(lost as f64 / states.max(1) as f64));
        }
        if corrupt > 0 {
            words += &format!(", corrupt {corrupt}");
        }
        words
    }
}

fn percent(share: f64) -> f64 {
    (1000.0 * share).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_loss_has_an_upper_bound() {
        let words = |lost, states| Lost { states, lost, corrupt: 0 }.description();
        assert_eq!(words(0, 300), "lost 0 of 300 (< 1 %)");
        assert_eq!(words(0, 30), "lost 0 of 30 (< 10 %)");
        assert_eq!(words(0, 1000), "lost 0 of 1000 (< 0.3 %)");
        assert_eq!(words(12, 300), "lost 12 of 300 (4 %)");
        let tally = Tally { states: 303, unmounted: 3, corrupt: 5, ..Tally::default() };
        assert_eq!(Lost::from_tally(&tally).description(), "lost 0 of 300, corrupt 5");
        assert_eq!(words(0, 2), "lost 0 of 2");
        let early = Tally { states: 300, before_first_ack: 6, unmounted: 1, ..Tally::default() };
        assert_eq!(Lost::from_tally(&early).states, 293, "an old record");
        let counted = Tally { promised: Some(281), ..early };
        assert_eq!(Lost::from_tally(&counted).description(), "lost 0 of 281 (< 1.1 %)");
    }
}
