//! The pauses of a thread on the idle machine: the line below every table of latencies.

use crate::stats::quantile;
use kvdyno_record::hlog;
use kvdyno_record::run::Hiccups;
use kvdyno_record::units::{duration, group_digits, percent};
use schemars::JsonSchema;
use serde::Serialize;

/// A gap of at least this length shows in the tail of an engine that reads from memory.
const LONG_NS: u64 = 10_000;

/// The gaps between clock readings of a thread that did nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HiccupRow {
    /// How long the thread ran.
    pub length_ns: u64,
    /// The number of clock readings.
    pub n: u64,
    /// The 99.9th percentile of the gaps; null: too few readings.
    pub p999_ns: Option<u64>,
    /// The 99.99th percentile of the gaps; null: too few readings.
    pub p9999_ns: Option<u64>,
    /// The longest gap.
    pub max_ns: u64,
    /// Gaps of 10 us and more.
    pub long: u64,
    /// The share of the time that these gaps took.
    pub long_share: f64,
}

impl HiccupRow {
    /// Computes the row; none where the record's histogram is not readable.
    pub fn from_hiccups(hiccups: &Hiccups) -> Option<Self> {
        let histogram = hlog::from_text(&hiccups.histogram).ok()?;
        let long = histogram.iter_recorded().filter(|slot| slot.value_iterated_to() >= LONG_NS);
        let (long, long_ns) = long.fold((0, 0.0), |(count, ns), slot| {
            let more = slot.count_since_last_iteration();
            (count + more, ns + slot.value_iterated_to() as f64 * more as f64)
        });
        Some(Self {
            length_ns: hiccups.length_ns,
            n: histogram.len(),
            p999_ns: quantile(&histogram, 0.999),
            p9999_ns: quantile(&histogram, 0.9999),
            max_ns: hiccups.max_ns,
            long,
            long_share: (long_ns / hiccups.length_ns.max(1) as f64).min(1.0),
        })
    }

    /// The gaps in words: `p99.9 51 ns, p99.99 51 ns, max 13.4 ms; ...`.
    pub fn gaps(&self) -> String {
        let percentiles = [("p99.9 ", self.p999_ns), ("p99.99 ", self.p9999_ns)];
        let mut words: Vec<String> = percentiles
            .iter()
            .filter_map(|(name, ns)| Some(format!("{name}{}", duration((*ns)?))))
            .collect();
        words.push(format!("max {}", duration(self.max_ns)));
        let long = match self.long {
            0 => "none of 10 us or more".to_owned(),
            n => {
                format!(
                    "{} of 10 us or more, {} of the time",
                    group_digits(n),
                    percent(self.long_share)
                )
            }
        };
        format!("{}; {long}", words.join(", "))
    }

    /// The line below a table of latencies.
    pub fn line(&self) -> String {
        format!(
            "scheduling jitter of this machine, {} idle: {}: tails below its maximum may be its \
             own",
            duration(self.length_ns),
            self.gaps()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::hiccups as example;
    use kvdyno_record::hlog;

    #[test]
    fn the_line_lists_the_gaps() {
        let row = HiccupRow::from_hiccups(&example()).unwrap();
        assert_eq!((row.n, row.long), (80_000_000, 1_000));
        assert_eq!(
            row.line(),
            "scheduling jitter of this machine, 2.00 s idle: p99.9 24 ns, p99.99 51 ns, max 13.4 \
             ms; 1,000 of 10 us or more, 1.57 % of the time: tails below its maximum may be its own"
        );
    }

    #[test]
    fn few_readings_have_no_percentiles() {
        let mut histogram = hlog::histogram();
        histogram.record_n(30, 1_000).unwrap();
        let text = hlog::to_text(&histogram).unwrap();
        let row =
            HiccupRow::from_hiccups(&Hiccups { length_ns: 30_000, max_ns: 30, histogram: text })
                .unwrap();
        assert_eq!(row.gaps(), "max 30 ns; none of 10 us or more");
        let unread = Hiccups { length_ns: 1, max_ns: 1, histogram: "?".to_owned() };
        assert_eq!(HiccupRow::from_hiccups(&unread), None);
    }
}
