//! The steps of an operation: locked, read, changed, journaled, flushed, written in place,
//! answered. Any number of operations can be in progress; a call that waits is one operation waited
//! for.
//!
//! A lookup reads its block without a lock. If the block is not sound, a write may have been in
//! progress: the block is read again under the lock, and repaired there.
//!
//! In class `commit` the new image goes to the journal first and is flushed there. Then it is
//! written in place, and the operation is answered. So a sound image of the block exists at any
//! moment, and a later operation's flush makes the block itself durable.

use crate::format::BlockState;
use crate::job::{Changes, Goal, Job, Part, Stage};
use crate::journal::Cover;
use crate::log::Count;
use crate::store::Store;
use kvdyno_drive::{How, Ring, Setup};
use kvdyno_engine::{Error, Result};
use std::collections::VecDeque;
use std::sync::MutexGuard;

/// Operations in progress, with a slot for each.
pub(crate) struct Pipeline<'e> {
    store: &'e Store,
    /// Dropped before the jobs: nothing is in flight when their locks are released.
    ring: Ring,
    jobs: Vec<Job<'e>>,
    /// Jobs that wait for their block's lock, in the order in which they came.
    locking: VecDeque<u32>,
    /// Jobs that have their lock and wait for room in the journal.
    starved: VecDeque<u32>,
    /// Jobs whose images wait for the next flush.
    journaled: Vec<u32>,
    flush: Flush,
    answers: Vec<(u32, Result<()>)>,
    done: VecDeque<u32>,
    /// Jobs that are not done.
    open: usize,
    /// An image on its way from one buffer to another.
    scratch: Vec<u8>,
}

/// A flush of all copies, and the jobs whose images it makes durable.
#[derive(Debug, Default)]
struct Flush {
    jobs: Vec<u32>,
    cover: Option<Cover>,
    open: u32,
    error: Option<Error>,
}

impl<'e> Pipeline<'e> {
    pub(crate) fn new(store: &'e Store, slots: u32) -> Result<Self> {
        let copies = store.members.len() as u32;
        let block_bytes = store.format.geometry.block_bytes as usize;
        // Each copy has a buffer for each slot, and one more for its flushes.
        let setup = Setup { depth: (slots + 1) * copies, block_bytes, ..Setup::default() };
        Ok(Self {
            store,
            ring: Ring::new(&store.files()?, &setup)?,
            jobs: (0..slots).map(|_| Job::idle()).collect(),
            locking: VecDeque::new(),
            starved: VecDeque::new(),
            journaled: Vec::new(),
            flush: Flush::default(),
            answers: Vec::new(),
            done: VecDeque::new(),
            open: 0,
            scratch: vec![0; if copies > 1 { block_bytes } else { 0 }],
        })
    }

    pub(crate) fn effective_setup(&self) -> &How {
        self.ring.effective_setup()
    }

    /// Returns the number of jobs that have begun and are not done.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Begins to look a record up.
    #[inline]
    pub(crate) fn begin_get(&mut self, slot: u32, block: u64, index: u32) -> Result<()> {
        let job = &mut self.jobs[slot as usize];
        job.goal = Goal::Show(index);
        job.block = block;
        self.open += 1;
        self.read(slot)
    }

    /// Returns the changes that the slot's next job is to make.
    #[inline]
    pub(crate) fn changes(&mut self, slot: u32) -> &mut Changes {
        &mut self.jobs[slot as usize].changes
    }

    /// Begins to make the slot's changes to a block.
    #[inline]
    pub(crate) fn begin_change(&mut self, slot: u32, block: u64) -> Result<()> {
        let job = &mut self.jobs[slot as usize];
        job.goal = Goal::Change;
        job.block = block;
        self.open += 1;
        self.wait_for_lock(slot);
        self.lock_those_that_wait()
    }

    /// Submits all queued operations.
    #[inline]
    pub(crate) fn send(&mut self) -> Result<()> {
        self.ring.send()
    }

