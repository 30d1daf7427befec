//! `kvdyno-null`: the worker of engine `null`.

mod engine;
mod flight;
mod graph;
mod script;
mod store;

#[cfg(test)]
mod tests;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main_with_graph::<graph::NullGraph>()
}
