//! `kvdyno-fio`: a worker that runs fio for each phase of a drive's job, and records fio's results.
//!
//! The load generator is not involved: fio chooses the blocks, keeps the operations in flight and
//! measures. The program uses the usual worker protocol, so both appear in one record, interleaved.
//! fio works on the file or device that a case of engine `drive` has written.

mod child;
mod command;
mod describe;
mod talk;

use kvdyno_record::protocol::{Job, WorkerDescription};
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

const USAGE: &str = "\
A worker of kvdyno that runs fio. It is started by `kvdyno drive --with-fio`; by hand:

  describe   print what it is and can do, as JSON
  run        read a job on standard input and do it (the program's business)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["describe"] => describe(),
        ["run"] => run(),
        _ => {
            let _ = std::io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn describe() -> std::io::Result<ExitCode> {
    let description = WorkerDescription {
        protocol: kvdyno_record::PROTOCOL,
        load_generator: env!("CARGO_PKG_VERSION").to_owned(),
        // Nothing is measured in this process: fio's own build counts.
        debug_build: false,
        server: None,
        engine: describe::description(),
    };
    writeln!(std::io::stdout(), "{}", description.to_json()?)?;
    Ok(ExitCode::SUCCESS)
}

fn run() -> std::io::Result<ExitCode> {
    talk::hello()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let job = Job::from_json(&line)?;
    talk::run(&job)
}
