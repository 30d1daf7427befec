//! The system calls: maps and programs, with their file descriptors. The kernel frees all of them
//! when the process ends, however it ends.

#![expect(unsafe_code, reason = "bpf(2) takes addresses")]

use kvdyno_host::root::ranges;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// Commands of bpf(2).
#[derive(Clone, Copy)]
enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    #[cfg(test)]
    MapNextKey = 4,
    ProgramLoad = 5,
    ObjectInfo = 15,
    TracepointOpen = 17,
}

/// Kinds of maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapKind {
    Hash = 1,
    PerCpuArray = 6,
    Ring = 27,
}

/// The largest of bpf(2)'s structures, as far as we fill it: 64-bit words, the rest 0.
const ATTRIBUTE_WORDS: usize = 16;

/// `BPF_PROG_TYPE_TRACING`, and its `BPF_TRACE_RAW_TP`: the arguments of a tracepoint with their
/// types, so that the kernel checks every field that is read.
const TRACING: u32 = 26;
const TRACEPOINT: u32 = 23;

/// The size of the buffer for the kernel's complaint about a program.
const COMPLAINT_BYTES: usize = 1 << 16;

/// A map: a table that the kernel and we share.
#[derive(Debug)]
pub(super) struct Map {
    fd: OwnedFd,
    key_bytes: usize,
    /// The size of a value; for a per-processor table, that of all processors together.
    value_bytes: usize,
}

impl Map {
    pub(super) fn create(
        kind: MapKind,
        key_bytes: usize,
        value_bytes: usize,
        entries: u32,
    ) -> io::Result<Self> {
        let mut attribute = [0; ATTRIBUTE_WORDS];
        attribute[0] = pair(kind as u32, key_bytes as u32);
        attribute[1] = pair(value_bytes as u32, entries);
        let fd = open_fd(Command::MapCreate, &mut attribute)?;
        let copies = if kind == MapKind::PerCpuArray { possible_cpus()? } else { 1 };
        // The kernel rounds each processor's value up to eight bytes.
        Ok(Self { fd, key_bytes, value_bytes: value_bytes.next_multiple_of(8) * copies })
    }

    /// Reads a key's value, in 64-bit words; for a per-processor table, one processor after the
    /// other.
    pub(super) fn lookup(&self, key: &[u8], value: &mut Vec<u64>) -> io::Result<()> {
        value.clear();
        value.resize(self.value_bytes / 8, 0);
        self.access(Command::MapLookup, key, value.as_mut_ptr().expose_provenance())
    }

    /// Sets a value of eight bytes.
    pub(super) fn update(&self, key: &[u8], mut value: u64) -> io::Result<()> {
        debug_assert_eq!(self.value_bytes, 8);
        self.access(Command::MapUpdate, key, ptr::from_mut(&mut value).expose_provenance())
    }

    /// All keys, of eight bytes each.
    #[cfg(test)]
    pub(super) fn keys(&self) -> Vec<[u8; 8]> {
        // The key after one that does not exist is the first.
        let (mut keys, mut key) = (Vec::new(), 0_u64);
        loop {
            let mut next = 0_u64;
            let address = ptr::from_mut(&mut next).expose_provenance();
            if self.access(Command::MapNextKey, &key.to_ne_bytes(), address).is_err() {
                return keys;
            }
            keys.push(next.to_ne_bytes());
            key = next;
        }
    }

