//! A search for the value at which a target stops being met, by halving on a logarithmic scale.
//!
//! The search assumes that a target that is met at one value is met at every easier one, but does
//! not rely on that: [`Edge::outcome`] gives an interval that holds every point at which trials
//! disagree with each other or with the assumption.

use super::result::Outcome;
use std::collections::BTreeMap;

/// The end of the values that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The smallest that meets the target: memory, in binary steps.
    Smallest,
    /// The largest that meets it: a rate, in decimal steps.
    Largest,
}

/// How many trials of a point met the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Votes {
    /// Trials that met the target.
    pub(super) met: u32,
    /// All trials of the point.
    pub(super) of: u32,
}

impl Votes {
    /// Whether every trial met the target. One miss shows that it cannot be relied upon.
    pub(super) fn all_met(self) -> bool {
        self.of > 0 && self.met == self.of
    }

    /// Whether no trial met the target.
    pub(super) fn none_met(self) -> bool {
        self.met == 0
    }
}

/// The state of a search.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    wanted: Goal,
    easiest: u64,
    hardest: u64,
    /// The largest ratio of the two sides that is close enough.
    close: f64,
    votes: BTreeMap<u64, Votes>,
}

impl Edge {
    /// A search between two values, the lower one first, until both sides of the edge differ by no
    /// more than the share `within`.
    pub(super) fn new(goal: Goal, (low, high): (u64, u64), within: f64) -> Self {
        let (easiest, hardest) = match goal {
            Goal::Smallest => (high.max(low), low),
            Goal::Largest => (low, high.max(low)),
        };
        Self { wanted: goal, easiest, hardest, close: 1.0 + within, votes: BTreeMap::new() }
    }

    /// The value to try next; nothing: the search is over.
    pub(super) fn next_value(&self) -> Option<u64> {
        let Some(easiest) = self.votes.get(&self.easiest) else { return Some(self.easiest) };
        if !easiest.all_met() {
            return None;
        }
        let Some(hardest) = self.votes.get(&self.hardest) else { return Some(self.hardest) };
        if hardest.all_met() {
            return None;
        }
        // First the edge where all trials meet the target, then the edge where some still do.
        let (met, missed) = self.all_met_bracket()?;
        self.middle(met, missed).or_else(|| {
            let (some, none) = self.some_met_bracket()?;
            self.middle(some, none)
        })
    }

    /// Records the votes of a point.
    pub(super) fn record(&mut self, value: u64, votes: Votes) {
        self.votes.insert(value, votes);
    }

