//! The things that tests need of a machine. A test whose need is not met is skipped, and says so in
//! a line of one form; `scripts/refuse-skips.sh` fails if such a line names a need that a machine
//! must meet. Each test finds out itself whether its need is met.

pub mod turns;

use std::io::Write as _;

/// The needs by name, each with its description.
pub const NEEDS: [(&str, &str); 46] = [
    ("root", "root"),
    ("user", "to become another user"),
    ("mount", "to mount"),
    ("loop", "loop devices"),
    ("partitions", "partitions of loop devices"),
    ("groups", "control groups that limit memory"),
    ("swap", "swap for one RAM limit; only `make soak` calls swapon on this machine"),
    ("numa", "NUMA nodes"),
    ("disk", "a filesystem on a drive below /var/tmp"),
    ("files", "what only some filesystems can do with a file: direct I/O, to cut pieces out"),
    ("shm", "a tmpfs at /dev/shm"),
    ("overlay", "overlay filesystems"),
    ("fuse", "filesystems of a program's own (FUSE)"),
    ("blockio", "block I/O watched by BPF, with the kernel's types"),
    ("scheduler", "the scheduler mq-deadline and the throttling of writeback"),
    ("wait-states", "reading what a thread waits for"),
    ("cachestat", "cachestat, and a page cache that can be emptied"),
    ("mkfs", "mkfs.ext4, mkfs.xfs, mkfs.btrfs"),
    ("fio", "fio, beside the drive's own jobs"),
    ("tools", "losetup, blkid and blkdiscard"),
    ("engines", "workers next to the program: `make engines`"),
    ("rocksdb", "a library of RocksDB: `kvdyno engines get rocksdb`"),
    ("rocksdb-older", "a second version of it: `kvdyno engines get rocksdb 9.10.0`"),
    ("wiredtiger", "a library of WiredTiger: `kvdyno engines get wiredtiger`"),
    ("leveldb", "a library of LevelDB: `kvdyno engines get leveldb`"),
    ("go-engines", "plugins of Go: `kvdyno engines get pebble`, and `badger`, `bbolt`"),
    ("tidesdb", "a plugin of TidesDB: `kvdyno engines get tidesdb`"),
    ("perconaft", "a build of PerconaFT, named by the variable PERCONAFT"),
    ("redis", "a Redis server: `kvdyno engines get redis`"),
    ("postgres", "a PostgreSQL server: `kvdyno engines get postgres`"),
    ("mariadb", "a MariaDB server: `kvdyno engines get mariadb`"),
    ("memcached", "a memcached server: `kvdyno engines get memcached`"),
    ("mongodb", "a mongod on PATH (there is no package)"),
    ("ferretdb", "FerretDB: `scripts/ferretdb.sh` builds it with `go`"),
    ("aerospike", "an asd on PATH (there is no package)"),
    ("perf", "samples of processes: `sysctl kernel.perf_event_paranoid=2`, no filter"),
    ("cc", "a C compiler, objcopy and strip"),
    ("compilers", "the compiler of a language that plugins are written in: cc, c++, go"),
    ("zig", "the compiler of Zig: `pip install ziglang`"),
    ("valgrind", "valgrind, which counts instructions"),
    ("prometheus", "Prometheus and its promtool"),
    ("mpi", "mpirun of OpenMPI, and `kvdyno-crew`: `make crew`"),
    ("fleet", "GNU parallel, Ansible and an sshd, Slurm and munge, each started by the tests"),
    ("netns", "network namespaces: `ip netns`, as root"),
    ("chromium", "Node.js and Chromium, for the page"),
    ("java", "Java and mvn, for the reference generators of workloads"),
];

/// Reports that a test did not test, past libtest's capture of output, in the line that
/// `scripts/refuse-skips.sh` reads.
///
/// # Panics
/// For a need that is not one of [`NEEDS`].
pub fn report_skip(need: &str, test: &str, reason: &str) {
    let names: Vec<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&need), "expected one of {}, found `{need}`", names.join(", "));
    let _ = writeln!(std::io::stderr(), "{test}: skipped ({need}): {reason}");
}

/// Returns whether a test that needs root can run; reports a skip if it cannot.
#[must_use]
pub fn needs_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        report_skip("root", test, "needs root");
    }
    root
}
