//! `kvdyno engines build`: makes a library from a local build of an engine, for `library = PATH` in
//! a suite. The user chooses its path: the directory of libraries contains only published ones.

use super::shim::{self, Shim};
use crate::cli::BuildArgs;
use crate::printer::Printer;
use crate::running::workers::{self, CodeSource};
use anyhow::Context as _;
use kvdyno_record::exit::Exit;
use kvdyno_record::protocol::WorkerDescription;
use std::path::Path;

pub(super) fn run(args: &BuildArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let shim = shim::find_shim(&args.name)?;
    let library = args.output.clone().unwrap_or_else(|| shim.default_output(&args.name).into());
    let library = std::path::absolute(&library)
        .with_context(|| format!("failed to find {}", library.display()))?;
    let linked = shim.link(&args.prefix, &library)?;
    printer.data(&format!("{} {}: {}", args.name, linked.version, library.display()));
    match describe(shim, &args.name, &library) {
        Ok(_) => printer.hint(&format!("use it in a suite: `library = \"{}\"`", library.display())),
        Err(error) => printer.warning(&format!("{error:#}")),
    }
    Ok(Exit::Ok)
}

/// What its worker says of the library.
fn describe(shim: &Shim, engine: &str, library: &Path) -> anyhow::Result<WorkerDescription> {
    let worker = if shim.is_plugin {
        workers::find_plugin_program().context("cannot find the program `kvdyno-plugin`")?
    } else {
        workers::find(engine)?.path
    };
    workers::describe(&worker, &CodeSource::Library(library.to_owned()))
}