    /// The outcome so far; none before the ends were tried.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        if !self.votes.get(&self.easiest)?.all_met() {
            return Some(Outcome::Never { easiest: self.easiest });
        }
        if self.votes.get(&self.hardest)?.all_met() {
            return Some(Outcome::Always { hardest: self.hardest });
        }
        let (met, missed) = self.all_met_bracket()?;
        let surely_missed = self.some_met_bracket().map(|(_, none)| none);
        let close = self.next_value().is_none();
        Some(Outcome::Between { met, missed, surely_missed, close })
    }

    /// Values that met the target in all trials although an easier one did not.
    pub(super) fn contradictions(&self) -> Vec<u64> {
        let harder = self.ascent().skip_while(|(_, votes)| votes.all_met());
        harder.filter(|(_, votes)| votes.all_met()).map(|(value, _)| value).collect()
    }

    /// The most points that are still to be tried where trials agree from here on.
    pub(super) fn points_left(&self) -> u32 {
        let tried = |value: u64| self.votes.contains_key(&value);
        if self.next_value().is_none() {
            return 0;
        }
        let steps = |(one, other): (u64, u64)| {
            let (low, high) = (one.min(other), one.max(other));
            let ratio = (high as f64 / low.max(1) as f64).ln() / self.close.ln();
            ratio.log2().ceil().max(0.0) as u32
        };
        if !(tried(self.easiest) && tried(self.hardest)) {
            let ends = if self.easiest == self.hardest { 1 } else { 2 };
            return ends - u32::from(tried(self.easiest)) + steps((self.easiest, self.hardest));
        }
        let met = self.all_met_bracket().map_or(0, steps);
        if met > 0 { met } else { self.some_met_bracket().map_or(0, steps) }
    }

    /// The hardest value up to which all trials met the target, and the next harder one.
    fn all_met_bracket(&self) -> Option<(u64, u64)> {
        let mut met = None;
        for (value, votes) in self.ascent() {
            if !votes.all_met() {
                return Some((met?, value));
            }
            met = Some(value);
        }
        None
    }

    /// The hardest value at which some trial met the target, and the next harder one.
    fn some_met_bracket(&self) -> Option<(u64, u64)> {
        let ascent: Vec<(u64, Votes)> = self.ascent().collect();
        let last = ascent.iter().rposition(|(_, votes)| !votes.none_met())?;
        Some((ascent[last].0, ascent.get(last + 1)?.0))
    }

    /// Halfway between two values, where they are too far apart.
    fn middle(&self, one: u64, other: u64) -> Option<u64> {
        let (low, high) = (one.min(other), one.max(other));
        if high as f64 / low.max(1) as f64 <= self.close {
            return None;
        }
        let exact = ((low as f64).sqrt() * (high as f64).sqrt()).round() as u64;
        let round = round(self.wanted, exact, self.close - 1.0);
        [round, exact].into_iter().find(|middle| *middle > low && *middle < high)
    }

    /// All points tried, the easiest first.
    fn ascent(&self) -> Box<dyn Iterator<Item = (u64, Votes)> + '_> {
        let votes = self.votes.iter().map(|(value, votes)| (*value, *votes));
        match self.wanted {
            Goal::Smallest => Box::new(votes.rev()),
            Goal::Largest => Box::new(votes),
        }
    }
}

