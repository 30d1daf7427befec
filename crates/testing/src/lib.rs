//! What tests need of a machine: those that do not find it are skipped in sight, or fail where
//! `KVDYNO_REQUIRE` says that it must be there. How each thing is looked for is the tests' affair.
//!
//! `KVDYNO_REQUIRE` is a list with commas: names of [`NEEDS`], `all`, and `-name` for what a
//! machine cannot have: `all,-numa`. A machine that is tested on by chance sets nothing.

pub mod turns;

use std::io::Write as _;

/// What can be asked for, and what it is.
pub const NEEDS: [(&str, &str); 38] = [
    ("root", "the right of the system's administrator"),
    ("user", "to become another user"),
    ("mount", "to mount"),
    ("loop", "loop devices"),
    ("partitions", "partitions of loop devices"),
    ("groups", "control groups that limit memory"),
    ("swap", "swap: asked for by name or `all` alone, as it calls swapon on this machine"),
    ("numa", "NUMA nodes"),
    ("disk", "a filesystem on a drive below /var/tmp"),
    ("files", "what only some filesystems can do with a file: direct I/O, to cut pieces out"),
    ("shm", "a tmpfs at /dev/shm"),
    ("overlay", "overlay filesystems"),
    ("fuse", "filesystems of a program's own (FUSE)"),
    ("blockio", "block I/O watched by BPF, with the kernel's types"),
    ("scheduler", "the scheduler mq-deadline and the throttling of writeback"),
    ("wait-states", "to see what a thread waits for"),
    ("cachestat", "cachestat, and a page cache that can be emptied"),
    ("mkfs", "mkfs.ext4, mkfs.xfs, mkfs.btrfs"),
    ("fio", "fio, beside the drive's own jobs"),
    ("tools", "losetup, blkid and blkdiscard"),
    ("engines", "workers beside the program: `make engines`"),
    ("rocksdb", "a library of RocksDB: `kvdyno engines get rocksdb`"),
    ("rocksdb-older", "a second version of it: `kvdyno engines get rocksdb 9.10.0`"),
    ("wiredtiger", "a library of WiredTiger: `kvdyno engines get wiredtiger`"),
    ("leveldb", "a library of LevelDB: `kvdyno engines get leveldb`"),
    ("redis", "a Redis server: `kvdyno engines get redis`"),
    ("postgres", "a PostgreSQL server: `kvdyno engines get postgres`"),
    ("mariadb", "a MariaDB server: `kvdyno engines get mariadb`"),
    ("memcached", "a memcached server: `kvdyno engines get memcached`"),
    ("mongodb", "a mongod on PATH, of which there is no package"),
    ("ferretdb", "FerretDB, which `scripts/ferretdb.sh` builds where there is a `go`"),
    ("aerospike", "an asd on PATH, of which there is no package"),
    ("valgrind", "valgrind, which counts instructions"),
    ("mpi", "mpirun of OpenMPI, and `kvdyno-crew`: `make crew`"),
    ("fleet", "GNU parallel, Ansible and an sshd, Slurm and munge, each started by the tests"),
    ("netns", "network namespaces: `ip netns`, as root"),
    ("chromium", "Node.js and Chromium, for the page"),
    ("java", "Java and mvn, for what workloads are pinned against"),
];

/// Says that a test did not test, past libtest's capture of output.
///
/// # Panics
/// Where `KVDYNO_REQUIRE` wants what it needs.
#[track_caller]
pub fn skipped(need: &str, test: &str, reason: &str) {
    assert!(
        !is_required(need),
        "{test}: {reason}; KVDYNO_REQUIRE wants `{need}` ({})",
        of(&NEEDS, need)
    );
    let _ = writeln!(std::io::stderr(), "{test}: skipped ({need}): {reason}");
}

/// Whether a test that needs root can run; says so where it cannot.
#[must_use]
#[track_caller]
pub fn needs_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skipped("root", test, "needs root");
    }
    root
}

/// Whether a test may do what others on this machine would notice; says so where it may not.
#[must_use]
pub fn is_asked_for(need: &str, test: &str) -> bool {
    let asked = is_required(need);
    if !asked {
        skipped(need, test, &format!("only with KVDYNO_REQUIRE={need}"));
    }
    asked
}

/// Whether this must be there.
///
/// # Panics
/// For a name that is not one of [`NEEDS`].
#[must_use]
pub fn is_required(need: &str) -> bool {
    required(&std::env::var("KVDYNO_REQUIRE").unwrap_or_default(), need)
}

fn required(list: &str, need: &str) -> bool {
    of(&NEEDS, need);
    let mut required = false;
    for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
        let (wanted, name) = match word.strip_prefix('-') {
            Some(name) => (false, name),
            None => (true, word),
        };
        if name != "all" {
            of(&NEEDS, name);
        }
        if name == "all" || name == need {
            required = wanted;
        }
    }
    required
}

/// What a name stands for.
fn of<'a>(needs: &[(&'a str, &'a str)], name: &str) -> &'a str {
    let found = needs.iter().find(|(known, _)| *known == name);
    let names: Vec<&str> = needs.iter().map(|(name, _)| *name).collect();
    found.map_or_else(
        || panic!("`{name}` is nothing that tests need; known: all, {}", names.join(", ")),
        |(_, what)| what,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_from_left_to_right() {
        assert!(!required("", "root"));
        assert!(required("root", "root") && !required("root", "loop"));
        assert!(required("all", "numa") && !required("all,-numa", "numa"));
        assert!(required("all, -numa", "loop") && required("-loop,loop", "loop"));
    }

    #[test]
    #[should_panic(expected = "`fuze` is nothing that tests need; known: all, root, user")]
    fn a_name_that_is_wrong_is_said() {
        let _ = required("root,fuze", "root");
    }
}
