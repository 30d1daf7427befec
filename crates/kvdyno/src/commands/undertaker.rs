//! `kvdyno undertaker`, which no user types: see `host/undertaker.rs`.

use crate::runner::Interrupt;
use anyhow::Context as _;
use kvdyno_host::{Root, undertaker};
use kvdyno_record::exit::Exit;

/// Attends to the run that started it until that is over, or dead.
pub fn run() -> anyhow::Result<Exit> {
    // Signals that end a run are counted, and do not end this: it has to come after.
    let _interrupt = Interrupt::listen()?;
    undertaker::attend(&Root::system()).context("only a run starts its undertaker")?;
    Ok(Exit::Ok)
}
