//! The second gate: a suite, what the engines say of themselves and what the host has become a
//! flat plan.

use super::cases;
use super::estimate;
use super::grid::Grid;
use super::jobs;
use super::mistake::{Mistakes, SuiteError};
use super::parse::{Part, Suite};
use super::sizing::SizingHost;
use super::wanted::Engines;
use kvdyno_record::engine::Description;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::collections::BTreeMap;

/// More cases than this are a slip of the keyboard.
const CASES_MAX: u64 = 100_000;

/// Every case of the suite, with nothing left open.
///
/// `engines` is what came of looking for [`Suite::wanted`]. The time this takes depends on the
/// number of cases and on nothing else.
pub fn expand(suite: &Suite, engines: &Engines, host: &SizingHost) -> Result<Plan, SuiteError> {
    let mut mistakes = Mistakes::default();
    let jobs = |part: &Part| part.typed.drive.as_ref().map(jobs::engines).unwrap_or_default();
    let jobs: Vec<_> = suite.parts.iter().map(jobs).collect();
    let mut grids = Vec::new();
    for (at, (part, jobs)) in suite.parts.iter().zip(&jobs).enumerate() {
        check_place(part, host, &mut mistakes);
        grids.push(Grid::of(at, part, (engines, jobs), host, &mut mistakes));
    }
    check_size(suite, &grids, &mut mistakes);
    mistakes.none(&suite.source)?;

    let sized = said(grids.iter().map(|grid| (grid.part, grid.notes())));
    let warnings = said(grids.iter().map(|grid| (grid.part, grid.warnings(host))));
    let cases = cases::all(&grids);
    let descriptions: BTreeMap<&str, &Description> =
        grids.iter().flat_map(Grid::descriptions).collect();
    Ok(Plan {
        search: None,
        study: suite.study().map(str::to_owned),
        claims: suite.claims.clone(),
        format: kvdyno_record::FORMAT.to_owned(),
        suite: suite.name().to_owned(),
        title: title(suite),
        sized: [suite.notes.clone(), sized].concat(),
        warnings,
        estimate: estimate::estimate(&cases, &descriptions),
        cases,
    })
}

/// Each sentence once; of several parts with the name of the part that it is said of, where that is
/// not all of them.
fn said<'p>(parts: impl Iterator<Item = (&'p Part, Vec<String>)>) -> Vec<String> {
    let parts: Vec<_> = parts.collect();
    let mut all: Vec<String> = Vec::new();
    for (part, notes) in &parts {
        for note in notes {
            let of_all = parts.iter().all(|(_, notes)| notes.contains(note));
            let said = match part.name() {
                Some(name) if !of_all => format!("part {name}: {note}"),
                _ => note.clone(),
            };
            if !all.contains(&said) {
                all.push(said);
            }
        }
    }
    all
}

/// Images and mount points need a directory.
fn check_place(part: &Part, host: &SizingHost, mistakes: &mut Mistakes) {
    if let Some(volume) = part.typed.volume.first().filter(|_| host.device) {
        let mistake = mistakes.at(&volume.span, "the place is a block device already");
        mistake.label("expected no [[volume]], or a directory as place");
    }
}

/// What the suite says of itself. It may promise data larger than RAM: not without its limit.
fn title(suite: &Suite) -> String {
    let limited = |part: &Part| {
        let ram = &part.typed.ram;
        ram.limit.is_some() || ram.data_to_ram.is_some() || !ram.tier.is_empty()
    };
    let is_off = |part: &Part| part.no_ram_limit && limited(part);
    let without = if suite.parts.iter().any(is_off) { " (without its RAM limit)" } else { "" };
    format!("{}{without}", suite.title())
}

fn check_size(suite: &Suite, grids: &[Grid], mistakes: &mut Mistakes) {
    let cases = grids.iter().map(Grid::cases_max).fold(0, u64::saturating_add);
    if cases > CASES_MAX {
        let cases = units::grouped(cases);
        let help = "fewer trials, thread counts, RAM limits or engines";
        let message = format!("the suite expands to {cases} cases");
        let mut trials = suite.parts.iter().filter_map(|part| part.typed.run.trials.as_ref());
        match trials.next().map(|trials| &trials.span) {
            Some(span) => mistakes.at(span, message).help(help),
            None => mistakes.anywhere(message).help(help),
        };
    }
}
