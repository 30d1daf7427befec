//! The session: it finds the places of keys, and runs the trait's calls as operations of a
//! pipeline.

use crate::pipeline::Pipeline;
use crate::store::Store;
use kvdyno_engine::{DataShape, Error, Result, Session, Write};

/// One thread's handle on a store.
pub struct DirectSession<'e> {
    store: &'e Store,
    pipeline: Pipeline<'e>,
    /// Slots below this are the caller's tickets; those from here on serve the calls that wait.
    tickets: u32,
    slots: u32,
    /// The free slots of calls that wait; a call gives back all that it took.
    free: Vec<u32>,
    /// The caller's numbers of the jobs in those slots.
    numbers: Vec<usize>,
}

/// Operations of one `multiget` or batch that are in flight at once, if blocks are small.
const LANES: u32 = 32;

/// Memory for the blocks of those operations.
const LANE_BYTES: u32 = 1 << 20;

impl<'e> DirectSession<'e> {
    pub(crate) fn new(store: &'e Store, tickets: u32) -> Result<Self> {
        let lanes = (LANE_BYTES / store.format.geometry.block_bytes).clamp(1, LANES);
        let slots = tickets + lanes;
        let pipeline = Pipeline::new(store, slots)?;
        let (free, numbers) = ((tickets..slots).collect(), vec![0; lanes as usize]);
        Ok(Self { store, pipeline, tickets, slots, free, numbers })
    }

    /// Returns the setup of this session's ring, as text.
    pub(crate) fn effective_setup(&self) -> String {
        self.pipeline.effective_setup().to_string()
    }

    /// Returns the block and the place of a key, whose last eight bytes are a number below
    /// `records`.
    #[inline]
    fn locate(&self, key: &[u8]) -> Result<(u64, u32)> {
        let geometry = &self.store.format.geometry;
        DataShape::number(key, geometry.records).map(|number| geometry.locate(number))
    }

    #[inline]
    fn check_value_length(&self, value: &[u8]) -> Result<()> {
        let most = self.store.format.geometry.value_bytes as usize;
        if value.len() <= most {
            return Ok(());
        }
        let bytes = value.len();
        Err(Error::invalid(format!("the value has {bytes} bytes, the store has room for {most}")))
    }

    /// Waits for the job of one slot.
    #[inline]
    fn wait(&mut self, slot: u32) -> Result<Option<&[u8]>> {
        while self.pipeline.next_done(slot..slot + 1).is_none() {
            self.pipeline.turn()?;
        }
        self.pipeline.fetch(slot)
    }

    #[inline]
    fn change(&mut self, slot: u32, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let (block, index) = self.locate(key)?;
        self.check_value_length(value.unwrap_or_default())?;
        let changes = self.pipeline.changes(slot);
        changes.clear();
        changes.push(index, value);
        self.pipeline.begin_change(slot, block)
    }

    /// Keeps as many jobs in flight as there are slots. `begin` starts the next one on a slot and
    /// gives it a number, if there is one; `end` gets each answer under that number. After an error
    /// no job is begun any more.
    fn run_jobs(
        &mut self,
        mut begin: impl FnMut(&mut Self, u32) -> Result<Option<usize>>,
        mut end: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let (mut more, mut open, mut outcome) = (true, 0, Ok(()));
        loop {
            while more && let Some(slot) = self.free.pop() {
                match begin(self, slot) {
                    Ok(Some(number)) => {
                        self.numbers[(slot - self.tickets) as usize] = number;
                        open += 1;
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => outcome = outcome.and(Err(error)),
                }
                more = false;
                self.free.push(slot);
            }
            if open == 0 {
                return outcome;
            }
            self.pipeline.turn()?;
            while let Some(slot) = self.pipeline.next_done(self.tickets..self.slots) {
                match self.pipeline.fetch(slot) {
                    Ok(value) => end(self.numbers[(slot - self.tickets) as usize], value),
                    Err(error) => {
                        more = false;
                        outcome = outcome.and(Err(error));
                    }
                }
                self.free.push(slot);
                open -= 1;
            }
        }
    }
}

impl Session for DirectSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let (block, index) = self.locate(key)?;
        let slot = self.tickets;
        self.pipeline.begin_get(slot, block, index)?;
        self.wait(slot).map(visit)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let slot = self.tickets;
        self.change(slot, key, Some(value))?;
        self.wait(slot).map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let slot = self.tickets;
        self.change(slot, key, None)?;
        self.wait(slot).map(drop)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let mut next = 0;
        self.run_jobs(
            |session, slot| {
                let Some(key) = keys.get(next) else { return Ok(None) };
                let (block, record) = session.locate(key)?;
                session.pipeline.begin_get(slot, block, record)?;
                next += 1;
                Ok(Some(next - 1))
            },
            &mut visit,
        )
    }

    /// Writes neighbours in the batch together if they are in one block. A block that the batch
    /// fills is not read.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let mut rest = writes;
        self.run_jobs(
            |session, slot| {
                let Some(first) = rest.first() else { return Ok(None) };
                let (block, _) = session.locate(first.key())?;
                session.pipeline.changes(slot).clear();
                while let Some((write, others)) = rest.split_first() {
                    let (block_of_write, record) = session.locate(write.key())?;
                    if block_of_write != block {
                        break;
                    }
                    let value = write.value();
                    session.check_value_length(value.unwrap_or_default())?;
                    session.pipeline.changes(slot).push(record, value);
                    rest = others;
                }
                session.pipeline.begin_change(slot, block)?;
                Ok(Some(0))
            },
            |_, _| (),
        )
    }

    #[inline]
    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        let (block, index) = self.locate(key)?;
        self.check(ticket)?;
        self.pipeline.begin_get(ticket, block, index)
    }

    #[inline]
    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(ticket)?;
        self.change(ticket, key, Some(value))
    }

    #[inline]
    fn send(&mut self) -> Result<()> {
        self.pipeline.send()
    }

    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        let mut answered = 0;
        loop {
            while let Some(ticket) = self.pipeline.next_done(0..self.tickets) {
                done(ticket, self.pipeline.fetch(ticket));
                answered += 1;
            }
            if answered > 0 || self.pipeline.open() == 0 {
                return Ok(answered);
            }
            self.pipeline.turn()?;
        }
    }
}

impl DirectSession<'_> {
    #[inline]
    fn check(&self, ticket: u32) -> Result<()> {
        if ticket < self.tickets {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "protocol error: ticket {ticket} out of range 0..{}",
            self.tickets
        )))
    }
}
