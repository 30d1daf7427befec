//! Why something cannot be had on this host, and what would help.

use kvdyno_record::host::Availability;

/// Something cannot be had here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct Unavailable {
    /// Why not: a clause that names what was looked at.
    pub reason: String,
    /// What would help: a clause that begins with a verb.
    pub remedy: String,
}

impl Unavailable {
    /// Why not, and what would help.
    pub fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into() }
    }
}

impl From<Unavailable> for Availability {
    fn from(unavailable: Unavailable) -> Self {
        Self { available: false, detail: unavailable.to_string() }
    }
}
