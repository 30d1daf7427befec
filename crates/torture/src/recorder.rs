//! Drives that record their writes, for their user: files of a mount, and a process that serves
//! them and reports their history.

use crate::request::{
    ACKNOWLEDGEMENTS, Answer, Fault, Origin, Request, Seen, drive_name, state_name,
};
use crate::state::State;
use rustix::mount::{UnmountFlags, unmount};
use serde::Serialize;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Mounted drives, served by another process. Dropping this removes them.
#[derive(Debug)]
pub struct Recorder {
    server: Child,
    stream: Mutex<BufReader<UnixStream>>,
    mount: PathBuf,
    serials: AtomicU64,
}

/// A state that is served as drives. Dropping this removes them.
#[derive(Debug)]
pub struct Served<'r> {
    recorder: &'r Recorder,
    serial: u64,
}

impl Recorder {
    /// Mounts blank drives of these lengths on an empty directory. `server` becomes a process that
    /// does nothing but [`crate::attend`].
    ///
    /// # Errors
    /// FUSE is unavailable, or the process cannot be started.
    pub fn mount(server: Command, directory: &Path, lengths: &[u64]) -> io::Result<Self> {
        Self::start(server, directory, Origin::Blank(lengths.to_vec()))
    }

    /// Mounts drives with a recording that was saved, as [`Recorder::mount`] does blank ones.
    ///
    /// # Errors
    /// Those of [`Recorder::mount`], and a file that is no recording.
    pub fn replay(server: Command, directory: &Path, from: &Path) -> io::Result<Self> {
        Self::start(server, directory, Origin::Saved(std::path::absolute(from)?))
    }

    /// Starts the server in a process group of its own, out of the way of Ctrl-C: it ends with us.
    fn start(mut server: Command, directory: &Path, drives: Origin) -> io::Result<Self> {
        let (stream, server_end) = UnixStream::pair()?;
        server.current_dir("/").process_group(0);
        server.stdin(OwnedFd::from(server_end)).stdout(Stdio::null());
        let recorder = Self {
            server: server.spawn()?,
            stream: Mutex::new(BufReader::new(stream)),
            mount: directory.to_owned(),
            serials: AtomicU64::new(0),
        };
        // No other process may hold its end of the socket, or its death would go unnoticed.
        drop(server);
        recorder.request_unit(&Request::Mount { at: directory.to_owned(), drives })?;
        Ok(recorder)
    }

    /// Returns the path of a drive.
    pub fn drive(&self, drive: usize) -> PathBuf {
        self.mount.join(drive_name(drive))
    }

    /// Returns the path of the file for acknowledgements: two numbers of 64 bits, little-endian, at
    /// its beginning. Each is recorded after all writes and flushes that were answered before it
    /// was written.
    pub fn acknowledgements(&self) -> PathBuf {
        self.mount.join(ACKNOWLEDGEMENTS)
    }

    /// Asks the server to remove this directory, in which there are mount points and nothing else,
    /// at the end, also if this process is killed.
    ///
    /// # Errors
    /// The server has ended; the other requests fail likewise.
    pub fn remove(&self, dir: &Path) -> io::Result<()> {
        self.request_unit(&Request::Bury { dir: dir.to_owned() })
    }

    /// Begins a new recording, with the current contents of the drives.
    pub fn begin(&self) -> io::Result<()> {
        self.request_unit(&Request::Begin)
    }

    /// Returns the history since the recording began.
    pub fn look(&self) -> io::Result<Seen> {
        match self.request(&Request::Look)? {
            Answer::Seen(log_state) => Ok(log_state),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Makes the drives fail once.
    pub fn fail(&self, fault: Fault) -> io::Result<()> {
        self.request_unit(&Request::Fail(fault))
    }

    /// Serves a possible state of the drives after a power loss.
    pub fn serve(&self, state: &State) -> io::Result<Served<'_>> {
        let serial = self.serials.fetch_add(1, Relaxed);
        self.request_unit(&Request::Serve { serial, state: *state })?;
        Ok(Served { recorder: self, serial })
    }

    /// Writes the first `entries` entries of the recording into a new file, for
    /// [`Recorder::replay`].
    pub fn save(&self, to: &Path, entries: usize) -> io::Result<()> {
        self.request_unit(&Request::Save { to: std::path::absolute(to)?, entries })
    }

    fn request_unit(&self, request: &Request) -> io::Result<()> {
        self.request(request).map(drop)
    }

    fn request(&self, request: &impl Serialize) -> io::Result<Answer> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.get_mut().write_all(&line)?;
        line.clear();
        stream.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Err(io::Error::other("the process that serves the drives has ended"));
        }
        match serde_json::from_slice(&line)? {
            Answer::Failed(why) => Err(io::Error::other(why)),
            answer => Ok(answer),
        }
    }
}

impl Drop for Recorder {
    /// The server ends with the socket; one that was killed leaves a mount.
    fn drop(&mut self) {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.get_ref().shutdown(std::net::Shutdown::Both);
        let _ = self.server.wait();
        let _ = unmount(&self.mount, UnmountFlags::DETACH);
    }
}

impl Served<'_> {
    /// Returns the path of a drive as it is after the power loss.
    pub fn drive(&self, drive: usize) -> PathBuf {
        self.recorder.mount.join(state_name(self.serial, drive))
    }

    /// Writes the current contents of its drives into new sparse files, the first one's into `to`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save_image(&self, to: &Path) -> io::Result<()> {
        let to = std::path::absolute(to)?;
        self.recorder.request_unit(&Request::Keep { serial: self.serial, to })
    }
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        let _ = self.recorder.request_unit(&Request::Forget { serial: self.serial });
    }
}
