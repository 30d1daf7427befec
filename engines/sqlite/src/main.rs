//! `kvdyno-sqlite`: the worker of engine `sqlite`.

mod checkpoints;
mod connection;
mod describe;
mod engine;
mod session;
mod statement;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Sqlite>()
}

#[cfg(test)]
mod tests;
