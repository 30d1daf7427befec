//! The second gate: turns a suite, the engines' descriptions and the host's properties into a flat
//! plan.

use crate::plan::cases;
use crate::plan::estimate;
use crate::plan::grid::Grid;
use crate::plan::sizing::SizingHost;
use crate::plan::slices;
use crate::plan::workload::max_threads;
use crate::written::drive;
use crate::written::mistake::{Mistakes, SuiteError};
use crate::written::names::push_unique;
use crate::written::part::Part;
use crate::written::suite::Suite;
use crate::written::worker::Engines;
use kvdyno_record::engine::Description;
use kvdyno_record::left_out::sentences;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use std::collections::BTreeMap;

/// The most cases of a suite; more are a typing error.
const CASES_MAX: u64 = 100_000;

/// Returns all cases of the suite, with every value resolved.
///
/// `engines` are the results for [`Suite::worker_specs`]. The time depends only on the number of
/// cases.
pub fn expand(suite: &Suite, engines: &Engines, host: &SizingHost) -> Result<Plan, SuiteError> {
    let mut mistakes = Mistakes::default();
    let jobs = |part: &Part| part.typed.drive.as_ref().map(drive::engines).unwrap_or_default();
    let jobs: Vec<_> = suite.parts.iter().map(jobs).collect();
    let mut grids = Vec::new();
    for (index, (part, jobs)) in suite.parts.iter().zip(&jobs).enumerate() {
        check_data_dir(part, host, &mut mistakes);
        grids.push(Grid::new(index, part, engines, jobs, host, &mut mistakes));
    }
    if check_size(suite, &grids, &mut mistakes) {
        for grid in &mut grids {
            grid.resolve_phases(&mut mistakes);
        }
    }
    mistakes.into_result(&suite.source)?;
    let mut mistakes = Mistakes::default();
    check_some(suite, &grids, &mut mistakes);
    mistakes.into_result(&suite.source)?;

    let run = grids.iter().filter(|grid| grid.cases() > 0);
    let sized = merge_part_notes(run.map(|grid| (grid.part, grid.notes())));
    let warnings = merge_part_notes(grids.iter().map(|grid| (grid.part, grid.warnings(host))));
    let mut cases = cases::all(&grids);
    let descriptions: BTreeMap<&str, &Description> =
        grids.iter().flat_map(Grid::descriptions).collect();
    let sets_slice = |case: &Case| {
        let mut parts = suite.parts.iter().filter(|part| part.name() == case.part.as_deref());
        parts.any(|part| part.typed.run.slice.is_some())
    };
    // Rounds of slices decide the end of a phase, and turns end with a slice.
    let counts_slices = |case: &Case| {
        let mut ends = case.phases.iter().filter_map(|phase| Some(phase.mix()?.ends));
        ends.any(|ends| ends.least_ns.is_some() || ends.turn_ns.is_some())
    };
    let is_free = |case: &Case| !sets_slice(case) && !counts_slices(case);
    let slices = slices::lengthen(&mut cases, is_free, &descriptions);
    let notes = suite.notes.iter().cloned().chain(sized).chain(slices);
    let crowd = oversubscription_warning(&cases, host);
    Ok(Plan {
        search: None,
        columns: suite.columns(),
        study: suite.study().map(str::to_owned),
        within: suite.tolerance(),
        gate: None,
        target: None,
        claims: suite.claims.clone(),
        format: kvdyno_record::FORMAT.to_owned(),
        suite: suite.name().to_owned(),
        title: title(suite),
        sized: notes.collect(),
        warnings: warnings.into_iter().chain(crowd).collect(),
        left_out: grids.iter().flat_map(|grid| grid.left_out.iter().cloned()).collect(),
        estimate: estimate::estimate(&cases, &descriptions),
        cases,
    })
}

/// The most threads per processor: with more, results no longer describe the engine.
const THREADS_PER_CPU: u32 = 4;

/// Warns if more threads run than this machine can run at once.
fn oversubscription_warning(cases: &[Case], host: &SizingHost) -> Option<String> {
    // Threads of a crew run on other machines too.
    let local = cases.iter().filter(|case| case.crew.as_ref().is_none_or(|c| c.hosts.len() == 1));
    let most = local.map(max_threads).max()?;
    let cpus = host.cpus.max(1);
    (most > THREADS_PER_CPU.saturating_mul(cpus)).then(|| {
        format!("up to {most} threads on {cpus} CPUs: latencies include the wait for a CPU")
    })
}

/// Returns each note once. If only some of several parts have it, it names the part.
fn merge_part_notes<'p>(parts: impl Iterator<Item = (&'p Part, Vec<String>)>) -> Vec<String> {
    let parts: Vec<_> = parts.collect();
    let mut all: Vec<String> = Vec::new();
    for (part, notes) in &parts {
        for note in notes {
            let of_all = parts.iter().all(|(_, notes)| notes.contains(note));
            let text = match part.name() {
                Some(name) if !of_all => format!("part {name}: {note}"),
                _ => note.clone(),
            };
            push_unique(&mut all, text);
        }
    }
    all
}

/// Refuses a suite of which no case can run on this machine.
fn check_some(suite: &Suite, grids: &[Grid], mistakes: &mut Mistakes) {
    let left_out: Vec<_> = grids.iter().flat_map(|grid| grid.left_out.iter().cloned()).collect();
    if left_out.is_empty() || grids.iter().any(|grid| grid.cases() > 0) {
        return;
    }
    let message = "no engine of the suite can run on this machine";
    let mut engines = suite.parts.iter().flat_map(|part| &part.typed.engine);
    let mistake = match engines.next() {
        Some(engine) => mistakes.at(&engine.name.span, message),
        None => mistakes.add_unlocated(message),
    };
    mistake.help(sentences(&left_out).join("\n"));
}

/// Refuses volumes on a data directory that is a block device: images and mount points need a
/// directory.
fn check_data_dir(part: &Part, host: &SizingHost, mistakes: &mut Mistakes) {
    if let Some(volume) = part.typed.volume.first().filter(|_| host.device) {
        let mistake = mistakes.at(&volume.span, "the data directory is a block device already");
        mistake.label("expected no [[volume]], or a directory as data directory");
    }
}

/// Returns the suite's title. It may promise data larger than RAM, so it is marked if the RAM limit
/// is off.
fn title(suite: &Suite) -> String {
    let limited = |part: &Part| {
        let ram = &part.typed.ram;
        ram.limit.is_some() || ram.data_to_ram.is_some() || !ram.tier.is_empty()
    };
    let is_off = |part: &Part| part.no_ram_limit && limited(part);
    let without = if suite.parts.iter().any(is_off) { " (without its RAM limit)" } else { "" };
    format!("{}{without}", suite.title())
}

/// Returns whether the suite has a plausible number of cases, and records a mistake if not.
fn check_size(suite: &Suite, grids: &[Grid], mistakes: &mut Mistakes) -> bool {
    let cases = grids.iter().map(Grid::cases_max).fold(0, u64::saturating_add);
    if cases > CASES_MAX {
        let cases = units::group_digits(cases);
        let help = "fewer trials, thread counts, RAM limits or engines";
        let message = format!("the suite has {cases} cases");
        let mut trials = suite.parts.iter().filter_map(|part| part.typed.run.trials.as_ref());
        match trials.next().map(|trials| &trials.span) {
            Some(span) => mistakes.at(span, message).help(help),
            None => mistakes.add_unlocated(message).help(help),
        };
    }
    cases <= CASES_MAX
}
