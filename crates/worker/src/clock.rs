//! The clock of the hot loop: nanoseconds since the worker started, by the cheapest honest source.
//!
//! One reading of the time stamp counter costs about 11 ns here, one of `clock_gettime` 24 ns. The
//! counter is used where the kernel itself trusts it: `constant_tsc`, `nonstop_tsc`, and `tsc` as
//! the current clocksource. Otherwise the clock is `clock_gettime`, and its note says why.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A source of nanoseconds, copied into every thread.
///
/// The hot loop reads raw ticks and scales them later: the scaling is a chain of a multiplication
/// and shifts that would stand between one reading and the next.
pub(crate) trait Clock: Copy + Send + Sync + 'static {
    /// Reads the counter.
    fn ticks(&self) -> u64;

    /// Converts a number of ticks to nanoseconds.
    fn ns(&self, ticks: u64) -> u64;

    /// Returns the first reading at or after a time.
    fn ticks_at(&self, ns: u64) -> u64;

    /// Returns the time of a reading: nanoseconds since the clock was made.
    fn time(&self, ticks: u64) -> u64;

    /// Leaves `ns` out: the times of all readings from here on are that much less.
    fn skip(&mut self, ns: u64);

    /// Returns the current time: nanoseconds since the clock was made.
    #[inline]
    fn now(&self) -> u64 {
        self.time(self.ticks())
    }

    /// Sleeps for about `ns`. A method of the clock, so that a scripted clock can do it too.
    fn sleep(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}

/// `CLOCK_MONOTONIC` through the vDSO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Monotonic {
    base: u64,
}

impl Clock for Monotonic {
    #[inline]
    fn ticks(&self) -> u64 {
        read(ClockId::Monotonic)
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        ticks
    }

    fn ticks_at(&self, ns: u64) -> u64 {
        self.base.saturating_add(ns)
    }

    fn skip(&mut self, ns: u64) {
        self.base = self.ticks_at(ns);
    }

    #[inline]
    fn time(&self, ticks: u64) -> u64 {
        ticks - self.base
    }
}

/// The processor's time stamp counter, scaled by a factor found against `CLOCK_MONOTONIC_RAW`.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tsc {
    base: u64,
    /// Nanoseconds per tick, in units of 2^-64: the high half of one product is the time.
    factor: u64,
    /// The raw clock at `base`, to find the drift at the end.
    raw_base: u64,
}

#[cfg(target_arch = "x86_64")]
impl Clock for Tsc {
    #[inline]
    fn ticks(&self) -> u64 {
        rdtsc()
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.factor)) >> 64) as u64
    }

    fn ticks_at(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << 64).div_ceil(u128::from(self.factor));
        u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(self.base)
    }

    fn skip(&mut self, ns: u64) {
        self.base = self.ticks_at(ns);
    }

    #[inline]
    fn time(&self, ticks: u64) -> u64 {
        self.ns(ticks.wrapping_sub(self.base))
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the intrinsic is the counter's only door")]
fn rdtsc() -> u64 {
    // SAFETY: RDTSC reads a register; it has no precondition on x86-64.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The clock this host allows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Best {
    /// The time stamp counter.
    #[cfg(target_arch = "x86_64")]
    Tsc(Tsc),
    /// The system's clock.
    Monotonic(Monotonic),
}

/// Runs `$body` with the clock itself.
macro_rules! with_clock {
    ($best:expr, $clock:ident => $body:expr) => {
        match $best {
            #[cfg(target_arch = "x86_64")]
            $crate::clock::Best::Tsc($clock) => $body,
            $crate::clock::Best::Monotonic($clock) => $body,
        }
    };
}
pub(crate) use with_clock;

/// For uses that are not timed, as it looks up the kind of clock at each reading.
impl Clock for Best {
    fn ticks(&self) -> u64 {
        with_clock!(self, clock => clock.ticks())
    }

    fn ns(&self, ticks: u64) -> u64 {
        with_clock!(self, clock => clock.ns(ticks))
    }

    fn ticks_at(&self, ns: u64) -> u64 {
        with_clock!(self, clock => clock.ticks_at(ns))
    }

    fn time(&self, ticks: u64) -> u64 {
        with_clock!(self, clock => clock.time(ticks))
    }

    fn skip(&mut self, ns: u64) {
        with_clock!(self, clock => clock.skip(ns));
    }
}

/// The clock as a record describes it.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) kind: &'static str,
    pub(crate) hz: f64,
    pub(crate) note: String,
}

