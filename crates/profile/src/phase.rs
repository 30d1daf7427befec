//! The stacks of a phase, and their names.

use crate::address::{CodeAddress, Stack};
use crate::names::Names;
use crate::threads::{classify_of_server, classify_of_worker, is_load_generator};
use kvdyno_record::profile::{CallPath, PhaseProfile, ThreadOwner, ThreadsProfile};
use std::collections::{BTreeMap, HashMap};

/// The stacks of a phase by their threads.
#[derive(Debug, Default)]
pub(crate) struct PhaseStacks {
    pub(crate) name: String,
    pub(crate) roles: Vec<String>,
    pub(crate) lost: u64,
    /// The threads, by the numbers of process and thread.
    pub(crate) threads: BTreeMap<(u32, u32), ThreadStacks>,
}

/// The stacks of a thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadStacks {
    /// The thread's name; empty: it ended before its name was read.
    pub(crate) name: String,
    /// Whether it belongs to a server's processes.
    pub(crate) of_server: bool,
    /// Whether it belongs to the watched process itself, and not to one that this started.
    pub(crate) of_first: bool,
    pub(crate) cut: u64,
    pub(crate) stacks: HashMap<Stack, u64>,
}

impl PhaseStacks {
    /// The addresses in all stacks.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = CodeAddress> {
        let stacks = self.threads.values().flat_map(|thread| thread.stacks.keys());
        stacks.flatten().copied()
    }

    /// Whether any thread's functions are known to be the load generator's.
    pub(crate) fn generates_load(&self, names: &Names) -> bool {
        self.threads.values().any(|thread| thread.generates_load(names))
    }

    /// Returns the profile with names. `has_names`: functions of the load generator have names.
    pub(crate) fn symbolize(
        &self,
        names: &Names,
        has_names: bool,
        paths: &mut Paths,
    ) -> PhaseProfile {
        let mut kinds: BTreeMap<(ThreadOwner, String), (u64, BTreeMap<u32, u64>)> = BTreeMap::new();
        for thread in self.threads.values() {
            let (name, owner) = thread.classify(&self.roles, names, has_names);
            let (cut, stacks) = kinds.entry((owner, name)).or_default();
            *cut += thread.cut;
            for (stack, count) in &thread.stacks {
                let path = paths.number(stack, names);
                *stacks.entry(path).or_default() += count;
            }
        }
        let threads = kinds.into_iter().map(|((owner, name), (cut, stacks))| ThreadsProfile {
            name,
            owner,
            samples: stacks.values().sum(),
            cut,
            stacks: stacks.into_iter().collect(),
        });
        PhaseProfile { phase: self.name.clone(), lost: self.lost, threads: threads.collect() }
    }
}

impl ThreadStacks {
    fn classify(&self, roles: &[String], names: &Names, has_names: bool) -> (String, ThreadOwner) {
        if self.of_server {
            return classify_of_server(&self.name, self.of_first);
        }
        // A stack that was cut lacks the functions that it began with.
        let whole = self.stacks.values().sum::<u64>() > self.cut;
        let generates_load = (has_names && whole).then(|| self.generates_load(names));
        classify_of_worker(&self.name, roles, generates_load)
    }

    fn generates_load(&self, names: &Names) -> bool {
        let mut functions =
            self.stacks.keys().flatten().flat_map(|address| names.find_functions(*address));
        functions.any(|number| is_load_generator(&names.function(*number).name))
    }
}

/// The call paths of all phases.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    all: Vec<CallPath>,
    numbers: HashMap<CallPath, u32>,
}

impl Paths {
    pub(crate) fn into_paths(self) -> Vec<CallPath> {
        self.all
    }

    /// Returns the number of the path to a stack's innermost function.
    fn number(&mut self, stack: &Stack, names: &Names) -> u32 {
        let functions = stack.iter().rev().flat_map(|address| names.find_functions(*address));
        let mut caller = None;
        for function in functions {
            let path = CallPath(caller, *function);
            let next = self.all.len() as u32;
            let number = *self.numbers.entry(path).or_insert(next);
            if number == next {
                self.all.push(path);
            }
            caller = Some(number);
        }
        caller.unwrap_or(0)
    }
}
