//! `kvdyno schema`: the JSON Schema of suites, for editors.

use crate::cli::SchemaArgs;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_suite as suite;

/// Prints it.
pub fn run(_args: &SchemaArgs, printer: &Printer) -> anyhow::Result<Exit> {
    printer.json(&suite::schema())?;
    Ok(Exit::Ok)
}
