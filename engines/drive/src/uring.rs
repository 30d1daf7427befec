//! The `io_uring` itself: how it is set up, step by step down to what the kernel allows, and how
//! entries are filled in. `ring` decides who may use a buffer.
#![expect(unsafe_code, reason = "entries hold addresses that the kernel writes to")]

use crate::flight::{Flight, Kind, Setup};
use crate::how::How;
use crate::region::Region;
use io_uring::{Builder, IoUring, cqueue, opcode, squeue, types};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// How long the kernel's polling thread is without work before it sleeps, in milliseconds.
const SQPOLL_IDLE_MS: u32 = 1000;
/// The kernel's limit on registered buffers.
const REGISTERED_BUFFERS_MAX: u32 = 1 << 14;

#[derive(Debug)]
pub(crate) struct Uring {
    ring: Ringed,
    registered_buffers: bool,
    registered_files: bool,
}

struct Ringed(IoUring);

impl std::fmt::Debug for Ringed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IoUring")
    }
}

impl Uring {
    /// Creates a ring over `files` and the buffers of `region`. `Err`: the reason why there is
    /// none.
    pub(crate) fn new(
        files: &[File],
        region: &mut Region,
        setup: &Setup,
    ) -> Result<(Self, How), String> {
        let mut why_not = Vec::new();
        let mut wanted_setup = setup.clone();
        if wanted_setup.iopoll
            && let Some(why) = files.iter().find_map(find_polling_obstacle)
        {
            why_not.push(format!("no IOPOLL: {why}"));
            wanted_setup.iopoll = false;
        }
        loop {
            let (ring, flags) = match build(&wanted_setup) {
                Ok(built) => built,
                Err(error) => {
                    let (word, flag) = match (wanted_setup.sqpoll, wanted_setup.iopoll) {
                        (true, _) => ("SQPOLL", &mut wanted_setup.sqpoll),
                        (_, true) => ("IOPOLL", &mut wanted_setup.iopoll),
                        _ => return Err(refusal(&error)),
                    };
                    why_not.push(format!("no {word}: {error}"));
                    *flag = false;
                    continue;
                }
            };
            let mut uring =
                Self { ring: Ringed(ring), registered_buffers: false, registered_files: false };
            let reasons = why_not.len();
            uring.register(files, region, &wanted_setup, &mut why_not);
            if let Err(error) = uring.probe(files, &wanted_setup, region) {
                if wanted_setup.sqpoll {
                    // The polling thread may have the operation whose wait failed.
                    region.abandon().map_err(|error| error.message)?;
                }
                if !wanted_setup.iopoll {
                    return Err(refusal(&error));
                }
                why_not.truncate(reasons);
                why_not.push(format!("no IOPOLL: {error}"));
                wanted_setup.iopoll = false;
                continue;
            }
            let how = How {
                io_uring: true,
                registered_files: uring.registered_files,
                registered_buffers: uring.registered_buffers,
                sqpoll: wanted_setup.sqpoll,
                iopoll: wanted_setup.iopoll,
                flags,
                why_not,
            };
            return Ok((uring, how));
        }
    }

    fn register(
        &mut self,
        files: &[File],
        region: &Region,
        setup: &Setup,
        why_not: &mut Vec<String>,
    ) {
        if !setup.registered {
            return;
        }
        let submitter = self.ring.0.submitter();
        let numbers: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        match submitter.register_files(&numbers) {
            Ok(()) => self.registered_files = true,
            Err(error) => why_not.push(format!("files not registered: {error}")),
        }
        if setup.depth > REGISTERED_BUFFERS_MAX {
            why_not.push(format!("buffers not registered: more than {REGISTERED_BUFFERS_MAX}"));
            return;
        }
        // SAFETY: the region lives as long as the ring, in `Ring`, and is dropped after it.
        match unsafe { submitter.register_buffers(&region.vectors()) } {
            Ok(()) => self.registered_buffers = true,
            Err(error) => {
                let hint = if error.raw_os_error() == Some(libc::ENOMEM) {
                    " (RLIMIT_MEMLOCK: `ulimit -l`)"
                } else {
                    ""
                };
                why_not.push(format!("buffers not registered: {error}{hint}"));
            }
        }
    }

