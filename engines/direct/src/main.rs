//! `kvdyno-direct`: the worker of engine `direct`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<kvdyno_direct::Direct>()
}
