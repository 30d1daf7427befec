//! One thread's handle: its own ring, or the shared map. A value is the block in its buffer.

use crate::describe::Calls;
use crate::discard::discard;
use crate::drive::Drive;
use crate::mapped_file::MappedFile;
use crate::ring::Ring;
use kvdyno_engine::{Error, ErrorClass, Result, Session, Write};

/// The longest run: neighbouring blocks of a batch that are written as one.
const RUN_BYTES: usize = 1 << 20;
/// The most runs in flight.
const RUNS: u32 = 4;
/// The most reads of one `multiget` in flight.
const MULTIGET_DEPTH_MAX: usize = 1024;

/// One thread's handle on a drive.
#[derive(Debug)]
pub struct DriveSession<'e> {
    drive: &'e Drive,
    carrier: Carrier<'e>,
    /// The number of buffers, and so of operations in flight.
    depth: u32,
    /// For each ticket, whether its operation is a lookup.
    lookups: Vec<bool>,
    /// The ring for long writes; `None`: there was no batch yet.
    loader: Option<Ring>,
    whole: bool,
}

#[derive(Debug)]
enum Carrier<'e> {
    Ring(Ring),
    Map(&'e MappedFile),
}

impl<'e> DriveSession<'e> {
    pub(crate) fn new(drive: &'e Drive) -> Result<Self> {
        let depth = if drive.options.calls == Calls::IoUring { drive.depth() } else { 1 };
        let carrier = match &drive.map {
            Some(map) => Carrier::Map(map),
            None => Carrier::Ring(drive.open_ring(depth, drive.buffer_bytes)?),
        };
        let lookups = vec![false; depth as usize];
        let whole = drive.is_whole();
        Ok(Self { drive, carrier, depth, lookups, loader: None, whole })
    }

    /// Refuses a file that is not written in full: nothing is measured on it.
    #[inline]
    fn demand_whole(&mut self) -> Result<()> {
        if !self.whole {
            self.drive.demand_whole()?;
            self.whole = true;
        }
        Ok(())
    }

    /// Returns the ring, or an error if all calls are synchronous.
    #[inline]
    fn pipeline(&mut self) -> Result<&mut Ring> {
        match (&mut self.carrier, self.drive.options.calls) {
            (Carrier::Ring(ring), Calls::IoUring) => Ok(ring),
            (_, calls) => Err(synchronous_error(calls)),
        }
    }

    /// Refuses a value that is not a whole block, and any value if the location is read-only: a
    /// write to a read-only map would kill the process.
    #[inline]
    fn check_value(&self, value: &[u8]) -> Result<()> {
        if value.len() == self.drive.block_bytes && !self.drive.options.read_only {
            return Ok(());
        }
        let (bytes, block) = (value.len(), self.drive.block_bytes);
        let what = if self.drive.options.read_only {
            "option read_only is on: nothing can be written".to_owned()
        } else {
            format!("expected a value of {block} bytes, found {bytes}")
        };
        Err(Error::invalid(what))
    }

    /// Returns the ring, after a check that the piece is within bounds and not longer than
    /// announced.
    #[inline]
    fn checked_ring(&mut self, offset: u64, bytes: usize) -> Result<&mut Ring> {
        self.demand_whole()?;
        self.drive.demand_inside(offset, bytes as u64)?;
        let most = self.drive.buffer_bytes;
        match &mut self.carrier {
            Carrier::Ring(ring) if bytes <= most => Ok(ring),
            Carrier::Ring(_) => Err(Error::invalid(format!(
                "expected a request of at most {most} bytes, found {bytes}"
            ))),
            Carrier::Map(_) => Err(Error::unsupported("requests by offset with io = mmap")),
        }
    }

    fn demand_writable(&self) -> Result<()> {
        if self.drive.options.read_only {
            return Err(Error::invalid("option read_only is on: nothing can be written"));
        }
        Ok(())
    }

    /// Writes a batch, blocks that follow each other as one write. A write that overlaps one in
    /// flight waits for it, so that the last write of a block wins.
    fn write_runs(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let (drive, block) = (self.drive, self.drive.block_bytes);
        let mut loader = match self.loader.take() {
            Some(loader) => loader,
            None => drive.open_ring(RUNS, (RUN_BYTES - RUN_BYTES % block).max(block))?,
        };
        let mut runs = Runs::new(drive.options.durable);
        for write in writes {
            let Write::Put { key, value } = *write else {
                return Err(Error::unsupported("delete"));
            };
            self.check_value(value)?;
            runs.add(&mut loader, drive.offset(key)?, value)?;
        }
        runs.end(&mut loader)?;
        self.loader = Some(loader);
        Ok(())
    }
}

