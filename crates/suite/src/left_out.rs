//! The parts of a suite in which an engine cannot run on this machine, and the reason.

use kvdyno_record::left_out::LeftOut;

/// Where an engine cannot run, and the reason.
pub(super) struct Absent {
    /// None: on none, or on all.
    pub(super) volume: Option<String>,
    pub(super) tier: Option<String>,
    /// None: in all phases.
    pub(super) phase: Option<String>,
    pub(super) why: String,
}

impl Absent {
    /// Everywhere.
    pub(super) fn for_reason(why: impl Into<String>) -> Self {
        Self { volume: None, tier: None, phase: None, why: why.into() }
    }

    pub(super) fn to_left_out(&self, part: Option<String>, engine: String) -> LeftOut {
        let Self { volume, tier, phase, why } = self;
        let (volume, tier, why) = (volume.clone(), tier.clone(), why.clone());
        LeftOut { part, engine, volume, tier, phase: phase.clone(), reason: why }
    }
}