    /// Reads one block of each file: setup may succeed though every operation is forbidden, or a
    /// file unsupported. Errors of the read itself are left to later reads.
    fn probe(&mut self, files: &[File], setup: &Setup, region: &Region) -> io::Result<()> {
        for file in 0..files.len() {
            let flight = Flight { kind: Kind::Read, file, offset: 0, bytes: setup.block_bytes };
            self.push(files, region, 0, 0, &flight);
            let answer = loop {
                self.enter(1)?;
                if let Some((_, answer)) = self.answer() {
                    break answer;
                }
            };
            let refused = [libc::EOPNOTSUPP, libc::EPERM, libc::EACCES, libc::ENOSYS];
            if refused.contains(&-answer) {
                return Err(io::Error::from_raw_os_error(-answer));
            }
        }
        Ok(())
    }

    /// Queues one operation on buffer `slot`, `done` bytes into it. `Ring` leaves the buffer alone
    /// until the answer is there.
    #[inline]
    pub(crate) fn push(
        &mut self,
        files: &[File],
        region: &Region,
        slot: u32,
        done: usize,
        flight: &Flight,
    ) {
        let address = region.part(slot, done, flight.bytes);
        let entry = if self.registered_files {
            let entry = self.entry(types::Fd(flight.file as i32), slot, flight, address);
            entry.flags(squeue::Flags::FIXED_FILE)
        } else {
            self.entry(types::Fd(files[flight.file].as_raw_fd()), slot, flight, address)
        };
        let entry = entry.user_data(u64::from(slot));
        // SAFETY: the address is within the region; `Ring` keeps it and the files until the answer.
        let pushed = unsafe { self.ring.0.submission().push(&entry) };
        // There is an entry for each buffer, and one operation at a time on a buffer.
        assert!(pushed.is_ok(), "the submission queue is shorter than the depth");
    }

    #[inline]
    fn entry(
        &self,
        file: types::Fd,
        slot: u32,
        flight: &Flight,
        address: *mut u8,
    ) -> squeue::Entry {
        let Flight { kind, offset, bytes, .. } = *flight;
        let (slot, bytes) = (slot as u16, bytes as u32);
        let flags = if kind == Kind::DurableWrite { libc::RWF_DSYNC } else { 0 };
        match (kind, self.registered_buffers) {
            (Kind::Read, true) => {
                opcode::ReadFixed::new(file, address, bytes, slot).offset(offset).build()
            }
            (Kind::Read, false) => opcode::Read::new(file, address, bytes).offset(offset).build(),
            (Kind::Write | Kind::DurableWrite, true) => {
                let write = opcode::WriteFixed::new(file, address, bytes, slot);
                write.offset(offset).rw_flags(flags).build()
            }
            (Kind::Write | Kind::DurableWrite, false) => {
                let write = opcode::Write::new(file, address, bytes);
                write.offset(offset).rw_flags(flags).build()
            }
            (Kind::Flush, _) => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        }
    }

