//! One role's time in one phase of one trial, in parts that add up to all of it.
//!
//! The exact parts come first: CPU time and the wait for a CPU, as the kernel counted them for the
//! role's own threads. In the rest, threads were blocked. It is divided in proportion to the
//! wait-state samples, except for an open loop's idle time. Stalls are subtracted from the waits
//! for others. What no reading explains stays `Other`: no part is stretched to fill the whole.

use crate::figures::metric::Why;
use kvdyno_record::usage::{ThreadsUsage, WaitSamples};

/// Fewer wait-state samples say too little about waits: from 20, a share is accurate within about
/// 10 points.
pub(super) const SAMPLES_MIN: u64 = 20;

/// If threads are blocked for less than this share of the time, the wait needs no cause.
pub(super) const BLOCKED_MIN: f64 = 0.05;

/// A part of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    User,
    System,
    RunQueue,
    Read,
    Write,
    Sync,
    /// At the device, in an unknown call: a ring, or the device's own counters.
    Device,
    Stall,
    Lock,
    Idle,
    Network,
    Other,
}

impl Part {
    /// The parts in which threads wait for the device.
    pub(super) const AT_DEVICE: [Self; 4] = [Self::Read, Self::Write, Self::Sync, Self::Device];
}

/// The parts that come from wait-state samples alone.
const BY_SAMPLES: [Part; 6] =
    [Part::Read, Part::Write, Part::Sync, Part::Device, Part::Lock, Part::Network];

/// Time of threads by part, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Time {
    pub(super) parts: [f64; Part::Other as usize + 1],
    /// Wait-state samples of blocked threads, on which the parts of that time rest.
    pub(super) wait_samples: u64,
    /// The parts that are unknown.
    pub(super) unknown: Vec<Unknown>,
}

/// Parts that are unknown, and included in others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unknown {
    pub(super) why: Why,
    pub(super) parts: &'static [Part],
}

/// The readings of a role's threads.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadReadings {
    pub(super) usage: ThreadsUsage,
    /// Wait-state samples; null: they cannot be read.
    pub(super) wait_samples: Option<WaitSamples>,
    /// An open loop's time outside of its operations; null: the loop is closed.
    pub(super) outside_ns: Option<f64>,
    /// Time for which the engine reports that it stalled these threads.
    pub(super) stalled_ns: f64,
}

impl Time {
    /// Divides a role's time by the readings of its threads.
    pub(super) fn from_readings(readings: &ThreadReadings) -> Self {
        let usage = &readings.usage;
        let total = usage.time_ns as f64;
        let mut time = Self::default();
        let mut remaining = total;
        let mut take = |part, ns: f64| {
            let ns = ns.clamp(0.0, remaining);
            remaining -= ns;
            time.parts[part as usize] = ns;
        };
        take(Part::User, usage.user_ns as f64);
        take(Part::System, usage.system_ns as f64);
        take(Part::RunQueue, usage.runqueue_ns.unwrap_or(0) as f64);
        let idle = idle_ns(readings, remaining).clamp(0.0, remaining);
        remaining -= idle;
        time.parts[Part::Idle as usize] = idle;
        time.divide(remaining, idle, total, readings.wait_samples.as_ref());
        time.subtract_stall(readings.stalled_ns);
        if usage.runqueue_ns.is_none() {
            let why = "this kernel does not count the wait for a CPU: it is in other".into();
            time.unknown.push(Unknown { why, parts: &[Part::RunQueue] });
        }
        time
    }

    /// Divides blocked time by the samples. Sleep beyond an open loop's idle time counts as a wait:
    /// engines delay their writers by sleeping.
    fn divide(&mut self, blocked: f64, idle: f64, total: f64, wait_samples: Option<&WaitSamples>) {
        let samples = wait_samples.map_or(0, blocked_samples);
        self.wait_samples = samples;
        let Some(wait_samples) = wait_samples.filter(|_| samples >= SAMPLES_MIN) else {
            self.parts[Part::Other as usize] = blocked;
            if blocked > BLOCKED_MIN * total {
                let why: Why = match wait_samples {
                    None => "cannot read /proc/PID/task/TID/syscall: no wait-state samples".into(),
                    Some(_) => {
                        let words = "wait-state samples of blocked threads, at least";
                        format!("{samples} {words} {SAMPLES_MIN} are needed").into()
                    }
                };
                self.unknown.push(Unknown { why, parts: &BY_SAMPLES });
            }
            return;
        };
        let each = (blocked + idle) / samples as f64;
        let asleep = (wait_samples.sleep as f64 * each - idle).max(0.0);
        let counts = [
            (Part::Read, wait_samples.read),
            (Part::Write, wait_samples.write),
            (Part::Sync, wait_samples.sync),
            (Part::Device, wait_samples.ring),
            (Part::Lock, wait_samples.lock),
            (Part::Network, wait_samples.network),
            (Part::Other, wait_samples.other),
        ];
        let parts = counts.map(|(part, count)| (part, count as f64 * each));
        let sum: f64 = parts.iter().map(|(_, ns)| ns).sum::<f64>() + asleep;
        let scale = if sum > 0.0 { blocked / sum } else { 0.0 };
        for (part, ns) in parts {
            self.parts[part as usize] += ns * scale;
        }
        // Sleep inside an operation, by no schedule.
        let unexplained = if sum > 0.0 { asleep * scale } else { blocked };
        self.parts[Part::Other as usize] += unexplained;
    }

