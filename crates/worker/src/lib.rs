//! The load generator that every engine of kvdyno links: the protocol with the program, the clock,
//! keys, values, operation mixes, the hot loop and its recorders.
//!
//! The worker of an engine is one line: `kvdyno_worker::main::<MyEngine>()`. The worker of a server
//! is `kvdyno_worker::main_served::<MyClient>()`. The driver is generic over
//! the engine, so that an operation is a direct, inlinable call.
//! A worker does not judge or format anything. It writes raw counts and times; limits, readings of
//! the machine and verdicts belong to the program.

mod attached;
mod bijection;
mod block;
mod calls;
mod chooser;
mod client;
mod clock;
mod collector;
mod control;
mod flight;
mod graph;
mod histogram;
mod hot;
mod job;
mod key_list;
mod keyed;
mod keys;
mod keyvalue;
mod kind;
mod missing;
mod on_device;
mod output;
mod pace;
mod pause;
mod pledge;
mod population;
mod recorder;
mod recording;
mod replay;
mod rng;
mod sample;
#[cfg(test)]
mod scripted;
mod shared;
mod source;
mod supervisor;
mod tally;
mod team;
mod usage;
mod values;
mod verify;
mod watch;
mod zipf;

use client::{Client, ClientGraph};
use clock::Best;
use control::Listener;
use graph::OverKeys;
use kvdyno_engine::graph::GraphEngine;
use kvdyno_engine::server::Served;
use kvdyno_engine::{Description, Engine, Error, ErrorClass, Result, conformance};
use kvdyno_record::PROTOCOL;
use kvdyno_record::protocol::{AttachedServer, Event, Job, WorkerDescription};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
A worker of kvdyno. It is started by `kvdyno run`; by hand:

  describe         print what the engine is and can do, as JSON
  conformance DIR [WORDS]
                   check the engine in a scratch directory DIR and print what passed: all, or
                   the checks whose names have WORDS in them, such as `graph`
  run              read a job on standard input and do it (the program's business)
  serve            keep the server that the engine is, where it is one
  sample           read a job on standard input, walk over a copy of somebody's database, and
                   print what it holds, as JSON
  pledge, recover  write what must not be lost, and look for it (those of `kvdyno torture`)

Before any of them, an engine that is a shared library loads the newest that is installed, or
  --library PATH   this one
An engine that is a server can be one that somebody runs (describe, run, serve)
  --server REF     the one whose URL is in an environment variable: env:NAME
";

/// The exit code of a call that cannot be understood, and of an engine that lacks its library.
const REFUSED: u8 = 2;

/// The `main` of an engine's worker.
pub fn main<E: Engine>() -> ExitCode {
    main_with_graph::<OverKeys<E>>()
}

/// The `main` of an engine with a graph of its own.
pub fn main_with_graph<G: GraphEngine>() -> ExitCode {
    run_command::<G::Engine>(|command, server| match command {
        _ if server.is_some() => None,
        Command::Serve => None,
        Command::Pledge => Some(pledge::pledge::<G::Engine>()),
        Command::Recover => Some(pledge::recover::<G::Engine>()),
        Command::Conformance(dir, words) => Some(check::<G>(&dir, &words)),
        Command::Describe => Some(describe::<G::Engine>()),
        Command::Run => Some(run::<G>()),
        Command::Sample => Some(sample::run::<G::Engine>(&mut std::io::stdin().lock())),
    })
}

/// The `main` of an engine whose data a server stores. Where nothing is measured, one process runs
/// server and client.
pub fn main_served<E: Served>() -> ExitCode {
    run_served::<E, OverKeys<Client<E>>>()
}

/// The `main` of a server whose client has a graph of its own.
pub fn main_served_with_graph<G: GraphEngine>() -> ExitCode
where
    G::Engine: Served,
{
    run_served::<G::Engine, ClientGraph<G>>()
}

fn run_served<E: Served, G: GraphEngine<Engine = Client<E>>>() -> ExitCode {
    run_command::<Client<E>>(|command, server| match (command, server) {
        (Command::Serve, None) => Some(supervisor::serve::<E>()),
        (Command::Serve, Some(server)) => Some(attached::serve::<E>(server)),
        (Command::Describe, None) => Some(describe::<Client<E>>()),
        (Command::Describe, Some(server)) => Some(attached::describe::<E>(server)),
        (Command::Run, _) => Some(run::<G>()),
        (Command::Sample, _) | (_, Some(_)) => None,
        (Command::Pledge, None) => Some(pledge::pledge::<Client<E>>()),
        (Command::Recover, None) => Some(pledge::recover::<Client<E>>()),
        (Command::Conformance(dir, words), None) => Some(check::<G>(&dir, &words)),
    })
}

/// Ends this process at once, from any of its threads, because its engine's code cannot be trusted
/// any more. `error` becomes the failure of its case.
pub fn end_process(error: &Error) -> ! {
    // Nobody is left to report that one of these failed.
    let _ = writeln!(std::io::stderr(), "error: {error}");
    let _ = output::send(&Event::from_error(None, error));
    std::process::abort();
}

/// Parses the arguments and carries out the command. `carry_out` returns `None` for a command that
/// the worker does not have.
fn run_command<E: Engine>(
    carry_out: impl Fn(Command, Option<&str>) -> Option<Result<ExitCode>>,
) -> ExitCode {
    let usage = || {
        let _ = std::io::stderr().write_all(USAGE.as_bytes());
        ExitCode::from(REFUSED)
    };
    let Some((command, by)) = parse_command(std::env::args_os().skip(1).collect()) else {
        return usage();
    };
    if let Err(error) = output::reserve_stdout() {
        return report_error(&error.into(), ExitCode::FAILURE);
    }
    let loaded = match by {
        // A server that runs already needs no library.
        CodeSource { server: Some(_), .. } => Ok(()),
        CodeSource { ref library, server: None } => E::use_library(library.as_deref()),
    };
    if let Err(error) = loaded {
        return report_error(&error, ExitCode::from(REFUSED));
    }
    match carry_out(command, by.server.as_deref()) {
        Some(outcome) => outcome.unwrap_or_else(|error| report_error(&error, ExitCode::FAILURE)),
        None => usage(),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Command {
    Describe,
    Run,
    Sample,
    Serve,
    Pledge,
    Recover,
    /// The scratch directory, and the words that select checks.
    Conformance(PathBuf, String),
}

/// The source of the engine's code: a library or program at a path, or a running server. Neither:
/// the default.
#[derive(Debug, Default, PartialEq, Eq)]
struct CodeSource {
    library: Option<PathBuf>,
    server: Option<String>,
}

/// Parses the command and the source of the engine's code.
fn parse_command(arguments: Vec<OsString>) -> Option<(Command, CodeSource)> {
    let (mut words, mut by) = (Vec::new(), CodeSource::default());
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let has_source = by.library.is_some() || by.server.is_some();
        if argument == "--library" && !has_source {
            by.library = Some(PathBuf::from(arguments.next()?));
        } else if argument == "--server" && !has_source {
            by.server = Some(arguments.next()?.into_string().ok()?);
        } else {
            words.push(argument);
        }
    }
    let command = match words.as_slice() {
        [word] if word == "describe" => Command::Describe,
        [word] if word == "run" => Command::Run,
        [word] if word == "sample" => Command::Sample,
        [word] if word == "serve" => Command::Serve,
        [word] if word == "pledge" => Command::Pledge,
        [word] if word == "recover" => Command::Recover,
        [word, dir] if word == "conformance" => Command::Conformance(dir.into(), String::new()),
        [word, dir, words] if word == "conformance" => {
            Command::Conformance(dir.into(), words.clone().into_string().ok()?)
        }
        _ => return None,
    };
    Some((command, by))
}

fn report_error(error: &Error, code: ExitCode) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: {error}");
    code
}

fn describe<E: Engine>() -> Result<ExitCode> {
    print_description(E::describe(), None)
}

/// Prints the description as JSON. `server`: the attached server; none: the engine is not attached.
fn print_description(engine: Description, server: Option<AttachedServer>) -> Result<ExitCode> {
    let description = WorkerDescription {
        protocol: PROTOCOL,
        load_generator: env!("CARGO_PKG_VERSION").to_owned(),
        debug_build: cfg!(debug_assertions),
        engine,
        server,
    };
    let text = description.to_json().map_err(|error| json_error(&error))?;
    output::write(format!("{text}\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn check<G: GraphEngine>(dir: &Path, words: &str) -> Result<ExitCode> {
    let begin = |name: &str| {
        let _ = writeln!(std::io::stderr(), "checking: {name}");
    };
    let report = conformance::run_with_graph::<G>(dir, words, begin);
    if report.checks.is_empty() {
        return Err(Error::invalid(format!("unknown check `{words}`; leave it out to run all")));
    }
    output::write(format!("{report}\n").as_bytes())?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run<G: GraphEngine>() -> Result<ExitCode> {
    let (clock, about) = clock::choose_clock();
    let Some((job, listener)) = read_job(about)? else { return Ok(ExitCode::FAILURE) };
    report_end(job::run::<G>(&job, clock, &listener), clock)
}

/// Greets the program and reads its job. `None`: the job was refused.
fn read_job(about: clock::About) -> Result<Option<(Job, Listener)>> {
    output::send(&Event::Hello {
        protocol: PROTOCOL,
        clock: about.kind.to_owned(),
        clock_hz: about.hz,
        clock_note: about.note,
    })?;
    let mut input = BufReader::new(std::io::stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job = Job::from_json(&line).map_err(|error| json_error(&error))?;
    if job.protocol != PROTOCOL {
        let message = format!(
            "expected protocol {PROTOCOL}, found {}: build worker and program from one version",
            job.protocol
        );
        report_failure(None, &Error::new(ErrorClass::Invalid, message))?;
        return Ok(None);
    }
    Ok(Some((job, Listener::start(input))))
}

fn report_end(outcome: Result<(), (Option<u32>, Error)>, clock: Best) -> Result<ExitCode> {
    match outcome {
        Ok(()) => {
            output::send(&Event::Done { drift_ppm: clock::drift_ppm(clock) })?;
            Ok(ExitCode::SUCCESS)
        }
        Err((phase, error)) => report_failure(phase, &error),
    }
}

fn report_failure(phase: Option<u32>, error: &Error) -> Result<ExitCode> {
    output::send(&Event::from_error(phase, error))?;
    Ok(ExitCode::FAILURE)
}

fn json_error(error: &serde_json::Error) -> Error {
    Error::new(ErrorClass::Invalid, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_named_before_or_after_the_command() {
        let read = |line: &str| parse_command(line.split(' ').map(OsString::from).collect());
        let by = || CodeSource { library: Some(PathBuf::from("/lib.so")), server: None };
        assert_eq!(read("describe"), Some((Command::Describe, CodeSource::default())));
        assert_eq!(read("run --library /lib.so"), Some((Command::Run, by())));
        let checked = Command::Conformance("/tmp".into(), String::new());
        assert_eq!(read("--library /lib.so conformance /tmp"), Some((checked, by())));
        let attached = CodeSource { library: None, server: Some("env:URL".to_owned()) };
        assert_eq!(read("serve --server env:URL"), Some((Command::Serve, attached)));
        for wrong in ["", "run twice", "run --library", "conformance", "run --library a --server b"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
