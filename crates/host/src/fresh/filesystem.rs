//! Creates a filesystem on a device of ours with the usual tools, and mounts it. Later background
//! work is done at once or disabled.

use super::error::FreshError;
use crate::child;
use crate::patience::retry;
use kvdyno_record::volume::FilesystemKind;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Returns the name of the tool that makes a filesystem, and its package.
fn tool(kind: FilesystemKind) -> (&'static str, &'static str) {
    match kind {
        FilesystemKind::Ext4 => ("mkfs.ext4", "e2fsprogs"),
        FilesystemKind::Xfs => ("mkfs.xfs", "xfsprogs"),
        FilesystemKind::Btrfs => ("mkfs.btrfs", "btrfs-progs"),
    }
}

/// Returns the path of the tool that makes such a filesystem.
pub(super) fn find_tool(kind: FilesystemKind) -> Result<PathBuf, FreshError> {
    let (name, package) = tool(kind);
    let path = std::env::var_os("PATH").unwrap_or_default();
    // A user's PATH often has no directories of system tools.
    let dirs = std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from));
    let mut paths = dirs.map(|dir| dir.join(name));
    paths.find(|path| path.is_file()).ok_or(FreshError::NoTool { name, package })
}

/// Returns the tool's arguments. They prevent discards, which would deallocate an image's space,
/// and the kernel's work after the mount, which would be measured as well.
pub(super) fn arguments(
    kind: FilesystemKind,
    extra: &[String],
    label: Option<&str>,
    device: &Path,
) -> Vec<String> {
    const EXT4: &str = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
    let mut arguments: Vec<String> = match kind {
        FilesystemKind::Ext4 => ["-q", "-F", "-E", EXT4].map(str::to_owned).to_vec(),
        FilesystemKind::Xfs | FilesystemKind::Btrfs => {
            ["-q", "-f", "-K"].map(str::to_owned).to_vec()
        }
    };
    let mut extra = extra.iter();
    while let Some(argument) = extra.next() {
        let extended = kind == FilesystemKind::Ext4 && argument == "-E";
        match extra.as_slice().first().filter(|_| extended) {
            // mkfs.ext4 uses only the last of several `-E`.
            Some(options) => {
                arguments[3] = format!("{EXT4},{options}");
                extra.next();
            }
            None => arguments.push(argument.clone()),
        }
    }
    arguments.extend(label.into_iter().flat_map(|label| ["-L".to_owned(), label.to_owned()]));
    arguments.push(device.display().to_string());
    arguments
}

/// The time limit of a tool, which writes a few megabytes at most. One that looks at a mount whose
/// server is gone would wait forever.
const MAKING_MAX: Duration = Duration::from_secs(300);

/// Runs the tool, and returns its command line.
pub(super) fn make(
    kind: FilesystemKind,
    extra: &[String],
    label: Option<&str>,
    device: &Path,
) -> Result<String, FreshError> {
    let tool = find_tool(kind)?;
    let arguments = arguments(kind, extra, label, device);
    let command = format!("{} {}", tool.display(), arguments.join(" "));
    let mut running = Command::new(&tool);
    running.args(&arguments).env("LC_ALL", "C");
    let failed = |output: String| FreshError::Mkfs { command: command.clone(), output };
    // The tool ends with this process, and so does the device.
    let finished = child::run(running, Vec::new(), child::time_limit(MAKING_MAX))
        .map_err(|error| failed(error.to_string()))?;
    if finished.exit.is_success() { Ok(command) } else { Err(failed(finished.complaint())) }
}

/// The options that mount(8) turns into flags; all others are the filesystem's own.
const FLAGS: [(&str, MountFlags); 8] = [
    ("nodiratime", MountFlags::NODIRATIME),
    ("relatime", MountFlags::RELATIME),
    ("strictatime", MountFlags::STRICTATIME),
    ("lazytime", MountFlags::LAZYTIME),
    ("sync", MountFlags::SYNCHRONOUS),
    ("dirsync", MountFlags::DIRSYNC),
    ("noexec", MountFlags::NOEXEC),
    ("noatime", MountFlags::NOATIME),
];

