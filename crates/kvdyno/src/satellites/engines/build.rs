//! `kvdyno engines build`: makes a library from a local build of an engine, for `library = PATH` in
//! a suite. The user chooses its path: the directory of libraries contains only published ones.

use super::shim;
use crate::cli::BuildArgs;
use crate::printer::Printer;
use crate::running::workers::{self, CodeSource};
use anyhow::Context as _;
use kvdyno_record::exit::Exit;

pub(super) fn run(args: &BuildArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let default = || format!("kvdyno-{}.so", args.name).into();
    let library = args.output.clone().unwrap_or_else(default);
    let library = std::path::absolute(&library)
        .with_context(|| format!("failed to find {}", library.display()))?;
    let linked = shim::find_shim(&args.name)?.link(&args.prefix, &library)?;
    printer.data(&format!("{} {}: {}", args.name, linked.version, library.display()));
    let problem = workers::find(&args.name)
        .map_err(anyhow::Error::new)
        .and_then(|worker| workers::describe(&worker.path, &CodeSource::Library(library.clone())));
    match problem {
        Ok(_) => printer.hint(&format!("use it in a suite: `library = \"{}\"`", library.display())),
        Err(error) => printer.warning(&format!("{error:#}")),
    }
    Ok(Exit::Ok)
}
