//! Gathers slices while a phase runs. Each rank adds up its own and those of the ranks below it in
//! a binomial tree, and sends the sum on when it is asked. The number of ranks that send to one
//! rank is at most the logarithm of all.
//!
//! It moves no message itself: it returns [`Step`]s.

use crate::message::Slices;
use crate::slices::{RankFiles, RankSlice};
use crate::total::Total;
use kvdyno_record::samples::Decoder;
use std::collections::VecDeque;
use std::io;

/// The most slices of one rank that wait to be added, or that go in one message. Others stay where
/// they are until they are asked for, at last in the worker's file: a slow rank costs no memory
/// elsewhere.
const SLICES_MAX: usize = 16;

/// The most bytes of slices in one message; the last slice may exceed it.
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
    /// Whether the rank above has asked and was not answered yet.
    requested: bool,
    decoder: Decoder,
}

/// A source of slices: the rank's own worker, or a rank below.
#[derive(Debug, Default)]
struct Source {
    waiting: VecDeque<RankSlice>,
    /// Whether it has no more slices of the phase.
    last: bool,
    /// Whether it has an open request.
    requested: bool,
}

impl Source {
    fn is_over(&self) -> bool {
        self.last && self.waiting.is_empty()
    }

    /// Whether its part of the next slice is known: a slice, or that there are no more.
    fn is_known(&self) -> bool {
        self.last || !self.waiting.is_empty()
    }
}

impl Gatherer {
    /// Creates the gatherer of a rank among `ranks`.
    pub fn new(rank: u32, ranks: u32) -> Self {
        let below = ranks_below(rank, ranks).map(|rank| (rank, Source::default())).collect();
        let local = Source::default();
        Self { phase: None, local, below, requested: false, decoder: Decoder::new() }
    }

    /// The rank that this one sends to; the first has none.
    pub fn parent_rank(rank: u32) -> Option<u32> {
        (rank > 0).then(|| rank & (rank - 1))
    }

    /// Begins a phase; the previous one is gathered.
    pub fn begin(&mut self, phase: &str) {
        self.phase = Some(phase.to_owned());
        self.local = Source::default();
        self.below.iter_mut().for_each(|(_, source)| *source = Source::default());
        self.requested = false;
    }

    /// Whether nothing is left to come, from this rank or from those below.
    pub fn is_over(&self) -> bool {
        self.phase.is_none() || self.sources().all(Source::is_over)
    }

    /// Notes that the rank above asks for slices.
    pub fn request(&mut self) {
        self.requested = true;
    }

    /// Adds the answer of a rank below.
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

    /// Returns the next slice of all ranks, on the first rank; `None`: it is not there yet, or
    /// there are no more.
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
            // The worker has made no files; once it is done, it makes none.
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

    /// Takes the next slice of every source, once each has one or has no more.
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

    /// Takes the next slice to send. The slice of a single rank is sent as it is.
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

/// The ranks that become `rank` when their lowest bit is removed.
fn ranks_below(rank: u32, ranks: u32) -> impl Iterator<Item = u32> {
    let bits = if rank == 0 { u32::BITS } else { rank.trailing_zeros() };
    (0..bits).map(move |bit| rank | 1 << bit).take_while(move |below| *below < ranks)
}

#[cfg(test)]
mod tests;
