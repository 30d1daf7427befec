//! The offset between two machines' clocks: the shortest of many round trips is the most exact.

/// The times of a round trip: sent, answered and received. The second is by the other machine's
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// When it was sent, by our clock.
    pub sent_unix_ns: u64,
    /// When it was answered, by the other's.
    pub answered_unix_ns: u64,
    /// When the answer was here, by our clock.
    pub received_unix_ns: u64,
}

/// How far another clock is ahead of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockOffset {
    /// The nanoseconds that it is ahead; negative: it is behind.
    pub ahead_ns: i64,
    /// The largest error of that, either way, in nanoseconds: the answer may have been given at any
    /// moment of the round trip.
    pub error_ns: u64,
}

impl ClockOffset {
    /// Computes the offset by the shortest of these round trips; `None`: there are none.
    pub fn from_pings(pings: impl IntoIterator<Item = Ping>) -> Option<Self> {
        let took = |ping: &Ping| ping.received_unix_ns.saturating_sub(ping.sent_unix_ns);
        let shortest = pings.into_iter().min_by_key(took)?;
        let half = took(&shortest) / 2;
        let ahead_ns = shortest.answered_unix_ns as i64 - (shortest.sent_unix_ns + half) as i64;
        Some(Self { ahead_ns, error_ns: took(&shortest).div_ceil(2) })
    }

    /// Converts a time of the other clock to our clock.
    pub fn to_local(&self, unix_ns: u64) -> u64 {
        unix_ns.saturating_add_signed(-self.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_counts_and_bounds_the_error() {
        let ping = |sent_unix_ns, answered_unix_ns, received_unix_ns| Ping {
            sent_unix_ns,
            answered_unix_ns,
            received_unix_ns,
        };
        // The other's clock is 5000 ahead; the answers took 300 there and 100 back, then 40 and 20.
        let pings = [ping(1_000, 6_300, 1_400), ping(2_000, 7_040, 2_060)];
        let offset = ClockOffset::from_pings(pings).unwrap();
        assert_eq!(offset, ClockOffset { ahead_ns: 5_010, error_ns: 30 });
        assert!(offset.ahead_ns.abs_diff(5_000) <= offset.error_ns);
        assert_eq!(offset.to_local(7_040), 2_030);
        let behind = ClockOffset::from_pings([ping(9_000, 4_000, 9_000)]).unwrap();
        assert_eq!((behind.ahead_ns, behind.to_local(4_000)), (-5_000, 9_000));
        assert_eq!(ClockOffset::from_pings([]), None);
    }
}
