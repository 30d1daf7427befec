//! Why a volume is not made, or not taken down.

use std::io;
use std::path::PathBuf;

/// Why a volume cannot be made or removed, and the remedy.
#[expect(missing_docs, reason = "the texts say what their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum FreshError {
    /// A tool is missing.
    #[error("{name} is not installed: apt install {package}")]
    NoTool { name: &'static str, package: &'static str },
    /// The user is not root.
    #[error("making volumes needs root: run as root, or name existing directories")]
    NotRoot,
    /// A suite sets an option that is not part of a layout.
    #[error("expected {expected}, found `{word}`")]
    Word { word: String, expected: String },
    /// The mkfs tool failed.
    #[error("`{command}` failed: {output}")]
    Mkfs { command: String, output: String },
    /// The kernel refused to mount.
    #[error("failed to mount {what} on {}: {source}; the kernel's log may say why (dmesg)",
        point.display())]
    Mount {
        /// Device, filesystem and options.
        what: String,
        point: PathBuf,
        source: io::Error,
    },
    /// The filesystem is still in use.
    #[error("failed to unmount {}: {source}; it disappears when the last process that uses it ends",
        point.display())]
    Unmount { point: PathBuf, source: io::Error },
    /// Anything else.
    #[error("failed to {act}: {source}")]
    Io {
        /// A verb and its object.
        act: String,
        source: io::Error,
    },
}

impl FreshError {
    pub(super) fn io(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        move |source| Self::Io { act, source }
    }
}
