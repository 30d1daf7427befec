//! Latches for engines without transactions: a node's links of a type, or a node, behind one.

use crate::rng::mix;
use kvdyno_engine::server::shared_threads;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// So many that two threads seldom share one by chance.
const LATCHES: usize = 4_096;

/// Alone on its cache lines.
#[repr(align(128))]
struct Latch(Mutex<()>);

/// Of the process, as the engine is.
static OF_PLACES: [Latch; LATCHES] = [const { Latch(Mutex::new(())) }; LATCHES];

/// The number of the list with the links of a node and type.
pub(super) fn list_number(id: u64, kind: u64) -> u64 {
    mix(id) ^ kind
}

/// Acquires the latch of a list.
pub(super) fn lock(list: u64) -> MutexGuard<'static, ()> {
    let latch = &OF_PLACES[mix(list) as usize % LATCHES];
    // Its holder may be another client of this thread, and need its turn first.
    while shared_threads::is_shared() {
        match latch.0.try_lock() {
            Err(TryLockError::WouldBlock) => shared_threads::pause(Duration::ZERO),
            Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
            Ok(guard) => return guard,
        }
    }
    // It guards no data.
    latch.0.lock().unwrap_or_else(PoisonError::into_inner)
}