    /// Returns the next job that is done, of the slots in `range`.
    #[inline]
    pub(crate) fn next_done(&mut self, range: std::ops::Range<u32>) -> Option<u32> {
        let position = self.done.iter().position(|slot| range.contains(slot))?;
        self.done.remove(position)
    }

    /// Returns the answer of a job that is done: for a lookup the value, if there is one.
    #[inline]
    pub(crate) fn fetch(&mut self, slot: u32) -> Result<Option<&[u8]>> {
        let job = &mut self.jobs[slot as usize];
        job.stage = Stage::Idle;
        match (job.error.take(), job.goal) {
            (Some(error), _) => Err(error),
            (None, Goal::Change) => Ok(None),
            (None, Goal::Show(index)) => Ok(self.store.format.value(index, self.ring.buffer(slot))),
        }
    }

    /// Makes one step: waits for the drive's next answer, if an operation is in flight.
    pub(crate) fn turn(&mut self) -> Result<()> {
        self.advance()?;
        if self.ring.open() == 0 {
            return self.wait_for_others();
        }
        let answers = &mut self.answers;
        self.ring.complete(|slot, result| answers.push((slot, result.map(drop))))?;
        let mut answers = std::mem::take(&mut self.answers);
        for (slot, result) in answers.drain(..) {
            self.handle_completion(slot, result)?;
        }
        self.answers = answers;
        self.advance()
    }

    /// Does what may have become possible: takes locks and room in the journal, begins a flush.
    #[inline]
    fn advance(&mut self) -> Result<()> {
        if !self.locking.is_empty() {
            self.lock_those_that_wait()?;
        }
        for _ in 0..self.starved.len() {
            if let Some(slot) = self.starved.pop_front() {
                self.journal(slot)?;
            }
        }
        let frees = !self.starved.is_empty() && self.store.journal.can_free();
        if self.flush.open == 0 && (frees || !self.journaled.is_empty()) {
            self.flush()?;
        }
        Ok(())
    }

    /// Waits for other sessions: nothing of this one is in flight, and they hold the locks of the
    /// next job.
    #[cold]
    fn wait_for_others(&mut self) -> Result<()> {
        // A session that holds a lock must not wait for another one.
        if self.starved.is_empty()
            && self.done.is_empty()
            && let Some(slot) = self.locking.pop_front()
        {
            let lock = self.store.lock(self.jobs[slot as usize].block);
            return self.handle_lock(slot, lock);
        }
        std::thread::yield_now();
        Ok(())
    }

    fn wait_for_lock(&mut self, slot: u32) {
        self.jobs[slot as usize].stage = Stage::Locking;
        self.locking.push_back(slot);
    }

