//! `kvdyno-sqlite`: the worker of engine `sqlite`.

mod checkpoints;
mod connection;
mod describe;
mod engine;
#[cfg(test)]
mod existing_tests;
mod session;
mod statement;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Sqlite>()
}

#[cfg(test)]
mod tests;
