//! The oplog: a server keeps one as the only member of a replica set.

use crate::client::MongoDb;
use crate::connection::{ADMIN, Connection};
use kvdyno_engine::server::Served as _;
use kvdyno_engine::{Error, ErrorClass, Result};

/// The name of the set.
pub(crate) const SET: &str = "kvdyno";

/// Returns the address by which the server finds itself, relative to its directory.
pub(crate) fn own_address() -> String {
    format!("./{}", MongoDb::SOCKET)
}

/// Fails unless the server is a primary, which takes writes. Makes a replica set of a fresh server
/// that is to be in one.
pub(crate) fn check_primary(connection: &mut Connection) -> Result<()> {
    let reply = connection.command(ADMIN, |doc| doc.int("isMaster", 1))?;
    // `FerretDB` and a server without a set do not say `false`.
    if reply.get_bool("ismaster").unwrap_or(true) {
        return Ok(());
    }
    if reply.get_bool("isreplicaset").unwrap_or(false) {
        connection.command(ADMIN, |doc| {
            doc.document("replSetInitiate", |set| {
                let set = set.text("_id", SET).int("version", 1);
                set.array("members", std::iter::once(()), |member, ()| {
                    member.int("_id", 0).text("host", &own_address())
                })
            })
        })?;
    }
    let what = "the server is not yet the primary of its replica set";
    Err(Error::new(ErrorClass::Unavailable, what))
}
