//! Messages between ranks, by MPI.
//!
//! A message is split into frames so small that MPI sends them at once, whether a receiver waits or
//! not. MPI would keep a larger frame until it is asked for. Until then its sender would burn a
//! processor, or wait for ever for a rank that has gone.

use kvdyno_crew::{ClockOffset, Gatherer, Order, Ping, Report, Slices};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _, Destination as _, Source as _};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::time::SystemTime;

const ORDERS: i32 = 1;
const REPORTS: i32 = 2;
const PINGS: i32 = 3;
const ASKS: i32 = 4;
const ANSWERS: i32 = 5;

/// The rank that gives orders.
const FIRST: u32 = 0;

/// Half of what `OpenMPI` sends at once over TCP (`btl_tcp_eager_limit`: 64 KiB).
const FRAME: usize = 32 << 10;

/// The last byte of a frame: whether others follow.
const MORE: u8 = 0;
const LAST: u8 = 1;

/// This process among those that were launched with it.
pub(crate) struct Transport {
    world: SimpleCommunicator,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Frames of messages that are not whole, by sender and tag.
    begun: RefCell<HashMap<(u32, i32), Vec<u8>>>,
    /// Dropped last: MPI ends with it.
    _universe: Universe,
}

impl Transport {
    /// Joins the other ranks. From here on this process dies with the launcher's process on its
    /// machine.
    pub(crate) fn start() -> io::Result<Self> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) =
            started.ok_or_else(|| io::Error::other("MPI is initialized already"))?;
        let world = universe.world();
        let (rank, ranks) = (world.rank() as u32, world.size() as u32);
        Ok(Self { world, rank, ranks, begun: RefCell::default(), _universe: universe })
    }

    /// Ends all ranks at once. An orderly end of MPI would wait for ranks that do not know of the
    /// end.
    pub(crate) fn abort(&self) -> ! {
        self.world.abort(1)
    }

    /// Gives an order to the other ranks; for the first rank.
    pub(crate) fn order(&self, order: &Order) -> io::Result<()> {
        let bytes = serde_json::to_vec(order)?;
        (1..self.ranks).for_each(|rank| self.send(rank, ORDERS, &bytes));
        Ok(())
    }

    /// Returns the next order, if one has arrived.
    pub(crate) fn receive_order(&self) -> io::Result<Option<Order>> {
        Ok(self.receive_json(ORDERS)?.map(|(_, order)| order))
    }

    /// Reports to the first rank.
    pub(crate) fn report(&self, report: &Report) -> io::Result<()> {
        self.send(FIRST, REPORTS, &serde_json::to_vec(report)?);
        Ok(())
    }

    /// Returns the next report of another rank, if one has arrived; for the first rank.
    pub(crate) fn receive_report(&self) -> io::Result<Option<(u32, Report)>> {
        self.receive_json(REPORTS)
    }

    /// Asks a rank below for slices.
    pub(crate) fn ask(&self, rank: u32) {
        self.send(rank, ASKS, &[]);
    }

    /// Whether the rank above has asked.
    pub(crate) fn is_requested(&self) -> bool {
        self.message(ASKS).is_some()
    }

    /// Answers the rank above.
    pub(crate) fn answer(&self, slices: &Slices) -> io::Result<()> {
        let above = Gatherer::parent_rank(self.rank).ok_or(io::ErrorKind::NotFound)?;
        self.send(above, ANSWERS, &serde_json::to_vec(slices)?);
        Ok(())
    }

    /// Returns the next answer of a rank below, if one has arrived.
    pub(crate) fn receive_answer(&self) -> io::Result<Option<(u32, Slices)>> {
        self.receive_json(ANSWERS)
    }

    /// Waits until every rank is here.
    pub(crate) fn barrier(&self) {
        self.world.barrier();
    }

    /// Measures how far another rank's clock is ahead, while that rank answers pings; for the first
    /// rank.
    pub(crate) fn measure_clock_offset(&self, rank: u32, count: u32) -> io::Result<ClockOffset> {
        self.send(rank, ORDERS, &serde_json::to_vec(&Order::Pings { count })?);
        let other = self.world.process_at_rank(rank as i32);
        let pings = (0..count).map(|_| {
            let sent_unix_ns = unix_ns();
            other.send_with_tag(&sent_unix_ns, PINGS);
            let (answered_unix_ns, _) = other.receive_with_tag::<u64>(PINGS);
            Ping { sent_unix_ns, answered_unix_ns, received_unix_ns: unix_ns() }
        });
        ClockOffset::from_pings(pings).ok_or_else(|| io::Error::other("no pings"))
    }

    /// Answers `count` pings.
    pub(crate) fn answer_pings(&self, count: u32) {
        let first = self.world.process_at_rank(FIRST as i32);
        for _ in 0..count {
            first.receive_with_tag::<u64>(PINGS);
            first.send_with_tag(&unix_ns(), PINGS);
        }
    }

    fn send(&self, rank: u32, tag: i32, bytes: &[u8]) {
        let to = self.world.process_at_rank(rank as i32);
        let mut rest = bytes;
        loop {
            let (frame, after) = rest.split_at(rest.len().min(FRAME));
            let follows = if after.is_empty() { LAST } else { MORE };
            to.send_with_tag(&[frame, &[follows]].concat()[..], tag);
            rest = after;
            if follows == LAST {
                return;
            }
        }
    }

    /// Returns the next complete message with this tag, from any rank.
    fn message(&self, tag: i32) -> Option<(u32, Vec<u8>)> {
        while let Some(status) = self.world.any_process().immediate_probe_with_tag(tag) {
            let from = status.source_rank();
            let (mut frame, _) = self.world.process_at_rank(from).receive_vec_with_tag::<u8>(tag);
            let follows = frame.pop();
            let key = (from as u32, tag);
            let mut begun = self.begun.borrow_mut();
            begun.entry(key).or_default().append(&mut frame);
            if follows != Some(MORE) {
                return begun.remove_entry(&key).map(|((rank, _), message)| (rank, message));
            }
        }
        None
    }

    fn receive_json<T: DeserializeOwned + Serialize>(
        &self,
        tag: i32,
    ) -> io::Result<Option<(u32, T)>> {
        let Some((rank, message)) = self.message(tag) else { return Ok(None) };
        Ok(Some((rank, serde_json::from_slice(&message)?)))
    }
}

impl Drop for Transport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort();
        }
    }
}

/// The system's time, in nanoseconds since 1970.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
