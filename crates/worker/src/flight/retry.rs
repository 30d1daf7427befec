//! Operations that met a conflict, submitted again.

use super::InFlight;
use crate::rng::Rng;
use crate::source::KeySupply;
use kvdyno_engine::{Result, Session};
use std::time::Duration;

/// Operations that met a conflict and are submitted again. Their block may be gone by then, so the
/// key is written from its number, and the value is made anew.
pub(super) struct RetryBuffers {
    pub(super) tickets: Vec<u32>,
    supply: KeySupply,
    rng: Rng,
    key: Vec<u8>,
    arena: Vec<u8>,
}

impl RetryBuffers {
    pub(super) fn new(supply: &KeySupply, thread: usize) -> Self {
        let rng = Rng::new(&[supply.keyspace.seed, thread as u64]);
        let (tickets, supply, key, arena) = (Vec::new(), supply.clone(), Vec::new(), Vec::new());
        Self { tickets, supply, rng, key, arena }
    }

    pub(super) fn submit<S: Session>(
        &mut self,
        session: &mut S,
        ticket: u32,
        request: &mut InFlight,
    ) -> Result<()> {
        let Self { supply: KeySupply { keys, values, .. }, rng, key, arena, .. } = self;
        key.clear();
        keys.push(request.number, key);
        if request.reads {
            return session.submit_get(ticket, key);
        }
        arena.clear();
        let bytes = request.write_bytes.saturating_sub(key.len() as u64);
        let stored = values.prepare_long(request.number, request.retries.into(), bytes, rng, arena);
        request.write_bytes = (key.len() + stored.bytes) as u64;
        let value = &values.bytes(arena)[stored.start..][..stored.bytes];
        submit_put(session, ticket, key, value, request.ttl)
    }
}

/// Submits a write of a record that stays or that expires.
#[inline]
pub(super) fn submit_put<S: Session>(
    session: &mut S,
    ticket: u32,
    key: &[u8],
    value: &[u8],
    ttl: Option<Duration>,
) -> Result<()> {
    match ttl {
        None => session.submit_put(ticket, key, value),
        Some(ttl) => session.submit_put_expiring(ticket, key, value, ttl),
    }
}
