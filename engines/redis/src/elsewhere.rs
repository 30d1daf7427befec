//! A server of Redis that somebody runs. It cannot make databases, it has numbered ones: ours is
//! the one that the URL names, or number 0, and it must be empty.

use crate::connection::{Answer, Connection};
use kvdyno_engine::server::{Address, Attachment, Look, nonsense};
use kvdyno_engine::{Durability, Error, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// Of its URL.
const SCHEMES: [&str; 4] = ["redis", "rediss", "valkey", "valkeys"];

fn address(reference: &str, _database: &str) -> Result<Address> {
    let mut there = kvdyno_attach::elsewhere(reference, &SCHEMES, "")?;
    there.database =
        if there.entrance.is_empty() { "0".to_owned() } else { there.entrance.clone() };
    if there.database.parse::<u32>().is_err() {
        let what =
            format!("the URL behind {reference} ends in no number of a database: `redis://H/3`");
        return Err(Error::invalid(what));
    }
    Ok(kvdyno_attach::address(there))
}

fn look(address: &Address) -> Result<Look> {
    let mut own = Connection::open(address)?;
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
    Ok(Look { version: version.trim().to_owned(), durability, options: Vec::new() })
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

/// There is nothing to be made; what is in it is not ours.
fn create(address: &Address) -> Result<()> {
    match Connection::open(address)?.ask(&[b"DBSIZE"])? {
        Answer::Number(0) => Ok(()),
        Answer::Number(keys) => Err(Error::invalid(format!(
            "database {} has {keys} keys, and would be emptied afterwards: name an empty one in \
             the URL, `redis://HOST/3`",
            address.elsewhere().map_or("", |there| &there.database)
        ))),
        other => Err(nonsense(&format!("{other:?}"))),
    }
}

fn remove(address: &Address) -> Result<()> {
    Connection::open(address)?.ask(&[b"FLUSHDB"]).map(drop)
}
