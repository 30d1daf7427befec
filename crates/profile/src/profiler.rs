//! The profile of a case: which phases are sampled, and what is kept until they are over.

use crate::holes::Holes;
use crate::memory::Files;
use crate::names::Names;
use crate::phase::{Paths, PhaseStacks};
use crate::rings::{RATE_HZ, Rings, Sample};
use crate::threads::read_name;
use crate::unwind::{Process, Rules};
use kvdyno_host::Root;
use kvdyno_host::processor::explain_refusal;
use kvdyno_record::profile::ProfileFile;
use std::collections::HashMap;
use std::io;

/// The size of the samples that are kept until a phase is over. A thread takes about 300 KiB per
/// second; beyond this, stacks are unwound while the phase runs.
const KEPT_BYTES_MAX: usize = 128 << 20;

/// The kind of a watched process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A worker, with the threads of the roles.
    Worker,
    /// The supervisor of a server.
    Supervisor,
}

/// A process whose threads, and those of all processes that it starts, can be sampled.
pub struct Watch {
    pid: u32,
    kind: Watched,
    rings: Rings,
}

impl Watch {
    /// Watches a process that has started nothing yet.
    pub fn open(root: &Root, pid: u32, kind: Watched) -> io::Result<Self> {
        let rings = Rings::open(root, pid);
        let rings = rings.map_err(|error| io::Error::other(explain_refusal(&error)))?;
        Ok(Self { pid, kind, rings })
    }
}

/// The samples of a case.
pub struct Profiler {
    root: Root,
    watches: Vec<Watch>,
    files: Files,
    rules: Rules,
    /// The phase that is sampled.
    current: Option<CurrentPhase>,
    phases: Vec<PhaseStacks>,
}

#[derive(Default)]
struct CurrentPhase {
    stacks: PhaseStacks,
    processes: HashMap<u32, (Process, Holes)>,
    /// Samples whose stacks are not unwound.
    kept: Vec<Sample>,
    kept_bytes: usize,
}

impl Profiler {
    /// Makes a profiler, which samples nothing until a phase begins.
    pub fn new(root: &Root, watches: Vec<Watch>) -> Self {
        Self {
            root: root.clone(),
            watches,
            files: Files::default(),
            rules: Rules::new(),
            current: None,
            phases: Vec::new(),
        }
    }

    /// Returns a sentence for each kind of functions that is not sampled.
    pub fn unsampled_functions(&self) -> Vec<String> {
        let kernel = self.watches.iter().all(|watch| watch.rings.kernel);
        let sentence = "profile: functions of the kernel, without rights to sample them (as root, \
                        or with kernel.perf_event_paranoid = 1)";
        (!kernel).then(|| sentence.to_owned()).into_iter().collect()
    }

    /// Samples a phase from now on. `roles` are its roles, in their order.
    pub fn begin_phase(&mut self, name: &str, roles: Vec<String>) -> io::Result<()> {
        let stacks = PhaseStacks { name: name.to_owned(), roles, ..PhaseStacks::default() };
        self.current = Some(CurrentPhase { stacks, ..CurrentPhase::default() });
        self.watches.iter_mut().try_for_each(|watch| watch.rings.enable())
    }

    /// Takes the samples from the kernel; call it several times per second.
    pub fn look(&mut self) {
        let Self { root, watches, files, rules, current, .. } = self;
        let Some(phase) = current else { return };
        for watch in watches {
            let lost = watch.rings.drain(|sample| {
                phase.note_thread(root, &sample, (watch.kind, watch.pid));
                phase.kept_bytes += sample.bytes();
                phase.kept.push(sample);
            });
            phase.stacks.lost += lost;
        }
        if phase.kept_bytes > KEPT_BYTES_MAX {
            phase.unwind(files, rules);
        }
    }

    /// Stops sampling, and unwinds the phase's stacks.
    pub fn end_phase(&mut self) -> io::Result<()> {
        if self.current.is_none() {
            return Ok(());
        }
        let disabled = self.watches.iter_mut().try_for_each(|watch| watch.rings.disable());
        self.look();
        if let Some(mut phase) = self.current.take() {
            phase.unwind(&mut self.files, &mut self.rules);
            self.phases.push(phase.stacks);
        }
        disabled
    }

    /// Returns all phases, with the names of functions; `None`: no phase was sampled.
    pub fn finish(mut self) -> Option<ProfileFile> {
        // A worker that died ended no phase.
        let _ = self.end_phase();
        if self.phases.is_empty() {
            return None;
        }
        let addresses = self.phases.iter().flat_map(PhaseStacks::addresses).collect();
        let names = Names::resolve(addresses, self.files.paths());
        let has_names = self.phases.iter().any(|phase| phase.generates_load(&names));
        let mut paths = Paths::default();
        let phases = self.phases.iter().map(|phase| phase.symbolize(&names, has_names, &mut paths));
        Some(ProfileFile {
            rate_hz: RATE_HZ,
            kernel: self.watches.iter().all(|watch| watch.rings.kernel),
            phases: phases.collect(),
            paths: paths.into_paths(),
            functions: names.into_functions(),
        })
    }
}

impl CurrentPhase {
    /// Reads the code of a process and the name of a thread while they exist.
    fn note_thread(&mut self, root: &Root, sample: &Sample, (kind, watched): (Watched, u32)) {
        let &Sample { pid, tid, .. } = sample;
        let meet = || (Process::load(root, pid), Holes::default());
        let (process, holes) = self.processes.entry(pid).or_insert_with(meet);
        holes.fill(root, sample);
        if sample.user.as_ref().is_some_and(|user| !process.has_mapping(user)) {
            process.reload(root, pid);
        }
        let thread = self.stacks.threads.entry((pid, tid)).or_default();
        if thread.name.is_empty() {
            thread.name = read_name(root, pid, tid).unwrap_or_default();
            thread.of_server = kind == Watched::Supervisor;
            thread.of_first = pid == watched;
        }
    }

    fn unwind(&mut self, files: &mut Files, rules: &mut Rules) {
        self.kept_bytes = 0;
        for sample in self.kept.drain(..) {
            let Some((process, _)) = self.processes.get_mut(&sample.pid) else { continue };
            let (stack, is_whole) = process.unwind(&sample, files, rules);
            let thread = self.stacks.threads.entry((sample.pid, sample.tid)).or_default();
            thread.cut += u64::from(!is_whole);
            *thread.stacks.entry(stack).or_default() += 1;
        }
    }
}
