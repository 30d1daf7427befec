//! The program `kvdyno`: reads a suite, runs it on worker processes, keeps a record, shows it.
//!
//! It is not the load generator: this process times no operation. Workers do that
//! (`kvdyno-worker`), with one process per case.

mod cli;
mod commands;
pub mod exit;
mod output;
mod printer;
mod records;
pub mod running;
mod satellites;
mod steps;

use anyhow::Context as _;
use clap::ColorChoice;
use clap::CommandFactory as _;
use cli::{Cli, Command, SchemaOf};
use kvdyno_record::exit::Exit;
use kvdyno_record::text::shorten;
use kvdyno_render::schemas;
use printer::Printer;
use running::runner::Interrupt;
use std::process::ExitCode;

/// The most characters of a message about a mistake on the command line; help is no mistake.
const MISTAKE_CHARS_MAX: usize = 2000;

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) => return refuse_arguments(&error),
    };
    let printer = Printer::new(cli.color, cli.quiet);
    let exit = dispatch(&cli.command, &printer).unwrap_or_else(|error| complain(&error, &printer));
    let lost = printer.output_failure().filter(|_| exit == Exit::Ok);
    lost.map_or(exit, |error| complain(&error, &printer)).into()
}

/// Prints a mistake of the command line, or the help. A long argument is shortened.
fn refuse_arguments(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let short = shorten(&text, MISTAKE_CHARS_MAX);
    if !error.use_stderr() || short == text {
        error.exit();
    }
    Printer::new(ColorChoice::Auto, false).diagnostic(&short);
    Exit::Usage.into()
}

fn dispatch(command: &Command, printer: &Printer) -> anyhow::Result<Exit> {
    match command {
        Command::Run(args) => commands::run::run(args, printer),
        Command::Quick(args) => commands::quick::run(args, printer),
        Command::Drive(args) => satellites::drive::run(args, printer),
        Command::Plan(args) => commands::plan::run(args, printer),
        Command::Resume(args) => commands::resume::run(args, printer),
        Command::List(args) => commands::list::run(args, printer),
        Command::Show(args) => {
            let torture = satellites::torture::show(args, printer);
            torture.unwrap_or_else(|| commands::show::run(args, printer))
        }
        Command::Judge(args) => commands::judge::run(args, printer),
        Command::Report(args) => commands::report::run(args, printer),
        Command::Serve(args) => commands::serve::run(args, printer),
        Command::Site(args) => commands::site::run(args, printer),
        Command::Check(args) => commands::check::run(args, printer),
        Command::History(args) => commands::history::run(args, printer),
        Command::Compare(args) => commands::compare::run(args, printer),
        Command::Versus(args) => commands::versus::run(args, printer),
        Command::Bisect(args) => satellites::bisect::run(args, printer),
        Command::Size(args) => commands::size::run(args, printer),
        Command::Capacity(args) => commands::capacity::run(args, printer),
        Command::Torture(args) => satellites::torture::run(args, printer),
        Command::Trace(args) => satellites::trace::run(args, printer),
        Command::Export(args) => commands::export::run(args, printer),
        Command::Bundle(args) => commands::bundle::run(args, printer),
        Command::Rerun(args) => commands::rerun::run(args, printer),
        Command::Engines(args) => satellites::engines::run(args, printer),
        Command::State(args) => commands::state::run(args, printer),
        Command::NewEngine(args) => satellites::new_engine::run(args, printer),
        Command::Doctor(args) => commands::doctor::run(args, printer),
        Command::Suites(args) => commands::suites::run(args, printer),
        Command::Schema { of } => printer.json(&schema(*of)).map(|()| Exit::Ok),
        Command::Reaper => reaper(),
        Command::Recorder => recorder(),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "kvdyno", &mut script);
            printer.verbatim(&script);
            Ok(Exit::Ok)
        }
    }
}

/// Waits for the end of the run that started it, then cleans up.
fn reaper() -> anyhow::Result<Exit> {
    // Signals that end a run do not end this process: its work starts after the run's end.
    let _interrupt = Interrupt::listen()?;
    kvdyno_host::reaper::attend(&kvdyno_host::Root::system())
        .context("only a run can start its reaper")?;
    Ok(Exit::Ok)
}

/// Serves drives to the program that started it until that program ends.
fn recorder() -> anyhow::Result<Exit> {
    // Like the reaper: it must outlive the run.
    let _interrupt = Interrupt::listen()?;
    kvdyno_torture::attend().context("only `kvdyno torture` can start its recorder")?;
    Ok(Exit::Ok)
}

fn schema(of: SchemaOf) -> serde_json::Value {
    let schemas = schemas::all().map(|(_, schema)| schema.to_value());
    let [run, case, summary, history, fleet, trace, engine] = schemas;
    match of {
        SchemaOf::Suite => kvdyno_suite::schema(),
        SchemaOf::Run => run,
        SchemaOf::Case => case,
        SchemaOf::Summary => summary,
        SchemaOf::History => history,
        SchemaOf::Fleet => fleet,
        SchemaOf::Trace => trace,
        SchemaOf::Engine => engine,
    }
}

/// Prints the error that ends the program. A suite's mistakes are shown at their lines.
fn complain(error: &anyhow::Error, printer: &Printer) -> Exit {
    match error.chain().find_map(|cause| cause.downcast_ref::<kvdyno_suite::SuiteError>()) {
        Some(mistakes) => {
            printer.diagnostic(&mistakes.render(printer.colors_errors()));
            Exit::Usage
        }
        None => {
            printer.error(error);
            exit::from_error(error)
        }
    }
}
