//! The names in a store's directory, and which of them are the store's own.

use super::StateError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The files of the database, in a state's directory.
pub(super) const DATABASE: &str = "database";
/// The list of a state's keys, if it is a copy of somebody's database.
pub(super) const KEYS: &str = "keys";
/// The record of a state.
pub(super) const RECORD: &str = "state.json";
/// The file whose time is set at each use of a state.
pub(super) const USED: &str = "used";

/// The record's name while it is written.
const RECORD_TEMPORARY: &str = "state.json.tmp";

/// A temporary that becomes a state.
pub(super) const MAKING: &str = "making";
/// A temporary that was a state.
pub(super) const REMOVING: &str = "removing";

/// The contents of a store's directory.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Ids of states, which may be broken.
    pub(super) ids: Vec<String>,
    pub(super) temporaries: Vec<PathBuf>,
}

/// Lists a store's directory; anything in it that kvdyno did not make is an error.
pub(super) fn list(dir: &Path) -> Result<Contents, StateError> {
    let mut contents = Contents::default();
    for entry in fs::read_dir(dir).map_err(StateError::io("list", dir))? {
        let entry = entry.map_err(StateError::io("list", dir))?;
        let (path, name) = (entry.path(), entry.file_name());
        // Filesystems put this one into their roots.
        if name == "lost+found" {
            continue;
        }
        let name = name.to_str().unwrap_or_default();
        match foreign_entry(&path, name) {
            Ok(None) if is_id(name) => contents.ids.push(name.to_owned()),
            Ok(None) => contents.temporaries.push(path),
            Ok(Some(entry)) => {
                return Err(StateError::Foreign { dir: dir.to_owned(), entry });
            }
            // Another process renamed it since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(StateError::io("list", &path)(error)),
        }
    }
    contents.ids.sort();
    Ok(contents)
}

/// Returns the path that shows that a directory is neither a state nor a temporary: itself, or
/// something in it. `None`: it is one of them.
pub(super) fn foreign_entry(path: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    let is_ours = is_id(name) || is_temporary(name);
    if !is_ours || !fs::symlink_metadata(path)?.is_dir() {
        return Ok(Some(path.to_owned()));
    }
    let mut empty = true;
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let own_names = [DATABASE, KEYS, RECORD, USED, RECORD_TEMPORARY];
        if !own_names.iter().any(|name| entry.file_name() == *name) {
            return Ok(Some(entry.path()));
        }
        empty = false;
    }
    // A state gets its name when it is whole, so an empty directory is none.
    Ok((empty && is_id(name)).then(|| path.to_owned()))
}

/// Returns whether a name is an id, which is so long that no other directory has it by chance.
pub(super) fn is_id(name: &str) -> bool {
    (16..=128).contains(&name.len()) && name.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns a name like `making-<pid>-<number>-<id>`. The number distinguishes the threads of a
/// process. The directory's lock shows whether its owner lives: a pid means another process in
/// another container, and later.
pub(super) fn temporary_name(act: &str, id: &str) -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{act}-{}-{number}-{id}", std::process::id())
}

fn is_temporary(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let parts: Vec<&str> = name.split('-').collect();
    matches!(parts[..], [MAKING | REMOVING, pid, number, id]
        if is_number(pid) && is_number(number) && is_id(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        assert!(is_id("0123456789abcdef") && is_id(&"f".repeat(128)));
        for other in ["", "cafe", "0123456789abcdeF", "0123456789abcde/", "../0123456789abcdef"] {
            assert!(!is_id(other), "{other}");
        }
        for act in [MAKING, REMOVING] {
            let name = temporary_name(act, "0123456789abcdef");
            assert!(is_temporary(&name), "{name}");
            assert_ne!(temporary_name(act, "0123456789abcdef"), name);
        }
        for other in ["making-1-0123456789abcdef", "making-1-x-0123456789abcdef", "making-1-1-me"] {
            assert!(!is_temporary(other), "{other}");
        }
    }
}
