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
    /// Operations per slice of time in each turn, or in each eighth of the phase.
    pub(crate) rates: Vec<f64>,
    /// How long the phase was.
    pub(crate) phase_ns: u64,
    /// How long the case was.
    pub(crate) wall_ns: u64,
}

/// The operations per slice in each part, by those in each slice; the last slices may be in none.
pub(super) fn parts(counts: &[u64], case: &Case, mix: &Mix) -> Vec<f64> {
    let slices = match mix.ends.turn_ns {
        Some(turn_ns) => (turn_ns / case.slice_ns.max(1)) as usize,
        None => counts.len() / PARTS,
    };
    if slices == 0 {
        return Vec::new();
    }
    let rate = |part: &[u64]| part.iter().sum::<u64>() as f64 / slices as f64;
    counts.chunks_exact(slices).map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// A phase that took longer has longer parts.
    #[test]
    fn parts_of_phases_of_any_length_have_one_unit() {
        let case = Fixture::new().plan.cases.into_iter().find(|case| case.threads.is_some());
        let case = case.unwrap();
        let mix = case.phases.iter().find_map(|phase| phase.mix()).unwrap();
        let rates = [24, 56, 120].map(|slices| parts(&vec![100; slices], &case, mix));
        assert!(rates.iter().flatten().all(|rate| (rate - 100.0).abs() < 1e-9), "{rates:?}");
    }
}
