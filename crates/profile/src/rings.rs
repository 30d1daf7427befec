//! Samples from the kernel: an event for each CPU, and the ring that it writes its samples to.
//!
//! Threads that a process starts later inherit an event. Inherited events have a ring only if each
//! is bound to one CPU.

use framehop::UnwindRegsNative;
use kvdyno_host::Root;
use kvdyno_host::root::ranges;
use perf_event::data::{Record, Sample as KernelSample, SampleRegsAbi};
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};
use std::io;

/// Samples per second of a thread's time on a CPU. Not 100: work that is done at round times would
/// be met always, or never.
pub const RATE_HZ: u32 = 99;

/// The size of a stack's top that a sample contains. Threads of an engine use less by far; the
/// kernel copies what is there.
pub(crate) const STACK_BYTES: u32 = 32 << 10;

/// Sizes of the rings, in the order they are tried for all CPUs: users without rights have
/// `kernel.perf_event_mlock_kb` for each CPU, in all. The smallest holds samples of 30 ms.
const RING_BYTES: [usize; 3] = [2 << 20, 512 << 10, 128 << 10];

/// Values of a call chain from here on are no addresses.
const CONTEXT_MARKS: u64 = -4095_i64 as u64;

/// A sample as the kernel took it.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// Addresses in the kernel, innermost first; empty: it was in user mode.
    pub(crate) kernel: Vec<u64>,
    /// The thread's state in user mode; `None`: it has no user mode any more.
    pub(crate) user: Option<UserState>,
}

/// The state of a thread in user mode.
#[derive(Debug)]
pub(crate) struct UserState {
    pub(crate) ip: u64,
    pub(crate) sp: u64,
    pub(crate) registers: UnwindRegsNative,
    /// Memory from the stack pointer on.
    pub(crate) stack: Vec<u8>,
}

impl Sample {
    /// Returns approximately how many bytes of memory the sample takes.
    pub(crate) fn bytes(&self) -> usize {
        let stack = self.user.as_ref().map_or(0, |user| user.stack.len());
        size_of::<Self>() + self.kernel.len() * 8 + stack
    }
}

/// The rings of one process.
pub(crate) struct Rings {
    rings: Vec<Sampler>,
    /// Whether the kernel's functions are sampled, too.
    pub(crate) kernel: bool,
}

impl Rings {
    /// Opens an event on each CPU. They sample nothing until they are enabled.
    pub(crate) fn open(root: &Root, pid: u32) -> io::Result<Self> {
        match open_all(root, pid, true) {
            Err(error) if is_refusal(&error) => {
                Ok(Self { rings: open_all(root, pid, false)?, kernel: false })
            }
            rings => Ok(Self { rings: rings?, kernel: true }),
        }
    }

    /// Starts sampling.
    pub(crate) fn enable(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.enable())
    }

    /// Stops sampling.
    pub(crate) fn disable(&mut self) -> io::Result<()> {
        self.rings.iter_mut().try_for_each(|ring| ring.disable())
    }

    /// Calls `see` with each sample since the last call. Returns how many were lost.
    pub(crate) fn drain(&mut self, mut see: impl FnMut(Sample)) -> u64 {
        let mut lost = 0;
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => match read(&sample) {
                        Some(sample) => see(sample),
                        None => lost += 1,
                    },
                    Ok(Record::Lost(record)) => lost += record.lost,
                    Ok(Record::LostSamples(record)) => lost += record.lost,
                    Ok(_) => {}
                    Err(_) => lost += 1,
                }
            }
        }
        lost
    }
}

fn open_all(root: &Root, pid: u32, kernel: bool) -> io::Result<Vec<Sampler>> {
    let online = root.text("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus: Vec<usize> = ranges(&online).flatten().map(|cpu| cpu as usize).collect();
    if cpus.is_empty() {
        let what = format!("/sys/devices/system/cpu/online: expected CPUs, found `{online}`");
        return Err(io::Error::other(what));
    }
    // All CPUs take from one allowance, so all of their rings have one size.
    let mut refused = io::Error::from(io::ErrorKind::PermissionDenied);
    for bytes in RING_BYTES {
        let rings = cpus.iter().map(|cpu| open(pid, *cpu, kernel, bytes));
        match rings.collect() {
            Err(error) if is_refusal(&error) => refused = error,
            rings => return rings,
        }
    }
    Err(refused)
}

fn open(pid: u32, cpu: usize, kernel: bool, bytes: usize) -> io::Result<Sampler> {
    let event = builder(kernel).observe_pid(pid.cast_signed()).one_cpu(cpu).build()?;
    event.sampled(bytes)
}

fn builder(kernel: bool) -> Builder<'static> {
    let mut builder = Builder::new(Software::CPU_CLOCK);
    builder.sample_frequency(u64::from(RATE_HZ)).inherit(true).exclude_kernel(!kernel);
    builder.sample(SampleFlag::TID | SampleFlag::REGS_USER | SampleFlag::STACK_USER);
    builder.sample_regs_user(registers::MASK).sample_stack_user(STACK_BYTES);
    if kernel {
        builder.sample(SampleFlag::CALLCHAIN).exclude_callchain_user(true);
    }
    builder
}

fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn read(sample: &KernelSample<'_>) -> Option<Sample> {
    let kernel = sample.callchain().unwrap_or_default().iter().copied();
    let kernel = kernel.filter(|address| *address < CONTEXT_MARKS).collect();
    let user = sample.regs_user().filter(|user| user.abi == SampleRegsAbi::ABI_64);
    let user = user.and_then(|user| {
        let (ip, sp, registers) = registers::read(&user.regs)?;
        let stack = sample.stack_user().unwrap_or_default().to_vec();
        Some(UserState { ip, sp, registers, stack })
    });
    Some(Sample { pid: sample.pid()?, tid: sample.tid()?, kernel, user })
}

/// The registers that unwinding needs, by the kernel's numbers.
#[cfg(target_arch = "x86_64")]
mod registers {
    use framehop::UnwindRegsNative;

    /// BP, SP, IP.
    pub(super) const MASK: u64 = 1 << 6 | 1 << 7 | 1 << 8;

    pub(super) fn read(values: &[u64]) -> Option<(u64, u64, UnwindRegsNative)> {
        let &[bp, sp, ip] = values else { return None };
        Some((ip, sp, UnwindRegsNative::new(ip, sp, bp)))
    }
}

/// The registers that unwinding needs, by the kernel's numbers.
#[cfg(target_arch = "aarch64")]
mod registers {
    use framehop::UnwindRegsNative;

    /// X29 (frame pointer), LR, SP, PC.
    pub(super) const MASK: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;

    pub(super) fn read(values: &[u64]) -> Option<(u64, u64, UnwindRegsNative)> {
        let &[fp, lr, sp, pc] = values else { return None };
        Some((pc, sp, UnwindRegsNative::new(lr, sp, fp)))
    }
}
