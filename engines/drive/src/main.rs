//! `kvdyno-drive`: the worker of engine `drive`.

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<kvdyno_drive::Drive>()
}
