//! Our own mount namespace: its mounts are invisible outside, and it ends with its last process.

#![expect(unsafe_code, reason = "unshare(2) with flags that a caller could get wrong")]

use crate::Root;
use crate::mount::{self, Mount};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_change, unmount};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::path::{Path, PathBuf};

/// Moves this thread, and everything that it starts from now on, into its own mount namespace.
/// Later mounts of others appear in it if the system shares its mounts (as systemd does). Its own
/// mounts appear nowhere else.
///
/// A mount lives as long as any namespace has it. The server of a filesystem in user space waits
/// for its end, and every access meanwhile waits for that server; mkfs.xfs, which looks at every
/// mount, did so forever. So such mounts are removed here, except the one that `needed` is on.
pub fn enter(needed: &[&Path]) -> io::Result<()> {
    // SAFETY: NEWNS unshares mounts, working directory and umask; what makes the call unsafe is
    // unsharing file descriptors, and none are.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream)?;
    let paths =
        needed.iter().map(|path| (*path).to_owned()).chain(program_paths()).collect::<Vec<_>>();
    let in_user_space = |mount: &Mount| mount.kind == "fuse" || mount.kind.starts_with("fuse.");
    let is_needed = |mount: &Mount| paths.iter().any(|path| path.starts_with(&mount.point));
    let_go(|mount| in_user_space(mount) && !is_needed(mount));
    Ok(())
}

/// Returns the paths where this program, its workers and the tools that it calls may lie.
fn program_paths() -> Vec<PathBuf> {
    let lists = ["KVDYNO_ENGINE_PATH", "PATH"].into_iter().filter_map(std::env::var_os);
    let mut paths: Vec<PathBuf> =
        lists.flat_map(|list| std::env::split_paths(&list).collect::<Vec<_>>()).collect();
    paths.extend(std::env::current_dir());
    paths.extend(std::env::current_exe());
    paths
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
