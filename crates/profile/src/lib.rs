//! The functions that processes are in while they run: stacks are sampled by the kernel, unwound
//! after each phase, and named at the end.
//!
//! A sample is taken for every hundredth of a second of a thread's time on a CPU
//! (`perf_event_open(2)`). It has the registers and the top of the stack. These are kept until the
//! phase is over, because unwinding takes CPU time that the measured process needs.
//! This crate neither judges nor draws: `analysis` merges trials, `render` writes files, the page
//! draws.

mod address;
mod elf;
mod holes;
mod memory;
mod names;
mod phase;
mod profiler;
mod rings;
mod threads;
mod unwind;

pub use profiler::{Profiler, Watch, Watched};
pub use rings::RATE_HZ;

#[cfg(test)]
mod tests;
