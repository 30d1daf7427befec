//! The server of the recorded drives, in a process of its own: this test program again, which runs
//! one hidden test. In the process that uses the mount it would be a trap: whoever waits for an
//! answer may hold the lock of the address space, for which the server waits when it touches a new
//! page. It ends when its input ends, that is with the process that started it, or when its time is
//! up; with it ends the connection, and whoever waits for an answer gets an error.

use super::{DRIVE_BYTES, Entry};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request, WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::mount::{UnmountFlags, unmount};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

/// The name of the hidden test.
pub(super) const TEST: &str = "recorder::server::serve";

/// What it is told through its environment: where, and how many drives.
pub(super) const FOLDER: &str = "KVDYNO_TEST_RECORDER";
pub(super) const DRIVES: &str = "KVDYNO_TEST_RECORDER_DRIVES";

/// What it prints before it serves, and behind that why it cannot.
pub(super) const MOUNTED: &str = "recorder mounted:";

/// In the folder: where it mounts, and what it leaves.
pub(super) const MOUNT: &str = "mount";
pub(super) const RECORDING: &str = "recording";

/// The file, beside the drives, to which acknowledgements are written.
pub(super) const ACKNOWLEDGEMENTS: &str = "acknowledgements";

/// The longest that a mount may be in use; a test uses it for seconds.
const LIMIT: Duration = Duration::from_mins(2);

#[test]
#[ignore = "not a test: the process that `Recorder::mount` starts"]
fn serve() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    // A thread of the filesystem that panics must not leave those waiting who have asked it.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::exit(1);
    }));
    let drives = std::env::var(DRIVES).unwrap().parse().unwrap();
    let recording = Recording { drives: vec![vec![0; DRIVE_BYTES]; drives], log: Vec::new() };
    let recording = Arc::new(Mutex::new(recording));
    let mount = folder.join(MOUNT);
    let session =
        match fuser::spawn_mount(Drives(Arc::clone(&recording)), &mount, &Config::default()) {
            Ok(session) => session,
            Err(error) => {
                println!("{MOUNTED} {error}");
                std::process::exit(0);
            }
        };
    println!("{MOUNTED}");

    let (ended, end) = channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        ended.send(())
    });
    let late = end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
    if unmount(&mount, UnmountFlags::DETACH | UnmountFlags::FORCE).is_err() {
        // Not root: by `fusermount`.
        drop(session);
    }
    assert!(!late, "the drives were still in use after {LIMIT:?}");
    let log = &recording.lock().unwrap().log;
    std::fs::write(folder.join(RECORDING), encode(log)).unwrap();
    std::process::exit(0);
}

/// Four numbers an entry: its kind, two that it has, and the length of the bytes that follow.
fn encode(log: &[Entry]) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in log {
        let (numbers, bytes) = match entry {
            Entry::Write { drive, at, bytes } => {
                ([0, *drive as u64, *at as u64, bytes.len() as u64], bytes.as_slice())
            }
            Entry::Flush { drive } => ([1, *drive as u64, 0, 0], &[][..]),
            Entry::Acknowledged { record, version } => ([2, *record, *version, 0], &[][..]),
        };
        all.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        all.extend_from_slice(bytes);
    }
    all
}

pub(super) fn decode(mut all: &[u8]) -> Vec<Entry> {
    let mut log = Vec::new();
    while let Some((numbers, rest)) = all.split_at_checked(32) {
        let number = |which: usize| {
            u64::from_le_bytes(numbers[which * 8..(which + 1) * 8].try_into().unwrap())
        };
        let (bytes, rest) = rest.split_at(number(3) as usize);
        all = rest;
        log.push(match number(0) {
            0 => Entry::Write {
                drive: number(1) as usize,
                at: number(2) as usize,
                bytes: bytes.to_vec(),
            },
            1 => Entry::Flush { drive: number(1) as usize },
            _ => Entry::Acknowledged { record: number(1), version: number(2) },
        });
    }
    assert!(all.is_empty(), "half an entry");
    log
}

struct Recording {
    drives: Vec<Vec<u8>>,
    log: Vec<Entry>,
}

impl Recording {
    fn write(&mut self, drive: usize, at: usize, bytes: Vec<u8>) {
        self.drives[drive][at..at + bytes.len()].copy_from_slice(&bytes);
        self.log.push(Entry::Write { drive, at, bytes });
    }
}

struct Drives(Arc<Mutex<Recording>>);

impl Drives {
    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let recording = self.0.lock().unwrap();
        let size = match inode {
            1 => 0,
            ACKNOWLEDGEMENTS_INODE => 16,
            _ => {
                recording.drives.get(usize::try_from(inode).ok()?.checked_sub(FIRST)?)?.len() as u64
            }
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

const ACKNOWLEDGEMENTS_INODE: u64 = 2;

/// The inode of drive 0.
const FIRST: usize = 3;

fn drive_of(inode: INodeNo) -> usize {
    u64::from(inode) as usize - FIRST
}

const TTL: Duration = Duration::from_secs(1);

impl Filesystem for Drives {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inode = match name.to_str() {
            Some(ACKNOWLEDGEMENTS) => Some(ACKNOWLEDGEMENTS_INODE),
            name => name
                .and_then(|name| name.strip_prefix("drive")?.parse::<u64>().ok())
                .map(|number| number + FIRST as u64),
        };
        match inode.and_then(|inode| self.attributes(inode)) {
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
        let mut recording = self.0.lock().unwrap();
        if u64::from(inode) == ACKNOWLEDGEMENTS_INODE {
            let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
            recording.log.push(Entry::Acknowledged { record: number(0), version: number(8) });
            reply.written(bytes.len() as u32);
            return;
        }
        let (drive, at) = (drive_of(inode), at as usize);
        recording.write(drive, at, bytes.to_vec());
        reply.written(bytes.len() as u32);
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.lock().unwrap().log.push(Entry::Flush { drive: drive_of(inode) });
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    /// A new store zeroes its drives, by holes: a write of zeros.
    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if mode as u32 != (FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE).bits() {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let at = at as usize;
        self.0.lock().unwrap().write(drive_of(inode), at, vec![0; length as usize]);
        reply.ok();
    }
}
