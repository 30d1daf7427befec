//! `kvdyno size`: the least memory with which an engine meets a target.

use super::search::Query;
use crate::cli::SearchArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::machine;
use kvdyno_host::Root;
use kvdyno_record::exit::Exit;
use kvdyno_record::host::Host;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::search::{Axis, Between};
use kvdyno_record::units;
use std::path::Path;

/// The least RAM to search from: with less, no engine has a useful page cache.
const LEAST_BYTES: u64 = 32 << 20;
/// Default bounds are multiples of this.
const GRAIN_BYTES: u64 = 16 << 20;

pub(crate) fn run(args: &SearchArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let data_dir = args.location.data_dir.as_deref().unwrap_or(Path::new("."));
    let host = machine::read(&Root::system(), data_dir);
    if !host.ram_limit.available {
        let why = format!("cannot limit RAM here: {}", host.ram_limit.detail);
        return Err(Complaint::usage(why).hint("`kvdyno doctor` shows the remedy").into());
    }
    let query = Query::new(args, printer)?;
    let between = query.parse_between(units::parse_size)?;
    let between = between.unwrap_or_else(|| bounds(&query.plan, &host));
    if between.high > host.machine.memory_available_bytes {
        printer.warning(&format!(
            "{} of RAM is more than the {} that are available: above that, the machine is the \
             limit, whatever is searched",
            units::bytes_in_words(between.high),
            units::bytes(host.machine.memory_available_bytes)
        ));
    }
    query.run(Axis::Ram, Some(between), printer)
}

/// The default bounds: from a 64th of the data, or `LEAST_BYTES`, to a fifth more than its size on
/// the volume, with room for the engine itself; at most nine tenths of the available memory.
fn bounds(plan: &Plan, host: &Host) -> Between {
    let user_bytes = plan.cases.iter().map(Case::user_bytes).max().unwrap_or(0);
    let space = plan.estimate.databases.values().copied().max().unwrap_or(0).max(user_bytes);
    let whole = |bytes: u64| bytes.div_ceil(GRAIN_BYTES).saturating_mul(GRAIN_BYTES);
    let high = (space / 5).saturating_mul(6).saturating_add(4 * LEAST_BYTES);
    let available = host.machine.memory_available_bytes / 10 * 9 / GRAIN_BYTES * GRAIN_BYTES;
    let high = whole(high).min(available).max(2 * LEAST_BYTES);
    let low = whole((user_bytes / 64).max(LEAST_BYTES)).min(high / 2);
    Between { low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn bounds_hold_the_data_and_no_more_than_the_machine_has() {
        let fixture = Fixture::new();
        let (mut plan, mut host) = (fixture.plan, fixture.run.host_before);
        host.machine.memory_available_bytes = 1 << 40;
        let small = bounds(&plan, &host);
        assert_eq!((small.low, small.high % GRAIN_BYTES), (LEAST_BYTES, 0));
        let user_bytes = plan.cases[0].user_bytes();
        assert!(small.high > user_bytes + 4 * LEAST_BYTES);
        plan.estimate.databases.insert("0001".to_owned(), 64 << 30);
        assert!(bounds(&plan, &host).high > 76 << 30);
        host.machine.memory_available_bytes = 1 << 30;
        assert_eq!(bounds(&plan, &host).high, (1 << 30) / 10 * 9 / GRAIN_BYTES * GRAIN_BYTES);
    }
}
