//! Temporary directories of a killed program.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

/// The age from which on directories are removed: younger ones may be in use.
const LEFT_BEHIND: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes this user's directories in `dir` whose names begin with `prefix`, if they are a day old.
pub(crate) fn remove_left_behind(dir: &Path, prefix: &str) {
    let user = rustix::process::getuid().as_raw();
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let is_own = meta.is_dir()
            && meta.uid() == user
            && entry.file_name().to_string_lossy().starts_with(prefix);
        let age = meta.modified().ok().and_then(|changed| changed.elapsed().ok());
        if is_own && age.is_some_and(|age| age > LEFT_BEHIND) {
            // A directory that cannot be removed disturbs nothing.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::time::SystemTime;

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
