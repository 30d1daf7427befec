//! Drives that remember: a FUSE filesystem of files with fixed length, which writes down each write
//! and each flush in the order in which they came. From that, what a drive may hold after the power
//! went at any moment: all that was flushed, and of the rest nothing, all, some writes, or some
//! sectors of some writes.
//!
//! What it leaves out: a write counts as flushed if it was answered before the flush came, as
//! drives promise; that a drive keeps this promise, only pulling its plug can show. A sector of 512
//! bytes is written or not, never half.

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

const SECTOR: usize = 512;

/// What happened, in order.
#[derive(Clone, Debug)]
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

#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) drives: Vec<Vec<u8>>,
    pub(crate) log: Vec<Entry>,
}

/// Mounted drives, and what is recorded of them.
pub(crate) struct Recorder {
    recording: Arc<Mutex<Recording>>,
    // Before the directory that it is mounted on.
    _session: BackgroundSession,
    mount: TempDir,
}

impl Recorder {
    /// Mounts `drives` drives; `None`, and the reason printed, where FUSE is not to be had.
    pub(crate) fn mount(drives: usize, bytes: usize) -> Option<Self> {
        let mount = tempfile::tempdir().unwrap();
        let recording = Recording { drives: vec![vec![0; bytes]; drives], log: Vec::new() };
        let recording = Arc::new(Mutex::new(recording));
        let drives = Drives(Arc::clone(&recording));
        match fuser::spawn_mount(drives, mount.path(), &Config::default()) {
            Ok(session) => Some(Self { recording, _session: session, mount }),
            Err(error) => {
                println!("skipped: no FUSE on this machine: {error}");
                None
            }
        }
    }

    pub(crate) fn drive(&self, drive: usize) -> PathBuf {
        self.mount.path().join(format!("drive{drive}"))
    }

    pub(crate) fn recording(&self) -> MutexGuard<'_, Recording> {
        self.recording.lock().unwrap()
    }

    pub(crate) fn acknowledge(&self, record: u64, version: u64) {
        self.recording().log.push(Entry::Acknowledged { record, version });
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

struct Drives(Arc<Mutex<Recording>>);

impl Drives {
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let recording = self.0.lock().unwrap();
        let size = match inode {
            1 => 0,
            _ => recording.drives.get(usize::try_from(inode).ok()?.checked_sub(2)?)?.len() as u64,
        };
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if inode == 1 { FileType::Directory } else { FileType::RegularFile },
            perm: 0o755,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

fn drive_of(inode: INodeNo) -> usize {
    u64::from(inode) as usize - 2
}

const TTL: Duration = Duration::from_secs(1);

impl Filesystem for Drives {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| name.strip_prefix("drive")?.parse::<u64>().ok());
        match number.and_then(|number| self.attributes(number + 2)) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode.into()) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let recording = self.0.lock().unwrap();
        let drive = &recording.drives[drive_of(inode)];
        let at = (at as usize).min(drive.len());
        reply.data(&drive[at..(at + bytes as usize).min(drive.len())]);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (drive, at) = (drive_of(inode), at as usize);
        let mut recording = self.0.lock().unwrap();
        recording.drives[drive][at..at + bytes.len()].copy_from_slice(bytes);
        recording.log.push(Entry::Write { drive, at, bytes: bytes.to_vec() });
        reply.written(bytes.len() as u32);
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.lock().unwrap().log.push(Entry::Flush { drive: drive_of(inode) });
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    /// A new store zeroes its drive; here it is zeroed already.
    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        assert!(self.0.lock().unwrap().log.iter().all(|entry| matches!(
            entry,
            Entry::Write { at: 0 | 0x8_0000, .. } | Entry::Flush { .. }
        )));
        reply.ok();
    }
}
