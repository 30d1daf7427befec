//! The testbed of an engine: a recording drive, a filesystem on it, and directories on which it and
//! the states after a power loss are mounted. All of it is in a private mount namespace, and
//! disappears with this process.

use crate::exit::Complaint;
use anyhow::Context as _;
use kvdyno_host::fresh::namespace;
use kvdyno_host::{Looped, Root};
use kvdyno_record::volume::FilesystemKind;
use kvdyno_torture::Recorder;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for preallocation by engines. Unwritten space uses no memory.
const DRIVE_BYTES: u64 = 512 << 20;

/// The command of this program that serves drives.
const RECORDER: &str = "recorder";

const FUSE: &str = "/dev/fuse";

pub(super) struct Testbed {
    pub(super) recorder: Recorder,
    dir: PathBuf,
    kind: FilesystemKind,
}

/// Fails if this machine lacks a requirement. Changes nothing.
pub(super) fn check(kind: FilesystemKind) -> Result<(), Complaint> {
    Looped::check(&Root::system(), kind).map_err(|error| {
        Complaint::usage(format!("torture needs a filesystem of its own for the engine: {error}"))
    })?;
    File::options().read(true).write(true).open(FUSE).map(drop).map_err(|error| {
        let hint = "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN";
        Complaint::usage(format!("the recording drive needs FUSE: {FUSE}: {error}")).hint(hint)
    })
}

/// Moves this thread, and the threads that it starts, into a private mount namespace.
pub(super) fn enter(needed: &[&Path]) -> Result<(), Complaint> {
    namespace::enter(needed).map_err(|error| {
        Complaint::usage(format!(
            "failed to create a mount namespace: {error}; run as root, outside of a container that \
             forbids it"
        ))
    })
}

impl Testbed {
    /// Makes a testbed with a blank drive.
    pub(super) fn new(data_dir: Option<&Path>, kind: FilesystemKind) -> anyhow::Result<Self> {
        Self::with(data_dir, kind, |mount_point| {
            Recorder::mount(server(), mount_point, &[DRIVE_BYTES])
        })
    }

    /// Makes a testbed with a recorded drive.
    pub(super) fn replay(
        data_dir: Option<&Path>,
        kind: FilesystemKind,
        recording: &Path,
    ) -> anyhow::Result<Self> {
        Self::with(data_dir, kind, |mount_point| Recorder::replay(server(), mount_point, recording))
    }

    fn with(
        data_dir: Option<&Path>,
        kind: FilesystemKind,
        mount: impl FnOnce(&Path) -> std::io::Result<Recorder>,
    ) -> anyhow::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("kvdyno-torture-");
        let dir = match data_dir {
            Some(data_dir) => builder.tempdir_in(data_dir),
            None => builder.tempdir(),
        };
        let dir = dir.context("failed to create a directory of mount points")?;
        let mount_point = dir.path().join("drives");
        fs::create_dir(&mount_point)?;
        let recorder = mount(&mount_point).context("failed to mount a recording drive")?;
        // The recorder owns the directory now: it outlives this process.
        let dir = dir.keep();
        recorder.remove(&dir)?;
        Ok(Self { recorder, dir, kind })
    }

    /// Makes a new filesystem on the drive.
    pub(super) fn make(&self) -> anyhow::Result<Looped> {
        // A small journal wraps around more often; few inodes leave less to write.
        let mkfs: &[&str] = match self.kind {
            FilesystemKind::Ext4 => &["-b", "4096", "-J", "size=4", "-N", "2048"],
            FilesystemKind::Xfs | FilesystemKind::Btrfs => &[],
        };
        let mkfs: Vec<String> = mkfs.iter().map(|&word| word.to_owned()).collect();
        let file = open(&self.recorder.drive(0))?;
        Ok(Looped::make(self.kind, &mkfs, &file, &self.point("filesystem")?)?)
    }

    /// Mounts the filesystem on a drive after a power loss. The inner error: it cannot be mounted.
    pub(super) fn mount(
        &self,
        drive: &Path,
        lane: usize,
    ) -> anyhow::Result<Result<Looped, String>> {
        let file = open(drive)?;
        let mounted = Looped::mount(self.kind, &file, &self.point(&format!("lane{lane}"))?);
        Ok(mounted.map_err(|error| error.to_string()))
    }

    fn point(&self, name: &str) -> anyhow::Result<PathBuf> {
        let point = self.dir.join(name);
        match fs::create_dir(&point) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(point),
        }
    }
}

/// The command that starts this program as recorder, even if its file was replaced.
fn server() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(RECORDER);
    command
}

fn open(drive: &Path) -> anyhow::Result<File> {
    let file = File::options().read(true).write(true).open(drive);
    file.with_context(|| format!("failed to open the drive {}", drive.display()))
}
