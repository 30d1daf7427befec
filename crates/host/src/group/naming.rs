//! Names of our groups: `kvdyno-<pid>-<name>`, so that the owner of a leftover is known.

const PREFIX: &str = "kvdyno-";
const NAME_BYTES_MAX: usize = 100;

/// The directory's name of a group of process `pid`. What a cgroup's name may not hold is
/// replaced.
pub(super) fn group(pid: u32, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_BYTES_MAX).collect();
    format!("{PREFIX}{pid}-{name}")
}

/// The process that made a group of this name; `None`: it is not one of ours.
pub(super) fn owner(name: &str) -> Option<u32> {
    let (pid, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        assert_eq!(group(7, "0005_rocksdb/t4 r2"), "kvdyno-7-0005_rocksdb_t4_r2");
        assert_eq!(owner("kvdyno-7-0005_rocksdb_t4_r2"), Some(7));
        assert_eq!(owner("kvdyno-x-y"), None);
        assert_eq!(owner("docker-7-y"), None);
    }
}
