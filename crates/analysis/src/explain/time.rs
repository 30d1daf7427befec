//! One role's time in one phase of one trial, in parts that add up to all of it.
//!
//! What is exact comes first: CPU time and the wait for a CPU, as the kernel counted them for the
//! role's own threads. The rest is time in which threads were blocked; an open loop's idle time
//! apart, it is divided as the wait-state samples of them fell. A stall is taken out of what they
//! waited for others. What nothing tells about stays `Other`: no part is ever stretched to
//! fill the whole.

use super::super::metric::Why;
use kvdyno_record::usage::{ThreadsUsage, WaitSamples};

/// Fewer wait-state samples say nothing of what threads were blocked by: of 20 a share is
/// known within some 10 points.
pub(super) const SAMPLES_MIN: u64 = 20;

/// Blocked for less than this share of the time: whatever it was by, it explains nothing.
pub(super) const BLOCKED_MIN: f64 = 0.05;

/// What time goes into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    User,
    System,
    RunQueue,
    Read,
    Write,
    Sync,
    /// At the device, by what call is not told: a ring, or the device's own counters.
    Device,
    Stall,
    Lock,
    Idle,
    Network,
    Other,
}

impl Part {
    /// Those in which threads wait for the device.
    pub(super) const AT_DEVICE: [Self; 4] = [Self::Read, Self::Write, Self::Sync, Self::Device];
}

/// What wait-state samples alone tell.
const BY_LOOKS: [Part; 6] =
    [Part::Read, Part::Write, Part::Sync, Part::Device, Part::Lock, Part::Network];

/// Time of threads by part, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Time {
    pub(super) parts: [f64; Part::Other as usize + 1],
    /// Wait-state samples of blocked threads: how well the parts of that time are known.
    pub(super) wait_samples: u64,
    /// What could not be told.
    pub(super) unknown: Vec<Unknown>,
}

/// Parts that could not be told, and are in others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unknown {
    pub(super) why: Why,
    pub(super) parts: &'static [Part],
}

/// What is known of a role's threads.
#[derive(Clone, Debug, Default)]
pub(super) struct OfThreads {
    pub(super) usage: ThreadsUsage,
    /// Wait-state samples; null: they cannot be read.
    pub(super) wait_samples: Option<WaitSamples>,
    /// An open loop's time outside of its operations; null: the loop is closed.
    pub(super) outside_ns: Option<f64>,
    /// Time that the engine says it held these threads up.
    pub(super) stalled_ns: f64,
}

impl Time {
    /// A role's, from its threads.
    pub(super) fn of_threads(of: &OfThreads) -> Self {
        let usage = &of.usage;
        let total = usage.time_ns as f64;
        let mut time = Self::default();
        let mut left = total;
        let mut take = |part, ns: f64| {
            let ns = ns.clamp(0.0, left);
            left -= ns;
            time.parts[part as usize] = ns;
        };
        take(Part::User, usage.user_ns as f64);
        take(Part::System, usage.system_ns as f64);
        take(Part::RunQueue, usage.runqueue_ns.unwrap_or(0) as f64);
        let idle = idle_ns(of, left).clamp(0.0, left);
        left -= idle;
        time.parts[Part::Idle as usize] = idle;
        time.divide(left, idle, total, of.wait_samples.as_ref());
        time.hold_up(of.stalled_ns);
        if usage.runqueue_ns.is_none() {
            let why = "this kernel does not count the wait for a CPU: it is in other".into();
            time.unknown.push(Unknown { why, parts: &[Part::RunQueue] });
        }
        time
    }

