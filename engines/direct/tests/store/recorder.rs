//! Drives that remember: a FUSE filesystem of files with fixed length, which writes down each write
//! and each flush in the order in which they came. From that, what a drive may hold after the power
//! went at any moment: all that was flushed, and of the rest nothing, all, some writes, or some
//! sectors of some writes. The filesystem itself is `server`, in a process of its own.
//!
//! What it leaves out: a write counts as flushed if it was answered before the flush came, as
//! drives promise; that a drive keeps this promise, only pulling its plug can show. A sector of 512
//! bytes is written or not, never half.

mod server;

use kvdyno_testing::skipped;
use rustix::mount::{UnmountFlags, unmount};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use tempfile::TempDir;

pub(crate) const DRIVE_BYTES: usize = 6 << 20;

const SECTOR: usize = 512;

/// What happened, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Write {
        drive: usize,
        at: usize,
        bytes: Vec<u8>,
    },
    Flush {
        drive: usize,
    },
    /// The store has said that this version of this record is on stable storage.
    Acknowledged {
        record: u64,
        version: u64,
    },
}

/// Mounted drives, served by another process.
pub(crate) struct Recorder {
    server: Child,
    // Open until the server has gone: it would fail to print.
    _said: BufReader<ChildStdout>,
    // A file of the mount too, so that an acknowledgement has its place among writes and flushes.
    acknowledgements: Option<File>,
    folder: TempDir,
}

impl Recorder {
    /// Mounts `drives` drives; `None`, and the reason printed, where FUSE is not to be had.
    pub(crate) fn mount(drives: usize) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(server::MOUNT)).unwrap();
        let mut server = Command::new(std::env::current_exe().unwrap())
            .args([server::TEST, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env(server::FOLDER, folder.path())
            .env(server::DRIVES, drives.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(server.stdout.take().unwrap());
        let reason = loop {
            let mut line = String::new();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "the server has gone");
            if let Some((_, reason)) = line.split_once(server::MOUNTED) {
                break reason.trim().to_owned();
            }
        };
        let mut recorder = Self { server, _said: said, acknowledgements: None, folder };
        if !reason.is_empty() {
            skipped("fuse", "a drive that remembers", &reason);
            return None;
        }
        let path = recorder.folder.path().join(server::MOUNT).join(server::ACKNOWLEDGEMENTS);
        recorder.acknowledgements = Some(File::options().write(true).open(path).unwrap());
        Some(recorder)
    }

    pub(crate) fn drive(&self, drive: usize) -> PathBuf {
        self.folder.path().join(server::MOUNT).join(format!("drive{drive}"))
    }

    /// Notes it behind all writes and flushes that were answered by now.
    pub(crate) fn acknowledge(&self, record: u64, version: u64) {
        let both = [record.to_le_bytes(), version.to_le_bytes()].concat();
        self.acknowledgements.as_ref().unwrap().write_all_at(&both, 0).unwrap();
    }

    /// Ends the server, which hands over what it has written down.
    pub(crate) fn finish(mut self) -> Vec<Entry> {
        self.acknowledgements = None;
        drop(self.server.stdin.take());
        let status = self.server.wait().unwrap();
        assert!(status.success(), "the server of the drives: {status}");
        server::decode(&std::fs::read(self.folder.path().join(server::RECORDING)).unwrap())
    }
}

impl Drop for Recorder {
    /// The server ends with its input, or when its time is up; one that was killed leaves a mount.
    fn drop(&mut self) {
        self.acknowledgements = None;
        drop(self.server.stdin.take());
        let _ = self.server.wait();
        let mount = self.folder.path().join(server::MOUNT);
        let _ = unmount(mount, UnmountFlags::DETACH);
    }
}

/// Which of the writes that were not flushed have reached the drive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lost {
    All,
    None,
    SomeWrites,
    SomeSectors,
}

/// What the drives may hold when the power goes after `moment` entries of the log.
pub(crate) fn state_after(
    base: &[Vec<u8>],
    log: &[Entry],
    moment: usize,
    lost: Lost,
    random: &mut impl FnMut() -> u64,
) -> Vec<Vec<u8>> {
    let mut drives = base.to_vec();
    let flushed: Vec<usize> = (0..drives.len())
        .map(|drive| {
            let ours = |entry: &Entry| matches!(entry, Entry::Flush { drive: of } if *of == drive);
            log[..moment].iter().rposition(ours).unwrap_or(0)
        })
        .collect();
    for (number, entry) in log[..moment].iter().enumerate() {
        let Entry::Write { drive, at, bytes } = entry else { continue };
        let safe = number < flushed[*drive];
        let whole = match lost {
            Lost::All => false,
            Lost::None => true,
            Lost::SomeWrites | Lost::SomeSectors => random().is_multiple_of(2),
        };
        for (sector, piece) in (0..).zip(bytes.chunks(SECTOR)) {
            let reached = match lost {
                Lost::SomeSectors => random().is_multiple_of(2),
                _ => whole,
            };
            if safe || reached {
                let at = at + sector * SECTOR;
                drives[*drive][at..at + piece.len()].copy_from_slice(piece);
            }
        }
    }
    drives
}
