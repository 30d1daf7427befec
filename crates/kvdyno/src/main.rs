//! The program's entry: everything else is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno::main()
}