/// Splits options into flags, and a text of the filesystem's own. Without an option for access
/// times they are off, because they turn reads into writes. Without an option for discards, btrfs's
/// are off: since Linux 6.2 they are on by default, and would deallocate an image's space.
fn split_options(kind: FilesystemKind, options: &[String]) -> (MountFlags, String) {
    let mut flags = MountFlags::NOSUID | MountFlags::NODEV;
    let mut options_of_kind = Vec::new();
    let mut words = options.iter().flat_map(|options| options.split(','));
    if kind == FilesystemKind::Btrfs && !words.any(|word| word.contains("discard")) {
        options_of_kind.push("nodiscard");
    }
    for option in options.iter().flat_map(|options| options.split(',')) {
        match FLAGS.iter().find(|(name, _)| *name == option) {
            Some((_, flag)) => flags |= *flag,
            None => options_of_kind.push(option),
        }
    }
    if !flags.intersects(MountFlags::RELATIME | MountFlags::STRICTATIME) {
        flags |= MountFlags::NOATIME;
    }
    (flags, options_of_kind.join(","))
}

/// A mounted filesystem. Dropping it unmounts it.
#[derive(Debug)]
pub(super) struct Mounted {
    point: PathBuf,
}

impl Mounted {
    /// Mounts a device on a directory.
    pub(super) fn new(
        device: &Path,
        point: &Path,
        kind: FilesystemKind,
        options: &[String],
    ) -> Result<Self, FreshError> {
        let (flags, others) = split_options(kind, options);
        let suffix = if others.is_empty() { String::new() } else { format!(" with {others}") };
        let failed = |error: std::io::Error| FreshError::Mount {
            what: format!("{} as {}{suffix}", device.display(), kind.as_str()),
            point: point.to_owned(),
            source: error,
        };
        let others = CString::new(others).map_err(|error| failed(error.into()))?;
        mount(device, point, kind.as_str(), flags, others.as_c_str())
            .map_err(|errno| failed(errno.into()))?;
        Ok(Self { point: point.to_owned() })
    }

    /// Unmounts the filesystem. Tries for a while: a process that is just ending may use it.
    pub(super) fn unmount(self) -> Result<(), FreshError> {
        const PATIENCE: Duration = Duration::from_secs(5);
        let is_busy = |errno: &Errno| *errno == Errno::BUSY;
        let unmounted = retry(PATIENCE, Duration::from_millis(10), is_busy, || {
            unmount(&self.point, UnmountFlags::empty())
        });
        // Dropping `self` unmounts it anyway.
        unmounted.map_err(|errno| FreshError::Unmount {
            point: self.point.clone(),
            source: errno.into(),
        })?;
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // If it is still in use, it disappears with its last user.
        if unmount(&self.point, UnmountFlags::empty()).is_err() {
            let _ = unmount(&self.point, UnmountFlags::DETACH);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_a_suite_gives_is_added_to_what_keeps_the_background_quiet() {
        let command_line =
            |kind, extra| arguments(kind, &words(extra), None, Path::new("/dev/x")).join(" ");
        assert_eq!(
            command_line(FilesystemKind::Ext4, "-O ^has_journal -E stride=8"),
            "-q -F -E lazy_itable_init=0,lazy_journal_init=0,nodiscard,stride=8 -O ^has_journal \
             /dev/x"
        );
        assert_eq!(command_line(FilesystemKind::Xfs, "-m crc=0"), "-q -f -K -m crc=0 /dev/x");
        assert_eq!(command_line(FilesystemKind::Btrfs, ""), "-q -f -K /dev/x");
        let labelled =
            arguments(FilesystemKind::Xfs, &[], Some("kvdyno-abcde"), Path::new("/dev/x"));
        assert_eq!(labelled.join(" "), "-q -f -K -L kvdyno-abcde /dev/x");
    }

    #[test]
    fn reads_write_no_times_unless_they_are_asked_to() {
        let split = |text| split_options(FilesystemKind::Ext4, &words(text));
        let (flags, others) = split("data=writeback,nobarrier lazytime");
        assert!(flags.contains(MountFlags::NOATIME | MountFlags::LAZYTIME));
        assert_eq!(others, "data=writeback,nobarrier");
        let (flags, others) = split("relatime");
        assert!(!flags.contains(MountFlags::NOATIME) && others.is_empty());
    }

    #[test]
    fn btrfs_discards_only_when_it_is_asked_to() {
        let options_of = |text| split_options(FilesystemKind::Btrfs, &words(text)).1;
        assert_eq!(options_of("compress=zstd"), "nodiscard,compress=zstd");
        assert_eq!(options_of("discard=async"), "discard=async");
    }
}
