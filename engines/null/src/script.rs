//! Misbehaviour on request: slowness, lost keys, failures, a pause, a hang.

use kvdyno_engine::{Counters, Edge, Error, ErrorClass, EventKind, EventLog, Options, Result};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The requested misbehaviour, and the number of operations so far.
#[derive(Debug)]
pub(crate) struct Script {
    lose_permille: u64,
    fail_permille: u64,
    conflict_permille: u64,
    pause_at_op: u64,
    pause: Duration,
    hang_at_op: u64,
    close: Duration,
    spins: u64,
    /// The argument of [`busy_wait`] for which it takes `latency_ns` on average; `None`: no wait.
    wait: Option<Duration>,
    operations: AtomicU64,
    pub(crate) events: EventLog,
}

impl Script {
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let latency = Duration::from_nanos(options.integer("latency_ns")?);
        Ok(Self {
            lose_permille: options.integer("lose_permille")?,
            fail_permille: options.integer("fail_permille")?,
            conflict_permille: options.integer("conflict_permille")?,
            pause_at_op: options.integer("pause_at_op")?,
            pause: Duration::from_millis(options.integer("pause_ms")?),
            hang_at_op: options.integer("hang_at_op")?,
            close: Duration::from_millis(options.integer("close_ms")?),
            spins: options.integer("spins")?,
            wait: (latency > Duration::ZERO).then(|| calibrate_wait(latency)),
            operations: AtomicU64::new(0),
            events: EventLog::default(),
        })
    }

    /// Returns whether the script changes no operation.
    pub(crate) fn is_empty(&self) -> bool {
        let numbers = [
            self.lose_permille,
            self.fail_permille,
            self.conflict_permille,
            self.pause_at_op,
            self.hang_at_op,
            self.spins,
        ];
        numbers.iter().all(|number| *number == 0) && self.wait.is_none()
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Makes a close as slow as requested.
    pub(crate) fn wait_for_close(&self) {
        sleep(self.close);
    }

    /// Applies the requested misbehaviour to the next operation.
    pub(crate) fn step(&self) -> Result<()> {
        let number = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.hang_at_op {
            loop {
                std::thread::park();
            }
        }
        if number == self.pause_at_op {
            self.events.record(EventKind::Stall, Edge::Begin, Counters::new());
            std::thread::sleep(self.pause);
            self.events.record(EventKind::Stall, Edge::End, Counters::new());
        }
        (0..self.spins).for_each(|turn| {
            black_box(turn);
        });
        if let Some(wait) = self.wait {
            busy_wait(wait);
        }
        let falls_on = |permille: u64| number * permille / 1000 > (number - 1) * permille / 1000;
        if falls_on(self.fail_permille) {
            let what = format!("operation {number} fails as option fail_permille says");
            return Err(Error::new(ErrorClass::Other, what));
        }
        if falls_on(self.conflict_permille) {
            let what = format!("operation {number} conflicts as option conflict_permille says");
            return Err(Error::new(ErrorClass::Conflict, what));
        }
        Ok(())
    }

    /// Returns whether `key` is lost; the same keys are lost every time.
    pub(crate) fn is_lost(&self, key: &[u8]) -> bool {
        self.lose_permille > 0 && hash(key) % 1000 < self.lose_permille
    }
}

/// Returns a hash by FNV-1a, with a last mixing step because its low bits alone are weak.
fn hash(key: &[u8]) -> u64 {
    let fnv = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[inline]
fn busy_wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {}
}

/// Returns the wait to request for a latency. Reading the clock takes tens of nanoseconds, and a
/// wait ends between two readings. So the requested wait is shortened by the excess that trials
/// found. The shortest trial counts: a busy machine makes trials longer.
fn calibrate_wait(latency: Duration) -> Duration {
    const NEGLIGIBLE_FROM: Duration = Duration::from_micros(10);
    const ROUNDS: u32 = 3;
    const TRIALS: u32 = 20;
    const TRIAL: Duration = Duration::from_micros(100);
    // After a rest, a thread runs for some time, even on a busy machine.
    const REST: Duration = Duration::from_micros(500);
    if latency >= NEGLIGIBLE_FROM {
        return latency;
    }
    let count = (TRIAL.as_nanos() / latency.as_nanos()).max(1) as u32;
    let trial = |wait| {
        sleep(REST);
        let start = Instant::now();
        (0..count).for_each(|_| busy_wait(wait));
        start.elapsed() / count
    };
    (0..ROUNDS).fold(latency, |wait, _| {
        let shortest = (0..TRIALS).map(|_| trial(wait)).min().unwrap_or(latency);
        wait.saturating_sub(shortest.saturating_sub(latency))
    })
}
