//! `kvdyno-postgres`: the worker of engine `postgres`, and the supervisor of its server.

mod client;
mod connection;
mod describe;
mod elsewhere;
mod graph;
mod server;
mod statements;
mod transaction;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served_with_graph::<graph::Tables>()
}
