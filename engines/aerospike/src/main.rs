//! `kvdyno-aerospike`: the worker of engine `aerospike`, and the supervisor of its servers.

mod client;
mod connection;
mod describe;
mod device;
mod nodes;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served::<client::Aerospike>()
}
