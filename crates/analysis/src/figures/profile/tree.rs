//! Call paths of several trials as one tree.

use super::FunctionSamples;
use super::origin::{Origin, origin};
use kvdyno_record::profile::{CallPath, Function, ProfileFile, ThreadsProfile};
use std::collections::HashMap;

/// A tree of calls.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    functions: Vec<Function>,
    numbers: HashMap<Function, u32>,
    calls: Vec<Call>,
    by_path: HashMap<CallPath, u32>,
}

/// A function, called on one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The caller, by its index, which is lower; null: the thread's start.
    pub caller: Option<u32>,
    /// The function, by its index.
    pub function: u32,
    /// Whose code it is.
    pub origin: Origin,
    /// Samples in the function itself.
    pub own: u64,
    /// Samples in it and in all that it called.
    pub total: u64,
}

impl CallTree {
    /// Returns a function by its number.
    pub fn function(&self, number: u32) -> &Function {
        &self.functions[number as usize]
    }

    /// Its calls, callers first.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Adds the samples of a trial. A damaged file may have paths of later paths, or of functions
    /// that it lacks: those are left out.
    pub(super) fn add(&mut self, file: &ProfileFile, threads: &ThreadsProfile) {
        let mut calls: Vec<Option<u32>> = vec![None; file.paths.len()];
        for &(path, count) in &threads.stacks {
            if let Some(call) = self.add_path(file, path, &mut calls) {
                self.calls[call as usize].own += count;
            }
        }
    }

    fn add_path(
        &mut self,
        file: &ProfileFile,
        path: u32,
        calls: &mut [Option<u32>],
    ) -> Option<u32> {
        // Walks outwards from the innermost unknown path to a known one, and back.
        let (mut unknown, mut caller, mut next) = (Vec::new(), None, Some(path));
        while let Some(path) = next {
            if let Some(call) = *calls.get(path as usize)? {
                caller = Some(call);
                break;
            }
            unknown.push(path);
            next = file.paths[path as usize].0.filter(|caller| *caller < path);
        }
        for path in unknown.into_iter().rev() {
            let function = file.functions.get(file.paths[path as usize].1 as usize)?;
            let call = self.add_call(caller, function);
            calls[path as usize] = Some(call);
            caller = Some(call);
        }
        caller
    }

    fn add_call(&mut self, caller: Option<u32>, function: &Function) -> u32 {
        let number = match self.numbers.get(function) {
            Some(number) => *number,
            None => {
                let number = self.functions.len() as u32;
                self.functions.push(function.clone());
                self.numbers.insert(function.clone(), number);
                number
            }
        };
        let next = self.calls.len() as u32;
        let call = *self.by_path.entry(CallPath(caller, number)).or_insert(next);
        if call == next {
            let origin = origin(function, caller.map(|caller| self.calls[caller as usize].origin));
            self.calls.push(Call { caller, function: number, origin, own: 0, total: 0 });
        }
        call
    }

    /// Computes the totals.
    pub(super) fn add_up(&mut self) {
        self.calls.iter_mut().for_each(|call| call.total = call.own);
        for index in (0..self.calls.len()).rev() {
            if let Some(caller) = self.calls[index].caller {
                self.calls[caller as usize].total += self.calls[index].total;
            }
        }
    }

    /// The samples of each function, on any path.
    pub(super) fn functions(&self) -> Vec<FunctionSamples> {
        let mut all: Vec<Option<FunctionSamples>> = vec![None; self.functions.len()];
        for call in &self.calls {
            let Function { name, module } = self.function(call.function);
            let sum = all[call.function as usize].get_or_insert_with(|| FunctionSamples {
                name: name.clone(),
                module: module.clone(),
                origin: call.origin,
                own: 0,
                total: 0,
            });
            sum.own += call.own;
            // A function that calls itself is in the total of the outer call already.
            if !self.is_within(call) {
                sum.total += call.total;
            }
        }
        all.into_iter().flatten().collect()
    }

    /// Whether one of the callers is the same function.
    fn is_within(&self, call: &Call) -> bool {
        let mut callers = std::iter::successors(self.caller(call), |caller| self.caller(caller));
        callers.any(|caller| caller.function == call.function)
    }

    /// Returns the caller of a call; none: the thread's start.
    pub fn caller(&self, call: &Call) -> Option<&Call> {
        call.caller.map(|caller| &self.calls[caller as usize])
    }
}
