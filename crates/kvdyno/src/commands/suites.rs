//! `kvdyno suites`: the built-in suites, to read and to copy.

use crate::cli::{SuitesAction, SuitesArgs};
use crate::exit::{Complaint, did_you_mean};
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_suite::{self, Overrides, Suite};

pub(crate) fn run(args: &SuitesArgs, printer: &Printer) -> anyhow::Result<Exit> {
    match &args.action {
        None => {
            for (name, text) in kvdyno_suite::builtin() {
                let suite = Suite::parse(name, text, &Overrides::default())?;
                printer.data(&format!("{name:20} {}", suite.title()));
            }
        }
        Some(SuitesAction::Show { name }) => {
            let suite = kvdyno_suite::builtin().iter().find(|(builtin, _)| builtin == name);
            let (_, text) = suite.ok_or_else(|| {
                let names: Vec<_> = kvdyno_suite::builtin().iter().map(|(name, _)| *name).collect();
                Complaint::usage(format!("unknown built-in suite `{name}`"))
                    .hint(format!("{}`kvdyno suites` lists them", did_you_mean(name, &names)))
            })?;
            printer.verbatim(text.as_bytes());
        }
    }
    Ok(Exit::Ok)
}