/// Chooses and calibrates the clock.
pub(crate) fn choose_clock() -> (Best, About) {
    let why_not = tsc_problem();
    #[cfg(target_arch = "x86_64")]
    if why_not.is_none() {
        let tsc = calibrate();
        let hz = 2f64.powi(64) / tsc.factor as f64 * 1e9;
        return (Best::Tsc(tsc), About { kind: "tsc", hz, note: String::new() });
    }
    let note = why_not.unwrap_or_default();
    let clock = Monotonic { base: read(ClockId::Monotonic) };
    (Best::Monotonic(clock), About { kind: "monotonic", hz: 1e9, note })
}

/// Returns the drift between the counter and the raw clock since calibration, in parts per million;
/// none: the clock is not the counter.
pub(crate) fn drift_ppm(clock: Best) -> Option<f64> {
    match clock {
        #[cfg(target_arch = "x86_64")]
        Best::Tsc(tsc) => {
            let raw = (read(ClockId::MonotonicRaw) - tsc.raw_base) as f64;
            Some((tsc.now() as f64 - raw) / raw * 1e6)
        }
        Best::Monotonic(_) => None,
    }
}

/// Returns the reason why the counter cannot be trusted here; none: it can.
fn tsc_problem() -> Option<String> {
    if cfg!(not(target_arch = "x86_64")) {
        return Some("no time stamp counter on this architecture".to_owned());
    }
    if std::env::var_os("KVDYNO_CLOCK").is_some_and(|clock| clock == "monotonic") {
        return Some("KVDYNO_CLOCK=monotonic".to_owned());
    }
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    for flag in ["constant_tsc", "nonstop_tsc"] {
        if !flags.split_whitespace().any(|word| word == flag) {
            return Some(format!("the processor lacks {flag}"));
        }
    }
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = std::fs::read_to_string(path).unwrap_or_default();
    (source.trim() != "tsc").then(|| format!("the kernel's clocksource is `{}`", source.trim()))
}

#[cfg(target_arch = "x86_64")]
fn calibrate() -> Tsc {
    let (raw_start, ticks_start) = paired_reading();
    std::thread::sleep(Duration::from_millis(50));
    let (raw_end, ticks_end) = paired_reading();
    let factor = (u128::from(raw_end - raw_start) << 64) / u128::from(ticks_end - ticks_start);
    // The factor of a counter slower than 1 GHz would not fit; none with `nonstop_tsc` is so slow.
    let factor = u64::try_from(factor).unwrap_or(u64::MAX);
    Tsc { base: ticks_end, factor, raw_base: raw_end }
}

/// Reads the raw clock and the counter at the same moment: the closest of several tries.
#[cfg(target_arch = "x86_64")]
fn paired_reading() -> (u64, u64) {
    let attempt = || {
        let before = rdtsc();
        let raw = read(ClockId::MonotonicRaw);
        let after = rdtsc();
        (after - before, raw, before + (after - before) / 2)
    };
    let (_, raw, ticks) =
        (0..100).map(|_| attempt()).min_by_key(|(width, ..)| *width).unwrap_or((0, 0, 0));
    (raw, ticks)
}

fn read(id: ClockId) -> u64 {
    let time = clock_gettime(id);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32).as_nanos() as u64
}

/// Nanoseconds since 1970, for marks that must be comparable between processes.
pub(crate) fn unix_ns() -> u64 {
    read(ClockId::Realtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_agrees_with_the_system() {
        let (clock, about) = choose_clock();
        let wait = || {
            let started = std::time::Instant::now();
            let before = clock.now();
            std::thread::sleep(Duration::from_millis(20));
            (clock.now() - before) as f64 / started.elapsed().as_nanos() as f64
        };
        let best = (0..5).map(|_| (wait() - 1.0).abs()).fold(f64::MAX, f64::min);
        assert!(best < 0.01, "{} is off by {:.3} %", about.kind, best * 100.0);
        assert!(about.kind == "tsc" || !about.note.is_empty());
    }
}
