//! Unwinds stacks: from registers and the top of a stack to the calls that led there.

use crate::address::{CodeAddress, Stack};
use crate::memory::{Files, Mapping, list_mappings};
use crate::rings::{Sample, UserState};
use framehop::{
    CacheNative, FrameAddress, MayAllocateDuringUnwind, Module, Unwinder as _, UnwinderNative,
};
use kvdyno_host::Root;
use std::sync::Arc;

/// Deeper stacks are cut.
const DEPTH_MAX: usize = 512;

/// The known rules of frames, of all processes.
pub(crate) type Rules = CacheNative<MayAllocateDuringUnwind>;

/// The code of a process, as it was in one phase.
pub(crate) struct Process {
    mappings: Vec<Mapping>,
    /// Made when the first stack is unwound.
    unwinder: Option<UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>>,
}

impl Process {
    /// Reads the code of a process that runs.
    pub(crate) fn load(root: &Root, pid: u32) -> Self {
        Self { mappings: list_mappings(root, pid), unwinder: None }
    }

    /// Reads the code again. Returns whether it has changed.
    pub(crate) fn reload(&mut self, root: &Root, pid: u32) -> bool {
        let mappings = list_mappings(root, pid);
        let is_new = !mappings.is_empty() && mappings != self.mappings;
        if is_new {
            *self = Self { mappings, unwinder: None };
        }
        is_new
    }

    /// Returns whether the thread's instruction is in known memory.
    pub(crate) fn has_mapping(&self, user: &UserState) -> bool {
        self.mapping(user.ip).is_some()
    }

    /// Returns a sample's stack, and whether its callers are all known.
    pub(crate) fn unwind(
        &mut self,
        sample: &Sample,
        files: &mut Files,
        rules: &mut Rules,
    ) -> (Stack, bool) {
        let mut stack: Stack = sample.kernel.iter().copied().map(CodeAddress::Kernel).collect();
        let is_whole = sample
            .user
            .as_ref()
            .is_none_or(|user| self.unwind_user(user, files, rules, &mut stack));
        if !is_whole {
            stack.push(CodeAddress::Cut);
        }
        (stack, is_whole)
    }

    fn unwind_user(
        &mut self,
        user: &UserState,
        files: &mut Files,
        rules: &mut Rules,
        stack: &mut Stack,
    ) -> bool {
        let unwinder = self.unwinder.take().unwrap_or_else(|| load(&self.mappings, files));
        let mut read = |address: u64| read_stack(user, address);
        let mut frames = unwinder.iter_frames(user.ip, user.registers, rules, &mut read);
        let mut is_whole = false;
        for _ in 0..DEPTH_MAX {
            match frames.next() {
                Ok(Some(frame)) => {
                    let address = frame.address_for_lookup();
                    let Some(mapping) = self.mapping(address) else {
                        // The value that was read is no return address.
                        if matches!(frame, FrameAddress::InstructionPointer(_)) {
                            stack.push(CodeAddress::Unknown);
                        }
                        break;
                    };
                    stack.push(files.locate(mapping, address));
                }
                Ok(None) => {
                    is_whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        self.unwinder = Some(unwinder);
        is_whole
    }

    fn mapping(&self, address: u64) -> Option<&Mapping> {
        let after = self.mappings.partition_point(|mapping| mapping.range.end <= address);
        self.mappings.get(after).filter(|mapping| mapping.range.contains(&address))
    }
}

fn load(
    mappings: &[Mapping],
    files: &mut Files,
) -> UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind> {
    let mut unwinder = UnwinderNative::new();
    for mapping in mappings {
        let Some(file) = files.parse(mapping) else { continue };
        let Some(base) = file.base(mapping.range.start, &mapping.part()) else { continue };
        let (name, range) = (mapping.path.clone(), mapping.range.clone());
        unwinder.add_module(Module::new(name, range, base, file.sections()));
    }
    unwinder
}

fn read_stack(user: &UserState, address: u64) -> Result<u64, ()> {
    let start = address.checked_sub(user.sp).ok_or(())? as usize;
    let bytes = user.stack.get(start..start.saturating_add(8)).ok_or(())?;
    bytes.try_into().map(u64::from_ne_bytes).map_err(|_| ())
}
