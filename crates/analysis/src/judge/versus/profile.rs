//! Profiles of both sides: the functions whose share of the CPU time moved.

use super::sides::{Record, Sides};
use super::{Pair, Versus};
use crate::figures::profile::{self, Flame, Origin, Profiled};
use crate::judge::rule;
use kvdyno_record::profile::ThreadOwner;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};
use std::collections::BTreeMap;

/// The most functions that are listed for threads of one kind.
const FUNCTIONS_MAX: usize = 15;

/// A function with fewer samples, on both sides together, is not judged.
const SAMPLES_LEAST: u64 = 20;

/// The profiles of threads of one kind, in a phase of two cases that do equal work.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ProfilePair {
    /// The pair's name.
    pub pair: String,
    /// The phase.
    pub phase: String,
    /// The role, or the threads' name.
    pub threads: String,
    /// The owner of the threads.
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
    /// The function. Equal names in different files count as one: two builds have two files.
    pub name: String,
    /// The origin of its code.
    pub origin: Origin,
    /// Its share of the base's samples, by its own code.
    pub base_share: f64,
    /// Its share of the new side's samples, by its own code.
    pub new_share: f64,
    /// CPU time of its own code per operation of the base; null: it had no operations.
    pub base_ns_per_op: Option<f64>,
    /// CPU time of its own code per operation of the new side.
    pub new_ns_per_op: Option<f64>,
}

/// A comparison for programs: with the functions that moved, without the calls of the profiles.
#[derive(Debug, Serialize)]
pub struct VersusJson<'v> {
    #[serde(flatten)]
    versus: &'v Versus,
    /// The functions that moved, by phase and threads.
    moved_functions: Vec<Moved<'v>>,
}

#[derive(Debug, Serialize)]
struct Moved<'v> {
    pair: &'v str,
    phase: &'v str,
    threads: &'v str,
    functions: &'v [MovedFunction],
}

impl<'v> VersusJson<'v> {
    /// Combines a comparison with the functions that moved in its profiles.
    pub fn new(versus: &'v Versus, profiles: &'v [ProfilePair]) -> Self {
        let moved = profiles.iter().filter(|profile| !profile.moved.is_empty());
        let moved = moved.map(|ProfilePair { pair, phase, threads, moved, .. }| Moved {
            pair,
            phase,
            threads,
            functions: moved,
        });
        Self { versus, moved_functions: moved.collect() }
    }
}

/// Pairs the profiles of both sides. Threads of one side alone are paired with no samples.
pub fn list_profiles(sides: &Sides<'_>, versus: &Versus) -> Vec<ProfilePair> {
    let [base, new] = sides.records_of_each();
    let base = read(&base, &versus.pairs, |pair| &pair.base_key);
    let new = read(&new, &versus.pairs, |pair| &pair.new_key);
    // A phase that the other side did not sample has nothing to be compared with.
    let is_sampled = |side: &[Profiled], one: &Profiled| {
        let phase = |it: &Profiled| (it.sampled.group, it.sampled.phase.clone());
        side.iter().any(|other| phase(other) == phase(one))
    };
    let of_base = base.iter().filter(|one| is_sampled(&new, one)).map(|one| {
        let other = new.iter().find(|other| other.sampled.is_same_threads(&one.sampled));
        (one.clone(), other.cloned().unwrap_or_else(|| one.without_samples()))
    });
    let is_new = |one: &&Profiled| {
        is_sampled(&base, one)
            && !base.iter().any(|other| other.sampled.is_same_threads(&one.sampled))
    };
    let of_new = new.iter().filter(is_new).map(|one| (one.without_samples(), one.clone()));
    let mut both: Vec<(Profiled, Profiled)> = of_base.chain(of_new).collect();
    both.sort_by_key(|(base, _)| base.sampled.group);
    let pair = |(base, new): &(Profiled, Profiled)| {
        ProfilePair::new(&versus.pairs[base.sampled.group], base, new)
    };
    both.iter().map(pair).collect()
}

/// The profiles of one side's records, by the number of the pair.
fn read(records: &[&Record], pairs: &[Pair], key: fn(&Pair) -> &String) -> Vec<Profiled> {
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
            phase: base.sampled.phase.clone(),
            threads: base.sampled.threads.clone(),
            owner: base.sampled.owner,
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
    own.retain(|_, (_, counts)| counts.iter().sum::<u64>() >= SAMPLES_LEAST);
    let (base, new) = (&base.sampled, &new.sampled);
    let wholes = [base.samples, new.samples];
    let chances = own.values().map(|(_, counts)| chance(*counts, wholes));
    let differs = rule::holm_correction(&chances.collect::<Vec<_>>());
    let moved = own.into_iter().zip(differs).filter(|(_, differs)| *differs);
    let moved = moved.map(|((name, (origin, [of_base, of_new])), _)| MovedFunction {
        name,
        origin,
        base_share: share(of_base, base.samples),
        new_share: share(of_new, new.samples),
        base_ns_per_op: base.ns_per_op(of_base),
        new_ns_per_op: new.ns_per_op(of_new),
    });
    let mut moved: Vec<MovedFunction> = moved.collect();
    moved.sort_by(|a, b| b.share_change().abs().total_cmp(&a.share_change().abs()));
    moved.truncate(FUNCTIONS_MAX);
    moved
}

