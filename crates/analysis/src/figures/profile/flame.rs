//! Trees small enough to draw: what is too narrow to be seen is left out.

use super::origin::Origin;
use super::tree::Call;
use super::{Profiled, ThreadsSamples};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Calls with a smaller share of the samples are narrower than a pixel or two.
const SEEN: f64 = 0.001;

/// The call tree of threads of one kind in a phase of a group.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Flame {
    /// The threads, and the number of their samples.
    #[serde(flatten)]
    pub sampled: ThreadsSamples,
    /// The functions that occur.
    pub functions: Vec<FlameFunction>,
    /// The calls, callers first.
    pub calls: Vec<FlameCall>,
}

/// A function of a flame graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlameFunction {
    /// The function.
    pub name: String,
    /// The name of its file.
    pub module: String,
}

/// A call: its caller by index (-1: the thread's start), the function by index, whose code it is,
/// samples with all that it called, samples of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FlameCall(pub i64, pub u32, pub Origin, pub u64, pub u64);

impl From<&Profiled> for Flame {
    fn from(profiled: &Profiled) -> Self {
        let least = profiled.sampled.samples as f64 * SEEN;
        let (mut functions, mut calls) = (Vec::new(), Vec::new());
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut indices: HashMap<usize, i64> = HashMap::new();
        for (index, call) in profiled.tree.calls().iter().enumerate() {
            let Call { caller, function, origin, own, total } = *call;
            if total == 0 || (total as f64) < least {
                continue;
            }
            let caller = caller.map_or(Some(-1), |caller| indices.get(&(caller as usize)).copied());
            let Some(caller) = caller else { continue };
            let number = *numbers.entry(function).or_insert_with(|| {
                let function = profiled.tree.function(function);
                let (name, module) = (function.name.clone(), function.module.clone());
                functions.push(FlameFunction { name, module });
                functions.len() as u32 - 1
            });
            indices.insert(index, calls.len() as i64);
            calls.push(FlameCall(caller, number, origin, total, own));
        }
        Self { sampled: profiled.sampled.clone(), functions, calls }
    }
}