/// Long writes of a batch: one being filled, others in flight.
struct Runs {
    durable: bool,
    /// The slot being filled, where its run begins, and its length so far.
    slot: u32,
    start: u64,
    bytes: usize,
    /// For each slot in flight, where its run begins and ends.
    in_flight: [Option<(u64, u64)>; RUNS as usize],
}

impl Runs {
    fn new(durable: bool) -> Self {
        Self { durable, slot: 0, start: 0, bytes: 0, in_flight: [None; RUNS as usize] }
    }

    fn add(&mut self, ring: &mut Ring, offset: u64, value: &[u8]) -> Result<()> {
        let follows = self.bytes > 0 && offset == self.start + self.bytes as u64;
        if !follows || self.bytes + value.len() > ring.buffer(self.slot).len() {
            self.send(ring)?;
            self.start = offset;
        }
        let end = offset + value.len() as u64;
        while self.in_flight.iter().flatten().any(|&(start, until)| offset < until && start < end) {
            self.wait(ring)?;
        }
        ring.buffer_mut(self.slot)[self.bytes..][..value.len()].copy_from_slice(value);
        self.bytes += value.len();
        Ok(())
    }

    /// Sends the run that is being filled, and finds a free slot for the next.
    fn send(&mut self, ring: &mut Ring) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let (slot, start, bytes) = (self.slot, self.start, self.bytes);
        ring.write_as(self.durable, slot, start, bytes)?;
        ring.send()?;
        self.in_flight[slot as usize] = Some((start, start + bytes as u64));
        self.bytes = 0;
        loop {
            if let Some(free) = self.in_flight.iter().position(Option::is_none) {
                self.slot = free as u32;
                return Ok(());
            }
            self.wait(ring)?;
        }
    }

    fn wait(&mut self, ring: &mut Ring) -> Result<()> {
        let mut failed = Ok(());
        ring.complete(|slot, result| {
            self.in_flight[slot as usize] = None;
            if let Err(error) = result {
                failed = Err(error);
            }
        })?;
        failed
    }

    fn end(&mut self, ring: &mut Ring) -> Result<()> {
        self.send(ring)?;
        while ring.open() > 0 {
            self.wait(ring)?;
        }
        Ok(())
    }
}

