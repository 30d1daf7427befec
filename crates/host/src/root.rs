//! Where `/proc` and `/sys` are read from: the running system, or a directory that holds copies.

use procfs_core::FromRead;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The tree that all readings of the host come from.
#[derive(Clone, Debug)]
pub struct Root {
    base: PathBuf,
    pid: u32,
}

impl Root {
    /// The running system.
    pub fn system() -> Self {
        Self { base: PathBuf::from("/"), pid: std::process::id() }
    }

    /// A directory with a `proc` and a `sys` in it, as process `pid` would see them.
    pub fn from_directory(base: impl Into<PathBuf>, pid: u32) -> Self {
        Self { base: base.into(), pid }
    }

    /// Returns whether this is the running system.
    pub fn is_system(&self) -> bool {
        self.base == Path::new("/")
    }

    /// Returns the number of this process in the tree.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns where an absolute path of the system lies in the tree.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.base.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// Returns the path that a file of the tree has on the system it shows.
    pub fn strip_base<'a>(&self, path: &'a Path) -> std::borrow::Cow<'a, Path> {
        match path.strip_prefix(&self.base) {
            Ok(below) if !self.is_system() => Path::new("/").join(below).into(),
            _ => path.into(),
        }
    }

    /// A file's text without the white space at its ends. Files of `/proc` and `/sys` need not be
    /// UTF-8 (`cmdline`, device models), so other bytes are replaced.
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        text(&self.path(absolute))
    }

    /// Reads a file that holds one number.
    pub fn number<T: FromStr>(&self, absolute: impl AsRef<Path>) -> Option<T> {
        self.text(absolute)?.parse().ok()
    }

    /// A file of `/proc`, parsed by `procfs-core`; `None`: it cannot be read, or is malformed. We
    /// parse some files ourselves, because `procfs-core` loses the order of options and escapes in
    /// `mountinfo`, rounds loads and pressures to 32 bits, accepts `meminfo`, `status` and `limits`
    /// only as a whole (sandboxes show a part), and reads every processor's lines of `stat` and
    /// `cpuinfo`, where we need one, some of it ten times a second.
    pub(super) fn parse_file<T: FromRead>(&self, absolute: impl AsRef<Path>) -> Option<T> {
        T::from_file(self.path(absolute)).ok()
    }

    /// Reads a switch: a file that holds `0` or `1`.
    pub fn switch(&self, absolute: impl AsRef<Path>) -> Option<bool> {
        self.number::<u64>(absolute).map(|value| value != 0)
    }

    /// The names in a directory, in order; none where it cannot be read.
    pub fn names(&self, absolute: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(absolute)) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Makes a control group. The kernel fills it with control files; in a tree of copies they
    /// come from its directory `new-group`.
    pub(super) fn make_group(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir(directory)?;
        if !self.is_system() {
            for entry in fs::read_dir(self.path("/new-group"))? {
                let entry = entry?;
                fs::copy(entry.path(), directory.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Removes a control group. The kernel's control files vanish with it; copies of them in a
    /// tree of copies have to be removed one by one.
    pub(super) fn remove_group(&self, directory: &Path) -> io::Result<()> {
        if !self.is_system() {
            for entry in fs::read_dir(directory)? {
                fs::remove_file(entry?.path())?;
            }
        }
        fs::remove_dir(directory)
    }
}

/// Reads a file's text without the white space at its ends. Files of `/proc` and `/sys` need not be
/// UTF-8 (`cmdline`, device models), so other bytes are replaced.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// The number after `key` in lines of `key value`, as in `memory.stat` and `vmstat`.
pub(super) fn number_by_key(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()?.trim_end_matches(':') == key).then(|| words.next()?.parse().ok())?
    })
}

/// The ranges in a list of the kernel's: `0-3,8`.
pub fn ranges(list: &str) -> impl Iterator<Item = RangeInclusive<u32>> {
    list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    })
}

/// The word in brackets in a list: `none [mq-deadline] kyber`.
pub(super) fn bracketed_word(text: &str) -> &str {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn a_tree_of_copies_is_read_in_place_of_the_system() {
        let fake = Fake::new().file("/proc/sys/vm/swappiness", "60\n");
        assert_eq!(fake.root.number::<u32>("/proc/sys/vm/swappiness"), Some(60));
        assert_eq!(fake.root.text("/proc/nothing"), None);
        let path = fake.root.path("/proc/sys");
        assert_eq!(fake.root.strip_base(&path), Path::new("/proc/sys"));
        assert_eq!(fake.root.names("/proc"), ["sys"]);
    }

    #[test]
    fn keyed_lines_take_whole_words() {
        let text = "total_cache 12\ncache 7\nHugePages: 3 kB\n";
        assert_eq!(number_by_key(text, "cache"), Some(7));
        assert_eq!(number_by_key(text, "HugePages"), Some(3));
        assert_eq!(number_by_key(text, "rss"), None);
    }
}
