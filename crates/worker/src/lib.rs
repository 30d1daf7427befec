//! What every engine of kvdyno links: the protocol with the program, the clock, keys, values,
//! operation mixes, the hot loop and its recorders.
//!
//! An engine's worker is one line: `kvdyno_worker::main::<MyEngine>()`. The driver is generic over
//! the engine, so that an operation is a direct, inlinable call.
//!
//! It is not: a place where anything is judged or formatted. A worker writes raw counts and times;
//! limits, readings of the machine and verdicts belong to the program.

mod bijection;
mod block;
mod calls;
mod chooser;
mod clock;
mod collector;
mod control;
mod flight;
mod histogram;
mod hot;
mod job;
mod keys;
mod output;
mod pace;
mod population;
mod rng;
mod source;
mod tally;
mod team;
mod usage;
mod values;
mod verify;
mod zipf;

use clock::{Best, Clock};
use control::Listener;
use kvdyno_engine::{Engine, Error, ErrorClass, Result, conformance};
use kvdyno_record::PROTOCOL;
use kvdyno_record::protocol::{Event, Job, WorkerDescription};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
A worker of kvdyno. It is started by `kvdyno run`; by hand:

  describe         print what the engine is and can do, as JSON
  conformance DIR  check the engine in a scratch folder DIR and print what passed
  run              read a job on standard input and do it (the program's business)
";

/// A worker's whole life.
pub fn main<E: Engine>() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match (arguments.next().as_deref(), arguments.next()) {
        (Some("describe"), None) => describe::<E>(),
        (Some("run"), None) => run::<E>(),
        (Some("conformance"), Some(folder)) => check::<E>(Path::new(&folder)),
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

fn describe<E: Engine>() -> Result<ExitCode> {
    let description = WorkerDescription {
        protocol: PROTOCOL,
        harness: env!("CARGO_PKG_VERSION").to_owned(),
        debug_build: cfg!(debug_assertions),
        engine: E::describe(),
    };
    let text = serde_json::to_string_pretty(&description).map_err(|error| other(&error))?;
    writeln!(std::io::stdout(), "{text}")?;
    Ok(ExitCode::SUCCESS)
}

fn check<E: Engine>(folder: &Path) -> Result<ExitCode> {
    let report = conformance::run::<E>(folder);
    write!(std::io::stdout(), "{report}")?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run<E: Engine>() -> Result<ExitCode> {
    let (clock, about) = clock::best();
    output::send(&Event::Hello {
        protocol: PROTOCOL,
        clock: about.kind.to_owned(),
        clock_hz: about.hz,
        clock_note: about.note,
    })?;
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job: Job = serde_json::from_str(&line).map_err(|error| other(&error))?;
    if job.protocol != PROTOCOL {
        let message = format!(
            "this worker speaks protocol {PROTOCOL}, the program {}: build both from one version",
            job.protocol
        );
        return failed(None, &Error::new(ErrorClass::Invalid, message));
    }
    let listener = Listener::start(input);
    let outcome = match clock {
        #[cfg(target_arch = "x86_64")]
        Best::Tsc(tsc) => run_with::<E, _>(&job, tsc, &listener),
        Best::Monotonic(monotonic) => run_with::<E, _>(&job, monotonic, &listener),
    };
    match outcome {
        Ok(()) => {
            output::send(&Event::Done { drift_ppm: clock::drift_ppm(clock) })?;
            Ok(ExitCode::SUCCESS)
        }
        Err((phase, error)) => failed(phase, &error),
    }
}

fn run_with<E: Engine, C: Clock>(
    job: &Job,
    clock: C,
    listener: &Listener,
) -> Result<(), (Option<u32>, Error)> {
    job::run::<E, C>(job, clock, listener)
}

fn failed(phase: Option<u32>, error: &Error) -> Result<ExitCode> {
    output::send(&Event::failed(phase, error))?;
    Ok(ExitCode::FAILURE)
}

fn other(error: &serde_json::Error) -> Error {
    Error::new(ErrorClass::Invalid, error.to_string())
}