    fn access(&self, command: Command, key: &[u8], value: usize) -> io::Result<()> {
        debug_assert_eq!(key.len(), self.key_bytes);
        let mut attribute = [0; ATTRIBUTE_WORDS];
        attribute[0] = self.fd.as_raw_fd() as u64;
        attribute[1] = key.as_ptr().expose_provenance() as u64;
        attribute[2] = value as u64;
        bpf(command, &mut attribute).map(drop)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// One instruction for the kernel: `struct bpf_insn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Instruction {
    pub(super) code: u8,
    /// Both registers: the destination in the lower four bits.
    pub(super) registers: u8,
    pub(super) offset: i16,
    pub(super) number: i32,
}

/// A loaded program, which runs at its tracepoint while this exists.
#[derive(Debug)]
pub(super) struct Program {
    program: OwnedFd,
    link: Option<OwnedFd>,
}

impl Program {
    /// Loads a program for the tracepoint whose type has this number. The kernel checks it, and its
    /// complaint is part of the error's text.
    pub(super) fn load(name: &str, tracepoint: u32, code: &[Instruction]) -> io::Result<Self> {
        let mut attribute = [0; ATTRIBUTE_WORDS];
        attribute[0] = pair(TRACING, code.len() as u32);
        attribute[1] = code.as_ptr().expose_provenance() as u64;
        attribute[2] = c"GPL".as_ptr().expose_provenance() as u64;
        attribute[6] = pack_name(name, 0);
        attribute[7] = pack_name(name, 8);
        attribute[8] = pair(0, TRACEPOINT);
        attribute[13] = pair(0, tracepoint);
        match open_fd(Command::ProgramLoad, &mut attribute) {
            Ok(program) => Ok(Self { program, link: None }),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(error),
            Err(error) => {
                let mut complaint = vec![0_u8; COMPLAINT_BYTES];
                attribute[3] = pair(1, COMPLAINT_BYTES as u32);
                attribute[4] = complaint.as_mut_ptr().expose_provenance() as u64;
                let _ = open_fd(Command::ProgramLoad, &mut attribute);
                let text = String::from_utf8_lossy(&complaint);
                let text = text.trim_end_matches(['\0', '\n']);
                Err(io::Error::new(error.kind(), format!("{error}: {text}")))
            }
        }
    }

    /// Starts the program at its tracepoint.
    pub(super) fn attach(&mut self) -> io::Result<()> {
        let mut attribute = [0; ATTRIBUTE_WORDS];
        attribute[1] = self.program.as_raw_fd() as u64;
        self.link = Some(open_fd(Command::TracepointOpen, &mut attribute)?);
        Ok(())
    }

    /// Returns how often the kernel skipped the program because it was running already. While
    /// `kernel.bpf_stats_enabled` is set, also its time and how often it ran.
    pub(super) fn statistics(&self) -> io::Result<Statistics> {
        // `struct bpf_prog_info` up to `recursion_misses`, in 64-bit words.
        let mut info = [0_u64; 27];
        let mut attribute = [0; ATTRIBUTE_WORDS];
        attribute[0] = pair(self.program.as_raw_fd() as u32, size_of_val(&info) as u32);
        attribute[1] = info.as_mut_ptr().expose_provenance() as u64;
        bpf(Command::ObjectInfo, &mut attribute)?;
        Ok(Statistics { run_ns: info[24], runs: info[25], skipped: info[26] })
    }
}

/// The kernel's counts for a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Statistics {
    pub(super) run_ns: u64,
    pub(super) runs: u64,
    pub(super) skipped: u64,
}

/// Returns the number of possible processors: the kernel keeps a value for each.
fn possible_cpus() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = ranges(&text).map(|range| *range.end()).max();
    last.map(|last| last as usize + 1).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Two fields of 32 bits, the first at the lower address.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// Returns eight bytes of a name, which is cut to 15 bytes.
fn pack_name(name: &str, from: usize) -> u64 {
    let mut bytes = [0; 16];
    let length = name.len().min(15);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u64::from_ne_bytes(std::array::from_fn(|n| bytes[from + n]))
}

fn open_fd(command: Command, attribute: &mut [u64; ATTRIBUTE_WORDS]) -> io::Result<OwnedFd> {
    let fd = bpf(command, attribute)?;
    // SAFETY: these commands answer with a new file descriptor, which nobody else has.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn bpf(command: Command, attribute: &mut [u64; ATTRIBUTE_WORDS]) -> io::Result<i64> {
    // SAFETY: the attribute is as long as is said. The addresses in it are of memory that the
    // callers own through the call, as long as they say in it (of a map's key and value: as long
    // as the map was made for).
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command as i32, attribute.as_mut_ptr(), size_of_val(attribute))
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
