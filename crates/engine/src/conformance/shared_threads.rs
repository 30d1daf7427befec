//! Clients that share one thread: while one waits for its answer, the others go on.

use super::field::{Field, Outcome, expect, require_ability, value};
use crate::server::shared_threads;
use std::cell::RefCell;

const CLIENTS: u64 = 4;
const RECORDS: u64 = 50;
const VALUE_BYTES: usize = 100;

pub(super) fn run_side_by_side(field: &Field<'_>) -> Outcome {
    require_ability(field.capabilities().shares_threads, "clients that share threads")?;
    field.require_contents()?;
    let engine =
        field.open_at(&field.new_location()?, &field.options(), &field.shape(CLIENTS * RECORDS))?;
    let sessions: crate::Result<Vec<_>> = (0..CLIENTS).map(|_| engine.session()).collect();
    let order = RefCell::new(Vec::new());
    let mut clients = Vec::new();
    for (client, mut session) in (0..CLIENTS).zip(sessions?) {
        let order = &order;
        clients.push(move || -> crate::Result<u64> {
            let mut wrong = 0;
            for number in client * RECORDS..(client + 1) * RECORDS {
                let (key, written) = (field.key(number), value(number, 1, VALUE_BYTES));
                session.put(&key, &written)?;
                session
                    .get(&key, &mut |actual| wrong += u64::from(actual != Some(&written[..])))?;
                order.borrow_mut().push(client);
            }
            Ok(wrong)
        });
    }
    let done = shared_threads::run_clients(clients).map_err(crate::Error::from)?;
    for wrong in done {
        let wrong = wrong?;
        expect(wrong == 0, || format!("{wrong} keys have wrong values"))?;
    }
    // Clients that run one after the other change to the next once each.
    let order = order.take();
    let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    expect(changes > CLIENTS, || "each client blocked the others until it had ended".to_owned())?;
    Ok(engine.close()?)
}
