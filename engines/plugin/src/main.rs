//! `kvdyno-plugin`: the worker of every engine that is a shared library with the functions of
//! `include/kvdyno_engine.h`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<kvdyno_plugin::Plugin>()
}
