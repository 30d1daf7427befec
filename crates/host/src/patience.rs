//! What fails for a moment only is tried again.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Does it again as long as it fails by what `passes`, and there is time; what it came to.
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
