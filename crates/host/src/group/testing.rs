//! Captured texts of hosts of each kind, as trees.

use crate::testing::Fake;

/// The PID namespace of the container that the trees show.
pub(crate) const NAMESPACE: u64 = 4_026_532_111;

/// Returns the name of a group whose process began at tick 77, as ours did.
pub(crate) fn group_name(pid: u32, name: &str) -> String {
    format!("kvdyno-{pid}-{NAMESPACE}-77-{name}")
}

/// Returns the text of `/proc/PID/stat`.
pub(crate) fn stat(pid: u32, name: &str, parent: u32, began: u64) -> String {
    format!("{pid} ({name}) S {parent}{} {began}{}\n", " 0".repeat(17), " 0".repeat(30))
}

/// Returns the tree of a process in a container, which sees itself.
fn fake_container() -> Fake {
    Fake::new()
        .link("/proc/self/ns/pid", &format!("pid:[{NAMESPACE}]"))
        .file("/proc/4242/stat", &stat(4242, "kvdyno", 1, 77))
}

/// A v2 host's only cgroup mount (Debian 12).
pub(super) const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime \
     shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n";

/// `memory.stat` of a new v1 group, shortened.
const V1_STAT: &str = "cache 0\nrss 0\nhierarchical_memory_limit 67108864\n\
     total_cache 65536\ntotal_rss 4096\ntotal_rss_huge 0\ntotal_swap 12288\n";

/// `memory.stat` of a v2 group, shortened (6.1).
const V2_STAT: &str = "anon 4096\nfile 131072\nkernel 8192\nfile_mapped 0\nfile_dirty 0\n";

/// A hybrid host (kernel 6.18): memory on v1, the unified hierarchy beside it without controllers.
pub(crate) fn hybrid() -> Fake {
    let group = "/sys/fs/cgroup/memory/process_api/d5aec408";
    with_new_v1_group(fake_container())
        .file(
            "/proc/self/cgroup",
            "9:name=systemd:/\n8:pids:/\n7:blkio:/\n4:memory:/process_api/d5aec408\n\
             2:cpuacct:/\n1:cpu:/\n0::/\n",
        )
        .file(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n\
             31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
             33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
        )
        .file("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n")
        .file("/sys/fs/cgroup/unified/cgroup.procs", "1\n4242\n")
        .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
        .file(&format!("{group}/cgroup.procs"), "9013\n4242\n")
        .file(&format!("{group}/memory.limit_in_bytes"), "9223372036854771712\n")
}

/// A v2 host, in a login session with a shell and its parent.
pub(crate) fn v2_session() -> Fake {
    let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
    let group = format!("{slice}/session-3.scope");
    with_new_v2_group(fake_container())
        .file("/proc/self/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n")
        .file("/proc/self/mountinfo", V2_MOUNT)
        .file("/sys/fs/cgroup/cgroup.procs", "2\n3\n")
        .file("/sys/fs/cgroup/user.slice/memory.max", "max\n")
        .file(&format!("{slice}/cgroup.type"), "domain\n")
        .file(&format!("{slice}/cgroup.procs"), "")
        .file(&format!("{slice}/cgroup.controllers"), "cpu memory pids\n")
        .file(&format!("{slice}/cgroup.subtree_control"), "memory pids\n")
        .file(&format!("{slice}/memory.max"), "max\n")
        .file(&format!("{group}/cgroup.type"), "domain\n")
        .file(&format!("{group}/cgroup.procs"), "1201\n1202\n4242\n")
        .file(&format!("{group}/cgroup.controllers"), "memory pids\n")
        .file(&format!("{group}/cgroup.subtree_control"), "\n")
        .file(&format!("{group}/memory.max"), "max\n")
}

/// A v2 container with its own namespace and only this process in it.
pub(crate) fn v2_alone() -> Fake {
    with_new_v2_group(fake_container())
        .file("/proc/self/cgroup", "0::/\n")
        .file("/proc/self/mountinfo", V2_MOUNT)
        .file("/sys/fs/cgroup/cgroup.type", "domain\n")
        .file("/sys/fs/cgroup/cgroup.procs", "4242\n")
        .file("/sys/fs/cgroup/cgroup.controllers", "cpu io memory\n")
        .file("/sys/fs/cgroup/cgroup.subtree_control", "\n")
        .file("/sys/fs/cgroup/memory.max", "max\n")
}

fn with_new_v1_group(fake: Fake) -> Fake {
    fake.file("/new-group/cgroup.procs", "")
        .file("/new-group/memory.limit_in_bytes", "9223372036854771712\n")
        .file("/new-group/memory.memsw.limit_in_bytes", "9223372036854771712\n")
        .file("/new-group/memory.swappiness", "60\n")
        .file("/new-group/memory.force_empty", "")
        .file("/new-group/memory.usage_in_bytes", "69632\n")
        .file("/new-group/memory.max_usage_in_bytes", "67108864\n")
        .file("/new-group/memory.failcnt", "795\n")
        .file("/new-group/memory.stat", V1_STAT)
        .file("/new-group/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n")
}

fn with_new_v2_group(fake: Fake) -> Fake {
    fake.file("/new-group/cgroup.procs", "")
        .file("/new-group/memory.max", "max\n")
        .file("/new-group/memory.swap.max", "max\n")
        .file("/new-group/memory.oom.group", "0\n")
        .file("/new-group/memory.reclaim", "")
        .file("/new-group/memory.current", "143360\n")
        .file("/new-group/memory.peak", "67108864\n")
        .file("/new-group/memory.stat", V2_STAT)
        .file(
            "/new-group/memory.events",
            "low 0\nhigh 0\nmax 19\noom 1\noom_kill 1\noom_group_kill 0\n",
        )
}
