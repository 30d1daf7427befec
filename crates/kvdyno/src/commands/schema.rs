//! `kvdyno schema`: the JSON Schema of suites, for editors.

use crate::cli::SchemaArgs;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::suite;

/// Prints it.
pub fn run(_args: &SchemaArgs, printer: &Printer) -> anyhow::Result<Exit> {
    printer.json(&suite::schema())?;
    Ok(Exit::Ok)
}
