//! Latches for engines without transactions. One latch protects a node's links of a type, or a
//! node.

use crate::rng::mix;
use kvdyno_engine::server::shared_threads;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// The number of latches: so many that two threads seldom share one by chance.
const LATCHES: usize = 4_096;

/// A latch, alone on its cache lines.
#[repr(align(128))]
struct Latch(Mutex<()>);

/// The latches of this process, which has one engine.
static OF_PLACES: [Latch; LATCHES] = [const { Latch(Mutex::new(())) }; LATCHES];

/// The number of the list with the links of a node and type.
pub(super) fn list_number(id: u64, kind: u64) -> u64 {
    mix(id) ^ kind
}

/// Acquires the latch of a list.
pub(super) fn lock(list: u64) -> MutexGuard<'static, ()> {
    let latch = &OF_PLACES[mix(list) as usize % LATCHES];
    // The holder may be another client of this thread, which must then run first.
    while shared_threads::is_shared() {
        match latch.0.try_lock() {
            Err(TryLockError::WouldBlock) => shared_threads::pause(Duration::ZERO),
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Ok(guard) => return guard,
        }
    }
    // A poisoned latch is no danger: it guards no data.
    latch.0.lock().unwrap_or_else(PoisonError::into_inner)
}
