//! `kvdyno capacity`: the highest rate of an open loop at which an engine meets a target.

use super::search::{Axis, Search, last_role};
use crate::cli::CapacityArgs;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::search::Wanted;
use crate::units;

/// The lowest rate that is tried, as a part of what the role does as fast as it goes.
const LOWEST_PART: u64 = 50;

struct Arrivals {
    phase: String,
    role: String,
}

impl Axis for Arrivals {
    const WANTED: Wanted = Wanted::Largest;

    fn set(&self, per_second: u64) -> String {
        let Self { phase, role } = self;
        format!("phase.{phase}.role.{role}.rate={{ per_second = {per_second} }}")
    }

    fn words(&self, per_second: u64) -> String {
        units::rate(per_second as f64)
    }

    fn unit(&self) -> &'static str {
        "offered/s"
    }
}

/// Searches.
pub fn run(args: &CapacityArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut search = Search::new(&args.search)?;
    let plan = search.settle()?;
    let (phase, role) = last_role(&plan, args.role.as_deref())?;
    let range = match search.between(units::parse_count)? {
        Some(range) => range,
        None => {
            let most = search.fastest(&role, printer)?;
            ((most / LOWEST_PART).max(1), most.max(2))
        }
    };
    search.run(&Arrivals { phase, role }, range, printer)
}
