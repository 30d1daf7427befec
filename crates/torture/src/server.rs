//! The drives' own process: a FUSE filesystem of files with fixed length, which records each write,
//! flush and acknowledgement in the order in which they come. It serves the possible contents of
//! the drives after a power loss as further files, each with its own later writes.
//!
//! It is not in the process that uses the drives: a thread that waits for an answer may hold the
//! lock of the address space, for which the server waits when it touches a new page. Its requests
//! come on a socket, its standard input, and it ends with the socket: then its connection ends, and
//! threads that wait for an answer get an error.

use crate::image::Image;
use crate::recording::{Entry, Recording};
use crate::request::{Answer, Fault, FileRef, Origin, Request, Seen};
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite,
    Request as Asked, WriteFlags,
};
use rustix::fs::FallocateFlags;
use rustix::mount::{UnmountFlags, unmount};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

/// Answers the requests on standard input, a socket, until that ends; then ends the process.
///
/// # Errors
/// Standard input is not a socket, or fails.
pub fn attend() -> io::Result<()> {
    // A thread of the filesystem that panics must not leave its callers waiting.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::exit(1);
    }));
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let Some(first) = lines.next().transpose()? else { return Ok(()) };
    let Request::Mount { at: mount_point, drives } = serde_json::from_str(&first)? else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let recording = match drives {
        Origin::Blank(lengths) => Ok(Recording::new(&lengths)),
        Origin::Saved(path) => {
            File::open(path).and_then(|file| Recording::load(&mut BufReader::new(file)))
        }
    };
    let mounted = recording.and_then(|recording| {
        let drives =
            Drives(Arc::new(Mutex::new(ServerState { recording, ..ServerState::default() })));
        let session = fuser::spawn_mount(drives.clone(), &mount_point, &Config::default())?;
        Ok((drives, session))
    });
    let (drives, session) = match mounted {
        Ok(mounted) => mounted,
        Err(error) => return send(&stream, &Answer::Failed(error.to_string())),
    };
    send(&stream, &Answer::Done)?;
    let mut dir = None;
    for line in lines {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str(&line) {
            Ok(Request::Bury { dir: parent }) => {
                dir = Some(parent);
                Answer::Done
            }
            Ok(request) => drives.answer_request(request),
            Err(error) => Answer::Failed(error.to_string()),
        };
        if send(&stream, &answer).is_err() {
            break;
        }
    }
    // A drive that is pausing has the lock, and nothing must wait for it.
    remove_mount(&mount_point, dir.as_deref(), session);
    std::process::exit(0);
}

/// Removes the mount, and the directory with all that is mounted in it. Nothing is removed but
/// empty directories.
fn remove_mount(mount_point: &Path, dir: Option<&Path>, session: fuser::BackgroundSession) {
    let entries = dir.and_then(|dir| std::fs::read_dir(dir).ok());
    let points: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let (others, own): (Vec<_>, Vec<_>) = points.iter().partition(|point| point != &mount_point);
    for point in &others {
        let _ = unmount(*point, UnmountFlags::DETACH);
    }
    if unmount(mount_point, UnmountFlags::DETACH | UnmountFlags::FORCE).is_err() {
        // Without root, dropping the session unmounts by `fusermount`.
        drop(session);
    }
    for point in others.into_iter().chain(own).map(PathBuf::as_path).chain(dir) {
        let _ = std::fs::remove_dir(point);
    }
}

fn send(mut stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    stream.write_all(&line)
}

#[derive(Default)]
struct ServerState {
    recording: Recording,
    /// The contents of each drive of the served states, by their numbers.
    states: HashMap<u64, Vec<Image>>,
    fault: Option<Fault>,
    /// Writes or flushes, whichever the fault counts, since the request.
    counted: u64,
    /// The place of the fault among the entries; `None`: it has not come.
    came: Option<usize>,
}

impl ServerState {
    fn drive(&mut self, file: FileRef) -> Option<&mut Image> {
        match file {
            FileRef::Drive(drive) => self.recording.now.get_mut(drive),
            FileRef::State(serial, drive) => self.states.get_mut(&serial)?.get_mut(drive),
            FileRef::Root | FileRef::Acknowledgements => None,
        }
    }

    /// Returns the fault if it comes now, at a write or a flush.
    fn due_fault(&mut self, flush: bool) -> Option<Fault> {
        let fault = self.fault?;
        let (of_flushes, first, times) = match fault {
            Fault::FlushFails(after) => (true, after, 1),
            Fault::Full(after, times) => (false, after, times),
            Fault::Pause(after, _) => (false, after, 1),
        };
        if of_flushes != flush {
            return None;
        }
        self.counted += 1;
        if !(first..first + times).contains(&(self.counted - 1)) {
            return None;
        }
        self.came.get_or_insert(self.recording.log.len());
        Some(fault)
    }

    fn summarize_log(&self) -> Seen {
        let log = &self.recording.log;
        let mut log_state = Seen { entries: log.len(), fault: self.came, ..Seen::default() };
        for (index, entry) in log.iter().enumerate() {
            match entry {
                Entry::Acknowledged(numbers) => log_state.acknowledged.push((index, *numbers)),
                Entry::Flush { .. } => log_state.flushes += 1,
                Entry::Write { bytes, .. } => {
                    log_state.writes += 1;
                    log_state.bytes += bytes.len() as u64;
                }
                Entry::Clear { .. } => log_state.writes += 1,
            }
        }
        log_state
    }
}

#[derive(Clone)]
struct Drives(Arc<Mutex<ServerState>>);

