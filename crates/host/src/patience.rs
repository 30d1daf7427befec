//! Repeats an act that fails for a moment only.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Repeats `act` while it fails with an error that `passes` accepts and time remains. Returns the
/// last result.
pub(crate) fn retry<T, E>(
    limit: Duration,
    pause: Duration,
    passes: impl Fn(&E) -> bool,
    mut act: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match act() {
            Err(error) if passes(&error) && begun.elapsed() < limit => sleep(pause),
            done => return done,
        }
    }
}
