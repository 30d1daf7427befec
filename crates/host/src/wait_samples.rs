//! Wait-state samples: the states of a phase's threads, read from outside. About twenty times a
//! second, `/proc/PID/task/TID/syscall` of each is read, which contains `running`, or the call in
//! which the thread waits.
//!
//! The worker names its threads by their role ([`THREAD_NAME`]); the engine's own threads are not
//! sampled. More samples give a better picture of a phase.

use super::Root;
use kvdyno_record::usage::{THREAD_NAME, WaitSamples};
use libc::{
    SYS_accept4, SYS_clock_nanosleep, SYS_connect, SYS_epoll_pwait, SYS_fdatasync, SYS_fsync,
    SYS_futex, SYS_io_getevents, SYS_io_uring_enter, SYS_msync, SYS_nanosleep, SYS_ppoll,
    SYS_pread64, SYS_preadv, SYS_preadv2, SYS_pselect6, SYS_pwrite64, SYS_pwritev, SYS_pwritev2,
    SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg, SYS_sendmsg, SYS_sendto, SYS_sync,
    SYS_sync_file_range, SYS_syncfs, SYS_write, SYS_writev,
};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most threads that are sampled in one go; if there are more, they take turns. Measured (CPU
/// time, busy machine of 2 CPUs): 14 us for one thread, 125 us for 32: twenty times a second, a
/// four-hundredth of a CPU.
const AT_ONCE: usize = 32;

/// After this many samples threads without a role are examined again: one that had just begun may
/// not have had its name yet.
const MEET_AGAIN: usize = 10;

/// The known threads of a phase, and the counts of their states since the case began.
#[derive(Debug, Default)]
pub struct WaitSampler {
    /// The threads by number; `None`: a thread without a role.
    threads_known: HashMap<u32, Option<RoleThread>>,
    counts: BTreeMap<String, WaitSamples>,
    denied: bool,
    count: usize,
    turn: usize,
}

/// A thread of a role.
#[derive(Debug)]
struct RoleThread {
    role: usize,
    syscall: File,
}

impl WaitSampler {
    /// Forgets the threads of the phase before.
    pub fn begin_phase(&mut self) {
        self.threads_known.clear();
    }

    /// Takes one sample of each thread. `roles` are the phase's, in their order.
    pub fn look(&mut self, root: &Root, pid: u32, roles: &[&str]) {
        if self.count.is_multiple_of(MEET_AGAIN) {
            self.threads_known.retain(|_, state| state.is_some());
        }
        self.count += 1;
        let mut present: Vec<u32> = root
            .names(format!("/proc/{pid}/task"))
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        present.sort_unstable();
        for &thread in &present {
            if !self.threads_known.contains_key(&thread) {
                let state = self.open_thread(root, pid, thread);
                self.threads_known.insert(thread, state);
            }
        }
        present.retain(|thread| matches!(self.threads_known.get(thread), Some(Some(_))));
        let many = present.len().max(1);
        for index in 0..present.len().min(AT_ONCE) {
            let thread = present[(self.turn + index) % many];
            self.sample_thread(thread, roles);
        }
        self.turn = (self.turn + AT_ONCE.min(many)) % many;
    }

    /// Returns how often each role was seen in which state; `None`: nothing could be read.
    pub fn counts(&self) -> Option<BTreeMap<String, WaitSamples>> {
        (!self.counts.is_empty()).then(|| self.counts.clone())
    }

    /// Returns whether there were threads, and none of their files could be read.
    pub fn is_denied(&self) -> bool {
        self.denied && self.counts.is_empty()
    }

    fn open_thread(&mut self, root: &Root, pid: u32, thread: u32) -> Option<RoleThread> {
        let dir = format!("/proc/{pid}/task/{thread}");
        let name = root.text(format!("{dir}/comm"))?;
        let role = name.trim_end().strip_prefix(THREAD_NAME)?.parse().ok()?;
        match File::open(root.path(format!("{dir}/syscall"))) {
            Ok(syscall) => Some(RoleThread { role, syscall }),
            Err(_) => {
                // A thread that has ended in between is no refusal.
                self.denied |= root.path(dir).exists();
                None
            }
        }
    }

    fn sample_thread(&mut self, thread: u32, roles: &[&str]) {
        let Some(Some(RoleThread { role, syscall })) = self.threads_known.get(&thread) else {
            return;
        };
        let Some(role) = roles.get(*role) else { return };
        let mut text = [0_u8; 256];
        match syscall.read_at(&mut text, 0) {
            Ok(length) if length > 0 => {
                let counts = self.counts.entry((*role).to_owned()).or_default();
                *counter_mut(&String::from_utf8_lossy(&text[..length]), counts) += 1;
            }
            // The thread has ended in between.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Ok(_) => {}
            Err(_) => self.denied = true,
        }
    }
}

/// Returns the counter for a line of `/proc/PID/task/TID/syscall`: `running`, or a call's number
/// and its arguments; -1 outside of any call, which for a thread that waits is a page fault.
#[expect(non_upper_case_globals, reason = "names of the C library")]
fn counter_mut<'l>(line: &str, samples: &'l mut WaitSamples) -> &'l mut u64 {
    let word = line.split_whitespace().next().unwrap_or_default();
    let Ok(call) = word.parse::<libc::c_long>() else { return &mut samples.running };
    match call {
        -1 | SYS_read | SYS_pread64 | SYS_readv | SYS_preadv | SYS_preadv2 => &mut samples.read,
        SYS_write | SYS_pwrite64 | SYS_writev | SYS_pwritev | SYS_pwritev2 => &mut samples.write,
        SYS_fsync | SYS_fdatasync | SYS_msync | SYS_sync_file_range | SYS_syncfs | SYS_sync => {
            &mut samples.sync
        }
        SYS_io_uring_enter | SYS_io_getevents => &mut samples.ring,
        SYS_futex => &mut samples.lock,
        SYS_nanosleep | SYS_clock_nanosleep => &mut samples.sleep,
        SYS_recvfrom | SYS_recvmsg | SYS_sendto | SYS_sendmsg | SYS_connect | SYS_accept4
        | SYS_ppoll | SYS_pselect6 | SYS_epoll_pwait => &mut samples.network,
        // Calls that newer processors' kernels no longer have.
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => &mut samples.network,
        _ => &mut samples.other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;
    use std::thread::Builder;
    use std::time::{Duration, Instant};

    fn sample_of(line: &str) -> WaitSamples {
        let mut samples = WaitSamples::default();
        *counter_mut(line, &mut samples) += 1;
        samples
    }

    #[test]
    fn a_call_is_counted_by_what_it_waits_for() {
        let zero = WaitSamples::default();
        assert_eq!(sample_of("running\n"), WaitSamples { running: 1, ..zero });
        assert_eq!(sample_of("-1 0x7ffd 0x55\n"), WaitSamples { read: 1, ..zero });
        let call = |number: libc::c_long| sample_of(&format!("{number} 0x3 0x0 0x7ffd 0x55\n"));
        assert_eq!(call(libc::SYS_fdatasync), WaitSamples { sync: 1, ..zero });
        assert_eq!(call(libc::SYS_pwrite64), WaitSamples { write: 1, ..zero });
        assert_eq!(call(libc::SYS_futex), WaitSamples { lock: 1, ..zero });
        assert_eq!(call(libc::SYS_clock_nanosleep), WaitSamples { sleep: 1, ..zero });
        assert_eq!(call(libc::SYS_io_uring_enter), WaitSamples { ring: 1, ..zero });
        assert_eq!(call(libc::SYS_ppoll), WaitSamples { network: 1, ..zero });
        assert_eq!(call(libc::SYS_mremap), WaitSamples { other: 1, ..zero });
    }

    #[test]
    fn only_threads_of_roles_are_counted_and_all_get_their_turn() {
        let mut fake = Fake::new().file("/proc/7/task/7/comm", "kvdyno-lmdb\n");
        for thread in 100..140 {
            let dir = format!("/proc/7/task/{thread}");
            let role = u32::from(thread >= 120);
            fake = fake
                .file(&format!("{dir}/comm"), &format!("kvdyno-{role}\n"))
                .file(&format!("{dir}/syscall"), "running\n");
        }
        let mut watch = WaitSampler::default();
        assert_eq!(watch.counts(), None);
        for _ in 0..5 {
            watch.look(&fake.root, 7, &["readers", "writer"]);
        }
        let counts = watch.counts().unwrap();
        assert_eq!((counts["readers"].running, counts["writer"].running), (80, 80));
    }

    /// Two threads of this process: one sleeps until it is woken, one waits for a lock.
    #[test]
    fn real_threads_are_seen_waiting() {
        let lock = std::sync::Mutex::new(());
        let guard = lock.lock().unwrap();
        let mut watch = WaitSampler::default();
        std::thread::scope(|scope| {
            let waits = || drop(lock.lock());
            Builder::new().name("kvdyno-0".to_owned()).spawn_scoped(scope, waits).unwrap();
            let sleeps = || std::thread::sleep(Duration::from_millis(300));
            Builder::new().name("kvdyno-1".to_owned()).spawn_scoped(scope, sleeps).unwrap();
            let begun = Instant::now();
            let both = |counts: &BTreeMap<String, WaitSamples>| {
                counts.get("a").is_some_and(|samples| samples.lock > 0)
                    && counts.get("b").is_some_and(|samples| samples.sleep > 0)
            };
            while begun.elapsed() < Duration::from_secs(20)
                && !watch.counts().is_some_and(|counts| both(&counts))
            {
                watch.look(&Root::system(), std::process::id(), &["a", "b"]);
            }
            drop(guard);
        });
        let counts = watch.counts();
        let may = !watch.is_denied();
        assert!(!may || counts.as_ref().is_some_and(|counts| counts["a"].lock > 0), "{counts:?}");
        assert!(!may || counts.as_ref().is_some_and(|counts| counts["b"].sleep > 0), "{counts:?}");
    }
}
