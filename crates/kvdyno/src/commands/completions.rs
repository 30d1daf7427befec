//! `kvdyno completions`: a script that teaches a shell the commands and options.

use crate::cli::{Cli, CompletionsArgs};
use crate::printer::Printer;
use clap::CommandFactory as _;
use kvdyno_record::exit::Exit;

/// Prints the script.
pub fn run(args: &CompletionsArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kvdyno", &mut script);
    printer.verbatim(&script);
    Ok(Exit::Ok)
}
