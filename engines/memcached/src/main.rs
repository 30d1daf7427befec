//! `kvdyno-memcached`: the worker of engine `memcached`, and the supervisor of its server.

mod client;
mod connection;
mod describe;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served::<client::Memcached>()
}
