//! The parts of a measured phase whose rates are compared with each other.

use kvdyno_record::plan::Case;
use kvdyno_record::workload::Mix;

/// Parts of a phase that is measured at a stretch.
const PARTS: usize = 8;

/// A trial of a role, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TrialWindows {
    /// The trial's number.
    pub(crate) trial: u32,
    /// Operations in each turn, or in each eighth of the phase, all of one length.
    pub(crate) counts: Vec<u64>,
    /// How long the phase was.
    pub(crate) phase_ns: u64,
    /// How long the case was.
    pub(crate) wall_ns: u64,
}

/// The operations in each part, by those in each slice; the last slices may be in none.
pub(super) fn parts(counts: &[u64], case: &Case, mix: &Mix) -> Vec<u64> {
    let slices = match mix.ends.turn_ns {
        Some(turn_ns) => (turn_ns / case.slice_ns.max(1)) as usize,
        None => counts.len() / PARTS,
    };
    if slices == 0 {
        return Vec::new();
    }
    counts.chunks_exact(slices).map(|part| part.iter().sum()).collect()
}
