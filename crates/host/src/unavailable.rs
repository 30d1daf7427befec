//! Why something cannot be had on this host, and what would help; and whom a remedy names.

use kvdyno_record::host::Availability;
use rustix::process::{getegid, geteuid};

/// Something cannot be had here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct Unavailable {
    /// The reason: a clause that names what was checked.
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

/// The user and group, as numbers for chown(1). `$USER` would be root in root's shell. Under sudo
/// it is the calling user, not root, where root itself is refused (a network filesystem).
pub(super) fn user() -> String {
    let effective = (geteuid().as_raw(), getegid().as_raw());
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let by_sudo = number("SUDO_UID").zip(number("SUDO_GID")).filter(|_| effective.0 == 0);
    let (uid, gid) = by_sudo.unwrap_or(effective);
    format!("{uid}:{gid}")
}
