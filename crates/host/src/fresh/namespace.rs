//! Our own mount namespace: its mounts are invisible outside, and it ends with its last process.

#![expect(unsafe_code, reason = "unshare(2) with flags that a caller could get wrong")]

use crate::Root;
use crate::mount::{self, Mount};
use crate::storage::nearest_existing;
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Moves this thread, and everything that it starts from now on, into its own mount namespace.
/// Later mounts of others appear in it if the system shares its mounts (as systemd does). Its own
/// mounts appear nowhere else.
///
/// A mount lives as long as any namespace has it. The server of a filesystem in user space waits
/// for its end, and every access meanwhile waits for that server; mkfs.xfs, which looks at every
/// mount, did so forever. So such mounts are removed here, except those that `needed` or the
/// process's own paths are on: what was written to their mount points would lie below them.
pub fn enter(needed: &[&Path]) -> io::Result<()> {
    // SAFETY: NEWNS unshares mounts, working directory and umask; what makes the call unsafe is
    // unsharing file descriptors, and none are.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream)?;
    let needed = needed.iter().map(|path| (*path).to_owned());
    let paths: Vec<PathBuf> = needed.chain(process_paths()).flat_map(follow_links).collect();
    let in_user_space = |mount: &Mount| mount.kind == "fuse" || mount.kind.starts_with("fuse.");
    let is_needed = |mount: &Mount| paths.iter().any(|path| path.starts_with(&mount.point));
    let_go(|mount| in_user_space(mount) && !is_needed(mount));
    Ok(())
}

/// Returns a path and, as mount points contain no links, the path that its links lead to: that of
/// the nearest parent if it does not exist yet.
fn follow_links(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let target = nearest_existing(&path).ok();
    std::iter::once(path).chain(target)
}

/// Returns the paths where this program, its workers, the tools that it calls, its temporary files
/// and what its arguments name may lie.
fn process_paths() -> Vec<PathBuf> {
    let lists = ["KVDYNO_ENGINE_PATH", "PATH"].into_iter().filter_map(std::env::var_os);
    let mut paths: Vec<PathBuf> =
        lists.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>()).collect();
    paths.extend(std::env::current_dir());
    paths.extend(std::env::current_exe());
    paths.push(std::env::temp_dir());
    paths.extend(std::env::args_os().flat_map(|argument| argument_paths(&argument)));
    paths
}

/// Returns what may be a path in an argument: all of it, and the rest after each `=`, as in
/// `--html=PATH` and `--library LABEL=PATH`.
fn argument_paths(argument: &OsStr) -> Vec<PathBuf> {
    let bytes = argument.as_bytes();
    let after_equals = (1..bytes.len()).filter(|index| bytes[index - 1] == b'=');
    let starts = std::iter::once(0).chain(after_equals);
    starts.map(|start| PathBuf::from(OsStr::from_bytes(&bytes[start..]))).collect()
}

/// Unmounts the matching mounts in this namespace, and in no other.
fn let_go(is_ours: impl Fn(&Mount) -> bool) {
    for mount in mount::all(&Root::system()).into_iter().rev().filter(is_ours) {
        let _ = unmount(&mount.point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::needs_root;
    use rustix::mount::{MountFlags, mount};

    #[test]
    fn a_needed_mount_is_known_by_its_links_and_by_what_is_not_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().canonicalize().unwrap().join("mounted");
        std::fs::create_dir(&point).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&point, &link).unwrap();
        for path in [link.clone(), link.join("new/page.html"), point.join("new")] {
            assert!(follow_links(path.clone()).any(|path| path.starts_with(&point)), "{path:?}");
        }
        let mut others = follow_links(dir.path().join("other"));
        assert!(!others.any(|path| path.starts_with(&point)));
    }

    #[test]
    fn arguments_may_be_paths() {
        for prefix in ["", "--html=", "--library=a="] {
            let argument = format!("{prefix}/mnt/nas/r.html");
            let paths = argument_paths(OsStr::new(&argument));
            assert!(paths.contains(&PathBuf::from("/mnt/nas/r.html")), "{paths:?}");
        }
        assert_eq!(argument_paths(OsStr::new("")), [PathBuf::new()]);
    }

    #[test]
    fn what_is_let_go_of_stays_with_others() {
        if !needs_root("what_is_let_go_of_stays_with_others") {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let point = dir.path().canonicalize().unwrap();
        enter(&[]).unwrap();
        mount("none", &point, "tmpfs", MountFlags::empty(), None).unwrap();
        let is_there =
            |point: &Path| mount::all(&Root::system()).iter().any(|mount| mount.point == point);
        assert!(is_there(&point));
        let inner = point.clone();
        std::thread::spawn(move || {
            enter(&[]).unwrap();
            assert!(is_there(&inner), "it was taken over");
            let_go(|mount| mount.point == inner);
            assert!(!is_there(&inner));
        })
        .join()
        .unwrap();
        assert!(is_there(&point), "it is still here");
        unmount(&point, UnmountFlags::empty()).unwrap();
    }
}
