//! Finds processes that have the files of somebody's database open or locked: it must not be copied
//! while it changes.

use super::Root;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A process that uses one of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The process's number.
    pub pid: u32,
    /// The process's name; empty: it cannot be read.
    pub name: String,
}

/// Returns another process that has one of these files open or locked. Only root sees the files
/// that other users' processes have open; all users see locks.
pub fn find_user(root: &Root, files: &[PathBuf]) -> io::Result<Option<User>> {
    let mut inodes = BTreeSet::new();
    for file in files {
        let stat = fs::metadata(file)?;
        inodes.insert((stat.st_dev(), stat.st_ino()));
    }
    let user = find_locker(root, &inodes).or_else(|| find_opener(root, &inodes));
    Ok(user.map(|pid| {
        let name = root.text(format!("/proc/{pid}/comm")).unwrap_or_default();
        User { pid, name: name.trim().to_owned() }
    }))
}

/// Finds another process in the kernel's list of locks:
/// `1: POSIX  ADVISORY  WRITE 1234 fe:00:56789 0 EOF`.
fn find_locker(root: &Root, inodes: &BTreeSet<(u64, u64)>) -> Option<u32> {
    let locks = root.text("/proc/locks")?;
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| !word.ends_with(':')).skip(1);
        // The arrow marks a process that waits for a lock.
        let words: Vec<&str> = words.by_ref().filter(|word| *word != "->").collect();
        let [_, _, _, pid, file, ..] = words[..] else { return None };
        let mut parts = file.split(':');
        let major = u32::from_str_radix(parts.next()?, 16).ok()?;
        let minor = u32::from_str_radix(parts.next()?, 16).ok()?;
        let inode: u64 = parts.next()?.parse().ok()?;
        let is_wanted = inodes.contains(&(rustix::fs::makedev(major, minor), inode));
        // A lock of an open file and not of a process has no number.
        let pid = pid.parse().unwrap_or(0);
        (is_wanted && pid != root.pid()).then_some(pid)
    })
}

fn find_opener(root: &Root, inodes: &BTreeSet<(u64, u64)>) -> Option<u32> {
    let pids = root.names("/proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    let mut others = pids.filter(|pid| *pid != root.pid());
    others.find(|pid| {
        let dir = root.path(format!("/proc/{pid}/fd"));
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let mut stats = entries.filter_map(|entry| fs::metadata(entry.path()).ok());
        stats.any(|stat| inodes.contains(&(stat.st_dev(), stat.st_ino())))
    })
}

/// All files below a directory, or the file itself.
pub fn list_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            all.extend(list_files(&entry.path())?);
        } else {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    fn started(script: &str, file: &Path) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("FILE", file).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        child
    }

    #[test]
    fn who_has_a_file_open_or_locked_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        fs::write(&one, "1").unwrap();
        fs::write(&other, "2").unwrap();
        let (root, files) = (Root::system(), list_files(dir.path()).unwrap());
        assert_eq!(files, [one.clone(), other.clone()]);
        assert_eq!(find_user(&root, &files).unwrap(), None);
        // A lock of this process must not hide another user.
        let own = fs::File::open(&one).unwrap();
        own.lock_shared().unwrap();
        assert_eq!(find_user(&root, &files).unwrap(), None);
        for script in [
            "exec 3< \"$FILE\"; echo open; read line",
            "exec flock \"$FILE\" sh -c 'echo locked; read line'",
        ] {
            let mut child = started(script, &other);
            let user = find_user(&root, &files).unwrap().expect(script);
            assert!(user.pid > 0 && !user.name.is_empty(), "{user:?}");
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        assert_eq!(find_user(&root, &files).unwrap(), None);
    }
}
