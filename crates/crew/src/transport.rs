//! Messages between ranks, by MPI.

use kvdyno_crew::{ClockOffset, Order, Ping, Report};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _, Destination as _, Source as _};
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::time::SystemTime;

const ORDERS: i32 = 1;
const REPORTS: i32 = 2;
const PINGS: i32 = 3;

/// The rank that gives orders.
const FIRST: i32 = 0;

/// This process among those that were launched with it.
pub(crate) struct Transport {
    world: SimpleCommunicator,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Last: MPI ends with it.
    _universe: Universe,
}

impl Transport {
    /// Joins the others. From here on this process dies with the launcher's of its machine.
    pub(crate) fn start() -> io::Result<Self> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let started = mpi::initialize_with_threading(Threading::Funneled);
        let (universe, _) = started.ok_or_else(|| io::Error::other("MPI is at work already"))?;
        let world = universe.world();
        let (rank, ranks) = (world.rank() as u32, world.size() as u32);
        Ok(Self { world, rank, ranks, _universe: universe })
    }

    /// Of the first rank: gives the others an order.
    pub(crate) fn order(&self, order: &Order) -> io::Result<()> {
        let bytes = serde_json::to_vec(order)?;
        for rank in 1..self.ranks {
            self.world.process_at_rank(rank as i32).send_with_tag(&bytes[..], ORDERS);
        }
        Ok(())
    }

    /// The order that has come, if one has.
    pub(crate) fn ordered(&self) -> io::Result<Option<Order>> {
        let first = self.world.process_at_rank(FIRST);
        if first.immediate_probe_with_tag(ORDERS).is_none() {
            return Ok(None);
        }
        received(&first.receive_vec_with_tag::<u8>(ORDERS).0).map(Some)
    }

    /// Reports to the first rank.
    pub(crate) fn report(&self, report: &Report) -> io::Result<()> {
        let bytes = serde_json::to_vec(report)?;
        self.world.process_at_rank(FIRST).send_with_tag(&bytes[..], REPORTS);
        Ok(())
    }

    /// Of the first rank: the report of another that has come, if one has.
    pub(crate) fn reported(&self) -> io::Result<Option<(u32, Report)>> {
        match self.world.any_process().immediate_probe_with_tag(REPORTS) {
            Some(status) => self.report_of(status.source_rank() as u32).map(Some),
            None => Ok(None),
        }
    }

    /// Of the first rank: the next report of a rank, waited for.
    pub(crate) fn report_of(&self, rank: u32) -> io::Result<(u32, Report)> {
        let from = self.world.process_at_rank(rank as i32);
        Ok((rank, received(&from.receive_vec_with_tag::<u8>(REPORTS).0)?))
    }

    /// Waits until every rank is here.
    pub(crate) fn meet(&self) {
        self.world.barrier();
    }

    /// Of the first rank: how far another's clock is ahead, while that answers pings.
    pub(crate) fn clock_of(&self, rank: u32, count: u32) -> io::Result<ClockOffset> {
        let other = self.world.process_at_rank(rank as i32);
        other.send_with_tag(&serde_json::to_vec(&Order::Pings { count })?[..], ORDERS);
        let pings = (0..count).map(|_| {
            let sent_unix_ns = unix_ns();
            other.send_with_tag(&sent_unix_ns, PINGS);
            let (answered_unix_ns, _) = other.receive_with_tag::<u64>(PINGS);
            Ping { sent_unix_ns, answered_unix_ns, received_unix_ns: unix_ns() }
        });
        ClockOffset::of(pings).ok_or_else(|| io::Error::other("no pings"))
    }

    /// Answers so many pings.
    pub(crate) fn answer_pings(&self, count: u32) {
        let first = self.world.process_at_rank(FIRST);
        for _ in 0..count {
            first.receive_with_tag::<u64>(PINGS);
            first.send_with_tag(&unix_ns(), PINGS);
        }
    }
}

fn received<T: DeserializeOwned + Serialize>(bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes).map_err(io::Error::from)
}

/// By the system's clock.
pub(crate) fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}
