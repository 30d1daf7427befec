//! An attached `PostgreSQL` server, and kvdyno's database in it.

use crate::connection::Connection;
use kvdyno_engine::server::{Address, Attachment, Look};
use kvdyno_engine::{Durability, Error, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// The schemes of the server's URL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// The database to connect to if the URL names none: each server has it.
const ENTRANCE: &str = "postgres";

const ASKED: &str = "SELECT current_setting('server_version'), current_setting('fsync'), \
                     current_setting('synchronous_commit'), current_setting('server_version_num')";

/// The first version that can drop a database with connections: a killed client of ours may still
/// have one.
const OLDEST: u32 = 130_000;

fn address(reference: &str, database: &str) -> Result<Address> {
    let remote = kvdyno_attach::resolve_reference(reference, &SCHEMES, database)?;
    Ok(kvdyno_attach::address(remote))
}

/// Connects to a database that exists already.
fn enter(address: &Address) -> Result<Connection> {
    let entrance = address.attached_server().map(|remote| remote.entrance.as_str());
    let entrance = entrance.filter(|name| !name.is_empty()).unwrap_or(ENTRANCE);
    Connection::enter(address, entrance)
}

fn look(address: &Address) -> Result<Look> {
    let mut words = Vec::new();
    enter(address)?.query(ASKED, |_, row| {
        words = row.iter().map(|word| word.unwrap_or_default().to_owned()).collect();
    })?;
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    // `15.20 (Debian 15.20-0+deb12u1)`.
    let version = word(0).split(' ').next().unwrap_or_default().to_owned();
    if word(3).parse().is_ok_and(|number: u32| number < OLDEST) {
        let what = format!("server version: expected 13 or newer, found {version}");
        return Err(Error::invalid(what));
    }
    let durability = match (word(1), word(2)) {
        (_, "off") => Durability::None,
        ("off", _) => Durability::Async,
        _ => Durability::Commit,
    };
    Ok(Look { version, durability: Some(durability), transactions: false })
}

fn create(address: &Address) -> Result<()> {
    enter(address)?
        .query(&format!("CREATE DATABASE {}", quoted_database(address)), |_, _| ())
        .map(drop)
}

/// Drops the database. Its connections are closed by force, because a killed client's may remain.
fn remove(address: &Address) -> Result<()> {
    let statement = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quoted_database(address));
    enter(address)?.query(&statement, |_, _| ()).map(drop)
}

fn quoted_database(address: &Address) -> String {
    let name = address.attached_server().map_or("", |remote| &remote.database);
    format!("\"{}\"", name.replace('"', "\"\""))
}
