//! What an engine is tortured on: a drive that remembers, a filesystem on it, and directories on
//! which both and the states of a power loss are mounted. All of it is where nobody else sees it,
//! and is gone with this process, however that ends.

use crate::exit::Complaint;
use anyhow::Context as _;
use kvdyno_host::fresh::namespace;
use kvdyno_host::{Looped, Root};
use kvdyno_record::volume::FilesystemKind;
use kvdyno_torture::Recorder;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Room for what engines set aside before they write. What is not written takes none.
const DRIVE_BYTES: u64 = 512 << 20;

/// The command of this program that serves drives.
const RECORDER: &str = "recorder";

const FUSE: &str = "/dev/fuse";

pub(super) struct Testbed {
    pub(super) recorder: Recorder,
    folder: PathBuf,
    kind: FilesystemKind,
}

/// Fails where this machine has not what it needs. Touches nothing.
pub(super) fn check(kind: FilesystemKind) -> Result<(), Complaint> {
    Looped::check(&Root::system(), kind).map_err(|error| {
        Complaint::usage(format!("an engine is tortured on a filesystem of its own: {error}"))
    })?;
    File::options().read(true).write(true).open(FUSE).map(drop).map_err(|error| {
        let hint = "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN";
        Complaint::usage(format!("the drive that remembers needs FUSE: {FUSE}: {error}")).hint(hint)
    })
}

/// Takes this thread, and those that it starts, where others see nothing of what is mounted.
pub(super) fn enter(needed: &[&Path]) -> Result<(), Complaint> {
    namespace::enter(needed).map_err(|error| {
        Complaint::usage(format!(
            "failed to make a mount namespace: {error}; run as root, outside of a container that \
             forbids it"
        ))
    })
}

impl Testbed {
    /// With a blank drive.
    pub(super) fn new(place: Option<&Path>, kind: FilesystemKind) -> anyhow::Result<Self> {
        Self::with(place, kind, |at| Recorder::mount(server(), at, &[DRIVE_BYTES]))
    }

    /// With one that was recorded.
    pub(super) fn replay(
        place: Option<&Path>,
        kind: FilesystemKind,
        recording: &Path,
    ) -> anyhow::Result<Self> {
        Self::with(place, kind, |at| Recorder::replay(server(), at, recording))
    }

    fn with(
        place: Option<&Path>,
        kind: FilesystemKind,
        mount: impl FnOnce(&Path) -> std::io::Result<Recorder>,
    ) -> anyhow::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("kvdyno-torture-");
        let folder = match place {
            Some(place) => builder.tempdir_in(place),
            None => builder.tempdir(),
        };
        let folder = folder.context("failed to make a folder of mount points")?;
        let at = folder.path().join("drives");
        fs::create_dir(&at)?;
        let recorder = mount(&at).context("failed to mount a drive that remembers")?;
        // From now on it is the recorder's: it outlives us.
        let folder = folder.keep();
        recorder.remove(&folder)?;
        Ok(Self { recorder, folder, kind })
    }

    /// A new filesystem on the drive.
    pub(super) fn make(&self) -> anyhow::Result<Looped> {
        // A small journal goes round more often; few inodes leave less to write.
        let mkfs: &[&str] = match self.kind {
            FilesystemKind::Ext4 => &["-b", "4096", "-J", "size=4", "-N", "2048"],
            FilesystemKind::Xfs | FilesystemKind::Btrfs => &[],
        };
        let mkfs: Vec<String> = mkfs.iter().map(|&word| word.to_owned()).collect();
        let file = open(&self.recorder.drive(0))?;
        Ok(Looped::make(self.kind, &mkfs, &file, &self.point("filesystem")?)?)
    }

    /// The filesystem on a drive after a power loss. The inner error: it does not mount.
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
        let point = self.folder.join(name);
        match fs::create_dir(&point) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error.into()),
            _ => Ok(point),
        }
    }
}

/// This very program, however it is called by now.
fn server() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg(RECORDER);
    command
}

fn open(drive: &Path) -> anyhow::Result<File> {
    let file = File::options().read(true).write(true).open(drive);
    file.with_context(|| format!("failed to open the drive {}", drive.display()))
}
