//! Adds trials to a plan whose number of trials is not fixed.

use crate::plan::shuffle::shuffle_trial;
use crate::plan::turns;
use kvdyno_record::plan::{Case, Database, Plan};

/// Appends one trial of the cases that `is_wanted` selects, with the databases that they need, in
/// an order of its own. Every second trial has the previous trial's order, reversed.
pub fn append_trial(plan: &mut Plan, is_wanted: impl Fn(&Case) -> bool) {
    let trial = plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) + 1;
    let first: Vec<Case> = plan.cases.iter().filter(|case| case.trial == 1).cloned().collect();
    let mut groups: Vec<&[Case]> =
        first.chunk_by(|a, b| a.database.loaded_by == b.database.loaded_by).collect();
    // The order of the suite, which the first trial has shuffled.
    groups.sort_by_key(|group| group[0].listed);
    groups.retain(|group| group.iter().any(&is_wanted));
    let seed = first.first().map_or(0, |case| case.data.seed);
    shuffle_trial(&mut groups, seed, trial, |group| !group[0].ceiling);
    let is_pair = |one: &&[Case], other: &&[Case]| one[0].turns_with.as_ref() == Some(&other[0].id);
    turns::move_pairs_together(&mut groups, is_pair);
    let mut before: Option<&[Case]> = None;
    for group in groups {
        append_group(plan, group, trial, &is_wanted);
        if before.is_some_and(|before| is_pair(&before, &group)) {
            turns::pair_last(&mut plan.cases);
        }
        before = Some(group);
    }
}

/// Appends the cases that share a database, each with a new id: the case that makes it comes first.
fn append_group(plan: &mut Plan, group: &[Case], trial: u32, is_wanted: &impl Fn(&Case) -> bool) {
    let mut loader = None;
    for case in group.iter().filter(|case| case.makes_database() || is_wanted(case)) {
        let id = id(case, plan.cases.len() + 1, trial);
        let loaded_by = loader.get_or_insert_with(|| id.clone()).clone();
        let database = Database {
            id: loaded_by.clone(),
            loaded_by,
            last_use: false,
            is_state: case.database.is_state,
        };
        plan.cases.push(Case { id, trial, database, turns_with: None, ..case.clone() });
    }
    if let Some(last) = plan.cases.last_mut() {
        last.database.last_use = true;
    }
}

/// Returns the id of a repeated case: `0005_rocksdb_t4_r1` as the twelfth case, in the third trial,
/// is `0012_rocksdb_t4_r3`.
fn id(case: &Case, number: usize, trial: u32) -> String {
    let (first, rest) = case.id.split_once('_').unwrap_or(("", &case.id));
    let name = rest.strip_suffix("_r1").unwrap_or(rest);
    format!("{number:0width$}_{name}_r{trial}", width = first.len())
}