impl Drives {
    fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_request(&self, request: Request) -> Answer {
        let mut guard = self.lock();
        let done = match request {
            // These are not for the drives.
            Request::Mount { .. } | Request::Bury { .. } => Err(io::ErrorKind::InvalidInput.into()),
            Request::Begin => {
                guard.recording.begin();
                (guard.fault, guard.counted, guard.came) = (None, 0, None);
                Ok(())
            }
            Request::Look => return Answer::Seen(guard.summarize_log()),
            Request::Serve { serial, state } => {
                let images = guard.recording.crash_images(&state);
                guard.states.insert(serial, images);
                Ok(())
            }
            Request::Forget { serial } => {
                guard.states.remove(&serial);
                Ok(())
            }
            Request::Fail(fault) => {
                (guard.fault, guard.counted, guard.came) = (Some(fault), 0, None);
                Ok(())
            }
            Request::Save { to, entries } => save(&guard.recording, entries, &to),
            Request::Keep { serial, to } => {
                let lengths = guard.recording.lengths.clone();
                let images = guard.states.get(&serial).map(Vec::as_slice).unwrap_or_default();
                write_images(images, &lengths, &to)
            }
        };
        done.map_or_else(|error| Answer::Failed(error.to_string()), |()| Answer::Done)
    }

    fn attributes(&self, file: FileRef) -> Option<FileAttr> {
        let guard = self.lock();
        let size = match file {
            FileRef::Root => 0,
            FileRef::Acknowledgements => 16,
            FileRef::Drive(drive) => *guard.recording.lengths.get(drive)?,
            FileRef::State(serial, drive) => {
                guard.states.get(&serial)?;
                *guard.recording.lengths.get(drive)?
            }
        };
        let dir = matches!(file, FileRef::Root);
        Some(FileAttr {
            ino: INodeNo(file.inode()),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if dir { FileType::Directory } else { FileType::RegularFile },
            perm: if dir { 0o755 } else { 0o600 },
            nlink: 1,
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Writes or clears, unless the drive fails.
    fn change(&self, file: FileRef, make: impl FnOnce(usize) -> Entry) -> Result<(), Errno> {
        let mut guard = self.lock();
        match file {
            FileRef::Drive(drive) => {
                match guard.due_fault(false) {
                    Some(Fault::Full(..)) => return Err(Errno::ENOSPC),
                    // No other request is answered meanwhile: it is one drive.
                    Some(Fault::Pause(_, ms)) => std::thread::sleep(Duration::from_millis(ms)),
                    Some(Fault::FlushFails(_)) | None => {}
                }
                guard.recording.note(make(drive));
            }
            FileRef::State(_, drive) => {
                let image = guard.drive(file).ok_or(Errno::ENOENT)?;
                make(drive).apply(image);
            }
            FileRef::Root | FileRef::Acknowledgements => return Err(Errno::EINVAL),
        }
        Ok(())
    }
}

fn save(recording: &Recording, entries: usize, to: &Path) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(to)?);
    recording.save(entries, &mut file)?;
    file.flush()
}

/// Writes sparse files next to each other, the first drive's under the given name.
fn write_images(images: &[Image], lengths: &[u64], to: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    for (drive, (image, length)) in images.iter().zip(lengths).enumerate() {
        let path = if drive == 0 { to.to_owned() } else { to.with_extension(drive.to_string()) };
        let file = File::create_new(&path)?;
        let written = file.set_len(*length).and_then(|()| {
            image.blocks().try_for_each(|(offset, bytes)| file.write_all_at(bytes, offset))
        });
        // Half an image would be taken for the drive.
        written.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    }
    Ok(())
}

const TTL: Duration = Duration::from_secs(1);

impl Filesystem for Drives {
    fn lookup(&self, _: &Asked, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let file = name.to_str().and_then(FileRef::from_name);
        match file.and_then(|file| self.attributes(file)) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Asked, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(FileRef::from_inode(inode.into())) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, _: &Asked, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Asked,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = FileRef::from_inode(inode.into());
        let length = self.attributes(file).map_or(0, |attributes| attributes.size);
        let mut read = vec![0; length.saturating_sub(offset).min(bytes.into()) as usize];
        match self.lock().drive(file) {
            Some(image) => image.read(offset, &mut read),
            None => return reply.error(Errno::EIO),
        }
        reply.data(&read);
    }

    fn write(
        &self,
        _: &Asked,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        bytes: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let file = FileRef::from_inode(inode.into());
        let done = match (file, bytes.split_at_checked(8)) {
            (FileRef::Acknowledgements, Some((one, other))) => {
                let number =
                    |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
                let numbers = [number(one), number(other)];
                self.lock().recording.note(Entry::Acknowledged(numbers));
                Ok(())
            }
            _ => {
                self.change(file, |drive| Entry::Write { drive, at: offset, bytes: bytes.to_vec() })
            }
        };
        match done {
            Ok(()) => reply.written(bytes.len() as u32),
            Err(error) => reply.error(error),
        }
    }

    fn fsync(&self, _: &Asked, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if let FileRef::Drive(drive) = FileRef::from_inode(inode.into()) {
            let mut guard = self.lock();
            if guard.due_fault(true).is_some() {
                return reply.error(Errno::EIO);
            }
            guard.recording.note(Entry::Flush { drive });
        }
        reply.ok();
    }

    fn flush(&self, _: &Asked, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    /// Punches holes, which loop devices make of zeros.
    fn fallocate(
        &self,
        _: &Asked,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let holes = [FallocateFlags::PUNCH_HOLE, FallocateFlags::ZERO_RANGE];
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        if !holes.iter().any(|hole| mode == *hole | FallocateFlags::KEEP_SIZE) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        match self.change(FileRef::from_inode(inode.into()), |drive| Entry::Clear {
            drive,
            at: offset,
            length,
        }) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }
}
