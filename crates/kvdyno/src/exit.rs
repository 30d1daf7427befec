//! Errors that the user can correct, and the exit code for them. The crate `record` defines the
//! codes.

use kvdyno_host::DataDirError;
use kvdyno_host::copy::CopyError;
use kvdyno_record::exit::Exit;

/// An error that the user can correct: a message and a remedy.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Complaint {
    /// The message.
    pub message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Complaint {
    /// A mistake on the command line or in a suite.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Returns the complaint with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The user interrupted what comes before a run.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted; nothing was measured")]
pub struct Interrupted;

/// Returns `did you mean`, the most similar candidate and a question mark; empty if none is
/// similar.
pub(crate) fn did_you_mean(typed: &str, candidates: &[&str]) -> String {
    let meant = kvdyno_suite::closest(typed, candidates);
    meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "))
}

/// The user chose places and copies, so the user can correct them.
impl From<DataDirError> for Complaint {
    fn from(error: DataDirError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<CopyError> for Complaint {
    fn from(error: CopyError) -> Self {
        Self::usage(error.to_string())
    }
}

/// The exit code for an error: a usage code if the user can correct it.
pub fn from_error(error: &anyhow::Error) -> Exit {
    if error.chain().any(<dyn std::error::Error>::is::<Interrupted>) {
        return Exit::Interrupted;
    }
    let is_correctable = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<Complaint>() || cause.is::<DataDirError>()
    };
    if error.chain().any(is_correctable) { Exit::Usage } else { Exit::Failure }
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
        assert_eq!(from_error(&error), Exit::Usage);
        assert_eq!(complaint(&error).unwrap().hint.as_deref(), Some("see `list`"));
        assert_eq!(from_error(&anyhow::anyhow!("disk on fire")), Exit::Failure);
    }
}
