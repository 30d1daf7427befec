//! The parts of a suite in which an engine cannot run on this machine, and the reason.

use kvdyno_record::left_out::LeftOut;

/// The places in a suite where an engine cannot run, and the reason.
pub(crate) struct Absent {
    /// The volume; none: the reason is not about one volume.
    pub(crate) volume: Option<String>,
    pub(crate) tier: Option<String>,
    /// The phase; none: all phases.
    pub(crate) phase: Option<String>,
    pub(crate) why: String,
}

impl Absent {
    /// Returns an absence everywhere, for this reason.
    pub(crate) fn for_reason(why: impl Into<String>) -> Self {
        Self { volume: None, tier: None, phase: None, why: why.into() }
    }

    pub(crate) fn to_left_out(&self, part: Option<String>, engine: String) -> LeftOut {
        let Self { volume, tier, phase, why } = self;
        let (volume, tier, why) = (volume.clone(), tier.clone(), why.clone());
        LeftOut { part, engine, volume, tier, phase: phase.clone(), reason: why }
    }
}
