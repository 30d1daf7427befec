//! `kvdyno-mongodb`: the worker of engine `mongodb`, and the supervisor of its server: any
//! `mongod`, or `FerretDB`, which speaks its protocol over `SQLite`.
//!
//! A record is a document `{_id: key, v: value}`, both binary. Servers order binary by its length
//! first: keys of one length, which all keys of a suite are, lie in the order of their bytes.

mod answer;
mod bytes;
mod client;
mod connection;
mod describe;
mod elsewhere;
mod graph;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served_with_graph::<graph::Collections>()
}
