//! Operations on blocks, each with a buffer: queued, sent, and answered in any order. The backend
//! (`io_uring`, or plain calls where it is forbidden) is chosen once, and [`How`] reports it.

pub use crate::flight::Setup;
use crate::flight::{Flight, Kind};
use crate::how::How;
use crate::region::Region;
use crate::uring::Uring;
use kvdyno_engine::{Error, Result};
use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;

/// The kernel's limit on a ring's entries.
const DEPTH_MAX: u32 = 1 << 15;

/// The most buffers that one call shows: the caller sends the operations that follow in one call.
const SHOWN_MAX: usize = 16;

/// The state of a slot's operation.
#[derive(Clone, Copy, Debug)]
struct Slot {
    flight: Flight,
    /// Bytes that are done after a short read or write.
    done: usize,
    busy: bool,
}

#[derive(Debug)]
enum Carrier {
    Uring(Box<Uring>),
    /// Slots of the operations that were queued, oldest first.
    Psync(VecDeque<u32>),
}

/// Buffers, files, and operations between them. It stays with the thread that made it.
#[derive(Debug)]
pub struct Ring {
    /// Dropped before the region: the kernel must release the buffers first.
    carrier: Carrier,
    region: Region,
    files: Vec<File>,
    slots: Vec<Slot>,
    /// Operations queued or in flight.
    open: usize,
    /// The most buffers that the next call shows.
    shown: usize,
    how: How,
    _stays_with_its_thread: PhantomData<*mut ()>,
}

impl Ring {
    /// Creates a ring over files that the caller opened with `O_DIRECT`. Features of `setup` that
    /// are not available are left out; [`Ring::effective_setup`] reports them.
    pub fn new(files: &[File], setup: &Setup) -> Result<Self> {
        let mut ring = Self::psync(files, setup)?;
        match Uring::new(&ring.files, &mut ring.region, setup) {
            Ok((uring, how)) => {
                ring.carrier = Carrier::Uring(Box::new(uring));
                ring.how = how;
            }
            Err(why) => ring.how.why_not.push(why),
        }
        Ok(ring)
    }

    /// Creates a ring that uses `pread` and `pwrite`. It performs each operation when its answer is
    /// waited for.
    pub fn psync(files: &[File], setup: &Setup) -> Result<Self> {
        let (depth, bytes) = (setup.depth.max(1), setup.block_bytes);
        if bytes == 0 || u32::try_from(bytes).is_err() {
            return Err(Error::invalid(format!(
                "a buffer has {bytes} bytes, expected 1 to {}",
                u32::MAX
            )));
        }
        if depth > DEPTH_MAX {
            return Err(Error::invalid(format!(
                "depth: expected at most {DEPTH_MAX}, found \
                {depth}"
            )));
        }
        let idle = Flight { kind: Kind::Flush, file: 0, offset: 0, bytes: 0 };
        Ok(Self {
            carrier: Carrier::Psync(VecDeque::with_capacity(depth as usize)),
            region: Region::new(depth, bytes)?,
            files: files.iter().map(File::try_clone).collect::<io::Result<_>>()?,
            slots: vec![Slot { flight: idle, done: 0, busy: false }; depth as usize],
            open: 0,
            shown: 1,
            how: How::default(),
            _stays_with_its_thread: PhantomData,
        })
    }

    /// The setup in effect.
    pub fn effective_setup(&self) -> &How {
        &self.how
    }

    /// Operations queued or in flight.
    pub fn open(&self) -> usize {
        self.open
    }

    /// The buffer of a slot.
    ///
    /// # Panics
    /// While an operation of the slot is queued or in flight: the buffer is the kernel's then.
    #[inline]
    pub fn buffer(&self, slot: u32) -> &[u8] {
        assert!(!self.slots[slot as usize].busy, "buffer {slot} is in flight");
        self.region.buffer(slot)
    }

