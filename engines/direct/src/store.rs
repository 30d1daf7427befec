//! The state that all sessions of a store share: its copies and their states, locks on blocks,
//! versions, the journal; and the repair of a block from the other copy.

use crate::aligned::Aligned;
use crate::format::{BlockState, Format, first_version, version_epoch};
use crate::header::Header;
use crate::journal::Journal;
use crate::log::{Count, Log};
use crate::member::Member;
use crate::opening::OpenStore;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// The number of locks, which blocks share. It bounds memory, and is so large that unrelated blocks
/// rarely share one.
const LOCKS: usize = 4096;

/// An open store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) format: Format,
    pub(crate) members: Vec<Member>,
    pub(crate) journal: Journal,
    pub(crate) log: Log,
    /// Whether each write goes through the journal and is flushed.
    pub(crate) commit: bool,
    live: [AtomicBool; 2],
    /// Whether a write in place or a flush failed, so that no copy is left with known contents.
    broken: AtomicBool,
    header: Mutex<Header>,
    locks: Box<[Mutex<()>]>,
    next_version: AtomicU64,
    epoch: u64,
}

impl Store {
    pub(crate) fn new(opened: OpenStore, commit: bool, log: Log) -> Self {
        let OpenStore { members, header } = opened;
        Self {
            format: header.format(),
            journal: Journal::new(header.geometry.journal_slots),
            log,
            commit,
            live: [AtomicBool::new(true), AtomicBool::new(members.len() > 1)],
            broken: AtomicBool::new(false),
            locks: (0..LOCKS).map(|_| Mutex::new(())).collect(),
            next_version: AtomicU64::new(first_version(header.epoch)),
            epoch: header.epoch,
            header: Mutex::new(header),
            members,
        }
    }

    /// Returns duplicates of the copies' files, for a session's own ring.
    pub(crate) fn files(&self) -> Result<Vec<File>> {
        let files = self.members.iter().map(|member| member.file.try_clone());
        Ok(files.collect::<io::Result<_>>()?)
    }

    fn is_live(&self, member: usize) -> bool {
        self.live[member].load(Relaxed)
    }

