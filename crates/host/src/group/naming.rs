//! Names of our groups: `kvdyno-<pid>-<namespace>-<began>-<name>`, so that the owner of a leftover
//! is known.

use crate::owner::Owner;

const PREFIX: &str = "kvdyno-";
const NAME_BYTES_MAX: usize = 100;

/// Returns the directory name of this owner's group. Unsafe characters in `name` are replaced.
pub(super) fn group(owner: Owner, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(NAME_BYTES_MAX).collect();
    let Owner { pid, namespace, began } = owner;
    format!("{PREFIX}{pid}-{namespace}-{began}-{name}")
}

/// The owner of a group of this name; `None`: it is not one of ours.
pub(super) fn owner(name: &str) -> Option<Owner> {
    let mut parts = name.strip_prefix(PREFIX)?.splitn(4, '-');
    let pid = parts.next()?.parse().ok()?;
    let (namespace, began) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().map(|_| Owner { pid, namespace, began })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_owner() {
        let who = Owner { pid: 7, namespace: 4_026_531_836, began: u64::MAX };
        let name = format!("kvdyno-7-4026531836-{}-0005_rocksdb_t4_r-2", u64::MAX);
        assert_eq!(group(who, "0005_rocksdb/t4 r-2"), name);
        assert_eq!(owner(&name), Some(who));
        for other in ["kvdyno-x-1-1-y", "docker-7-1-1-y", "kvdyno-7-a", "kvdyno-7-1-1"] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
