//! A transaction: its reads are repeatable, and it locks rows that it will write.

use crate::client::{Client, check};
use kvdyno_engine::{Error, ErrorClass, Range, Records, Result, Transaction, ValueVisitor};

const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

/// Runs `body` in a transaction: commits it, or rolls it back after an error.
pub(crate) fn run<R>(
    client: &mut Client,
    body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
) -> Result<R> {
    client.connection.query(BEGIN, |_, _| ())?;
    match body(&mut ActiveTransaction(client)) {
        Ok(result) => commit(client).map(|()| result),
        Err(error) => {
            // A transaction that cannot be rolled back has ended with its connection.
            let _ = client.connection.query("ROLLBACK", |_, _| ());
            Err(error)
        }
    }
}

/// Commits the transaction. After an error a commit rolls back, and only the command tag shows it.
fn commit(client: &mut Client) -> Result<()> {
    match client.connection.query("COMMIT", |_, _| ())?.as_str() {
        "COMMIT" => Ok(()),
        other => Err(Error::new(ErrorClass::Conflict, format!("COMMIT was answered by {other}"))),
    }
}

struct ActiveTransaction<'c>(&'c mut Client);

impl Transaction for ActiveTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.lookup("get", key, visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.lookup("lock", key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check(key)?;
        self.0.execute("put", &[key, value])
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.execute("delete", &[key])
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        self.0.show(&range, visit)
    }
}
