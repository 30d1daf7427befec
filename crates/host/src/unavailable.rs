//! Why something is unavailable on this host, and the remedy; and the user that a remedy names.

use kvdyno_record::host::Availability;
use rustix::process::{getegid, geteuid};

/// Why something is unavailable on this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct Unavailable {
    /// The reason: a clause that names what was checked.
    pub reason: String,
    /// The remedy: a clause that begins with a verb.
    pub remedy: String,
}

impl Unavailable {
    /// Takes the reason and the remedy.
    pub fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into() }
    }
}

impl From<Unavailable> for Availability {
    fn from(unavailable: Unavailable) -> Self {
        Self { available: false, detail: unavailable.to_string() }
    }
}

/// Returns the user and group, as numbers for chown(1). `$USER` would be root in root's shell.
/// Under sudo it is the calling user, not root: root itself may be refused (a network filesystem).
pub(super) fn user() -> String {
    let effective = (geteuid().as_raw(), getegid().as_raw());
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let by_sudo = number("SUDO_UID").zip(number("SUDO_GID")).filter(|_| effective.0 == 0);
    let (uid, gid) = by_sudo.unwrap_or(effective);
    format!("{uid}:{gid}")
}