    /// Returns the copies in use.
    pub(crate) fn live_members(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.members.len()).filter(|&member| self.is_live(member))
    }

    /// Returns whether there are two copies to compare.
    pub(crate) fn is_mirrored(&self) -> bool {
        self.members.len() > 1 && self.live_members().count() > 1
    }

    /// Returns the copy that a block is read from: always the same one, so that no reader sees a
    /// write in one copy and then misses it in the other.
    #[inline]
    pub(crate) fn pick_read_member(&self, block: u64) -> usize {
        if self.members.len() == 1 {
            return 0;
        }
        let preferred = (block & 1) as usize;
        if self.is_live(preferred) { preferred } else { 1 - preferred }
    }

    /// Returns the version of the next write.
    #[inline]
    pub(crate) fn next_version(&self) -> Result<u64> {
        let version = self.next_version.fetch_add(1, Relaxed);
        if version_epoch(version) == self.epoch {
            return Ok(version);
        }
        Err(Error::invalid(
            "more than 2^40 writes since the store was opened: close it and open it again",
        ))
    }

    /// Fails if the store takes no writes any more.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.broken.load(Relaxed) {
            let what = "a write or a flush failed, and the drive's contents are unknown: open the \
                store again";
            return Err(Error::new(ErrorClass::Io, what));
        }
        Ok(())
    }

    #[inline]
    fn block_lock(&self, block: u64) -> &Mutex<()> {
        &self.locks[(block % LOCKS as u64) as usize]
    }

    /// Returns the block's lock, if it is free.
    #[inline]
    pub(crate) fn try_lock(&self, block: u64) -> Option<MutexGuard<'_, ()>> {
        match self.block_lock(block).try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Waits for the block's lock. The caller must hold none: two sessions that wait for each other
    /// would wait forever.
    pub(crate) fn lock(&self, block: u64) -> MutexGuard<'_, ()> {
        self.block_lock(block).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up a copy that refused a write or a flush. Returns whether the store continues without
    /// it, on another one. Before the write is acknowledged, the other's header is marked as alone.
    pub(crate) fn give_up(&self, member: usize, why: &Error) -> bool {
        let mut header = self.header.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_live(member) {
            return true;
        }
        let Some(other) = self.live_members().find(|&other| other != member) else { return false };
        let alone = Header { generation: header.generation + 1, alone: true, ..header.clone() };
        if self.members[other].write_header(&alone).is_err() {
            self.broken.store(true, Relaxed);
            return false;
        }
        self.live[member].store(false, Relaxed);
        *header = alone;
        let path = self.members[member].path.display();
        self.log.record(Count::GivenUp, 1, format!("{path} is given up: {why}"));
        true
    }

    /// Gives up a copy whose flush failed, and stops the store if there is no other. Writes since
    /// the previous flush may be lost, and another flush would report success.
    pub(crate) fn flush_failed(&self, member: usize, why: &Error) -> bool {
        let others = self.give_up(member, why);
        if !others {
            self.broken.store(true, Relaxed);
        }
        others
    }

    /// Reads a block from all copies into `image`, and writes the newest sound one over those that
    /// are not sound or older. The caller holds the block's lock.
    pub(crate) fn heal(&self, block: u64, image: &mut [u8]) -> Result<BlockState> {
        let offset = self.format.geometry.block_offset(block);
        let mut copy = Aligned::new(image.len());
        let mut best: Option<(u64, BlockState)> = None;
        let mut versions = [None; 2];
        let mut words = Vec::new();
        for member in self.live_members() {
            let path = self.members[member].path.display();
            match self.members[member].read(&mut copy, offset) {
                Err(error) => words.push(error.message),
                Ok(()) => {
                    let what = self.format.inspect(block, &copy);
                    words.push(format!("{path}: {what}"));
                    versions[member] = what.version();
                    if let Some(version) = versions[member]
                        && best.is_none_or(|(newest, _)| version > newest)
                    {
                        best = Some((version, what));
                        image.copy_from_slice(&copy);
                    }
                }
            }
        }
        let Some((version, what)) = best else {
            let which = self.format.geometry.describe_block(block);
            let words = format!("{which} is damaged: {}", words.join("; "));
            self.log.record(Count::Corrupt, 1, words.clone());
            return Err(Error::new(ErrorClass::Corrupt, words));
        };
        copy.copy_from_slice(image);
        let mut sound = true;
        for member in self.live_members().filter(|&member| versions[member] != Some(version)) {
            sound = false;
            match self.members[member].write(&copy, offset) {
                Ok(()) => {
                    let which = self.format.geometry.describe_block(block);
                    self.log.record(Count::Repaired, 1, format!("{which}: {}", words.join("; ")));
                }
                Err(error) => drop(self.give_up(member, &error)),
            }
        }
        self.log.count(Count::Reread, u64::from(sound && what != BlockState::Empty));
        Ok(what)
    }

    /// Stops all writes, after a commit could not be put in place. The block there may be torn, and
    /// the journal has the only sound image, which is kept until the next opening puts it in place.
    pub(crate) fn stop(&self) {
        self.broken.store(true, Relaxed);
    }

    /// Allocates the room of a block that may never have been written, so that a full filesystem
    /// cannot take one half of it. This comes before a commit's image is in the journal, because a
    /// write in place that fails later stops the store.
    pub(crate) fn make_room(&self, block: u64) -> Result<()> {
        let geometry = &self.format.geometry;
        let bytes = u64::from(geometry.block_bytes);
        let live: Vec<usize> = self.live_members().collect();
        let ask = |&member: &usize| {
            let room =
                self.members[member].make_room(geometry.block_offset(block), bytes, self.commit);
            Some((member, room.err()?))
        };
        let refused: Vec<(usize, Error)> = live.iter().filter_map(ask).collect();
        let all = refused.len() == live.len();
        for (member, error) in refused {
            if all || !self.give_up(member, &error) {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Zeroes a journal entry that will not be placed, so that recovery does not place it. Allowed
    /// only before its block is touched: after that the image is the only sound one.
    pub(crate) fn withdraw(&self, entry: u64) {
        let zeros = Aligned::new(self.format.geometry.block_bytes as usize);
        let offset = self.format.geometry.journal_offset(self.journal.slot(entry));
        for member in self.live_members() {
            // If this fails, the write that was refused may still appear after a power loss: no
            // worse than any other write whose answer is an error.
            drop(self.members[member].write(&zeros, offset));
        }
        self.journal.mark_placed(entry);
    }

    /// Makes all writes so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check()?;
        for member in self.live_members().collect::<Vec<_>>() {
            if let Err(error) = self.members[member].sync()
                && !self.flush_failed(member, &error)
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Makes all writes durable and marks in the headers that nothing needs to be restored.
    pub(crate) fn close(self) -> Result<()> {
        self.sync()?;
        let live: Vec<usize> = self.live_members().collect();
        let mut header = self.header.into_inner().unwrap_or_else(PoisonError::into_inner);
        header.generation += 1;
        header.clean = true;
        live.into_iter().try_for_each(|member| self.members[member].write_header(&header))
    }
}
