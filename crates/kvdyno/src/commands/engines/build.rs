//! `kvdyno engines build`: a library out of a user's own build of an engine, for `library = PATH`
//! in a suite. It goes where the user says: the folder of libraries holds what others published.

use super::shim;
use crate::cli::BuildArgs;
use crate::printer::Printer;
use crate::workers::{self, CodeSource};
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
        .and_then(|worker| workers::describe(&worker, &CodeSource::Library(library.clone())));
    match problem {
        Ok(_) => printer.hint(&format!("`library = \"{}\"` in a suite runs it", library.display())),
        Err(error) => printer.warning(&format!("{error:#}")),
    }
    Ok(Exit::Ok)
}
