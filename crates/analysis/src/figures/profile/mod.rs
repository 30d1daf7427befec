//! The functions that threads were in while they ran: samples of a group's trials, added.

mod flame;
pub mod origin;
mod tree;

pub use flame::{Flame, FlameCall, FlameFunction};
pub use origin::Origin;
pub use tree::{Call, CallTree};

use super::evidence::{CaseEvidence, Evidence};
use super::group::Group;
use super::naming::Naming;
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::profile::{PhaseProfile, ProfileFile, ThreadOwner, ThreadsProfile};
use schemars::JsonSchema;
use serde::Serialize;

/// Functions with a smaller share of the samples are left out of summaries.
const RARE: f64 = 0.001;

/// The most functions of one kind of threads in a summary.
const FUNCTIONS_MAX: usize = 50;

/// The samples of threads of one kind in a phase of a group. All counts are sums of its trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ThreadsSamples {
    /// The index of its group in the summary's groups.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// The role, or the threads' name.
    pub threads: String,
    /// Whose threads they are.
    pub owner: ThreadOwner,
    /// Trials that were profiled.
    pub trials: u64,
    /// Samples per second of a thread's time on a CPU.
    pub rate_hz: u32,
    /// Samples.
    pub samples: u64,
    /// Samples among them whose stack was not unwound to the thread's start.
    pub cut: u64,
    /// Samples of the phase that the kernel could not hand over.
    pub lost: u64,
    /// Operations of the role, otherwise of all roles; of a load, records.
    pub operations: u64,
}

/// Samples with their call paths.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// The threads, and the number of their samples.
    pub sampled: ThreadsSamples,
    /// The case in a few words: `lmdb t4`.
    pub case: String,
    /// The call paths.
    pub tree: CallTree,
}

/// The functions of threads of one kind that they were in most.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ThreadsFunctions {
    /// The threads, and the number of their samples.
    #[serde(flatten)]
    pub sampled: ThreadsSamples,
    /// The functions, most samples first.
    pub functions: Vec<FunctionSamples>,
}

/// The samples of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FunctionSamples {
    /// The function.
    pub name: String,
    /// The name of its file.
    pub module: String,
    /// Whose code it is.
    pub origin: Origin,
    /// Samples in the function itself.
    pub own: u64,
    /// Samples in it and in all that it called.
    pub total: u64,
}

/// Returns all profiles, in the order of the groups.
pub fn read(evidence: &Evidence, groups: &[Group]) -> Vec<Profiled> {
    let naming = Naming::from_groups(&groups.iter().collect::<Vec<_>>());
    let of_groups = evidence.cases.iter().filter_map(|case| {
        let group = groups.iter().position(|group| group.key == case.case.key)?;
        Some((group, case))
    });
    let mut all = add(of_groups);
    for profiled in &mut all {
        profiled.case = naming.name(&groups[profiled.sampled.group]);
    }
    all
}

/// Adds up the profiles of cases with equal numbers.
pub(crate) fn add<'c>(cases: impl Iterator<Item = (usize, &'c CaseEvidence)>) -> Vec<Profiled> {
    let mut all: Vec<Profiled> = Vec::new();
    let mut phases: Vec<(usize, &PhaseRecord)> = Vec::new();
    for (group, case) in cases.filter(|(_, case)| case.case.profile) {
        if let Some(file) = case.profile() {
            add_case(&mut all, group, case, &file);
            let records = file.phases.iter().filter_map(|phase| case.shown_phase(&phase.phase));
            phases.extend(records.map(|record| (group, record)));
        }
    }
    all.sort_by_key(|one| one.sampled.group);
    for Profiled { sampled, tree, .. } in &mut all {
        tree.add_up();
        // A trial without samples of these threads counts with its operations as well.
        for (_, record) in phases.iter().filter(|(group, record)| {
            (*group, record.name.as_str()) == (sampled.group, sampled.phase.as_str())
        }) {
            sampled.trials += 1;
            sampled.operations += operations(record, sampled.owner, &sampled.threads);
        }
    }
    all
}

