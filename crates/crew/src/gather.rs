//! How slices come together while a phase runs: each rank adds up its own and those of the ranks
//! below it in a binomial tree, and sends the sum on when it is asked. No rank hears more than the
//! logarithm of all.
//!
//! It moves no message itself: what is to be sent comes out as [`Step`]s.

use crate::message::Slices;
use crate::slices::{RankFiles, RankSlice};
use crate::total::Total;
use kvdyno_record::samples::Decoder;
use std::collections::VecDeque;
use std::io;

/// Slices of one rank that wait to be added, or that go in one message. What is not asked for stays
/// where it is, in the end in its worker's file: a rank that lags costs nobody memory.
const SLICES_MAX: usize = 16;

/// As much of them goes in one message, or a slice more.
const BYTES_MAX: usize = 1 << 20;

/// The next step of a rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Ask a rank below for slices.
    Ask(u32),
    /// Answer the rank above, which has asked.
    Answer(Slices),
}

/// One rank's part in gathering a phase.
pub struct Gatherer {
    phase: Option<String>,
    local: Source,
    below: Vec<(u32, Source)>,
    /// The rank above has asked, and was not answered.
    requested: bool,
    decoder: Decoder,
}

/// Where slices come from: the own worker, or a rank below.
#[derive(Debug, Default)]
struct Source {
    waiting: VecDeque<RankSlice>,
    /// There are no more of the phase.
    last: bool,
    /// It has an open request.
    requested: bool,
}

impl Source {
    fn is_over(&self) -> bool {
        self.last && self.waiting.is_empty()
    }

    /// Its part of the next slice is known: a slice, or none any more.
    fn is_known(&self) -> bool {
        self.last || !self.waiting.is_empty()
    }
}

impl Gatherer {
    /// Of a rank among so many.
    pub fn new(rank: u32, ranks: u32) -> Self {
        let below = ranks_below(rank, ranks).map(|rank| (rank, Source::default())).collect();
        let local = Source::default();
        Self { phase: None, local, below, requested: false, decoder: Decoder::new() }
    }

    /// The rank that this one sends to; the first has none.
    pub fn parent_rank(rank: u32) -> Option<u32> {
        (rank > 0).then(|| rank & (rank - 1))
    }

    /// A phase begins; the one before is gathered.
    pub fn begin(&mut self, phase: &str) {
        self.phase = Some(phase.to_owned());
        self.local = Source::default();
        self.below.iter_mut().for_each(|(_, source)| *source = Source::default());
        self.requested = false;
    }

    /// Nothing is left to come, from here or from below.
    pub fn is_over(&self) -> bool {
        self.phase.is_none() || self.sources().all(Source::is_over)
    }

    /// The rank above asks.
    pub fn request(&mut self) {
        self.requested = true;
    }

    /// A rank below has answered.
    pub fn add_answer(&mut self, rank: u32, slices: Slices) {
        if let Some((_, source)) = self.below.iter_mut().find(|(other, _)| *other == rank) {
            source.waiting.extend(slices.slices);
            (source.last, source.requested) = (slices.last, false);
        }
    }

    /// The messages to send now. `is_last`: the own worker is done with the phase, and its files
    /// are whole.
    pub fn steps(&mut self, files: Option<&mut RankFiles>, is_last: bool) -> io::Result<Vec<Step>> {
        if self.is_over() && !self.requested {
            return Ok(Vec::new());
        }
        self.read(files, is_last)?;
        let mut steps = self.request_slices();
        if !self.requested {
            return Ok(steps);
        }
        let (mut slices, mut bytes) = (Vec::new(), 0);
        while slices.len() < SLICES_MAX && bytes < BYTES_MAX {
            let Some(slice) = self.next_to_send()? else { break };
            bytes += slice.bytes();
            slices.push(slice);
        }
        let last = self.is_over();
        if last || !slices.is_empty() {
            self.requested = false;
            steps.push(Step::Answer(Slices { slices, last }));
        }
        // There is room again.
        steps.extend(self.request_slices());
        Ok(steps)
    }

    /// Of the first rank: the next slice of all ranks; none: it is not there yet, or all were.
    pub fn next_total(&mut self) -> io::Result<Option<Total>> {
        let slices = self.pop_slices();
        Total::from_slices(&slices, &mut self.decoder)
    }

    fn sources(&self) -> impl Iterator<Item = &Source> {
        std::iter::once(&self.local).chain(self.below.iter().map(|(_, source)| source))
    }

    /// Reads the slices of the own worker.
    fn read(&mut self, files: Option<&mut RankFiles>, is_last: bool) -> io::Result<()> {
        let (Some(phase), false) = (&self.phase, self.local.last) else { return Ok(()) };
        let Some(files) = files else {
            // It has made none, and makes none any more.
            self.local.last = is_last;
            return Ok(());
        };
        while self.local.waiting.len() < SLICES_MAX {
            match files.next_slice(phase)? {
                Some(slice) => self.local.waiting.push_back(slice),
                None => {
                    self.local.last = is_last;
                    break;
                }
            }
        }
        Ok(())
    }

    fn request_slices(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (rank, source) in &mut self.below {
            if !source.last && !source.requested && source.waiting.len() < SLICES_MAX {
                source.requested = true;
                steps.push(Step::Ask(*rank));
            }
        }
        steps
    }

    /// The next slice of all sources, where each has one or no more.
    fn pop_slices(&mut self) -> Vec<RankSlice> {
        if !self.sources().all(Source::is_known) {
            return Vec::new();
        }
        let below = self.below.iter_mut().map(|(_, source)| source);
        std::iter::once(&mut self.local)
            .chain(below)
            .filter_map(|source| source.waiting.pop_front())
            .collect()
    }

    /// That of a single rank goes as it is.
    fn next_to_send(&mut self) -> io::Result<Option<RankSlice>> {
        let mut slices = self.pop_slices();
        match slices.len() {
            0 | 1 => Ok(slices.pop()),
            _ => Total::from_slices(&slices, &mut self.decoder)?
                .map(Total::into_rank_slice)
                .transpose(),
        }
    }
}

/// Those whose lowest bit is taken away where the rank is reached.
fn ranks_below(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let bits = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    (0..bits).map(move |bit| rank | 1 << bit).take_while(move |below| *below < ranks)
}

#[cfg(test)]
mod tests;