    /// Submits the queue and waits for `want` answers.
    #[inline]
    pub(crate) fn enter(&mut self, want: usize) -> io::Result<()> {
        loop {
            match self.ring.0.submit_and_wait(want) {
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The kernel has answers for us that must be taken first.
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns whether an answer is available.
    #[inline]
    pub(crate) fn has_answers(&mut self) -> bool {
        !self.ring.0.completion().is_empty()
    }

    /// Returns the next available answer: its slot, and bytes or a negative error number.
    #[inline]
    pub(crate) fn answer(&mut self) -> Option<(u32, i32)> {
        let entry = self.ring.0.completion().next()?;
        Some((entry.user_data() as u32, entry.result()))
    }

    /// Submits the queue. A polling kernel thread reads the queue by itself.
    #[inline]
    pub(crate) fn send(&mut self) -> io::Result<()> {
        if self.ring.0.params().is_setup_sqpoll() {
            return self.enter(0);
        }
        while !self.ring.0.submission().is_empty() {
            self.enter(0)?;
        }
        Ok(())
    }
}

impl Drop for Uring {
    /// The kernel releases a closed ring's files some time later, and a device would be busy for
    /// the next open. So the files are released here.
    fn drop(&mut self) {
        let submitter = self.ring.0.submitter();
        if self.registered_files {
            let _ = submitter.unregister_files();
        }
        if self.registered_buffers {
            let _ = submitter.unregister_buffers();
        }
    }
}

/// Creates a ring that, if the kernel has the flags, processes completions when the thread enters
/// the kernel (`COOP_TASKRUN`), not by interrupts. Decision 0006 has the measurements.
fn build(setup: &Setup) -> io::Result<(IoUring, &'static str)> {
    let base = || {
        let mut builder: Builder<squeue::Entry, cqueue::Entry> = IoUring::builder();
        builder.dontfork();
        if setup.sqpoll {
            builder.setup_sqpoll(SQPOLL_IDLE_MS);
        }
        if setup.iopoll {
            builder.setup_iopoll();
        }
        builder
    };
    let entries = setup.depth.max(1).next_power_of_two();
    let plain = || Ok((base().build(entries)?, ""));
    if setup.sqpoll {
        return plain();
    }
    let cooperative = || Ok((base().setup_coop_taskrun().build(entries)?, "COOP_TASKRUN"));
    let alone = || {
        let ring = base().setup_coop_taskrun().setup_single_issuer().build(entries)?;
        Ok((ring, "COOP_TASKRUN, SINGLE_ISSUER"))
    };
    // An older kernel returns EINVAL for unknown flags.
    let unknown = |error: &io::Error| error.raw_os_error() == Some(libc::EINVAL);
    alone()
        .or_else(|error| if unknown(&error) { cooperative() } else { Err(error) })
        .or_else(|error| if unknown(&error) { plain() } else { Err(error) })
}

fn refusal(error: &io::Error) -> String {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let hint = match (error.raw_os_error(), disabled.as_deref().map(str::trim)) {
        (Some(libc::EPERM), Ok(value @ ("1" | "2"))) => {
            format!(" (sysctl kernel.io_uring_disabled = {value})")
        }
        (Some(libc::EPERM | libc::EACCES), _) => " (seccomp, as containers set it)".to_owned(),
        (Some(libc::ENOSYS), _) => " (seccomp, or a kernel without it)".to_owned(),
        (Some(libc::ENOMEM), _) => " (RLIMIT_MEMLOCK: `ulimit -l`)".to_owned(),
        _ => String::new(),
    };
    format!("no io_uring: {error}{hint}")
}

/// Returns why a file's device cannot be polled, according to sysfs: older kernels accept polled
/// operations for such a device, and wait for the interrupt anyway.
fn find_polling_obstacle(file: &File) -> Option<String> {
    let metadata = file.metadata().ok()?;
    let device = if metadata.rdev() == 0 { metadata.dev() } else { metadata.rdev() };
    let name = format!("{}:{}", libc::major(device), libc::minor(device));
    let dir = format!("/sys/dev/block/{name}");
    // A partition has the queue of its whole drive.
    let read = |path: String| std::fs::read_to_string(path).ok();
    let polled =
        read(format!("{dir}/queue/io_poll")).or_else(|| read(format!("{dir}/../queue/io_poll")));
    match polled.as_deref().map(str::trim) {
        Some("0") => Some(format!("Operation not supported; queue/io_poll of {name} is 0")),
        Some(_) => None,
        None => Some(format!("sysfs does not show that device {name} can be polled")),
    }
}
