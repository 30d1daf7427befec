//! `kvdyno-redis`: the worker of engine `redis`, and the supervisor of its server. Any server with
//! Redis's protocol and options works, such as Valkey.

mod client;
mod connection;
mod describe;
mod elsewhere;
mod server;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_served::<client::Redis>()
}