    /// Blocked time, as the samples fell. Sleep beyond an open loop's idle time is a wait like
    /// others: engines delay their writers by it.
    fn divide(&mut self, blocked: f64, idle: f64, total: f64, wait_samples: Option<&WaitSamples>) {
        let seen = wait_samples.map_or(0, blocked_samples);
        self.wait_samples = seen;
        let Some(wait_samples) = wait_samples.filter(|_| seen >= SAMPLES_MIN) else {
            self.parts[Part::Other as usize] = blocked;
            if blocked > BLOCKED_MIN * total {
                let why: Why = match wait_samples {
                    None => "cannot read /proc/PID/task/TID/syscall: no wait-state samples".into(),
                    Some(_) => {
                        let words = "wait-state samples of blocked threads, at least";
                        format!("{seen} {words} {SAMPLES_MIN} are needed").into()
                    }
                };
                self.unknown.push(Unknown { why, parts: &BY_LOOKS });
            }
            return;
        };
        let each = (blocked + idle) / seen as f64;
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
        let seen = counts.map(|(part, count)| (part, count as f64 * each));
        let sum: f64 = seen.iter().map(|(_, ns)| ns).sum::<f64>() + asleep;
        let scale = if sum > 0.0 { blocked / sum } else { 0.0 };
        for (part, ns) in seen {
            self.parts[part as usize] += ns * scale;
        }
        // Asleep inside an operation, by nobody's schedule.
        let untold = if sum > 0.0 { asleep * scale } else { blocked };
        self.parts[Part::Other as usize] += untold;
    }

    /// A thread that is held up waits for another or sleeps.
    fn hold_up(&mut self, stalled_ns: f64) {
        let mut left = stalled_ns;
        for part in [Part::Other, Part::Lock] {
            let taken = self.parts[part as usize].min(left);
            self.parts[part as usize] -= taken;
            self.parts[Part::Stall as usize] += taken;
            left -= taken;
        }
    }

    /// Of a part.
    pub(super) fn ns(&self, part: Part) -> f64 {
        self.parts[part as usize]
    }

    /// All of it.
    pub(super) fn total_ns(&self) -> f64 {
        self.parts.iter().sum()
    }

    /// Why none of these parts could be told; null: at least one could.
    pub(super) fn untold(&self, parts: &[Part]) -> Option<&Why> {
        let untold = |unknown: &&Unknown| parts.iter().all(|part| unknown.parts.contains(part));
        self.unknown.iter().find(untold).map(|unknown| &unknown.why)
    }

    /// Of parts, as a share; 0 where there was no time.
    pub(super) fn share(&self, parts: &[Part]) -> f64 {
        let total = self.total_ns();
        let ns: f64 = parts.iter().map(|part| self.ns(*part)).sum();
        if total > 0.0 { ns / total } else { 0.0 }
    }

    /// Two trials' together.
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

/// What an open loop slept away outside of its operations: at most all that it was outside of them
/// (some of which it computed), and where it was looked at, no more than it was seen asleep.
fn idle_ns(of: &OfThreads, blocked_ns: f64) -> f64 {
    let outside = of.outside_ns.unwrap_or(0.0);
    match of.wait_samples.as_ref().filter(|wait_samples| is_enough(wait_samples)) {
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

/// Whether so many samples say what threads were blocked by.
pub(super) fn is_enough(wait_samples: &WaitSamples) -> bool {
    blocked_samples(wait_samples) >= SAMPLES_MIN
}

/// What was seen between two readings.
pub(super) fn samples_between(before: Option<&WaitSamples>, after: &WaitSamples) -> WaitSamples {
    each(before.unwrap_or(&WaitSamples::default()), after, |before, after| {
        after.saturating_sub(before)
    })
}

/// What was seen in two trials.
pub(super) fn samples_together(one: &WaitSamples, other: &WaitSamples) -> WaitSamples {
    each(one, other, |one, other| one + other)
}

fn each(a: &WaitSamples, b: &WaitSamples, of: fn(u64, u64) -> u64) -> WaitSamples {
    WaitSamples {
        running: of(a.running, b.running),
        read: of(a.read, b.read),
        write: of(a.write, b.write),
        sync: of(a.sync, b.sync),
        ring: of(a.ring, b.ring),
        lock: of(a.lock, b.lock),
        sleep: of(a.sleep, b.sleep),
        network: of(a.network, b.network),
        other: of(a.other, b.other),
    }
}
