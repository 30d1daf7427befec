//! On-CPU samples of a case's processes (`profile.json`): the functions that its threads were in
//! while they ran, phase by phase. Only cases of a run with `--profile` have it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `profile.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileFile {
    /// Samples per second of a thread's time on a CPU.
    pub rate_hz: u32,
    /// Whether functions of the kernel are in the stacks.
    pub kernel: bool,
    /// The functions that occur.
    pub functions: Vec<Function>,
    /// The call paths that occur. A path extends one before it.
    pub paths: Vec<CallPath>,
    /// The profiled phases, in the order they happened.
    pub phases: Vec<PhaseProfile>,
}

/// A function.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Function {
    /// The name, demangled; `librocksdb.so+0x1234` where its file has no symbol for the address.
    pub name: String,
    /// The name of its file: `librocksdb.so`; [`KERNEL`], [`VDSO`]; empty: unknown.
    pub module: String,
}

/// The module of the kernel's functions.
pub const KERNEL: &str = "[kernel]";

/// The module of functions that the kernel lends to processes.
pub const VDSO: &str = "[vdso]";

/// The name of the outermost function of a stack that could not be unwound to its thread's start.
pub const CUT: &str = "[cut stack]";

/// The functions from a thread's start to one of its calls, as a node of a tree.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct CallPath(
    /// The caller's path, by its index, which is lower; null: the thread's start.
    pub Option<u32>,
    /// The function called, by its index.
    pub u32,
);

/// The samples of a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseProfile {
    /// The phase's name.
    pub phase: String,
    /// Samples that the kernel could not hand over.
    pub lost: u64,
    /// The samples of each kind of threads.
    pub threads: Vec<ThreadsProfile>,
}

/// The samples of threads of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadsProfile {
    /// The role, or the threads' name without their numbers.
    pub name: String,
    /// The owner of the threads.
    pub owner: ThreadOwner,
    /// Number of samples.
    pub samples: u64,
    /// Samples with a stack that was not unwound to the thread's start.
    pub cut: u64,
    /// The index of each call path that samples ended in, and their number.
    pub stacks: Vec<(u32, u64)>,
}

/// The owner of threads.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ThreadOwner {
    /// A role's: they call the engine.
    Role,
    /// The engine's own, as for flushes and compactions.
    Engine,
    /// The server's.
    Server,
    /// The load generator's own, beside the roles.
    LoadGenerator,
}
