//! Operations in flight: each is answered once, under its ticket, with the right value.

use super::erased::BoxSession;
use super::field::{Field, Outcome, expect, require_ability, value};
use crate::DataShape;

const RECORDS: u64 = 500;
const DEPTH: u32 = 16;
const VALUE_BYTES: usize = 100;

pub(super) fn answers(field: &Field<'_>) -> Outcome {
    require_ability(field.capabilities().pipelined, "operations in flight")?;
    field.require_contents()?;
    let shape = DataShape { depth: DEPTH, ..field.shape(RECORDS) };
    let engine = field.open_at(&field.new_location()?, &field.options(), &shape)?;
    let mut session = engine.session()?;
    let none = session.complete(&mut |_, _| ())?;
    expect(none == 0, || format!("expected no answers, found {none}"))?;
    for version in [1, 2] {
        run_in_flight(&mut session, |session, ticket, number| {
            session.submit_put(ticket, &field.key(number), &value(number, version, VALUE_BYTES))
        })?;
        let mut wrong = Vec::new();
        run_in_flight_seen(
            &mut session,
            |session, ticket, number| session.submit_get(ticket, &field.key(number)),
            |number, actual| {
                if actual != Some(&value(number, version, VALUE_BYTES)[..]) {
                    wrong.push(number);
                }
            },
        )?;
        expect(wrong.is_empty(), || format!("keys {wrong:?} have wrong values"))?;
    }
    drop(session);
    Ok(engine.close()?)
}

fn run_in_flight(
    session: &mut BoxSession<'_>,
    submit: impl Fn(&mut BoxSession<'_>, u32, u64) -> crate::Result<()>,
) -> Outcome {
    run_in_flight_seen(session, submit, |_, _| ())
}

/// Submits an operation for each record, [`DEPTH`] of them in flight. Tickets come free out of
/// order.
fn run_in_flight_seen(
    session: &mut BoxSession<'_>,
    submit: impl Fn(&mut BoxSession<'_>, u32, u64) -> crate::Result<()>,
    mut visit: impl FnMut(u64, Option<&[u8]>),
) -> Outcome {
    let mut numbers = [None; DEPTH as usize];
    let mut free: Vec<u32> = (0..DEPTH).collect();
    let (mut next, mut answered) = (0, 0);
    while answered < RECORDS {
        while let Some(ticket) = free.pop_if(|_| next < RECORDS) {
            numbers[ticket as usize] = Some(next);
            submit(session, ticket, next)?;
            next += 1;
        }
        session.send()?;
        let (mut stray, mut failed) = (None, None);
        let count = session.complete(&mut |ticket, answer| {
            match (numbers.get_mut(ticket as usize).and_then(Option::take), answer) {
                (Some(number), Ok(value)) => visit(number, value),
                (Some(_), Err(error)) => failed = Some(error),
                (None, _) => stray = Some(ticket),
            }
            free.push(ticket);
        })?;
        failed.map_or(Ok(()), Err)?;
        expect(stray.is_none(), || format!("answer for a ticket not in flight: {stray:?}"))?;
        expect(count > 0, || {
            format!(
                "expected an answer, found none: {} operations are in \
            flight",
                next - answered
            )
        })?;
        answered += count as u64;
    }
    expect(numbers.iter().all(Option::is_none), || "more answers than tickets".to_owned())
}
