//! A server of Redis that somebody runs. It cannot make databases, it has numbered ones: ours is
//! the one that the URL names, or number 0, and it must be empty.

use crate::connection::{Answer, Connection};
use kvdyno_engine::server::{Address, Attachment, Look, nonsense};
use kvdyno_engine::{Durability, Error, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// Of its URL.
const SCHEMES: [&str; 4] = ["redis", "rediss", "valkey", "valkeys"];

/// The key that says whose it is, until it is emptied.
const OWNER: &[u8] = b"kvdyno:owner";

fn address(reference: &str, database: &str) -> Result<Address> {
    let there = kvdyno_attach::elsewhere(reference, &SCHEMES, database)?;
    if !there.entrance.is_empty() && there.entrance.parse::<u32>().is_err() {
        let what = format!("the URL behind {reference} ends in no number of a database");
        return Err(Error::invalid(what + ": expected one behind its host, such as /3"));
    }
    Ok(kvdyno_attach::address(there))
}

fn ours(address: &Address) -> (&str, &str) {
    let there = address.elsewhere();
    let number = there.map_or("", |there| &there.entrance);
    (there.map_or("", |there| &there.database), if number.is_empty() { "0" } else { number })
}

fn look(address: &Address) -> Result<Look> {
    let mut own = Connection::enter(address)?;
    let info = match own.ask(&[b"INFO", b"server"])? {
        Answer::Bytes(range) => String::from_utf8_lossy(own.bytes(range)).into_owned(),
        other => return Err(nonsense(&format!("{other:?}"))),
    };
    let said = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    let version = said("valkey_version:").or_else(|| said("redis_version:")).unwrap_or("unknown");
    // Whose user may not ask is not told.
    let logs = setting(&mut own, b"appendonly").ok();
    let syncs = setting(&mut own, b"appendfsync").ok();
    let durability = logs.zip(syncs).map(|(logs, syncs)| match (logs.as_str(), syncs.as_str()) {
        ("yes", "always") => Durability::Commit,
        ("yes", _) => Durability::Async,
        _ => Durability::None,
    });
    Ok(Look { version: version.trim().to_owned(), durability, transactions: false })
}

fn setting(own: &mut Connection, name: &[u8]) -> Result<String> {
    let Answer::Several(2) = own.ask(&[b"CONFIG", b"GET", name])? else {
        return Err(nonsense("CONFIG GET"));
    };
    own.answer()?;
    match own.answer()? {
        Answer::Bytes(value) => Ok(String::from_utf8_lossy(own.bytes(value)).into_owned()),
        other => Err(nonsense(&format!("{other:?}"))),
    }
}

/// There is nothing to be made: a key says that it is ours. What is in it is not.
fn create(address: &Address) -> Result<()> {
    let mut own = Connection::enter(address)?;
    let (name, number) = ours(address);
    match own.ask(&[b"SET", OWNER, name.as_bytes(), b"NX"])? {
        Answer::Line(_) => {}
        _ => return Err(Error::invalid(format!("database {number} is another run's"))),
    }
    match own.ask(&[b"DBSIZE"])? {
        Answer::Number(1) => Ok(()),
        Answer::Number(keys) => {
            own.ask(&[b"DEL", OWNER])?;
            Err(Error::invalid(format!(
                "database {number} has {} keys, and would be emptied afterwards: name an empty \
                 one behind the URL's host, such as /3",
                keys - 1
            )))
        }
        other => Err(nonsense(&format!("{other:?}"))),
    }
}

/// Only what is ours still.
fn remove(address: &Address) -> Result<()> {
    let mut own = Connection::enter(address)?;
    let (name, number) = ours(address);
    let is_ours = match own.ask(&[b"GET", OWNER])? {
        Answer::Bytes(range) => own.bytes(range) == name.as_bytes(),
        _ => false,
    };
    if !is_ours {
        return Err(Error::invalid(format!("database {number} is not ours any more")));
    }
    own.ask(&[b"FLUSHDB", b"ASYNC"]).map(drop)
}
