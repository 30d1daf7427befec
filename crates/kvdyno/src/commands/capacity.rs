//! `kvdyno capacity`: the highest rate of an open loop at which an engine meets a target.

use super::search::Query;
use crate::cli::CapacityArgs;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_record::search::Axis;
use kvdyno_record::units;

pub(crate) fn run(args: &CapacityArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let query = Query::new(&args.search, printer)?;
    let role = query.role(args.role.as_deref())?;
    let per_s = |text: &str| units::parse_count(text.strip_suffix("/s").unwrap_or(text));
    let between = query.parse_between(per_s)?;
    query.run(Axis::Rate { role }, between, printer)
}
