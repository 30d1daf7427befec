//! A transaction: its reads are repeatable, and it locks rows that it will write.

use crate::client::Client;
use kvdyno_engine::{Error, Range, Records, Result, Transaction, ValueVisitor};

/// Runs `body` in a transaction: commits it, or rolls it back after an error.
pub(crate) fn run<R>(
    client: &mut Client,
    body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
) -> Result<R> {
    client.connection.query("START TRANSACTION", |_| ())?;
    let mut within = ActiveTransaction { client, failed: None };
    let result = body(&mut within);
    match (result, within.failed) {
        (Ok(result), None) => client.connection.query("COMMIT", |_| ()).map(|()| result),
        (Err(error), _) | (Ok(_), Some(error)) => {
            // A transaction that cannot be rolled back has ended with its connection.
            let _ = client.connection.query("ROLLBACK", |_| ());
            Err(error)
        }
    }
}

/// The server may end a transaction by itself, and would run later statements on their own. So
/// nothing follows an error except the rollback.
struct ActiveTransaction<'c> {
    client: &'c mut Client,
    failed: Option<Error>,
}

impl ActiveTransaction<'_> {
    fn perform<R>(&mut self, work: impl FnOnce(&mut Client) -> Result<R>) -> Result<R> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        work(self.client).inspect_err(|error| self.failed = Some(error.clone()))
    }
}

impl Transaction for ActiveTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.perform(|client| client.lookup(client.statements.get, key, visit))
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.perform(|client| client.lookup(client.statements.lock, key, visit))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.perform(|client| client.store(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.perform(|client| client.execute(client.statements.delete, &[key]))
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        self.perform(|client| client.show(&range, visit))
    }
}
