//! The RAM limit: a memory control group for one case's processes, page cache included.
//!
//! Groups are named after their maker ([`naming`]), and made below our own group or beside it
//! ([`parent`]); only those are removed. How much RAM a case gets is not decided here.

mod above;
mod control;
mod hierarchy;
mod leaf;
mod memory;
mod naming;
mod parent;
mod removal;
#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;

pub use above::{cpus_above, io_above, is_seen, memory_above, throttled_ns};
pub use memory::Allowed;
pub(super) use removal::{remove_dead, sweep};

use super::Root;
use super::owner::Owner;
use super::unavailable::Unavailable;
use hierarchy::Version;
use kvdyno_record::host::Availability;
use kvdyno_record::usage::GroupUsage;
use parent::Preparation;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time that a group has to lose its last process.
const REMOVE_LIMIT: Duration = Duration::from_secs(3);

/// Fails if no group can be limited to this much memory: none can be made, or a group above allows
/// less.
pub fn check_limit(root: &Root, limit_bytes: u64) -> Result<(), Unavailable> {
    parent::choose(root)?.check_room(root, limit_bytes)
}

/// A memory control group of ours. Dropping it removes it, with the processes in it.
#[derive(Debug)]
pub struct Group {
    root: Root,
    version: Version,
    directory: PathBuf,
    limit_bytes: u64,
    procs: File,
    /// Whether the limit is in force.
    holds: AtomicBool,
    removed: bool,
}

impl Group {
    /// Makes a group with a limit on memory and without swap. A process enters it by [`join`],
    /// before it touches a file whose cached pages shall count in the limit.
    pub fn create(root: &Root, name: &str, limit_bytes: u64) -> Result<Self, Unavailable> {
        let group = Self::create_open(root, name, limit_bytes)?;
        group.limit().map_err(group_error)?;
        Ok(group)
    }

    /// Makes a group with a limit that is in force from [`Self::enforce_limit`] on.
    pub fn create_open(root: &Root, name: &str, limit_bytes: u64) -> Result<Self, Unavailable> {
        let parent = parent::choose(root)?;
        parent.check_room(root, limit_bytes)?;
        match parent.preparation {
            Preparation::Below | Preparation::Beside => Ok(()),
            Preparation::BelowRoot => {
                control::write(&parent.directory, "cgroup.subtree_control", "+memory")
            }
            Preparation::BelowAlone => leaf::enter(root, &parent.directory),
        }
        .map_err(group_error)?;
        let directory = parent.directory.join(naming::group(Owner::read(root, root.pid()), name));
        let group = root.make_group(&directory).and_then(|()| {
            Self::open(root, parent.hierarchy.version, &directory, limit_bytes).inspect_err(|_| {
                let _ = root.remove_group(&directory);
            })
        });
        group.inspect_err(|_| leaf::go_back(root)).map_err(group_error)
    }

    fn open(root: &Root, version: Version, directory: &Path, bytes: u64) -> io::Result<Self> {
        let procs = OpenOptions::new().write(true).open(directory.join("cgroup.procs"))?;
        Ok(Self {
            root: root.clone(),
            version,
            directory: directory.to_owned(),
            limit_bytes: bytes,
            procs,
            holds: AtomicBool::new(false),
            removed: false,
        })
    }

    /// Puts the limit in force, and resets the recorded peak where the kernel can.
    pub fn enforce_limit(&self) -> io::Result<()> {
        self.limit()?;
        self.version.forget_peak(&self.directory);
        Ok(())
    }

    fn limit(&self) -> io::Result<()> {
        self.version.set_limit(&self.directory, self.limit_bytes)?;
        self.holds.store(true, Ordering::Relaxed);
        self.check_limit().map_err(io::Error::other)
    }

    /// `cgroup v1` or `cgroup v2`.
    pub fn enforcer(&self) -> String {
        self.version.to_string()
    }

    /// Where the group lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The requested limit.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Allows this much swap beyond the limit; call it before a process joins.
    pub fn allow_swap(&self, bytes: u64, swappiness: u32) -> io::Result<Allowed> {
        self.version.allow_swap(&self.root, &self.directory, bytes, swappiness)
    }

    /// Returns the file for [`join`]. It is open since the group was made, so that a child between
    /// fork and exec opens nothing.
    pub fn procs_file(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// Returns the group's counters.
    pub fn usage(&self) -> io::Result<GroupUsage> {
        self.version.usage(&self.directory)
    }

    /// Fails if the limit was changed. Call it again after the case: the host's manager may have
    /// interfered.
    pub fn check_limit(&self) -> Result<(), String> {
        if !self.holds.load(Ordering::Relaxed) {
            return Ok(());
        }
        // The kernel rounds down to whole pages.
        let page = rustix::param::page_size() as u64;
        match self.version.limit(&self.directory) {
            Some(bytes) if bytes / page == self.limit_bytes / page => Ok(()),
            Some(bytes) => {
                Err(format!("RAM limit: found {bytes} bytes, expected {}", self.limit_bytes))
            }
            None => Err("the RAM limit that was set is gone".to_owned()),
        }
    }

    /// Frees the group's page cache, as far as it is clean and unmapped. Returns the bytes freed.
    pub fn reclaim(&self) -> io::Result<u64> {
        let before = self.usage()?.memory_bytes;
        self.version.reclaim(&self.directory)?;
        Ok(before.saturating_sub(self.usage()?.memory_bytes))
    }

    /// Kills the group's remaining processes, frees its page cache, and removes it. The cache would
    /// otherwise pass to our own group and serve the next case for nothing.
    pub fn remove(mut self) -> io::Result<()> {
        self.remove_now()
    }

    fn remove_now(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        removal::remove(&self.root, self.version, &self.directory, REMOVE_LIMIT)?;
        leaf::go_back(&self.root);
        Ok(())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.remove_now();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn group_error(error: io::Error) -> Unavailable {
    Unavailable::new(format!("cannot make a control group: {error}"), "see `kvdyno doctor`")
}

/// Puts the calling process into the group. Async-signal-safe: for a child between fork and exec.
pub fn join(procs: BorrowedFd<'_>) -> io::Result<()> {
    rustix::io::write(procs, b"0")?;
    Ok(())
}

/// Returns whether and where a group can be made. Changes nothing.
pub fn availability(root: &Root) -> Availability {
    match parent::choose(root) {
        Ok(parent) => Availability { available: true, detail: parent.description(root) },
        Err(unavailable) => unavailable.into(),
    }
}
