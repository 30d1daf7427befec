//! Pages of stacks that were never touched, as in a large array of which little is used.
//!
//! When the kernel samples a stack, it copies memory up to the first page that is not there. The
//! callers of the function with the array are beyond it. A page is there once it is read, and a
//! read by this program is enough. So only the first samples of a thread are cut.

use crate::memory::end_of_mapping;
use crate::rings::{STACK_BYTES, Sample};
use kvdyno_host::Root;
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// The known holes of one process.
#[derive(Debug, Default)]
pub(crate) struct Holes {
    /// The addresses where copies ended, by thread.
    ends: HashSet<(u32, u64)>,
}

impl Holes {
    /// Fills the holes in a sample's stack, if they are new.
    pub(crate) fn fill(&mut self, root: &Root, sample: &Sample) {
        let Some(user) = &sample.user else { return };
        let end = user.sp.saturating_add(user.stack.len() as u64);
        let is_short = user.stack.len() < STACK_BYTES as usize;
        if !is_short || !self.ends.insert((sample.tid, end)) {
            return;
        }
        let limit = user.sp.saturating_add(u64::from(STACK_BYTES));
        let stack_end = end_of_mapping(root, sample.pid, user.sp).unwrap_or(end);
        let memory = File::open(root.path(format!("/proc/{}/mem", sample.pid)));
        let Ok(memory) = memory else { return };
        for page in (end..limit.min(stack_end)).step_by(1 << 12) {
            let _ = memory.read_at(&mut [0], page);
        }
    }
}
