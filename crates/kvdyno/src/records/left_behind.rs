//! Temporary directories of a killed program.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// The age from which on directories are removed: younger ones may be in use.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// The file that marks a temporary directory as kvdyno's, and is locked while it is in use.
const MARKER: &str = ".kvdyno-temporary";

/// Marks a new temporary directory, which is in use as long as the file is open.
pub(crate) fn mark(dir: &Path) -> io::Result<File> {
    let marker = File::create_new(dir.join(MARKER))?;
    // Without locks nothing removes the directory of a killed program.
    let _ = marker.try_lock();
    Ok(marker)
}

/// Whether the directory is marked, and no process uses it.
fn is_abandoned(dir: &Path) -> bool {
    // Some filesystems lock only files that are open for writing.
    let marker = File::options().write(true).open(dir.join(MARKER));
    marker.is_ok_and(|marker| marker.try_lock().is_ok())
}

/// Removes directories of [`remove_left_behind`] that are marked and not in use: in a directory for
/// everybody's files, other programs and the user may use the prefix, too.
pub(crate) fn remove_abandoned(dir: &Path, prefix: &str) {
    remove_if(dir, prefix, is_abandoned);
}

/// Removes this user's directories in `dir` whose names begin with `prefix`, if they are a day old.
pub(crate) fn remove_left_behind(dir: &Path, prefix: &str) {
    remove_if(dir, prefix, |_| true);
}

fn remove_if(dir: &Path, prefix: &str, is_removable: impl Fn(&Path) -> bool) {
    let user = rustix::process::getuid().as_raw();
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let is_own = meta.is_dir()
            && meta.uid() == user
            && entry.file_name().to_string_lossy().starts_with(prefix);
        let age = meta.modified().ok().and_then(|changed| changed.elapsed().ok());
        let is_old = age.is_some_and(|age| age > LEFT_BEHIND);
        if is_own && is_old && is_removable(&entry.path()) {
            // A directory that cannot be removed disturbs nothing.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::time::SystemTime;

    #[test]
    fn only_what_is_marked_and_not_in_use_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let names = ["mine-killed", "mine-at-work", "mine-paper"];
        for name in names {
            fs::create_dir(path(name)).unwrap();
        }
        mark(&path("mine-killed")).unwrap().unlock().unwrap();
        let _at_work = mark(&path("mine-at-work")).unwrap();
        let old = SystemTime::now() - 2 * LEFT_BEHIND;
        for name in names {
            File::open(path(name)).unwrap().set_modified(old).unwrap();
        }
        remove_abandoned(dir.path(), "mine-");
        assert_eq!(names.map(|name| path(name).exists()), [false, true, true]);
    }

    #[test]
    fn old_directories_of_that_name_go() {
        let dir = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - 2 * LEFT_BEHIND;
        for name in ["mine-1", "mine-2", "other"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["mine-1", "other"] {
            File::open(dir.path().join(name)).unwrap().set_modified(old).unwrap();
        }
        remove_left_behind(dir.path(), "mine-");
        let is_there = |name: &str| dir.path().join(name).exists();
        assert_eq!(["mine-1", "mine-2", "other"].map(is_there), [false, true, true]);
    }
}
