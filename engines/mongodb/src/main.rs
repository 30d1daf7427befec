//! `kvdyno-mongodb`: the worker of engine `mongodb`, and the supervisor of its server: any
//! `mongod`, also of `TokuMX`, or `FerretDB`, which implements its protocol over `SQLite`.
//!
//! A record is a document `{_id: key, v: value}`, both binary. Servers sort binary by length first.
//! All keys of a suite have one length, so they sort by their bytes.

mod answer;
mod bytes;
mod client;
mod connection;
mod describe;
mod elsewhere;
mod graph;
mod old_writes;
mod oplog;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served_with_graph::<graph::Collections>()
}