    /// Moves the time of stalls out of sleep and out of waits for other threads.
    fn subtract_stall(&mut self, stalled_ns: f64) {
        let mut remaining = stalled_ns;
        for part in [Part::Other, Part::Lock] {
            let ns = self.parts[part as usize].min(remaining);
            self.parts[part as usize] -= ns;
            self.parts[Part::Stall as usize] += ns;
            remaining -= ns;
        }
    }

    /// A part's time.
    pub(super) fn ns(&self, part: Part) -> f64 {
        self.parts[part as usize]
    }

    /// The sum of all parts.
    pub(super) fn total_ns(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// Why all of these parts are unknown; null: at least one is known.
    pub(super) fn unknown_reason(&self, parts: &[Part]) -> Option<&Why> {
        let covers = |unknown: &&Unknown| parts.iter().all(|part| unknown.parts.contains(part));
        self.unknown.iter().find(covers).map(|unknown| &unknown.why)
    }

    /// The share of these parts; 0 where there was no time.
    pub(super) fn share(&self, parts: &[Part]) -> f64 {
        let total = self.total_ns();
        let ns: f64 = parts.iter().map(|part| self.ns(*part)).sum();
        if total > 0.0 { ns / total } else { 0.0 }
    }

    /// Adds another trial's time.
    pub(super) fn add(&mut self, other: &Self) {
        for (sum, ns) in self.parts.iter_mut().zip(other.parts) {
            *sum += ns;
        }
        self.wait_samples += other.wait_samples;
        for unknown in &other.unknown {
            if !self.unknown.contains(unknown) {
                self.unknown.push(unknown.clone());
            }
        }
    }
}

/// An open loop's sleep outside of its operations: at most its whole time outside (some of which it
/// computed), and with samples at most the share sampled asleep.
fn idle_ns(readings: &ThreadReadings, blocked_ns: f64) -> f64 {
    let outside = readings.outside_ns.unwrap_or(0.0);
    match readings.wait_samples.as_ref().filter(|wait_samples| is_enough(wait_samples)) {
        Some(wait_samples) => outside
            .min(blocked_ns * wait_samples.sleep as f64 / blocked_samples(wait_samples) as f64),
        None => outside,
    }
}

/// Samples in which a thread was blocked.
pub(super) fn blocked_samples(wait_samples: &WaitSamples) -> u64 {
    let WaitSamples { running: _, read, write, sync, ring, lock, sleep, network, other } =
        *wait_samples;
    read + write + sync + ring + lock + sleep + network + other
}

/// Whether there are enough samples for the causes of waits.
pub(super) fn is_enough(wait_samples: &WaitSamples) -> bool {
    blocked_samples(wait_samples) >= SAMPLES_MIN
}

/// The samples between two readings.
pub(super) fn samples_between(before: Option<&WaitSamples>, after: &WaitSamples) -> WaitSamples {
    combine_samples(before.unwrap_or(&WaitSamples::default()), after, |before, after| {
        after.saturating_sub(before)
    })
}

/// The samples of two trials.
pub(super) fn samples_together(one: &WaitSamples, other: &WaitSamples) -> WaitSamples {
    combine_samples(one, other, |one, other| one + other)
}

fn combine_samples(a: &WaitSamples, b: &WaitSamples, combine: fn(u64, u64) -> u64) -> WaitSamples {
    WaitSamples {
        running: combine(a.running, b.running),
        read: combine(a.read, b.read),
        write: combine(a.write, b.write),
        sync: combine(a.sync, b.sync),
        ring: combine(a.ring, b.ring),
        lock: combine(a.lock, b.lock),
        sleep: combine(a.sleep, b.sleep),
        network: combine(a.network, b.network),
        other: combine(a.other, b.other),
    }
}