impl Session for DriveSession<'_> {
    /// A drive's work ends when the bytes are in memory: what an application does with them is not
    /// part of it.
    const SHOWS_READ_BYTES: bool = true;

    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.demand_whole()?;
        let (offset, block) = (self.drive.offset(key)?, self.drive.block_bytes);
        match &mut self.carrier {
            Carrier::Map(map) => Ok(map.read(offset, block, |block| visit(Some(block)))),
            Carrier::Ring(ring) => {
                require_idle(ring)?;
                ring.read(0, 0, offset, block)?;
                wait(ring)?;
                Ok(visit(Some(&ring.buffer(0)[..block])))
            }
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let offset = self.drive.offset(key)?;
        self.check_value(value)?;
        let durable = self.drive.options.durable;
        match &mut self.carrier {
            // While a file is loaded, its pages may have no room behind them yet.
            Carrier::Map(_) if !self.whole => self.write_runs(&[Write::Put { key, value }]),
            Carrier::Map(map) => {
                map.store(offset, value);
                if durable { map.flush(offset, value.len()) } else { Ok(()) }
            }
            Carrier::Ring(ring) => {
                require_idle(ring)?;
                ring.buffer_mut(0)[..value.len()].copy_from_slice(value);
                ring.write_as(durable, 0, offset, value.len())?;
                wait(ring)
            }
        }
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        match self.carrier {
            Carrier::Map(_) if self.whole => writes.iter().try_for_each(|write| match *write {
                Write::Put { key, value } => self.put(key, value),
                Write::Delete { .. } => Err(Error::unsupported("delete")),
            }),
            _ => self.write_runs(writes),
        }
    }

    /// Discards the block. It still exists, and its bytes are zeros or undefined. That is not the
    /// `delete` of a store, so the engine does not claim one.
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.demand_whole()?;
        let offset = self.drive.offset(key)?;
        self.discard(offset, self.drive.block_bytes as u64)
    }

    /// Reads all blocks at once, up to a limit, and shows them as they come back.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.demand_whole()?;
        if self.drive.options.calls != Calls::IoUring {
            return (keys.iter().enumerate())
                .try_for_each(|(index, key)| self.get(key, |value| visit(index, value)));
        }
        let depth_needed = keys.len().min(MULTIGET_DEPTH_MAX) as u32;
        if depth_needed > self.depth {
            require_idle(self.pipeline()?)?;
            self.carrier =
                Carrier::Ring(self.drive.open_ring(depth_needed, self.drive.buffer_bytes)?);
            self.depth = depth_needed;
            self.lookups.resize(depth_needed as usize, false);
        }
        let (drive, block, depth) = (self.drive, self.drive.block_bytes, self.depth);
        let ring = self.pipeline()?;
        require_idle(ring)?;
        let mut free: Vec<u32> = (0..depth).rev().collect();
        let mut indexes = vec![0; depth as usize];
        let (mut next, mut failed) = (0, Ok(()));
        while (next < keys.len() && failed.is_ok()) || ring.open() > 0 {
            while next < keys.len() && failed.is_ok() {
                let Some(slot) = free.pop() else { break };
                indexes[slot as usize] = next;
                let queued =
                    drive.offset(keys[next]).and_then(|offset| ring.read(slot, 0, offset, block));
                failed = queued;
                next += 1;
            }
            ring.complete_with_data(|slot, result| {
                match result {
                    Ok(value) => visit(indexes[slot as usize], Some(value)),
                    Err(error) => failed = Err(error),
                }
                free.push(slot);
            })?;
        }
        failed
    }

    #[inline]
    fn read_at<R>(
        &mut self,
        offset: u64,
        bytes: usize,
        visit: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        let ring = self.checked_ring(offset, bytes)?;
        require_idle(ring)?;
        ring.read(0, 0, offset, bytes)?;
        wait(ring)?;
        Ok(visit(&ring.buffer(0)[..bytes]))
    }

    #[inline]
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.demand_writable()?;
        let durable = self.drive.options.durable;
        let ring = self.checked_ring(offset, bytes.len())?;
        require_idle(ring)?;
        ring.buffer_mut(0)[..bytes.len()].copy_from_slice(bytes);
        ring.write_as(durable, 0, offset, bytes.len())?;
        wait(ring)
    }

    fn discard(&mut self, offset: u64, bytes: u64) -> Result<()> {
        self.demand_writable()?;
        self.drive.demand_inside(offset, bytes)?;
        discard(&self.drive.blocks.file, offset, bytes)
    }

    fn flush(&mut self) -> Result<()> {
        Ok(self.drive.blocks.file.sync_data()?)
    }

    #[inline]
    fn submit_read_at(&mut self, ticket: u32, offset: u64, bytes: usize) -> Result<()> {
        self.pipeline()?;
        self.checked_ring(offset, bytes)?.read(ticket, 0, offset, bytes)?;
        self.lookups[ticket as usize] = true;
        Ok(())
    }

    #[inline]
    fn submit_write_at(&mut self, ticket: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        self.pipeline()?;
        self.demand_writable()?;
        let durable = self.drive.options.durable;
        let ring = self.checked_ring(offset, bytes.len())?;
        ring.buffer_mut(ticket)[..bytes.len()].copy_from_slice(bytes);
        ring.write_as(durable, ticket, offset, bytes.len())?;
        self.lookups[ticket as usize] = false;
        Ok(())
    }

    #[inline]
    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.demand_whole()?;
        let (offset, block) = (self.drive.offset(key)?, self.drive.block_bytes);
        self.pipeline()?.read(ticket, 0, offset, block)?;
        self.lookups[ticket as usize] = true;
        Ok(())
    }

    #[inline]
    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.demand_whole()?;
        let (offset, durable) = (self.drive.offset(key)?, self.drive.options.durable);
        self.check_value(value)?;
        let ring = self.pipeline()?;
        ring.buffer_mut(ticket)[..value.len()].copy_from_slice(value);
        ring.write_as(durable, ticket, offset, value.len())?;
        self.lookups[ticket as usize] = false;
        Ok(())
    }

    #[inline]
    fn send(&mut self) -> Result<()> {
        self.pipeline()?.send()
    }

    #[inline]
    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.pipeline()?;
        let Self { carrier: Carrier::Ring(ring), lookups, .. } = self else { return Ok(0) };
        ring.complete_with_data(|slot, result| {
            done(slot, result.map(|block| lookups[slot as usize].then_some(block)));
        })
    }
}

/// Waits for the one operation in flight.
#[inline]
fn wait(ring: &mut Ring) -> Result<()> {
    let mut answer = Ok(0);
    ring.complete(|_, result| answer = result)?;
    answer.map(drop)
}

/// Refuses a call that waits while operations are in flight.
#[inline]
fn require_idle(ring: &Ring) -> Result<()> {
    if ring.open() == 0 {
        return Ok(());
    }
    Err(Error::invalid("a synchronous call while operations are in flight"))
}

#[cold]
fn synchronous_error(calls: Calls) -> Error {
    let io = if calls == Calls::Mmap { "mmap" } else { "psync" };
    let what = format!("io = {io} is synchronous and ignores `depth`; set io = io_uring");
    Error::new(ErrorClass::Unsupported, what)
}
