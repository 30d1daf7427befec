//! An attached `MariaDB` server, and kvdyno's database in it.

use crate::connection::Connection;
use kvdyno_engine::server::{Address, Attachment, Look};
use kvdyno_engine::{Durability, Result};

pub(crate) const ATTACHMENT: Attachment = Attachment { address, look, create, remove };

/// The schemes of the server's URL.
const SCHEMES: [&str; 2] = ["mariadb", "mysql"];

fn address(reference: &str, database: &str) -> Result<Address> {
    let remote = kvdyno_attach::resolve_reference(reference, &SCHEMES, database)?;
    Ok(kvdyno_attach::address(remote))
}

/// Connects to no database, or to the one that the URL names.
fn enter(address: &Address) -> Result<Connection> {
    Connection::enter(address, address.attached_server().map_or("", |remote| &remote.entrance))
}

fn look(address: &Address) -> Result<Look> {
    let mut words = Vec::new();
    let query = "SELECT VERSION(), @@innodb_flush_log_at_trx_commit";
    enter(address)?.query(query, |row| {
        words = row.iter().map(|word| word.unwrap_or_default().to_owned()).collect();
    })?;
    let word = |index: usize| words.get(index).map_or("", String::as_str);
    // `10.11.19-MariaDB-0+deb12u1`.
    let version = word(0).split('-').next().unwrap_or_default().to_owned();
    let durability = match word(1) {
        "0" => Some(Durability::None),
        "2" => Some(Durability::Async),
        "1" | "3" => Some(Durability::Commit),
        _ => None,
    };
    Ok(Look { version, durability, transactions: false })
}

fn create(address: &Address) -> Result<()> {
    enter(address)?.query(&format!("CREATE DATABASE {}", quoted_database(address)), |_| ())
}

fn remove(address: &Address) -> Result<()> {
    enter(address)?.query(&format!("DROP DATABASE IF EXISTS {}", quoted_database(address)), |_| ())
}

fn quoted_database(address: &Address) -> String {
    let name = address.attached_server().map_or("", |remote| &remote.database);
    format!("`{}`", name.replace('`', "``"))
}
