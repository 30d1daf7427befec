//! The owner of a thing that outlives its process: a control group by its name, a swap area by its
//! label. A pid alone is ambiguous: it means another process in another container, and later.

use super::Root;
use procfs_core::process::Stat;
use std::fs;
use std::io;
use std::path::Path;

/// The machine's first PID namespace (`linux/proc_ns.h`, `PROC_PID_INIT_INO`): all others are below
/// it.
const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// A process, identified from any namespace and at any time until the next boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: u32,
    /// The PID namespace of that number; 0: not known.
    pub(super) namespace: u64,
    /// Its start time, in ticks since boot; 0: it had ended.
    pub(super) began: u64,
}

impl Owner {
    /// Reads a process of our own namespace.
    pub(super) fn read(root: &Root, pid: u32) -> Self {
        let stat = root.parse_file::<Stat>(format!("/proc/{pid}/stat"));
        let namespace = pid_namespace(root, "self").unwrap_or(0);
        Self { pid, namespace, began: stat.map_or(0, |stat| stat.starttime) }
    }

    /// Returns whether the process is known to have ended. That can be known in our own namespace,
    /// and for a namespace without processes, which only the machine's first namespace can tell.
    pub(super) fn is_gone(&self, root: &Root) -> bool {
        let now = Self::read(root, self.pid);
        if [self.namespace, now.namespace].contains(&0) {
            return false;
        }
        if now.namespace != self.namespace {
            return now.namespace == FIRST_NAMESPACE && !is_inhabited(root, self.namespace);
        }
        let is_there = root.path(format!("/proc/{}", self.pid)).exists();
        !(is_there && [0, self.began].contains(&now.began))
    }
}

/// Returns whether a process that we see is in this other PID namespace, or may be. Process 1 is
/// left out: it is in ours.
fn is_inhabited(root: &Root, namespace: u64) -> bool {
    let names = root.names("/proc").into_iter();
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut pids = names.filter(|name| is_number(name) && name != "1");
    pids.any(|pid| match pid_namespace(root, &pid) {
        Ok(of_process) => of_process == namespace,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

/// Returns the PID namespace of a process, the number that its link in `/proc` has: `pid:[NUMBER]`.
fn pid_namespace(root: &Root, process: &str) -> io::Result<u64> {
    let link = fs::read_link(root.path(format!("/proc/{process}/ns/pid")))?;
    let number =
        |link: &Path| link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok();
    number(&link).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_in_another_namespace_or_of_before_is_somebody_else() {
        let root = Root::system();
        let (alive, dead) = (Owner::read(&root, std::process::id()), Owner::read(&root, 9_999_999));
        assert!(alive.namespace > 0 && alive.began > 0 && !alive.is_gone(&root), "{alive:?}");
        assert!(dead.is_gone(&root));
        assert!(
            Owner { began: alive.began - 1, ..alive }.is_gone(&root),
            "the number is another's"
        );
        assert!(!Owner { namespace: 0, ..dead }.is_gone(&root), "nobody can tell");
        let elsewhere = Owner { namespace: 1, ..dead };
        assert_eq!(elsewhere.is_gone(&root), dead.namespace == FIRST_NAMESPACE);
        assert!(is_inhabited(&root, alive.namespace) && !is_inhabited(&root, 1));
    }
}
