//! Times to live: a record is there until its time is over, and not any more after it.

use super::erased::BoxSession;
use super::field::{Field, Outcome, Stop, expect, expect_value, get, require_ability, value};
use crate::TimeToLive;
use std::time::{Duration, Instant};

/// How late a record may end: servers look at the clock now and then, and on a busy machine late.
const GRACE: Duration = Duration::from_secs(5);

/// Longer than the 30 days from which on memcached takes a number for a date.
const LONG: Duration = Duration::from_secs(40 * 24 * 3_600);

fn claimed_ttl(field: &Field<'_>) -> Result<TimeToLive, Stop> {
    let claimed = field.capabilities().time_to_live;
    claimed.ok_or_else(|| Stop::Skip("the engine does not claim times to live".to_owned()))
}

/// A time to live that a check can wait for.
fn short_ttl(claimed: TimeToLive) -> Duration {
    Duration::from_nanos(claimed.unit_ns.saturating_mul(2)).max(Duration::from_secs(1))
}

pub(super) fn ends(field: &Field<'_>) -> Outcome {
    let claimed = claimed_ttl(field)?;
    let ttl = short_ttl(claimed);
    let long = claimed.longest_ns.map_or(LONG, |longest| LONG.min(Duration::from_nanos(longest)));
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let [ends, stays, overwritten, shortened, lasts] = [1, 2, 3, 4, 5];
    let begun = Instant::now();
    session.put_expiring(&field.key(ends), &value(ends, 1, 100), ttl)?;
    expect_alive(field, &mut session, ends, (begun, ttl, claimed))?;
    session.put(&field.key(stays), &value(stays, 1, 100))?;
    session.put_expiring(&field.key(overwritten), &value(overwritten, 1, 100), ttl)?;
    session.put(&field.key(overwritten), &value(overwritten, 1, 100))?;
    session.put(&field.key(shortened), &value(shortened, 0, 100))?;
    session.put_expiring(&field.key(shortened), &value(shortened, 1, 100), ttl)?;
    session.put_expiring(&field.key(lasts), &value(lasts, 1, 100), long)?;
    for number in [ends, shortened] {
        expect_end(field, &mut session, number, ttl)?;
    }
    for number in [stays, overwritten, lasts] {
        expect_value(&mut session, &field.key(number), Some(&value(number, 1, 100)))?;
    }
    // The key of an expired record can be written again.
    session.put(&field.key(ends), &value(ends, 2, 50))?;
    expect_value(&mut session, &field.key(ends), Some(&value(ends, 2, 50)))?;
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn ends_in_flight(field: &Field<'_>) -> Outcome {
    require_ability(field.capabilities().pipelined, "operations in flight")?;
    let claimed = claimed_ttl(field)?;
    let ttl = short_ttl(claimed);
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let begun = Instant::now();
    session.submit_put_expiring(0, &field.key(1), &value(1, 1, 100), ttl)?;
    session.send()?;
    let mut failed = None;
    let answers = session.complete(&mut |_, answer| failed = answer.err())?;
    failed.map_or(Ok(()), Err)?;
    expect(answers == 1, || format!("expected one answer, found {answers}"))?;
    expect_alive(field, &mut session, 1, (begun, ttl, claimed))?;
    expect_end(field, &mut session, 1, ttl)?;
    drop(session);
    Ok(engine.close()?)
}

/// Expects the record, unless this machine was too slow to look in time: an engine may count the
/// unit that has begun.
fn expect_alive(
    field: &Field<'_>,
    session: &mut BoxSession<'_>,
    number: u64,
    (begun, ttl, claimed): (Instant, Duration, TimeToLive),
) -> Outcome {
    let value_there = get(session, &field.key(number))?;
    let in_time = begun.elapsed() + Duration::from_nanos(claimed.unit_ns) < ttl;
    expect(!in_time || value_there == Some(value(number, 1, 100)), || {
        format!("record {number} is not there, and {ttl:?} are not over")
    })
}

/// Expects the record to end soon after its time.
fn expect_end(
    field: &Field<'_>,
    session: &mut BoxSession<'_>,
    number: u64,
    ttl: Duration,
) -> Outcome {
    let latest = Instant::now() + ttl + GRACE;
    while get(session, &field.key(number))?.is_some() {
        expect(Instant::now() < latest, || {
            format!("record {number} is there {GRACE:?} after its time to live of {ttl:?}")
        })?;
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
