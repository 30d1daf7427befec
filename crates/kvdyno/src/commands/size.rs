//! `kvdyno size`: the least memory with which an engine meets a target.

use super::search::{Axis, Search};
use crate::cli::SizeArgs;
use crate::exit::{Complaint, Exit};
use crate::host::{Root, facts};
use crate::printer::Printer;
use crate::search::Wanted;
use crate::units;
use std::path::Path;

/// Less than this holds no engine with a page cache worth the name.
const LEAST_BYTES: u64 = 32 << 20;

struct Ram;

impl Axis for Ram {
    const WANTED: Wanted = Wanted::Smallest;

    fn set(&self, bytes: u64) -> String {
        format!("ram.limit={bytes}")
    }

    fn words(&self, bytes: u64) -> String {
        units::bytes(bytes)
    }

    fn unit(&self) -> &'static str {
        "RAM limit"
    }
}

/// Searches.
pub fn run(args: &SizeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let mut search = Search::new(&args.search)?;
    let host = facts::read(&Root::system(), args.search.place.as_deref().unwrap_or(Path::new(".")));
    if !host.ram_limit.available {
        let why = format!("memory cannot be limited here: {}", host.ram_limit.detail);
        return Err(Complaint::usage(why).hint("`kvdyno doctor` says what would help").into());
    }
    let plan = search.settle()?;
    let user_bytes = plan.cases.iter().map(|case| case.shape.user_bytes()).max().unwrap_or(0);
    let range = match search.between(units::parse_bytes)? {
        Some(range) => range,
        None => {
            // A fifth more than what the data takes at most leaves room for the engine itself.
            let most = (plan.estimate.space_bytes.max(user_bytes) / 5).saturating_mul(6);
            let most =
                most.saturating_add(4 * LEAST_BYTES).min(host.machine.memory_available_bytes);
            ((user_bytes / 64).max(LEAST_BYTES).min(most), most)
        }
    };
    search.run(&Ram, range, printer)
}
