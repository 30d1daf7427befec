//! `kvdyno engines build`: makes a plugin from a local build of an engine, for `library = PATH` in
//! a suite. The user chooses its path: the directory of libraries contains only published ones.

use super::plugin;
use crate::cli::BuildArgs;
use crate::printer::Printer;
use crate::running::workers::{self, CodeSource};
use anyhow::Context as _;
use kvdyno_record::exit::Exit;

pub(super) fn run(args: &BuildArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let source = plugin::find_source(&args.name)?;
    let library = args.output.clone().unwrap_or_else(|| plugin::file_name(&args.name).into());
    let library = std::path::absolute(&library)
        .with_context(|| format!("failed to find {}", library.display()))?;
    let linked = source.link(&args.prefix, &library)?;
    printer.data(&format!("{} {}: {}", args.name, linked.version, library.display()));
    let worker = workers::find_plugin_program().context("cannot find the program `kvdyno-plugin`");
    let described =
        worker.and_then(|path| workers::describe(&path, &CodeSource::Library(library.clone())));
    match described {
        Ok(_) => printer.hint(&format!("use it in a suite: `library = \"{}\"`", library.display())),
        Err(error) => printer.warning(&format!("{error:#}")),
    }
    Ok(Exit::Ok)
}