impl MovedFunction {
    /// The change of its share.
    pub fn share_change(&self) -> f64 {
        self.new_share - self.base_share
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The probability that samples of equal shares differ by as much.
fn chance(parts: [u64; 2], wholes: [u64; 2]) -> f64 {
    if wholes.contains(&0) {
        return 1.0;
    }
    let pooled = share(parts.iter().sum(), wholes.iter().sum());
    let per_sample: f64 = wholes.iter().map(|whole| 1.0 / *whole as f64).sum();
    let error = (pooled * (1.0 - pooled) * per_sample).sqrt();
    let apart = (share(parts[1], wholes[1]) - share(parts[0], wholes[0])).abs();
    if error > 0.0 { 2.0 * Normal::standard().sf(apart / error) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::judge::versus::{FigureChoice, Question};
    use kvdyno_record::profile::{CallPath, Function, ProfileFile, ThreadsProfile};

    /// The record of a run, where its files are.
    fn record(own: u64) -> (tempfile::TempDir, Record) {
        let mut fixture = Fixture::with_profile();
        for profile in fixture.cases.iter_mut().filter_map(|case| case.profile.as_mut()) {
            let threads = &mut profile.phases[0].threads[0];
            threads.samples += own;
            threads.stacks[1].1 += own;
        }
        fixture.run.id = format!("run-{own}");
        let dir = crate::fixture::make_dir();
        let record = Record::read(&fixture.write(&dir.path().join("run"))).unwrap();
        (dir, record)
    }

    /// The record of a run in which the engine's thread has another name.
    fn renamed(thread: &str) -> (tempfile::TempDir, Record) {
        let mut fixture = Fixture::with_profile();
        for profile in fixture.cases.iter_mut().filter_map(|case| case.profile.as_mut()) {
            profile.phases[0].threads[1].name = thread.to_owned();
        }
        fixture.run.id = format!("run-{thread}");
        let dir = crate::fixture::make_dir();
        let record = Record::read(&fixture.write(&dir.path().join("run"))).unwrap();
        (dir, record)
    }

    fn profiles(own: u64) -> Vec<ProfilePair> {
        let ((_base_dir, base), (_new_dir, new)) = (record(0), record(own));
        compare(&base, &new)
    }

    fn compare(base: &Record, new: &Record) -> Vec<ProfilePair> {
        judged(base, new).1
    }

    fn judged(base: &Record, new: &Record) -> (Versus, Vec<ProfilePair>) {
        let (base, new) = (std::slice::from_ref(base), std::slice::from_ref(new));
        let sides = Sides::Runs { base, new };
        let question = Question { figures: FigureChoice::Usual, within: 0.03, gate: None };
        let versus = Versus::compare(&sides, &question).unwrap();
        let profiles = list_profiles(&sides, &versus);
        (versus, profiles)
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
    fn programs_read_what_moved_without_all_calls() {
        let ((_base_dir, base), (_new_dir, new)) = (record(0), record(300));
        let (versus, profiles) = judged(&base, &new);
        let json = serde_json::to_value(VersusJson::new(&versus, &profiles)).unwrap();
        assert!(json["pairs"].is_array(), "what a comparison has stands beside it");
        let [moved] = json["moved_functions"].as_array().unwrap().as_slice() else {
            panic!("{json}")
        };
        assert_eq!(moved["functions"][0]["name"], "mdb_node_search");
        assert_eq!(moved["threads"], profiles[0].threads);
        assert!(moved.get("base").is_none());
    }

    #[test]
    fn what_chance_moves_is_not_listed() {
        let pairs = profiles(5);
        assert!(pairs.iter().all(|pair| pair.moved.is_empty()), "{pairs:?}");
        assert!(chance([100, 200], [1000, 1000]) < 1e-6);
        assert!((chance([10, 14], [100, 100]) - 0.384).abs() < 0.01);
        assert!(chance([0, 0], [0, 0]) > 0.99);
        // One side has no samples at all.
        assert!(chance([0, 30], [0, 100]) > 0.99);
    }

    /// The flushing thread of the new side has another name.
    #[test]
    fn threads_of_one_side_stand_beside_none() {
        let ((_base_dir, base), (_new_dir, new)) = (record(0), renamed("compact"));
        let pairs = compare(&base, &new);
        let threads: Vec<(&str, u64, u64)> = pairs
            .iter()
            .map(|it| (&*it.threads, it.base.sampled.samples, it.new.sampled.samples))
            .collect();
        let flushed = pairs[1].base.sampled.samples;
        assert!(flushed > 0);
        assert_eq!(threads[1..], [("flush", flushed, 0), ("compact", 0, flushed)]);
        assert!(pairs[1..].iter().all(|pair| pair.moved.is_empty()));
    }

    /// One of fifty functions differs by as much as one in a hundred does by chance alone.
    #[test]
    fn many_functions_share_one_chance() {
        let sampled = |first: u64, others: usize| {
            let functions = (0..=others)
                .map(|index| Function { name: format!("f{index}"), module: String::new() });
            let own = |index: usize| if index == 0 { first } else { 100 };
            let file = ProfileFile {
                functions: functions.collect(),
                paths: (0..=others as u32).map(|index| CallPath(None, index)).collect(),
                ..ProfileFile::default()
            };
            let threads = ThreadsProfile {
                name: "readers".to_owned(),
                owner: ThreadOwner::Role,
                samples: 10_000,
                cut: 0,
                stacks: (0..=others).map(|index| (index as u32, own(index))).collect(),
            };
            Profiled::from_threads(&file, &threads)
        };
        let moved = |others| list_moved(&sampled(100, others), &sampled(145, others)).len();
        assert_eq!((moved(0), moved(49)), (1, 0));
    }
}
