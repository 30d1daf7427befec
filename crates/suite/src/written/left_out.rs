//! The parts of a suite in which an engine cannot run on this machine, and the reason.

use kvdyno_record::left_out::LeftOut;

/// Where an engine cannot run, and the reason.
pub(crate) struct Absent {
    /// None: on none, or on all.
    pub(crate) volume: Option<String>,
    pub(crate) tier: Option<String>,
    /// None: in all phases.
    pub(crate) phase: Option<String>,
    pub(crate) why: String,
}

impl Absent {
    /// Everywhere.
    pub(crate) fn for_reason(why: impl Into<String>) -> Self {
        Self { volume: None, tier: None, phase: None, why: why.into() }
    }

    pub(crate) fn to_left_out(&self, part: Option<String>, engine: String) -> LeftOut {
        let Self { volume, tier, phase, why } = self;
        let (volume, tier, why) = (volume.clone(), tier.clone(), why.clone());
        LeftOut { part, engine, volume, tier, phase: phase.clone(), reason: why }
    }
}
