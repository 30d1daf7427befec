//! `kvdyno resume`: finishes a run that was interrupted or whose workers were killed.

use super::{search, show};
use crate::cli::ResumeArgs;
use crate::printer::Printer;
use crate::running::{finish, resume};
use kvdyno_record::exit::Exit;

pub(crate) fn run(args: &ResumeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let (env, plan) = resume::start(args, printer)?;
    let budget = args.budget.time()?;
    if plan.search.is_some() {
        return search::resume(env, plan, budget, args.view.json, printer);
    }
    let (dir, ended) = finish::run(env, &plan, budget, printer)?;
    show::show_ended(dir, ended, &args.view, printer)
}
