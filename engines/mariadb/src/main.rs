//! `kvdyno-mariadb`: the worker of engine `mariadb`, and the supervisor of its server.

mod client;
mod connection;
mod describe;
mod elsewhere;
mod graph;
mod handshake;
mod lengths;
mod server;
mod statements;
mod transaction;
mod upkeep;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served_with_graph::<graph::Tables>()
}