    /// Takes the free locks; the job that came first to a block goes first.
    #[inline]
    fn lock_those_that_wait(&mut self) -> Result<()> {
        let mut position = 0;
        while let Some(&slot) = self.locking.get(position) {
            let block = self.jobs[slot as usize].block;
            let before = self.locking.iter().take(position);
            let first = before.copied().all(|other| self.jobs[other as usize].block != block);
            match if first { self.store.try_lock(block) } else { None } {
                None => position += 1,
                Some(lock) => {
                    self.locking.remove(position);
                    self.handle_lock(slot, lock)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn handle_lock(&mut self, slot: u32, lock: MutexGuard<'e, ()>) -> Result<()> {
        let job = &mut self.jobs[slot as usize];
        job.lock = Some(lock);
        match job.goal {
            Goal::Show(_) => {
                let healed = self.store.heal(job.block, self.ring.buffer_mut(slot));
                self.finish(slot, healed.err());
                Ok(())
            }
            Goal::Change if job.changes.cover(self.store.format.geometry.pack) => {
                self.ring.buffer_mut(slot).fill(0);
                self.change(slot, true)
            }
            Goal::Change => self.read(slot),
        }
    }

    #[inline]
    fn read(&mut self, slot: u32) -> Result<()> {
        let geometry = &self.store.format.geometry;
        let job = &mut self.jobs[slot as usize];
        job.stage = Stage::Reading;
        let (member, offset) =
            (self.store.pick_read_member(job.block), geometry.block_offset(job.block));
        self.ring.read(slot, member, offset, geometry.block_bytes as usize)
    }

    fn handle_completion(&mut self, buffer: u32, result: Result<()>) -> Result<()> {
        let slots = self.jobs.len() as u32;
        let (copy, slot) = (buffer / slots, buffer % slots);
        if copy as usize >= self.store.members.len() {
            return self.handle_flush(slot as usize, result);
        }
        if self.jobs[slot as usize].stage == Stage::Reading {
            return self.handle_read(slot, &result);
        }
        self.handle_write(slot, copy as usize, result);
        Ok(())
    }

    #[inline]
    fn handle_read(&mut self, slot: u32, result: &Result<()>) -> Result<()> {
        let job = &self.jobs[slot as usize];
        let inspected = match result {
            Ok(()) => self.store.format.inspect(job.block, self.ring.buffer(slot)),
            // The other copy is tried, and its error is reported if it fails too.
            Err(_) => BlockState::Bad,
        };
        let suspect = match inspected {
            BlockState::Sealed(_) => false,
            // One copy may have lost what the other still has.
            BlockState::Empty => self.store.is_mirrored(),
            BlockState::Bad | BlockState::Astray(_) => true,
        };
        match job.goal {
            Goal::Show(_) if suspect => self.wait_for_lock(slot),
            Goal::Show(_) => self.finish(slot, None),
            Goal::Change => {
                let inspected = if suspect {
                    self.store.heal(job.block, self.ring.buffer_mut(slot))
                } else {
                    Ok(inspected)
                };
                return match inspected {
                    Err(error) => {
                        self.finish(slot, Some(error));
                        Ok(())
                    }
                    Ok(inspected) => self.change(slot, inspected == BlockState::Empty),
                };
            }
        }
        Ok(())
    }

    /// Makes the block's new image. `maybe_new`: the block may never have been written.
    #[inline]
    fn change(&mut self, slot: u32, maybe_new: bool) -> Result<()> {
        let store = self.store;
        let block = self.jobs[slot as usize].block;
        let room = || if maybe_new { store.make_room(block) } else { Ok(()) };
        let ready = store.check().and_then(|()| room());
        let version = match ready.and_then(|()| store.next_version()) {
            Ok(version) => version,
            Err(error) => {
                self.finish(slot, Some(error));
                return Ok(());
            }
        };
        let job = &self.jobs[slot as usize];
        let image = self.ring.buffer_mut(slot);
        job.changes.apply(&store.format, image);
        store.format.seal(block, version, image);
        if store.commit { self.journal(slot) } else { self.write_in_place(slot) }
    }

    fn journal(&mut self, slot: u32) -> Result<()> {
        let journal = &self.store.journal;
        let Some(entry) = journal.reserve() else {
            // No entry of a store that has stopped becomes free.
            if let Err(error) = self.store.check() {
                self.finish(slot, Some(error));
                return Ok(());
            }
            let first = self.jobs[slot as usize].stage != Stage::Starved;
            self.store.log.count(Count::JournalFull, first.into());
            self.jobs[slot as usize].stage = Stage::Starved;
            self.starved.push_back(slot);
            return Ok(());
        };
        self.store.log.count(Count::Journaled, 1);
        self.jobs[slot as usize].entry = Some(entry);
        let offset = self.store.format.geometry.journal_offset(journal.slot(entry));
        self.write(slot, Stage::Journaling, offset)
    }

    #[inline]
    fn write_in_place(&mut self, slot: u32) -> Result<()> {
        let offset = self.store.format.geometry.block_offset(self.jobs[slot as usize].block);
        self.write(slot, Stage::Placing, offset)
    }

    /// Writes the slot's image to all copies at once.
    #[inline]
    fn write(&mut self, slot: u32, stage: Stage, offset: u64) -> Result<()> {
        let slots = self.jobs.len() as u32;
        let bytes = self.store.format.geometry.block_bytes as usize;
        let job = &mut self.jobs[slot as usize];
        job.stage = stage;
        job.writes.clear();
        for (copy, member) in (0..).zip(self.store.live_members()) {
            let buffer = copy * slots + slot;
            if copy > 0 {
                // The first copy's write is queued below, after the image has been taken from it.
                self.ring.buffer_mut(buffer).copy_from_slice(&self.scratch);
            } else if !self.scratch.is_empty() {
                self.scratch.copy_from_slice(self.ring.buffer(slot));
            }
            self.ring.write(buffer, member, offset, bytes)?;
            job.writes.push(Part { member, error: None });
        }
        job.open = job.writes.len() as u32;
        Ok(())
    }

    #[inline]
    fn handle_write(&mut self, slot: u32, copy: usize, result: Result<()>) {
        let job = &mut self.jobs[slot as usize];
        job.writes[copy].error = result.err();
        job.open -= 1;
        if job.open > 0 {
            return;
        }
        let refused = self.take_write_error(slot);
        let job = &mut self.jobs[slot as usize];
        match (refused, job.stage, job.entry) {
            (None, Stage::Journaling, _) => {
                job.stage = Stage::Journaled;
                self.journaled.push(slot);
            }
            (None, _, entry) => {
                if let Some(entry) = entry {
                    self.store.journal.mark_placed(entry);
                }
                self.finish(slot, None);
            }
            (Some(error), _, _) => self.fail(slot, error),
        }
    }

    /// Returns why a write failed; `None`: it succeeded. One copy is enough for that, if the other
    /// can be given up.
    #[inline]
    fn take_write_error(&mut self, slot: u32) -> Option<Error> {
        let writes = &mut self.jobs[slot as usize].writes;
        let refused = writes.iter().filter(|part| part.error.is_some()).count();
        let all = refused == writes.len();
        let mut errors =
            writes.iter_mut().filter_map(|part| Some((part.member, part.error.take()?)));
        if all {
            return errors.next().map(|(_, error)| error);
        }
        errors.find_map(|(member, error)| {
            let others = self.store.give_up(member, &error);
            (!others).then_some(error)
        })
    }

    fn fail(&mut self, slot: u32, error: Error) {
        let job = &self.jobs[slot as usize];
        match job.entry {
            Some(_) if job.stage == Stage::Placing => self.store.stop(),
            Some(entry) => self.store.withdraw(entry),
            None => {}
        }
        self.finish(slot, Some(error));
    }

    /// Flushes all copies, for every image that is in the journal by now.
    fn flush(&mut self) -> Result<()> {
        let first = self.jobs.len() as u32 * self.store.members.len() as u32;
        self.flush.cover = Some(self.store.journal.cover());
        self.flush.jobs.append(&mut self.journaled);
        self.store.log.count(Count::Flushes, 1);
        for member in self.store.live_members() {
            self.ring.fdatasync(first + member as u32, member)?;
            self.flush.open += 1;
        }
        Ok(())
    }

    fn handle_flush(&mut self, member: usize, result: Result<()>) -> Result<()> {
        if let Err(error) = result
            && !self.store.flush_failed(member, &error)
        {
            self.flush.error = Some(error);
        }
        self.flush.open -= 1;
        if self.flush.open > 0 {
            return Ok(());
        }
        let Flush { jobs, cover, error, .. } = std::mem::take(&mut self.flush);
        if let (Some(cover), None) = (cover, &error) {
            self.store.journal.release(cover);
        }
        for slot in jobs {
            match &error {
                None => self.write_in_place(slot)?,
                Some(error) => self.fail(slot, error.clone()),
            }
        }
        Ok(())
    }

    #[inline]
    fn finish(&mut self, slot: u32, error: Option<Error>) {
        let job = &mut self.jobs[slot as usize];
        job.stage = Stage::Done;
        job.entry = None;
        job.error = error;
        job.lock = None;
        self.open -= 1;
        self.done.push_back(slot);
    }
}

impl Drop for Pipeline<'_> {
    /// Completes the operations in progress: other sessions wait for their locks and journal
    /// entries.
    fn drop(&mut self) {
        while self.open > 0 && self.turn().is_ok() {
            self.done.clear();
        }
    }
}
