//! An attached Redis server. It has numbered databases and cannot create others: kvdyno uses the
//! one in the URL, or number 0, and it must be empty.

use crate::connection::{Answer, Connection};
use kvdyno_engine::server::{Address, Answers as _, Attachment, Look, protocol_error};
use kvdyno_engine::{Durability, Error, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// The schemes of the server's URL.
const SCHEMES: [&str; 4] = ["redis", "rediss", "valkey", "valkeys"];

/// The key that marks the database as ours.
const OWNER: &[u8] = b"kvdyno:owner";

fn address(reference: &str, database: &str) -> Result<Address> {
    let remote = kvdyno_attach::resolve_reference(reference, &SCHEMES, database)?;
    if !remote.entrance.is_empty() && remote.entrance.parse::<u32>().is_err() {
        let what = format!("no database number in the URL of {reference}");
        return Err(Error::invalid(what + ": expected one after the host, such as /3"));
    }
    Ok(kvdyno_attach::address(remote))
}

fn own_database(address: &Address) -> (&str, &str) {
    let remote = address.attached_server();
    let number = remote.map_or("", |remote| &remote.entrance);
    (remote.map_or("", |remote| &remote.database), if number.is_empty() { "0" } else { number })
}

fn look(address: &Address) -> Result<Look> {
    let mut control = Connection::enter(address)?;
    let info = match control.ask(&[b"INFO", b"server"])? {
        Answer::Bytes(range) => String::from_utf8_lossy(control.bytes(range)).into_owned(),
        other => return Err(protocol_error(&format!("{other:?}"))),
    };
    let value_of = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
    let version =
        value_of("valkey_version:").or_else(|| value_of("redis_version:")).unwrap_or("unknown");
    // A user may lack the right to read the settings.
    let logs = setting(&mut control, b"appendonly").ok();
    let syncs = setting(&mut control, b"appendfsync").ok();
    let durability = logs.zip(syncs).map(|(logs, syncs)| match (logs.as_str(), syncs.as_str()) {
        ("yes", "always") => Durability::Commit,
        ("yes", _) => Durability::Async,
        _ => Durability::None,
    });
    Ok(Look { version: version.trim().to_owned(), durability, transactions: false })
}

fn setting(control: &mut Connection, name: &[u8]) -> Result<String> {
    let Answer::Several(2) = control.ask(&[b"CONFIG", b"GET", name])? else {
        return Err(protocol_error("CONFIG GET"));
    };
    control.answer()?;
    match control.answer()? {
        Answer::Bytes(value) => Ok(String::from_utf8_lossy(control.bytes(value)).into_owned()),
        other => Err(protocol_error(&format!("{other:?}"))),
    }
}

/// Marks the database as ours by a key; there is nothing to create.
fn create(address: &Address) -> Result<()> {
    let mut control = Connection::enter(address)?;
    let (name, number) = own_database(address);
    match control.ask(&[b"SET", OWNER, name.as_bytes(), b"NX"])? {
        Answer::Line(_) => {}
        _ => return Err(Error::invalid(format!("database {number} belongs to another run"))),
    }
    match control.ask(&[b"DBSIZE"])? {
        Answer::Number(1) => Ok(()),
        Answer::Number(keys) => {
            control.ask(&[b"DEL", OWNER])?;
            Err(Error::invalid(format!(
                "database {number} is not empty ({} keys): name an empty one in the URL, such as \
                 /3",
                keys - 1
            )))
        }
        other => Err(protocol_error(&format!("{other:?}"))),
    }
}

/// Empties the database, if it is still marked as ours.
fn remove(address: &Address) -> Result<()> {
    let mut control = Connection::enter(address)?;
    let (name, number) = own_database(address);
    let is_ours = match control.ask(&[b"GET", OWNER])? {
        Answer::Bytes(range) => control.bytes(range) == name.as_bytes(),
        _ => false,
    };
    if !is_ours {
        return Err(Error::invalid(format!(
            "database {number} does not belong to this run any \
            more"
        )));
    }
    control.ask(&[b"FLUSHDB", b"ASYNC"]).map(drop)
}
