//! `kvdyno capacity`: the highest rate of an open loop at which an engine meets a target.

use super::search::Query;
use crate::cli::CapacityArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use kvdyno_record::exit::Exit;
use kvdyno_record::search::Axis;
use kvdyno_record::units;

/// Searches.
pub fn run(args: &CapacityArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let query = Query::new(&args.search)?;
    let roles = query.roles()?;
    let role = match &args.role {
        None => roles.first(),
        Some(name) => roles.iter().find(|known| *known == name),
    };
    let role = role.ok_or_else(|| {
        Complaint::usage(format!("--role {}: no such role", args.role.as_deref().unwrap_or("")))
            .hint(format!("roles of `{}`: {}", query.phase, roles.join(", ")))
    })?;
    query.check_offered(role)?;
    let per_s = |text: &str| units::parse_count(text.strip_suffix("/s").unwrap_or(text));
    let between = query.between(per_s)?;
    query.run(Axis::Rate { role: role.clone() }, between, printer)
}