    /// The buffer of a slot, to be filled before a write.
    ///
    /// # Panics
    /// While an operation of the slot is queued or in flight: the buffer is the kernel's then.
    #[inline]
    pub fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.slots[slot as usize].busy, "buffer {slot} is in flight");
        self.region.buffer_mut(slot)
    }

    /// Queues a read into the slot's buffer.
    #[inline]
    pub fn read(&mut self, slot: u32, file: usize, offset: u64, bytes: usize) -> Result<()> {
        self.queue(slot, Flight { kind: Kind::Read, file, offset, bytes })
    }

    /// Queues a write of the slot's buffer: with `O_DIRECT`, it is handed to the drive's cache.
    #[inline]
    pub fn write(&mut self, slot: u32, file: usize, offset: u64, bytes: usize) -> Result<()> {
        self.queue(slot, Flight { kind: Kind::Write, file, offset, bytes })
    }

    /// Queues a write to the first file. `durable`: it is on stable storage when it is answered
    /// (`RWF_DSYNC`): the kernel writes with FUA where the drive has it and no metadata changed,
    /// else it flushes after.
    #[inline]
    pub fn write_as(&mut self, durable: bool, slot: u32, offset: u64, bytes: usize) -> Result<()> {
        let kind = if durable { Kind::DurableWrite } else { Kind::Write };
        self.queue(slot, Flight { kind, file: 0, offset, bytes })
    }

    /// Queues an `fdatasync`; it covers writes that were answered before it was sent. A ring that
    /// polls (`IOPOLL`) answers it with an error.
    #[inline]
    pub fn fdatasync(&mut self, slot: u32, file: usize) -> Result<()> {
        self.queue(slot, Flight { kind: Kind::Flush, file, offset: 0, bytes: 0 })
    }

    #[inline]
    fn queue(&mut self, slot: u32, flight: Flight) -> Result<()> {
        let fits = self.slots.get(slot as usize).is_some_and(|slot| !slot.busy)
            && flight.file < self.files.len()
            && flight.bytes <= self.region.buffer_bytes();
        if !fits {
            return Err(misuse_error(slot, &flight));
        }
        self.slots[slot as usize] = Slot { flight, done: 0, busy: true };
        self.open += 1;
        self.start(slot);
        Ok(())
    }

    /// Queues the rest of a slot's operation.
    #[inline]
    fn start(&mut self, slot: u32) {
        let Slot { mut flight, done, .. } = self.slots[slot as usize];
        flight.offset += done as u64;
        flight.bytes -= done;
        match &mut self.carrier {
            Carrier::Uring(uring) => {
                uring.push(&self.files, &self.region, slot, done, &flight);
            }
            Carrier::Psync(queue) => queue.push_back(slot),
        }
    }

    /// Submits the queue without waiting.
    #[inline]
    pub fn send(&mut self) -> Result<()> {
        match &mut self.carrier {
            Carrier::Uring(uring) => {
                uring.send().map_err(|error| io_error("io_uring_enter", error))?;
            }
            Carrier::Psync(_) => {}
        }
        Ok(())
    }

    /// Waits for at least one answer, and shows each available one with its slot: the number of
    /// bytes, always as many as requested. Returns how many were shown; zero: nothing is in flight.
    /// Submits the queue first.
    pub fn complete(&mut self, mut done: impl FnMut(u32, Result<usize>)) -> Result<usize> {
        self.complete_at_most(usize::MAX, |slot, result| done(slot, result.map(<[u8]>::len)))
    }

    /// As [`Self::complete`], but shows the bytes of the operation in its buffer. After a wait it
    /// shows only one, then twice as many with each call. A drive may answer all operations at
    /// once and then idle (virtio does): so it gets the next one at once, and more while the caller
    /// still reads the other buffers.
    #[inline]
    pub fn complete_with_data(&mut self, done: impl FnMut(u32, Result<&[u8]>)) -> Result<usize> {
        let waits = match &mut self.carrier {
            Carrier::Uring(uring) => !uring.has_answers(),
            Carrier::Psync(_) => true,
        };
        self.shown = if waits { 1 } else { (self.shown * 2).min(SHOWN_MAX) };
        self.complete_at_most(self.shown, done)
    }

    #[inline]
    fn complete_at_most(
        &mut self,
        max: usize,
        mut done: impl FnMut(u32, Result<&[u8]>),
    ) -> Result<usize> {
        let mut answered = 0;
        while answered == 0 && self.open > 0 {
            answered = match &mut self.carrier {
                Carrier::Uring(_) => self.reap(max, &mut done)?,
                Carrier::Psync(queue) => {
                    let Some(slot) = queue.pop_front() else { break };
                    let result = self.execute_slot(slot);
                    self.answer(slot, result, &mut done);
                    1
                }
            };
        }
        Ok(answered)
    }

    /// Submits the queue and reads at most `max` of the kernel's answers; waits if there are none.
    #[inline]
    fn reap(&mut self, max: usize, done: &mut impl FnMut(u32, Result<&[u8]>)) -> Result<usize> {
        let mut answered = 0;
        let Carrier::Uring(uring) = &mut self.carrier else { return Ok(0) };
        let submitted = if uring.has_answers() { uring.send() } else { uring.enter(1) };
        submitted.map_err(|error| io_error("io_uring_enter", error))?;
        while answered < max
            && let Carrier::Uring(uring) = &mut self.carrier
            && let Some((slot, result)) = uring.answer()
        {
            if let Some(result) = self.settle(slot, result) {
                self.answer(slot, result, done);
                answered += 1;
            }
        }
        Ok(answered)
    }

    /// Returns the result that the kernel's answer means; `None`: the rest of the operation was
    /// queued again.
    #[inline]
    fn settle(&mut self, slot: u32, result: i32) -> Option<io::Result<()>> {
        let state = &mut self.slots[slot as usize];
        if let Ok(bytes) = usize::try_from(result) {
            state.done += bytes;
            if state.done >= state.flight.bytes {
                return Some(Ok(()));
            }
            if bytes == 0 {
                return Some(Err(unexpected_end_error(&state.flight, state.done)));
            }
        } else if ![libc::EAGAIN, libc::EINTR].contains(&-result) {
            return Some(Err(io::Error::from_raw_os_error(-result)));
        }
        self.start(slot);
        None
    }

    #[inline]
    fn answer(
        &mut self,
        slot: u32,
        result: io::Result<()>,
        done: &mut impl FnMut(u32, Result<&[u8]>),
    ) {
        let state = &mut self.slots[slot as usize];
        state.busy = false;
        self.open -= 1;
        let flight = &state.flight;
        match result {
            Ok(()) => done(slot, Ok(&self.region.buffer(slot)[..flight.bytes])),
            Err(error) => done(slot, Err(io_error(&describe_flight(flight), error))),
        }
    }

    /// Performs one whole operation by plain calls.
    fn execute_slot(&mut self, slot: u32) -> io::Result<()> {
        let flight = self.slots[slot as usize].flight;
        let Flight { kind, offset, bytes, .. } = flight;
        let file = &self.files[flight.file];
        if kind == Kind::Flush {
            return file.sync_data();
        }
        let buffer = &mut self.region.buffer_mut(slot)[..bytes];
        let mut done = 0;
        while done < bytes {
            let (rest, position) = (&mut buffer[done..], offset + done as u64);
            let result = match kind {
                Kind::Read => file.read_at(rest, position),
                Kind::Write => file.write_at(rest, position),
                Kind::DurableWrite | Kind::Flush => {
                    let rest = [IoSlice::new(rest)];
                    pwritev2(file, &rest, position, ReadWriteFlags::DSYNC).map_err(Errno::into)
                }
            };
            match result {
                Ok(0) => return Err(unexpected_end_error(&flight, done)),
                Ok(more) => done += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    /// The kernel may still write into the buffers, so they are freed only after it is done. If
    /// that cannot be determined, they are never freed.
    fn drop(&mut self) {
        while matches!(self.carrier, Carrier::Uring(_)) && self.open > 0 {
            if self.reap(usize::MAX, &mut |_, _| {}).is_err() {
                self.region.leak();
                return;
            }
        }
    }
}

fn describe_flight(Flight { kind, offset, bytes, .. }: &Flight) -> String {
    match kind {
        Kind::Read => format!("read of {bytes} bytes at {offset}"),
        Kind::Write => format!("write of {bytes} bytes at {offset}"),
        Kind::DurableWrite => format!("durable write of {bytes} bytes at {offset}"),
        Kind::Flush => "fdatasync".to_owned(),
    }
}

#[cold]
fn io_error(doing: &str, error: io::Error) -> Error {
    Error::from(error).context(doing)
}

#[cold]
fn unexpected_end_error(flight: &Flight, done: usize) -> io::Error {
    let end = flight.offset + done as u64;
    io::Error::new(io::ErrorKind::UnexpectedEof, format!("the file or device ends at {end}"))
}

#[cold]
fn misuse_error(slot: u32, flight: &Flight) -> Error {
    let what = format!(
        "{}: slot {slot} is in flight or has no such buffer, or there is no file {}",
        describe_flight(flight),
        flight.file
    );
    Error::invalid(what)
}

#[cfg(test)]
mod tests;
