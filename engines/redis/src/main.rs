//! `kvdyno-redis`: the worker of engine `redis`, and the supervisor of its server. Whatever speaks
//! its protocol and takes its options will do: Valkey.

mod client;
mod connection;
mod describe;
mod elsewhere;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served::<client::Redis>()
}
