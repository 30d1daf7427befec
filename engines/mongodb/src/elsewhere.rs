//! An attached `MongoDB` server, and kvdyno's database in it.

use crate::answer::unreadable_error;
use crate::bytes::Keys;
use crate::connection::{ADMIN, Connection, Target};
use kvdyno_attach::Scram;
use kvdyno_engine::server::{Address, Attachment, Elsewhere, Look, protocol_error};
use kvdyno_engine::{Error, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// The schemes of the server's URL. A URL of `mongodb+srv` names no host.
const SCHEMES: [&str; 1] = ["mongodb"];

/// The method of authentication, which servers have since 4.0.
const METHOD: &str = "SCRAM-SHA-256";

/// The default database of users.
const ENTRANCE: &str = "admin";

fn address(reference: &str, database: &str) -> Result<Address> {
    let remote = kvdyno_attach::resolve_reference(reference, &SCHEMES, database)?;
    Ok(kvdyno_attach::address(remote))
}

/// Performs the steps after the first reply: authenticates, and finds out whether it is `FerretDB`.
pub(crate) fn enter(connection: &mut Connection, there: &Elsewhere) -> Result<()> {
    if !there.user.is_empty() {
        authenticate(connection, there)?;
    }
    let reply = connection.command(ADMIN, |doc| doc.int("buildInfo", 1))?;
    if reply.get("ferretdbVersion").is_ok_and(|version| version.is_some()) {
        connection.keys = Keys::Hex;
    }
    Ok(())
}

fn authenticate(connection: &mut Connection, there: &Elsewhere) -> Result<()> {
    let entrance = if there.entrance.is_empty() { ENTRANCE } else { &there.entrance };
    let mut scram = Scram::begin(&there.user)?;
    let first = scram.first_message();
    let reply = connection.command(Target::Of(entrance), |doc| {
        let doc = doc.int("saslStart", 1).text("mechanism", METHOD);
        doc.binary("payload", first.as_bytes())
            .document("options", |options| options.flag("skipEmptyExchange", true))
    })?;
    let conversation = reply.get_i32("conversationId").map_err(|_| protocol_error("saslStart"))?;
    let words =
        reply.get_binary("payload").map_err(|_| protocol_error("saslStart"))?.bytes.to_vec();
    let mut words = scram.prove(&there.password.0, &String::from_utf8_lossy(&words))?;
    let mut checked = false;
    loop {
        let reply = connection.command(Target::Of(entrance), |doc| {
            doc.int("saslContinue", 1)
                .int("conversationId", conversation)
                .binary("payload", words.as_bytes())
        })?;
        let done = reply.get_bool("done").map_err(|_| protocol_error("saslContinue"))?;
        let proof = reply.get_binary("payload").map_err(|_| protocol_error("saslContinue"))?.bytes;
        if !checked {
            scram.check(&String::from_utf8_lossy(proof))?;
        }
        if done {
            return Ok(());
        }
        // Some servers expect one empty message more.
        if checked {
            return Err(protocol_error("the proof does not end"));
        }
        (words, checked) = (String::new(), true);
    }
}

/// Looks at the server. It has no durability class, because each write requests its own durability.
fn look(address: &Address) -> Result<Look> {
    let mut control = Connection::enter(address)?;
    let reply = control.command(ADMIN, |doc| doc.int("buildInfo", 1))?;
    let version = reply.get_str("ferretdbVersion").or_else(|_| reply.get_str("version"));
    let version =
        version.map_err(|_| protocol_error("buildInfo"))?.trim_start_matches('v').to_owned();
    let reply = control.command(ADMIN, |doc| doc.int("isMaster", 1))?;
    // Members of a replica set have transactions since 4.0, routers of a cluster since 4.2.
    let wire = reply.get_i32("maxWireVersion").unwrap_or_default();
    let member = reply.get_str("setName").is_ok() && wire >= 7;
    let router = reply.get_str("msg").is_ok() && wire >= 8;
    Ok(Look { version, durability: None, transactions: member || router })
}

/// Fails if the database exists. The server creates it with its first record.
fn create(address: &Address) -> Result<()> {
    let mut control = Connection::enter(address)?;
    let reply = control.command(Target::Ours, |doc| doc.int("listCollections", 1))?;
    let first = reply.get_document("cursor").map_err(unreadable_error)?.get_array("firstBatch");
    if first.map_err(unreadable_error)?.into_iter().next().is_none() {
        return Ok(());
    }
    Err(Error::invalid(format!("the database {address} exists already")))
}

fn remove(address: &Address) -> Result<()> {
    Connection::enter(address)?.command(Target::Ours, |doc| doc.int("dropDatabase", 1)).map(drop)
}
