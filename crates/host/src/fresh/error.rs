//! Why a volume is not made, or not taken down.

use std::io;
use std::path::PathBuf;

/// Why a volume cannot be made or taken down, and what would help.
#[expect(missing_docs, reason = "the texts say what their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum FreshError {
    /// A tool is missing.
    #[error("{name} is not installed: apt install {package}")]
    NoTool { name: &'static str, package: &'static str },
    /// Not this user.
    #[error("making volumes needs root: run as root, or name directories that are there")]
    NotRoot,
    /// A suite says more than a layout.
    #[error("`{word}` is not taken: expected {expected}")]
    Word { word: String, expected: String },
    /// The tool refused.
    #[error("`{command}` failed: {said}")]
    Mkfs { command: String, said: String },
    /// The kernel refused to mount.
    #[error("failed to mount {what} on {}: {source}; the kernel's log may say why (dmesg)",
        point.display())]
    Mount {
        /// Device, filesystem and options.
        what: String,
        point: PathBuf,
        source: io::Error,
    },
    /// Somebody still uses it.
    #[error("failed to unmount {}: {source}; it goes when its last user does", point.display())]
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
