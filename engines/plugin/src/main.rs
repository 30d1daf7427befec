//! `kvdyno-plugin`: the worker of every engine that is a shared library with the functions of
//! `include/kvdyno_engine.h`.

mod api;
mod callback;
mod description;
mod engine;
mod library;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Plugin>()
}
