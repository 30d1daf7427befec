//! Latches for engines without transactions: a node's links of a type, or a node, behind one.

use crate::rng::mix;
use kvdyno_engine::server::turns;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// So many that two threads seldom meet where they would not have to.
const LATCHES: usize = 4_096;

/// Alone on its cache lines.
#[repr(align(128))]
struct Latch(Mutex<()>);

/// Of the process, as the engine is.
static OF_PLACES: [Latch; LATCHES] = [const { Latch(Mutex::new(())) }; LATCHES];

/// Where the links of a node and type are.
pub(super) fn place(id: u64, kind: u64) -> u64 {
    mix(id) ^ kind
}

/// Waits for the latch of a place, and holds it.
pub(super) fn lock(place: u64) -> MutexGuard<'static, ()> {
    let latch = &OF_PLACES[mix(place) as usize % LATCHES];
    // Whoever holds it may have to have its turn on this thread first.
    while turns::is_shared() {
        match latch.0.try_lock() {
            Err(TryLockError::WouldBlock) => turns::pause(Duration::ZERO),
            Err(TryLockError::Poisoned(held)) => return held.into_inner(),
            Ok(held) => return held,
        }
    }
    // It guards no data of ours.
    latch.0.lock().unwrap_or_else(PoisonError::into_inner)
}
