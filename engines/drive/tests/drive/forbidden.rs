//! A kernel or container that forbids `io_uring`, in whole or in part: the ring does without, and
//! says so. Seccomp stands in for all of them, in a thread of its own that it binds alone.
#![expect(unsafe_code, reason = "prctl takes a filter by its address")]

use super::{BLOCK, block, dir, load, open};
use kvdyno_drive::{How, Ring, Setup};
use kvdyno_engine::{Engine, Session, Value};
use std::fs::File;

const IO_URING_SETUP: u32 = libc::SYS_io_uring_setup as u32;
const IO_URING_ENTER: u32 = libc::SYS_io_uring_enter as u32;
const IO_URING_REGISTER: u32 = libc::SYS_io_uring_register as u32;
const REGISTER_BUFFERS: u32 = 0;
const REGISTER_FILES: u32 = 2;

/// Makes a call fail in this thread from now on; with `operation`, only where that is its second
/// argument.
fn forbid(call: u32, operation: Option<u32>, errno: i32) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    // Of `struct seccomp_data`: the number of the call, and the low half of its second argument.
    const NUMBER: u32 = 0;
    const ARGUMENT: u32 = 24;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let any = u8::from(operation.is_none());
    let mut filter = [
        step(LOAD, 0, 0, NUMBER),
        step(EQUAL, 0, 3, call),
        step(LOAD, 0, 0, ARGUMENT),
        step(EQUAL, 0, 1 - any, operation.unwrap_or(0)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program is as long as it says, and the kernel copies it.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

/// What a ring makes of it; it must carry a block all the same.
fn ring_without(call: u32, operation: Option<u32>, errno: i32) -> How {
    let thread = std::thread::spawn(move || {
        let dir = dir();
        let path = dir.path().join("blocks");
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        forbid(call, operation, errno);
        let mut ring = Ring::new(&[file], &Setup { depth: 8, ..Setup::default() }).unwrap();
        for slot in 0..8 {
            ring.buffer_mut(slot).copy_from_slice(&block(u64::from(slot), 3));
            ring.write(slot, 0, u64::from(slot) * BLOCK as u64, BLOCK).unwrap();
        }
        while ring.open() > 0 {
            ring.complete(|_, result| assert_eq!(result, Ok(BLOCK))).unwrap();
        }
        ring.read(2, 0, 5 * BLOCK as u64, BLOCK).unwrap();
        ring.complete(|_, result| assert_eq!(result, Ok(BLOCK))).unwrap();
        assert_eq!(ring.buffer(2), block(5, 3));
        ring.effective_setup().clone()
    });
    thread.join().unwrap()
}

#[test]
fn without_io_uring_plain_calls_carry_the_operations() {
    for call in [IO_URING_SETUP, IO_URING_ENTER] {
        let how = ring_without(call, None, libc::EPERM);
        assert!(!how.io_uring);
        assert!(how.to_string().contains("no io_uring: "), "{how}");
    }
    let how = ring_without(IO_URING_SETUP, None, libc::ENOSYS);
    assert!(how.to_string().contains("no io_uring: "), "{how}");
}

#[test]
fn what_cannot_be_registered_is_used_unregistered() {
    let how = ring_without(IO_URING_REGISTER, Some(REGISTER_BUFFERS), libc::ENOMEM);
    assert_eq!((how.io_uring, how.registered_files, how.registered_buffers), (true, true, false));
    assert!(how.to_string().contains("RLIMIT_MEMLOCK"), "{how}");
    let how = ring_without(IO_URING_REGISTER, Some(REGISTER_FILES), libc::EPERM);
    assert_eq!((how.io_uring, how.registered_files, how.registered_buffers), (true, false, true));
}

#[test]
fn the_engine_tells_what_ran_in_its_place() {
    let thread = std::thread::spawn(|| {
        let dir = dir();
        forbid(IO_URING_SETUP, None, libc::EPERM);
        let drive = open(dir.path(), &[], 64).unwrap();
        load(&drive, 64).unwrap();
        let mut session = drive.session().unwrap();
        session.submit_get(7, &9_u64.to_be_bytes()).unwrap();
        session.send().unwrap();
        let count = session.complete(|ticket, answer| {
            assert_eq!((ticket, answer), (7, Ok(Some(&block(9, 0)[..]))));
        });
        assert_eq!(count, Ok(1));
        drop(session);
        drive.counters()
    });
    let counters = thread.join().unwrap();
    assert_eq!(counters["io_uring"], Value::Boolean(false));
    let how = counters["how"].to_string();
    assert!(how.starts_with("psync; no io_uring: Operation not permitted"), "{how}");
}
