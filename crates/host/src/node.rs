//! Takes memory from one NUMA node: that of processes, and of the files that they read.

#![expect(unsafe_code, reason = "set_mempolicy(2) has no safe wrapper")]

use super::root::{Root, ranges};
use super::unavailable::Unavailable;
use std::io;

/// Policies of linux/mempolicy.h.
const MPOL_DEFAULT: libc::c_int = 0;
const MPOL_BIND: libc::c_int = 2;

/// A mask of nodes: the most that any kernel supports.
type Mask = [libc::c_ulong; 1024 / libc::c_ulong::BITS as usize];

/// Fails if a node has no memory.
pub fn check(root: &Root, node: u32) -> Result<(), Unavailable> {
    let list = root.text("/sys/devices/system/node/has_memory");
    let Some(list) = list.filter(|list| !list.is_empty()) else {
        let reason = "this kernel has no NUMA support: there is no /sys/devices/system/node";
        return Err(Unavailable::new(reason, "use a kernel with CONFIG_NUMA"));
    };
    if ranges(&list).any(|nodes| nodes.contains(&node)) {
        return Ok(());
    }
    let reason = format!("NUMA node {node} has no memory here, of those that have: {list}");
    let remedy = "name one of them; CXL memory becomes a node by `daxctl reconfigure-device \
                  --mode=system-ram`";
    Err(Unavailable::new(reason, remedy))
}

/// Runs `act` (starting a process) while this thread allocates memory from one node only. A process
/// started meanwhile keeps that policy.
pub fn run_bound<T>(node: u32, act: impl FnOnce() -> T) -> io::Result<T> {
    let mut mask: Mask = [0; size_of::<Mask>() / size_of::<libc::c_ulong>()];
    let word = mask.get_mut((node / libc::c_ulong::BITS) as usize);
    let word = word.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    *word |= 1 << (node % libc::c_ulong::BITS);
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("memory of NUMA node {node} alone: {error}"))
    };
    set(MPOL_BIND, &mask).map_err(failed)?;
    let done = act();
    set(MPOL_DEFAULT, &Mask::default())?;
    Ok(done)
}

fn set(policy: libc::c_int, mask: &Mask) -> io::Result<()> {
    let bits = mask.len() * libc::c_ulong::BITS as usize;
    // SAFETY: the call reads at most `bits` bits from `mask`, which has as many and outlives it.
    let code = unsafe { libc::syscall(libc::SYS_set_mempolicy, policy, mask.as_ptr(), bits) };
    if code < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::super::testing::report_skip;
    use super::*;
    use std::process::Command;

    #[test]
    fn a_node_without_memory_is_refused_with_those_that_have_some() {
        let has_memory = "/sys/devices/system/node/has_memory";
        let fake = Fake::new().file(has_memory, "0-1,3\n");
        assert_eq!(
            [0, 1, 2, 3, 4].map(|node| check(&fake.root, node).is_ok()),
            [true, true, false, true, false]
        );
        let reason = check(&fake.root, 2).unwrap_err().reason;
        assert_eq!(reason, "NUMA node 2 has no memory here, of those that have: 0-1,3");
        assert!(check(&Fake::new().root, 0).unwrap_err().reason.contains("no NUMA support"));
    }

    #[test]
    fn what_is_started_takes_its_memory_from_there_and_we_go_on_as_before() {
        if let Err(unavailable) = check(&Root::system(), 0) {
            return report_skip(
                "numa",
                "what_is_started_takes_its_memory",
                &unavailable.to_string(),
            );
        }
        let maps = || {
            let output = Command::new("cat").arg("/proc/self/numa_maps").output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let heap = run_bound(0, maps).unwrap();
        let heap = heap.lines().find(|line| line.contains(" heap ")).unwrap();
        assert!(heap.contains(" bind:0 "), "{heap}");
        assert!(!maps().contains("bind"));
        assert!(run_bound(1023, maps).is_err(), "there is no such node");
    }
}
