//! The choice of unflushed writes that had reached the medium when the power went.

use crate::Draw;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::Range;

/// A drive writes a sector whole or not at all.
pub(crate) const SECTOR: usize = 512;

/// The fate of the writes since the last flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lost {
    /// None has reached the medium.
    All,
    /// All have: the power went between two writes.
    None,
    /// Some have, each by itself.
    Writes,
    /// Some have, some only with some of their sectors.
    Sectors,
    /// The drive wrote in an order of its own, and only a first part of that has.
    Reordered,
}

/// All kinds of loss; the states of a recording take them in turns.
pub const LOSSES: [Lost; 5] = [Lost::All, Lost::Writes, Lost::Sectors, Lost::Reordered, Lost::None];

impl Lost {
    /// Its name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all since the flush",
            Self::None => "nothing",
            Self::Writes => "some writes",
            Self::Sectors => "some sectors",
            Self::Reordered => "the rest of another order",
        }
    }
}

/// A power loss: when, and what of a recording is lost. The same numbers give the same loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The number among the states of a recording.
    pub number: u64,
    /// The number of entries of the recording before the power loss.
    pub moment: usize,
    /// The fate of unflushed writes.
    pub lost: Lost,
    /// The number of entries after which the drive ignored all flushes, for the control; null: it
    /// ignored none.
    pub ignores_flushes_since: Option<usize>,
    /// The seed of the draw that decides which writes or sectors are lost.
    pub seed: u64,
}

impl State {
    /// Draws state `number`, at some moment of `window`.
    pub fn draw(seed: u64, number: u64, window: &Range<usize>) -> Self {
        let mut draw = Draw::new(&[seed, number]);
        Self {
            number,
            moment: window.start + draw.below(window.len() + 1),
            lost: LOSSES[number as usize % LOSSES.len()],
            ignores_flushes_since: None,
            seed: draw.bits(),
        }
    }

    /// Returns the same state of a drive that says that it has flushed, and has not since a moment
    /// before.
    #[must_use]
    pub fn ignoring_flushes(self, window: &Range<usize>) -> Self {
        let since = Draw::new(&[self.seed]).below(self.moment.saturating_sub(window.start));
        Self { ignores_flushes_since: Some(window.start + since), ..self }
    }
}

/// Returns the pieces of each unflushed write that have reached the medium, given the writes'
/// lengths.
pub(crate) fn surviving_pieces(
    state: &State,
    drive: usize,
    writes: &[usize],
) -> Vec<Vec<Range<usize>>> {
    let mut draw = Draw::new(&[state.seed, drive as u64]);
    let mut order: Vec<usize> = (0..writes.len()).collect();
    draw.shuffle(&mut order);
    let first: HashSet<usize> = order[..draw.below(writes.len() + 1)].iter().copied().collect();
    let whole = |bytes: usize| std::iter::once(0..bytes).collect::<Vec<_>>();
    let mut piece = |(number, &bytes): (usize, &usize)| match state.lost {
        Lost::All => Vec::new(),
        Lost::None => whole(bytes),
        Lost::Writes => {
            if draw.coin() {
                whole(bytes)
            } else {
                Vec::new()
            }
        }
        Lost::Reordered => {
            if first.contains(&number) {
                whole(bytes)
            } else {
                Vec::new()
            }
        }
        Lost::Sectors => match draw.below(3) {
            0 => Vec::new(),
            1 => whole(bytes),
            _ => {
                let sectors =
                    (0..bytes).step_by(SECTOR).map(|sector| sector..(sector + SECTOR).min(bytes));
                sectors.filter(|_| draw.coin()).collect()
            }
        },
    };
    writes.iter().enumerate().map(&mut piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(lost: Lost, seed: u64) -> State {
        State { number: 0, moment: 0, lost, ignores_flushes_since: None, seed }
    }

    #[test]
    fn the_same_number_is_the_same_state() {
        let window = 100..1000;
        let states: Vec<State> = (0..50).map(|n| State::draw(1, n, &window)).collect();
        assert_eq!(states[17], State::draw(1, 17, &window));
        assert_ne!(states[17].moment, State::draw(2, 17, &window).moment);
        assert!(states.iter().all(|state| (100..=1000).contains(&state.moment)));
        for lost in LOSSES {
            assert_eq!(states.iter().filter(|state| state.lost == lost).count(), 10);
        }
        let control = states[3].ignoring_flushes(&window);
        assert!((100..=states[3].moment).contains(&control.ignores_flushes_since.unwrap()));
    }

    #[test]
    fn all_nothing_some_and_parts_of_some() {
        let writes = [4096, 512, 8192, 4096];
        let reached_of = |lost, seed| surviving_pieces(&state(lost, seed), 0, &writes);
        assert!(reached_of(Lost::All, 1).iter().all(Vec::is_empty));
        let all_of = |piece: &[Range<usize>], bytes| piece.len() == 1 && piece[0] == (0..bytes);
        let whole = |pieces: &[Vec<Range<usize>>]| {
            pieces.iter().zip(writes).all(|(piece, bytes)| all_of(piece, bytes))
        };
        assert!(whole(&reached_of(Lost::None, 1)));
        let (mut some, mut torn, mut reordered) = (0, 0, HashSet::new());
        for seed in 0..100 {
            let pieces = reached_of(Lost::Writes, seed);
            assert!(pieces.iter().zip(writes).all(|(p, bytes)| p.is_empty() || all_of(p, bytes)));
            some += u64::from(pieces.iter().any(Vec::is_empty) && !whole(&pieces));
            let pieces = reached_of(Lost::Sectors, seed);
            let parts = |piece: &Vec<Range<usize>>| {
                !piece.is_empty() && piece.iter().all(|part| part.len() == SECTOR)
            };
            torn += u64::from(parts(&pieces[0]) || parts(&pieces[2]));
            assert_eq!(reached_of(Lost::Sectors, seed), pieces, "the same again");
            reordered
                .insert(reached_of(Lost::Reordered, seed).iter().map(Vec::len).collect::<Vec<_>>());
        }
        assert!(some > 50 && torn > 50, "{some} {torn}");
        // Each subset of the four writes may come first in some order.
        assert!(reordered.len() > 10, "{}", reordered.len());
    }
}
