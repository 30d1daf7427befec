//! Mounts and swap areas: `/proc/self/mountinfo` and `/proc/swaps`, line by line.

use super::Root;
use super::device::parse_number;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One line of `mountinfo` (proc(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// The mount's number.
    pub id: u64,
    /// The `st_dev` of the files on it; some filesystems (btrfs) show their files another one.
    pub device: (u32, u32),
    /// The directory of the filesystem that is mounted.
    pub root: String,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options of this mount.
    pub options: String,
    /// The kind of filesystem, such as `ext4`, `tmpfs` or `cgroup2`.
    pub kind: String,
    /// The mounted source: a device's path, a server's export, a word.
    pub source: String,
    /// Options of the filesystem.
    pub super_options: String,
}

impl Mount {
    /// Parses one line; `None`: it is malformed.
    pub fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ');
        let id = fields.next()?.parse().ok()?;
        let device = parse_number(fields.nth(1)?)?;
        let root = unescape(fields.next()?);
        let point = PathBuf::from(unescape(fields.next()?));
        let options = fields.next()?.to_owned();
        let mut fields = after.split(' ');
        let kind = fields.next()?.to_owned();
        let source = unescape(fields.next()?);
        let super_options = fields.next().unwrap_or_default().to_owned();
        Some(Self { id, device, root, point, options, kind, source, super_options })
    }

    /// Options of the mount and of the filesystem, each once.
    pub fn all_options(&self) -> String {
        let mut all: Vec<&str> = self.options.split(',').collect();
        for option in self.super_options.split(',') {
            if !option.is_empty() && !all.contains(&option) {
                all.push(option);
            }
        }
        all.join(",")
    }

    /// Returns whether the mount or its filesystem has this option.
    pub fn has_option(&self, option: &str) -> bool {
        let mut both = self.options.split(',').chain(self.super_options.split(','));
        both.any(|have| have == option)
    }
}

/// All mounts, in the kernel's order: a later one hides an earlier one at the same point.
pub fn all(root: &Root) -> Vec<Mount> {
    // `self` is the process's first thread; a thread in its own mount namespace sees other mounts.
    let thread = if root.is_system() { "thread-self" } else { "self" };
    let text = root.text(format!("/proc/{thread}/mountinfo")).unwrap_or_default();
    text.lines().filter_map(Mount::parse).collect()
}

/// The mount that an absolute path without symbolic links lies on.
pub fn find_mount(root: &Root, path: &Path) -> Option<Mount> {
    let mut mounts = all(root);
    let by_number = root.is_system().then(|| mount_id(path)).flatten();
    let position = mounts.iter().position(|mount| Some(mount.id) == by_number).or_else(|| {
        let candidates = mounts.iter().enumerate().filter(|(_, m)| path.starts_with(&m.point));
        candidates.max_by_key(|(_, m)| m.point.components().count()).map(|(index, _)| index)
    })?;
    Some(mounts.swap_remove(position))
}

/// Returns the mount's number from the kernel (Linux 5.8), right even where mounts cover others.
fn mount_id(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let stat = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    let has_id = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    has_id.then_some(stat.stx_mnt_id)
}

/// Every device that this machine swaps to, with the kilobytes on it; files are left out.
pub(super) fn swaps(root: &Root) -> BTreeMap<PathBuf, u64> {
    let text = root.text("/proc/swaps").unwrap_or_default();
    let areas = text.lines().skip(1).filter_map(|line| {
        let mut words = line.split_whitespace();
        let (path, kind) = (words.next()?, words.next()?);
        let used = words.nth(1)?.parse().ok()?;
        (kind == "partition").then(|| (PathBuf::from(path), used))
    });
    areas.collect()
}

/// Undoes the kernel's octal escapes of space, tab, newline and backslash.
fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let (b'\\', Some(code)) = (first, code) {
            bytes.push(code);
            rest = &after[3..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    #[test]
    fn a_line_is_taken_apart() {
        let line = r"36 35 98:0 /mnt1 /mnt\040two rw,noatime master:1 - ext3 /dev/root rw,discard";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.id, 36);
        assert_eq!(mount.device, (98, 0));
        assert_eq!(mount.root, "/mnt1");
        assert_eq!(mount.point, Path::new("/mnt two"));
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.source, "/dev/root");
        assert_eq!(mount.all_options(), "rw,noatime,discard");
        assert!(mount.has_option("discard") && !mount.has_option("no"));
        assert_eq!(Mount::parse("nonsense"), None);
    }

    #[test]
    fn the_deepest_mount_wins_and_the_later_of_two_at_one_point() {
        let fake = Fake::new().file(
            "/proc/self/mountinfo",
            "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
             28 27 8:1 / /data rw - xfs /dev/sda1 rw\n\
             29 28 0:40 / /data rw - tmpfs none rw\n",
        );
        assert_eq!(find_mount(&fake.root, Path::new("/data/x")).unwrap().kind, "tmpfs");
        assert_eq!(find_mount(&fake.root, Path::new("/database")).unwrap().kind, "ext4");
    }

    #[test]
    fn this_systems_own_mounts_are_read() {
        let mount = find_mount(&Root::system(), Path::new("/proc/self")).unwrap();
        assert_eq!((mount.kind.as_str(), mount.point.as_path()), ("proc", Path::new("/proc")));
    }
}
