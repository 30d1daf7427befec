//! All counters at one moment, for the runner: before and after a phase, and while it runs.
//!
//! A snapshot opens and reads about a dozen small files. Measured with a group and a device: 94 us,
//! 144 us with one process (median, busy machine of 2 CPUs): ten a second cost a thousandth of a
//! processor.

use super::Root;
use super::device::Device;
use super::group::Group;
use super::process::ticks_ns;
use kvdyno_record::usage::Snapshot;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The readings of one case.
#[derive(Clone, Debug)]
pub struct Meter<'a> {
    /// The tree that the counters are read from.
    pub root: &'a Root,
    /// The device under the volume.
    pub device: Option<&'a Device>,
    /// The group with the RAM limit.
    pub group: Option<&'a Group>,
    /// The device that the case may swap to.
    pub swap: Option<&'a Device>,
}

impl Meter<'_> {
    /// Reads all counters but those of processes.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            at_unix_ns: unix_ns(),
            process: None,
            server: None,
            elsewhere: false,
            processor: None,
            device: self.device.and_then(|device| device.usage(self.root)),
            group: self.group.and_then(|group| group.usage().ok()),
            swap: self.swap.and_then(|device| device.usage(self.root)),
            steal_ns: steal_ns(self.root),
            wait_samples: None,
        }
    }
}

/// CPU time stolen by the hypervisor since boot, summed over the processors.
pub fn steal_ns(root: &Root) -> Option<u64> {
    let stat = root.text("/proc/stat")?;
    let sum = stat.lines().find(|line| line.starts_with("cpu "))?;
    sum.split_whitespace().nth(8)?.parse().ok().map(ticks_ns)
}

/// Returns the time of the system's clock.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    time_of_day_ns: u64,
    monotonic: Instant,
}

impl Times {
    /// Reads both clocks.
    pub fn now() -> Self {
        Self { time_of_day_ns: unix_ns(), monotonic: Instant::now() }
    }

    /// Returns how far the time of day was adjusted since: its gain on the monotonic clock.
    pub fn step_ns(&self) -> i64 {
        let elapsed = i128::try_from(self.monotonic.elapsed().as_nanos()).unwrap_or(i128::MAX);
        let step = i128::from(unix_ns()) - i128::from(self.time_of_day_ns) - elapsed;
        step.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    #[test]
    fn steal_is_the_eighth_time() {
        let fake = Fake::new()
            .file("/proc/stat", "cpu  180146 0 19237 114087 1312 0 63 300 0 0\ncpu0 1 2 3\n");
        assert_eq!(steal_ns(&fake.root), Some(3_000_000_000));
        assert_eq!(steal_ns(&Fake::new().root), None);
    }

    #[test]
    fn a_time_of_day_that_is_moved_is_seen() {
        const HOURS_NS: u64 = 2 * 3600 * 1_000_000_000;
        // The time of day at the beginning is two hours ahead.
        let begun = Times::now();
        let begun = Times { time_of_day_ns: begun.time_of_day_ns + HOURS_NS, ..begun };
        let off = begun.step_ns() + HOURS_NS as i64;
        assert!(off.abs() < 1_000_000_000, "{off}");
    }

    #[test]
    fn what_cannot_be_read_is_null() {
        let fake = Fake::new();
        let (device, group, swap) = (None, None, None);
        let meter = Meter { root: &fake.root, device, group, swap };
        let snapshot = meter.snapshot();
        assert!(snapshot.at_unix_ns > 0);
        assert_eq!(snapshot, Snapshot { at_unix_ns: snapshot.at_unix_ns, ..Snapshot::default() });
    }
}
