//! Profiles of both sides: the functions whose share of the CPU time moved.

use super::sides::{Record, Sides};
use super::{Pair, Versus};
use crate::figures::profile::{self, Flame, Origin, Profiled};
use kvdyno_record::files::RecordError;
use kvdyno_record::profile::ThreadOwner;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A comparison has this many functions of a kind of threads.
const FUNCTIONS_MAX: usize = 15;

/// Standard errors beyond which a share moved: 99 % of what chance does is within.
const CHANCE: f64 = 2.576;

/// The profiles of threads of one kind, in a phase of two cases that do equal work.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProfilePair {
    /// The pair's name.
    pub pair: String,
    /// The phase.
    pub phase: String,
    /// The role, or the threads' name.
    pub threads: String,
    /// Whose threads they are.
    pub owner: ThreadOwner,
    /// The base's calls.
    pub base: Flame,
    /// The new side's calls.
    pub new: Flame,
    /// The functions whose share moved by more than chance does, the largest move first.
    pub moved: Vec<MovedFunction>,
}

/// A function whose share moved.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MovedFunction {
    /// The function. Those of one name in other files count as the same: two builds have two files.
    pub name: String,
    /// Whose code it is.
    pub origin: Origin,
    /// Its share of the base's samples, by its own code.
    pub base_share: f64,
    /// Its share of the new side's.
    pub new_share: f64,
    /// CPU time of its own code per operation of the base; null: it had no operations.
    pub base_ns_per_op: Option<f64>,
    /// CPU time of its own code per operation of the new side.
    pub new_ns_per_op: Option<f64>,
}

/// What was profiled on both sides.
pub fn list_profiles(sides: &Sides<'_>, versus: &Versus) -> Result<Vec<ProfilePair>, RecordError> {
    let [base, new] = sides.records_of_each();
    let base = read(&base, &versus.pairs, |pair| &pair.base_key)?;
    let new = read(&new, &versus.pairs, |pair| &pair.new_key)?;
    let pairs = base.iter().filter_map(|base| {
        let is_same = |new: &&Profiled| {
            (new.group, &new.phase, new.owner) == (base.group, &base.phase, base.owner)
                && new.threads == base.threads
        };
        let new = new.iter().find(is_same)?;
        Some(ProfilePair::new(&versus.pairs[base.group], base, new))
    });
    Ok(pairs.collect())
}

/// The profiles of one side's records, by the number of the pair.
fn read(
    records: &[&Record],
    pairs: &[Pair],
    key: fn(&Pair) -> &String,
) -> Result<Vec<Profiled>, RecordError> {
    let cases = records.iter().flat_map(|record| &record.evidence.cases);
    profile::add(cases.filter_map(|case| {
        let pair = pairs.iter().position(|pair| *key(pair) == case.case.key)?;
        Some((pair, case))
    }))
}

impl ProfilePair {
    fn new(pair: &Pair, base: &Profiled, new: &Profiled) -> Self {
        Self {
            pair: pair.name.clone(),
            phase: base.phase.clone(),
            threads: base.threads.clone(),
            owner: base.owner,
            moved: list_moved(base, new),
            base: Flame::from(base),
            new: Flame::from(new),
        }
    }
}

fn list_moved(base: &Profiled, new: &Profiled) -> Vec<MovedFunction> {
    let mut own: BTreeMap<String, (Origin, [u64; 2])> = BTreeMap::new();
    for (side, profiled) in [base, new].into_iter().enumerate() {
        for function in profiled.functions() {
            own.entry(function.name).or_insert((function.origin, [0, 0])).1[side] += function.own;
        }
    }
    let moved = own
        .into_iter()
        .filter(|(_, (_, counts))| is_beyond_chance(*counts, [base.samples, new.samples]));
    let moved = moved.map(|(name, (origin, [of_base, of_new]))| MovedFunction {
        name,
        origin,
        base_share: share(of_base, base.samples),
        new_share: share(of_new, new.samples),
        base_ns_per_op: base.ns_per_op(of_base),
        new_ns_per_op: new.ns_per_op(of_new),
    });
    let mut moved: Vec<MovedFunction> = moved.collect();
    moved.sort_by(|a, b| b.moved().abs().total_cmp(&a.moved().abs()));
    moved.truncate(FUNCTIONS_MAX);
    moved
}

impl MovedFunction {
    /// The change of its share.
    pub fn moved(&self) -> f64 {
        self.new_share - self.base_share
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Whether two shares differ by more than samples of equal shares do.
fn is_beyond_chance(parts: [u64; 2], wholes: [u64; 2]) -> bool {
    let pooled = share(parts.iter().sum(), wholes.iter().sum());
    let per_sample: f64 = wholes.iter().map(|whole| 1.0 / (*whole).max(1) as f64).sum();
    let error = (pooled * (1.0 - pooled) * per_sample).sqrt();
    (share(parts[1], wholes[1]) - share(parts[0], wholes[0])).abs() > CHANCE * error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::judge::versus::{FigureChoice, Question};

    /// The record of a run, where its files are.
    fn record(own: u64) -> (tempfile::TempDir, Record) {
        let mut fixture = Fixture::profiled();
        for profile in fixture.cases.iter_mut().filter_map(|case| case.profile.as_mut()) {
            let threads = &mut profile.phases[0].threads[0];
            threads.samples += own;
            threads.stacks[1].1 += own;
        }
        fixture.run.id = format!("run-{own}");
        let folder = tempfile::tempdir().unwrap();
        let record = Record::read(&fixture.write(&folder.path().join("run"))).unwrap();
        (folder, record)
    }

    fn profiles(own: u64) -> Vec<ProfilePair> {
        let ((_base_folder, base), (_new_folder, new)) = (record(0), record(own));
        let (base, new) = (std::slice::from_ref(&base), std::slice::from_ref(&new));
        let sides = Sides::Runs { base, new };
        let question = Question { figures: FigureChoice::Usual, within: 0.03, gate: None };
        let versus = Versus::compare(&sides, &question).unwrap();
        list_profiles(&sides, &versus).unwrap()
    }

    #[test]
    fn a_function_that_got_slower_is_the_first_of_what_moved() {
        let pairs = profiles(300);
        let [role, flush] = &pairs[..] else { panic!("{pairs:?}") };
        assert_eq!(role.moved[0].name, "mdb_node_search");
        assert!((role.moved[0].base_share - 0.45).abs() < 1e-9);
        assert!((role.moved[0].new_share - 750.0 / 1300.0).abs() < 1e-9);
        assert!(role.moved[0].new_ns_per_op > role.moved[0].base_ns_per_op);
        assert_eq!(flush.moved, []);
    }

    #[test]
    fn what_chance_moves_is_not_listed() {
        let pairs = profiles(5);
        assert!(pairs.iter().all(|pair| pair.moved.is_empty()), "{pairs:?}");
        assert!(is_beyond_chance([100, 200], [1000, 1000]));
        assert!(!is_beyond_chance([10, 14], [100, 100]));
        assert!(!is_beyond_chance([0, 0], [0, 0]));
    }
}
