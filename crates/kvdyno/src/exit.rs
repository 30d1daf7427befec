//! How the program ends: its exit codes, and complaints that carry one.
//!
//! The codes are part of the interface: scripts and CI rely on them, and `kvdyno --help` and the
//! README quote this table.

use std::process::ExitCode;

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Ok = 0,
    /// The program itself could not go on: a file that cannot be read or written, a damaged record.
    Failure = 1,
    /// The command line or the suite asks for something that cannot be.
    Usage = 2,
    /// An engine failed; the other cases are kept.
    EngineFailed = 3,
    /// It ran to the end, but findings make the figures invalid; or a gate of `compare` has too
    /// little to judge by.
    Invalid = 4,
    /// `compare` found a regression past the gate.
    Regression = 5,
    /// Ctrl-C; what was done is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Something the user can put right: what is wrong, what would help, and how the program ends.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Complaint {
    /// What is wrong.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
    /// How the program ends.
    pub exit: Exit,
}

impl Complaint {
    /// A mistake on the command line or in a suite.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, exit: Exit::Usage }
    }

    /// The same with what would help.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// How the program ends for an error: as the complaint in its chain says, or as a failure.
pub fn of_error(error: &anyhow::Error) -> Exit {
    complaint(error).map_or(Exit::Failure, |complaint| complaint.exit)
}

/// The complaint in an error's chain.
pub fn complaint(error: &anyhow::Error) -> Option<&Complaint> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_complaint_decides_from_inside_the_chain() {
        let error: anyhow::Error = Complaint::usage("no such run").hint("see `list`").into();
        let error = Err::<(), _>(error).context("while reading").unwrap_err();
        assert_eq!(of_error(&error), Exit::Usage);
        assert_eq!(complaint(&error).unwrap().hint.as_deref(), Some("see `list`"));
        assert_eq!(of_error(&anyhow::anyhow!("disk on fire")), Exit::Failure);
    }
}