fn add_case(all: &mut Vec<Profiled>, group: usize, case: &CaseEvidence, file: &ProfileFile) {
    for phase in &file.phases {
        if case.shown_phase(&phase.phase).is_none() {
            continue;
        }
        for threads in &phase.threads {
            let is_same = |Profiled { sampled, .. }: &Profiled| {
                (sampled.group, &sampled.phase) == (group, &phase.phase)
                    && (sampled.owner, &sampled.threads) == (threads.owner, &threads.name)
            };
            let index = all.iter().position(is_same).unwrap_or_else(|| {
                all.push(Profiled::empty(group, phase, threads, file.rate_hz));
                all.len() - 1
            });
            all[index].add(phase, threads, file);
        }
    }
}

impl Profiled {
    fn empty(group: usize, phase: &PhaseProfile, threads: &ThreadsProfile, rate_hz: u32) -> Self {
        let sampled = ThreadsSamples {
            group,
            phase: phase.phase.clone(),
            threads: threads.name.clone(),
            owner: threads.owner,
            trials: 0,
            rate_hz,
            samples: 0,
            cut: 0,
            lost: 0,
            operations: 0,
        };
        Self { sampled, case: String::new(), tree: CallTree::default() }
    }

    fn add(&mut self, phase: &PhaseProfile, threads: &ThreadsProfile, file: &ProfileFile) {
        self.sampled.samples += threads.samples;
        self.sampled.cut += threads.cut;
        self.sampled.lost += phase.lost;
        self.tree.add(file, threads);
    }

    /// The samples of threads alone.
    #[cfg(test)]
    pub(crate) fn from_threads(file: &ProfileFile, threads: &ThreadsProfile) -> Self {
        let mut profiled = Self::empty(0, &PhaseProfile::default(), threads, 99);
        profiled.add(&PhaseProfile::default(), threads, file);
        profiled.tree.add_up();
        profiled
    }

    /// Returns the same threads without any samples.
    pub(crate) fn without_samples(&self) -> Self {
        let sampled = ThreadsSamples {
            trials: 0,
            samples: 0,
            cut: 0,
            lost: 0,
            operations: 0,
            ..self.sampled.clone()
        };
        Self { sampled, case: self.case.clone(), tree: CallTree::default() }
    }

    /// Its functions, those with most samples first.
    pub fn functions(&self) -> Vec<FunctionSamples> {
        let mut functions = self.tree.functions();
        functions.sort_by(|a, b| (b.own, b.total, &a.name).cmp(&(a.own, a.total, &b.name)));
        functions
    }

    fn summarise(&self) -> ThreadsFunctions {
        let least = self.sampled.samples as f64 * RARE;
        let mut functions = self.functions();
        functions.retain(|function| function.own as f64 >= least && function.own > 0);
        functions.truncate(FUNCTIONS_MAX);
        ThreadsFunctions { sampled: self.sampled.clone(), functions }
    }
}

impl ThreadsSamples {
    /// Whether they are the same threads, of this run or another.
    pub(crate) fn is_same_threads(&self, other: &Self) -> bool {
        (self.group, &self.phase) == (other.group, &other.phase)
            && (self.owner, &self.threads) == (other.owner, &other.threads)
    }

    /// CPU time per operation for this number of samples; none without operations or a rate.
    pub fn ns_per_op(&self, samples: u64) -> Option<f64> {
        let ns = samples as f64 * 1e9 / f64::from(self.rate_hz);
        (self.operations > 0 && self.rate_hz > 0).then(|| ns / self.operations as f64)
    }

    /// Whether more than one sample in a hundred has a cut stack or was lost.
    pub fn is_incomplete(&self) -> bool {
        (self.cut + self.lost) * 100 > self.samples
    }
}

fn operations(record: &PhaseRecord, owner: ThreadOwner, name: &str) -> u64 {
    let is_its = |role: &&RoleResult| owner != ThreadOwner::Role || role.role == name;
    let ops = record.roles.iter().filter(is_its).flat_map(RoleResult::summed_ops);
    ops.map(|op| if record.kind == "load" { op.items } else { op.count }).sum()
}

/// The summary of all that was profiled.
pub(crate) fn summarise(evidence: &Evidence, groups: &[Group]) -> Vec<ThreadsFunctions> {
    read(evidence, groups).iter().map(Profiled::summarise).collect()
}

#[cfg(test)]
mod tests;
