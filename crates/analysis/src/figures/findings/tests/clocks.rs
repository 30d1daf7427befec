//! Clocks that are slow, drift, or are moved.

use super::{finding_after, findings};
use crate::figures::findings::Id;
use crate::fixture::{Fixture, SECOND};
use kvdyno_record::case::Clock;

fn clock(fixture: &mut Fixture) -> &mut Clock {
    fixture.case("lmdb_t1_r1").record.clock.as_mut().unwrap()
}

#[test]
fn a_worker_has_a_fast_and_steady_clock() {
    finding_after(Id::SlowClock, |fixture| {
        let clock = clock(fixture);
        (clock.kind, clock.note) = ("monotonic".to_owned(), "kvm-clock".to_owned());
    });
    finding_after(Id::ClockDrifted, |fixture| clock(fixture).drift_ppm = Some(-2_000.0));
}

#[test]
fn a_time_of_day_that_was_moved_is_found_and_one_that_is_slewed_is_not() {
    let hours = 2 * 3600 * SECOND as i64;
    for (step, words) in [(-hours, "moved back by 2h"), (hours, "moved forward by 2h")] {
        let stepped = finding_after(Id::ClockStepped, |fixture| {
            clock(fixture).time_of_day_step_ns = Some(step);
        });
        assert!(stepped.evidence.contains(words), "{stepped:?}");
    }
    // As much as the kernel slews in an hour.
    let slewed = findings(|fixture| {
        clock(fixture).time_of_day_step_ns = Some(-18 * SECOND as i64 / 10);
        fixture.case("lmdb_t1_r1").record.wall_ns = 3600 * SECOND;
    });
    assert!(slewed.iter().all(|finding| finding.id != Id::ClockStepped));
}
