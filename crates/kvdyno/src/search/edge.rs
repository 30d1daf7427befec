//! A search for the value at which a target stops being met, by halving on a logarithmic scale.
//!
//! It takes for granted that what is met at one value is met at every easier one. Where the
//! answers contradict that, noise has: [`Edge::contradictions`] counts them.

use std::collections::BTreeMap;

/// Which end of the values is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The smallest that meets the target: memory.
    Smallest,
    /// The largest that meets it: a rate.
    Largest,
}

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Not even the easiest value meets the target.
    Never {
        /// It.
        easiest: u64,
    },
    /// The hardest value meets it already.
    Always {
        /// It.
        hardest: u64,
    },
    /// The edge lies between the two.
    Between {
        /// The hardest value that met the target.
        met: u64,
        /// The easiest value that did not.
        missed: u64,
    },
}

/// A search at work.
#[derive(Clone, Debug)]
pub struct Edge {
    wanted: Wanted,
    easiest: u64,
    hardest: u64,
    /// As close as this, as a ratio of the two sides, is close enough.
    close: f64,
    told: BTreeMap<u64, bool>,
}

impl Edge {
    /// A search between two values, `low` and `high`, until both sides of the edge differ by no
    /// more than the share `tolerance`.
    pub fn new(wanted: Wanted, (low, high): (u64, u64), tolerance: f64) -> Self {
        let (easiest, hardest) = match wanted {
            Wanted::Smallest => (high.max(low), low),
            Wanted::Largest => (low, high.max(low)),
        };
        Self { wanted, easiest, hardest, close: 1.0 + tolerance, told: BTreeMap::new() }
    }

    /// The value to try next; nothing: the search is over.
    pub fn next(&self) -> Option<u64> {
        match (self.told.get(&self.easiest), self.told.get(&self.hardest)) {
            (None, _) => Some(self.easiest),
            (Some(false), _) => None,
            (Some(true), None) => Some(self.hardest),
            (Some(true), Some(true)) => None,
            (Some(true), Some(false)) => {
                let (met, missed) = self.sides()?;
                let (low, high) = (met.min(missed), met.max(missed));
                let middle = ((low as f64).sqrt() * (high as f64).sqrt()).round() as u64;
                let apart = high as f64 / low.max(1) as f64 > self.close;
                (apart && middle > low && middle < high).then_some(middle)
            }
        }
    }

    /// The answer at a value.
    pub fn tell(&mut self, value: u64, met: bool) {
        self.told.insert(value, met);
    }

    /// What is known; nothing before the ends were tried.
    pub fn found(&self) -> Option<Found> {
        let easiest = *self.told.get(&self.easiest)?;
        if !easiest {
            return Some(Found::Never { easiest: self.easiest });
        }
        if *self.told.get(&self.hardest)? {
            return Some(Found::Always { hardest: self.hardest });
        }
        let (met, missed) = self.sides()?;
        Some(Found::Between { met, missed })
    }

    /// The hardest value that met the target with nothing easier missed, and the next harder one
    /// that was tried.
    fn sides(&self) -> Option<(u64, u64)> {
        let (mut met, mut missed) = (None, None);
        for (value, answer) in self.from_the_easiest() {
            if !answer {
                missed = Some(value);
                break;
            }
            met = Some(value);
        }
        met.zip(missed)
    }

    /// Values that met the target although an easier one did not.
    pub fn contradictions(&self) -> usize {
        let harder = self.from_the_easiest().skip_while(|(_, met)| *met);
        harder.filter(|(_, met)| *met).count()
    }

    fn from_the_easiest(&self) -> Box<dyn Iterator<Item = (u64, bool)> + '_> {
        let told = self.told.iter().map(|(value, met)| (*value, *met));
        match self.wanted {
            Wanted::Smallest => Box::new(told.rev()),
            Wanted::Largest => Box::new(told),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(mut edge: Edge, met: impl Fn(u64) -> bool) -> (Option<Found>, usize) {
        let mut probes = 0;
        while let Some(value) = edge.next() {
            edge.tell(value, met(value));
            probes += 1;
            assert!(probes < 100, "{edge:?}");
        }
        (edge.found(), probes)
    }

    #[test]
    fn the_least_memory_that_suffices() {
        let edge = Edge::new(Wanted::Smallest, (1 << 20, 1 << 34), 0.1);
        let (found, probes) = search(edge, |bytes| bytes >= 700_000_000);
        let Some(Found::Between { met, missed }) = found else { panic!("{found:?}") };
        assert!(missed < 700_000_000 && met >= 700_000_000, "{found:?}");
        assert!(met as f64 / missed as f64 <= 1.1);
        // 2 ends, and log2(ln(2^14) / ln(1.1)) halvings.
        assert_eq!(probes, 2 + 7);
    }

    #[test]
    fn the_highest_rate_that_is_sustained() {
        let edge = Edge::new(Wanted::Largest, (100, 1_000_000), 0.05);
        let (found, _) = search(edge, |rate| rate <= 43_210);
        let Some(Found::Between { met, missed }) = found else { panic!("{found:?}") };
        assert!(met <= 43_210 && missed > 43_210, "{found:?}");
    }

    #[test]
    fn ends_that_settle_it() {
        let edge = |wanted| Edge::new(wanted, (10, 1000), 0.1);
        let never = (Some(Found::Never { easiest: 1000 }), 1);
        assert_eq!(search(edge(Wanted::Smallest), |_| false), never);
        let always = (Some(Found::Always { hardest: 10 }), 2);
        assert_eq!(search(edge(Wanted::Smallest), |_| true), always);
        assert_eq!(search(Edge::new(Wanted::Largest, (5, 5), 0.1), |_| true).1, 1);
    }

    #[test]
    fn answers_that_contradict_are_counted() {
        let mut edge = Edge::new(Wanted::Smallest, (1, 1000), 0.1);
        for (value, met) in [(1000, true), (1, false), (100, false), (30, true)] {
            edge.tell(value, met);
        }
        assert_eq!(edge.contradictions(), 1);
        assert_eq!(edge.found(), Some(Found::Between { met: 1000, missed: 100 }));
    }
}