/// Rounds a value to few digits, by at most an eighth of the precision.
pub(super) fn round(goal: Goal, value: u64, within: f64) -> u64 {
    let base: u64 = match goal {
        Goal::Smallest => 2,
        Goal::Largest => 10,
    };
    let most = value as f64 * within / 4.0;
    let mut grain = 1_u64;
    while let Some(next) = grain.checked_mul(base).filter(|next| *next as f64 <= most) {
        grain = next;
    }
    (value + grain / 2) / grain * grain
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Votes = Votes { met: 3, of: 3 };
    const SOME: Votes = Votes { met: 2, of: 3 };
    const NONE: Votes = Votes { met: 0, of: 3 };

    fn search(mut edge: Edge, votes: impl Fn(u64) -> Votes) -> (Edge, u32) {
        let mut points = 0;
        while let Some(value) = edge.next_value() {
            edge.record(value, votes(value));
            points += 1;
            assert!(points < 200, "{edge:?}");
        }
        (edge, points)
    }

    #[test]
    fn the_edge_is_found_as_closely_as_asked() {
        let edge = Edge::new(Goal::Smallest, (32 << 20, 8 << 30), 0.05);
        let most = edge.points_left();
        let at = 777 << 20;
        let (edge, points) = search(edge, |bytes| if bytes >= at { ALL } else { NONE });
        let Some(Outcome::Between { met, missed, surely_missed, close: true }) = edge.outcome()
        else {
            panic!()
        };
        assert!(met >= at && missed < at && met as f64 / missed as f64 <= 1.05, "{met} {missed}");
        assert_eq!(surely_missed, Some(missed));
        assert!(points <= most && most == 9 && met % (4 << 20) == 0, "{points} of {most}, {met}");
        assert_eq!(edge.points_left(), 0);
    }

    #[test]
    fn a_rate_is_searched_upwards_in_decimal_steps() {
        let edge = Edge::new(Goal::Largest, (1_000, 100_000), 0.1);
        let (edge, _) = search(edge, |rate| if rate < 43_210 { ALL } else { NONE });
        let Some(Outcome::Between { met, missed, .. }) = edge.outcome() else { panic!() };
        assert!(met < 43_210 && missed >= 43_210 && missed as f64 / met as f64 <= 1.1);
        assert!(met % 100 == 0, "{met}");
    }

    #[test]
    fn ends_that_settle_it_end_it() {
        let edge = || Edge::new(Goal::Smallest, (10, 1000), 0.1);
        let (never, points) = search(edge(), |_| SOME);
        assert_eq!((never.outcome(), points), (Some(Outcome::Never { easiest: 1000 }), 1));
        let (always, points) = search(edge(), |_| ALL);
        assert_eq!((always.outcome(), points), (Some(Outcome::Always { hardest: 10 }), 2));
        assert_eq!(search(Edge::new(Goal::Largest, (5, 5), 0.1), |_| ALL).1, 1);
        assert_eq!(edge().outcome(), None);
    }

    #[test]
    fn where_trials_disagree_both_sides_are_found() {
        let edge = Edge::new(Goal::Smallest, (1 << 20, 1 << 30), 0.1);
        let votes = |bytes: u64| match bytes >> 20 {
            600.. => ALL,
            300..600 => SOME,
            _ => NONE,
        };
        let (edge, _) = search(edge, votes);
        let Some(Outcome::Between { met, missed, surely_missed, close: true }) = edge.outcome()
        else {
            panic!()
        };
        let clear = surely_missed.unwrap();
        assert!(met >= 600 << 20 && missed < 600 << 20 && met as f64 / missed as f64 <= 1.1);
        assert!(clear < 300 << 20 && clear as f64 >= 0.9 * f64::from(300 << 20), "{clear}");
        let (edge, _) = search(Edge::new(Goal::Smallest, (100, 1000), 0.1), |value| {
            if value > 500 { ALL } else { SOME }
        });
        let Some(Outcome::Between { surely_missed, .. }) = edge.outcome() else { panic!() };
        assert_eq!(surely_missed, None);
    }

    #[test]
    fn answers_that_contradict_each_other_widen_the_interval() {
        let mut edge = Edge::new(Goal::Smallest, (1, 1000), 0.1);
        for (value, votes) in [(1000, ALL), (1, NONE), (100, NONE), (30, ALL)] {
            edge.record(value, votes);
        }
        assert_eq!(edge.contradictions(), [30]);
        let outcome =
            Outcome::Between { met: 1000, missed: 100, surely_missed: Some(1), close: false };
        assert_eq!(edge.outcome(), Some(outcome));
        // The side that is met comes first.
        assert_eq!(edge.next_value(), Some(316));
    }

    /// Numbers that look random, and are the same in each run.
    fn drawn() -> impl Iterator<Item = u64> {
        let next = |x: &u64| Some(x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1));
        std::iter::successors(Some(7), next).map(|x| x >> 20)
    }

    #[test]
    fn any_answers_end_the_search() {
        let mut numbers = drawn();
        let mut number = || numbers.next().unwrap();
        for _ in 0..2000 {
            let (low, span, seed) = (1 + number() % (1 << 40), number() % (1 << 40), number());
            let within = 0.001 + (number() % 1000) as f64 / 1000.0;
            for goal in [Goal::Smallest, Goal::Largest] {
                let edge = Edge::new(goal, (low, low + span), within);
                let noise = |value: u64| (value ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62;
                let (edge, _) = search(edge, |value| Votes { met: noise(value) as u32, of: 3 });
                assert!(edge.outcome().is_some());
                assert!(edge.votes.keys().all(|v| (low..=low + span).contains(v)));
            }
        }
    }

    #[test]
    fn rounding_stays_within_the_precision() {
        for value in drawn().take(2000) {
            for (goal, within) in [(Goal::Smallest, 0.01), (Goal::Largest, 0.3)] {
                let off = round(goal, value, within).abs_diff(value) as f64;
                assert!(off <= value as f64 * within / 8.0 + 0.5);
            }
        }
    }
}
