//! Tests of the store with real files: what is kept, found, found out, removed and left alone.

mod killed;
mod room;

use super::*;
use crate::testing::{again_as_nobody, disk_dir, is_nobody, report_skip};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Barrier;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

const ID: &str = "0123456789abcdef";

fn description(id: &str) -> StateDescription {
    StateDescription {
        id: id.to_owned(),
        engine: "lmdb".to_owned(),
        label: "1 k records".to_owned(),
        engine_version: "0.9.70".to_owned(),
        library_sha256: None,
        records: 1000,
        run: "r1".to_owned(),
        took_ns: 7,
        sample: None,
    }
}

/// Two files, one with a hole, an empty directory, a link and a dead server's socket.
fn database_in(dir: &Path) -> PathBuf {
    let path = dir.join("0001_lmdb");
    fs::create_dir_all(path.join("wal")).unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    let data = File::create(path.join("data")).unwrap();
    data.write_all_at(b"key and value", 0).unwrap();
    data.write_all_at(b"end", (3 << 20) - 3).unwrap();
    fs::write(path.join("wal/log"), "log").unwrap();
    symlink("../data", path.join("wal/link")).unwrap();
    drop(UnixListener::bind(path.join("socket")).unwrap());
    path
}

fn store() -> (TempDir, States) {
    let dir = tempfile::tempdir().unwrap();
    let states = States::open(&dir.path().join("states")).unwrap();
    (dir, states)
}

fn keep(states: &States, id: &str, database: &Path) -> Result<StoredState, StateError> {
    states.keep(description(id), database, None, &mut |_| true)
}

/// A store with one state that nobody uses.
fn store_with_state() -> (TempDir, States) {
    let (dir, states) = store();
    keep(&states, ID, &database_in(dir.path())).unwrap();
    (dir, states)
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_kept_database_is_found_as_it_was() {
    let (dir, states) = store();
    assert!(states.find(ID).unwrap().is_none());
    let database = database_in(dir.path());
    let data = fs::read(database.join("data")).unwrap();
    let stored = keep(&states, ID, &database).unwrap();
    assert!(!database.exists(), "it was renamed");
    assert_eq!(stored.database(), states.dir().join(ID).join("database"));
    assert_eq!(
        names(stored.database()),
        BTreeSet::from(["data", "empty", "wal"].map(String::from))
    );
    assert_eq!(fs::read_link(stored.database().join("wal/link")).unwrap(), Path::new("../data"));
    let record = stored.record().clone();
    assert_eq!((&record.description, record.seal.files.len()), (&description(ID), 2));
    let blocks = |name: &str| fs::metadata(stored.database().join(name)).unwrap().blocks();
    assert_eq!(record.bytes, 512 * (blocks("data") + blocks("wal/log")));
    assert!(record.bytes < 1 << 20, "the hole counts: {}", record.bytes);
    drop(stored);
    let states = States::open(states.dir()).unwrap();
    let state = states.find(ID).unwrap().unwrap();
    assert_eq!(state.record(), &record);
    assert_eq!(fs::read(state.database().join("data")).unwrap(), data);
    assert_eq!(states.check(ID, &mut |_| true).unwrap(), record);
    assert_eq!(names(states.dir()), BTreeSet::from([ID.to_owned()]));
}

#[test]
fn a_database_on_another_filesystem_is_copied_and_stays() {
    let test = "a_database_on_another_filesystem_is_copied_and_stays";
    let Some(dir) = disk_dir(test) else { return };
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return report_skip("shm", test, "no directory can be made in /dev/shm");
    };
    let states = States::open(&dir.path().join("states")).unwrap();
    let database = database_in(memory.path());
    let mut reported = Vec::new();
    let mut go_on = |bytes| {
        reported.push(bytes);
        true
    };
    let stored = states.keep(description(ID), &database, None, &mut go_on).unwrap();
    assert!(reported.is_sorted(), "{reported:?}");
    assert!(database.join("socket").exists(), "the original is as it was");
    assert!(!stored.database().join("socket").exists());
    for name in ["data", "wal/log"] {
        let [a, b] = [&database, stored.database()].map(|dir| fs::read(dir.join(name)).unwrap());
        assert!(a == b, "{name}");
    }
    assert!(stored.record().bytes < 1 << 20, "the hole was filled");
    states.check(ID, &mut |_| true).unwrap();
}

#[test]
fn every_change_is_found_out() {
    type Change = fn(&Path);
    let changes: [(&str, &str, Change); 9] = [
        ("data", "a file of 3145729 bytes", |dir| {
            let data = OpenOptions::new().write(true).open(dir.join("data")).unwrap();
            data.write_all_at(b"x", 3 << 20).unwrap();
        }),
        ("wal/log", "found a file of 3 bytes", |dir| {
            fs::write(dir.join("wal/log"), "LOG").unwrap();
        }),
        ("wal/log", "found nothing", |dir| fs::remove_file(dir.join("wal/log")).unwrap()),
        ("wal/log.1", "expected nothing, found a file of 0 bytes", |dir| {
            fs::write(dir.join("wal/log.1"), "").unwrap();
        }),
        ("empty", "expected a directory, found nothing", |dir| {
            fs::remove_dir(dir.join("empty")).unwrap();
        }),
        ("empty/new", "found a directory", |dir| fs::create_dir(dir.join("empty/new")).unwrap()),
        ("socket", "found a socket, pipe or device", |dir| {
            drop(UnixListener::bind(dir.join("socket")).unwrap());
        }),
        ("wal/link", "found a symbolic link to /etc/passwd", |dir| {
            fs::remove_file(dir.join("wal/link")).unwrap();
            symlink("/etc/passwd", dir.join("wal/link")).unwrap();
        }),
        // The same file through a link.
        ("data", "found a symbolic link to ../data", |dir| {
            fs::rename(dir.join("data"), dir.join("../../data")).unwrap();
            symlink("../data", dir.join("data")).unwrap();
        }),
    ];
    for (name, words, change) in changes {
        let (_dir, states) = store_with_state();
        let database = states.find(ID).unwrap().unwrap().database().to_owned();
        change(&database);
        for error in [states.find(ID).map(|_| ()), states.check(ID, &mut |_| true).map(|_| ())] {
            let error = error.unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, StateError::Changed { .. }), "{text}");
            let path = format!("{}: ", database.join(name).display());
            assert!(text.starts_with(&path) && text.contains(words), "{text}");
            assert!(text.contains(&format!("`kvdyno state remove {ID}`")), "{text}");
        }
    }
}

#[test]
fn a_change_that_hides_its_time_is_found_out_by_its_checksum() {
    let (_dir, states) = store_with_state();
    let path = states.dir().join(ID).join("database/data");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.write_all_at(b"f", (3 << 20) - 2).unwrap();
    file.set_modified(modified).unwrap();
    assert!(states.find(ID).unwrap().is_some(), "lengths and times are as they were");
    let text = states.check(ID, &mut |_| true).unwrap_err().to_string();
    assert!(text.starts_with(&format!("{}: expected a checksum (XXH3) of ", path.display())));
    let stopped = states.check(ID, &mut |_| false);
    assert!(matches!(stopped, Err(StateError::Interrupted)));
}

#[test]
fn of_two_keepers_the_first_wins() {
    const KEEPERS: usize = 6;
    let (dir, states) = store();
    let databases: Vec<PathBuf> =
        (0..KEEPERS).map(|keeper| database_in(&dir.path().join(keeper.to_string()))).collect();
    let barrier = Barrier::new(KEEPERS);
    let stored: Vec<StoredState> = std::thread::scope(|scope| {
        let keepers = databases.iter().map(|database| {
            // No keeper ends before all have found that there is no such state.
            let mut waited = false;
            let (states, barrier) = (&states, &barrier);
            scope.spawn(move || {
                let mut go_on = |_| {
                    if !std::mem::replace(&mut waited, true) {
                        barrier.wait();
                    }
                    true
                };
                states.keep(description(ID), database, None, &mut go_on).unwrap()
            })
        });
        let keepers: Vec<_> = keepers.collect();
        keepers.into_iter().map(|keeper| keeper.join().unwrap()).collect()
    });
    assert!(stored.iter().all(|state| state.record() == stored[0].record()));
    assert_eq!(databases.iter().filter(|path| path.join("data").exists()).count(), KEEPERS - 1);
    assert_eq!(names(states.dir()), BTreeSet::from([ID.to_owned()]));
    states.check(ID, &mut |_| true).unwrap();
}

#[test]
fn an_interrupted_keeper_gives_the_database_back() {
    let (dir, states) = store();
    let database = database_in(dir.path());
    let stopped = states.keep(description(ID), &database, None, &mut |_| false);
    assert!(matches!(stopped, Err(StateError::Interrupted)));
    assert_eq!(fs::read(database.join("wal/log")).unwrap(), b"log");
    assert!(names(states.dir()).is_empty());
}

#[test]
fn a_state_in_use_is_not_removed() {
    let (_dir, states) = store_with_state();
    let first = states.find(ID).unwrap().unwrap();
    let error = states.remove(ID).unwrap_err();
    assert!(matches!(error, StateError::InUse { .. }), "{error}");
    assert!(error.to_string().contains("wait for its end, then remove it"), "{error}");
    assert!(states.list().unwrap()[0].in_use);
    let other = states.find(ID).unwrap().unwrap();
    drop(first);
    assert!(states.remove(ID).is_err(), "the second user is still there");
    drop(other);
    assert!(!states.list().unwrap()[0].in_use);
    states.remove(ID).unwrap();
    assert!(names(states.dir()).is_empty());
    assert!(matches!(states.remove(ID), Err(StateError::Unknown { .. })));
    assert!(matches!(states.check(ID, &mut |_| true), Err(StateError::Unknown { .. })));
}

#[test]
fn the_directory_is_made_and_its_parent_only_if_told() {
    let dir = tempfile::tempdir().unwrap();
    let below = dir.path().join("new/states");
    let text = States::open(&below).unwrap_err().to_string();
    let parent = dir.path().join("new");
    assert!(text.ends_with(&format!("mkdir -p {}", parent.display())), "{text}");
    assert!(!parent.exists());
    States::create(&below).unwrap();
    States::open(&below).unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(States::open(&file), Err(StateError::NotADirectory { .. })));
}

#[test]
fn a_foreign_directory_is_left_alone() {
    let temporary = format!("making-9999999-0-{ID}");
    let files = [
        "notes.txt".to_owned(),
        "photos/1.jpg".to_owned(),
        format!("{ID}/notes.txt"),
        format!("{temporary}/notes.txt"),
        "making-9999999-0-cafe/database/data".to_owned(),
    ];
    for file in files {
        let dir = tempfile::tempdir().unwrap();
        let leftover = dir.path().join(format!("making-9999999-1-{ID}/database"));
        let path = dir.path().join(&file);
        for foreign in [path.parent().unwrap(), &leftover] {
            fs::create_dir_all(foreign).unwrap();
        }
        fs::write(&path, "precious").unwrap();
        let error = States::open(dir.path()).unwrap_err();
        assert!(matches!(error, StateError::Foreign { .. }), "{file}: {error}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        assert!(leftover.exists(), "nothing was removed");
    }
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(ID)).unwrap();
    assert!(States::open(dir.path()).is_err(), "an empty directory is no state");
    let (_dir, states) = store_with_state();
    let notes = states.dir().join(ID).join("notes.txt");
    fs::write(&notes, "precious").unwrap();
    assert!(matches!(states.remove(ID), Err(StateError::Foreign { .. })));
    assert!(notes.exists() && states.find(ID).unwrap().is_some());
}

#[test]
fn links_are_not_followed_out_of_the_directory() {
    let outside = tempfile::tempdir().unwrap();
    let precious = outside.path().join("precious");
    fs::write(&precious, "precious").unwrap();
    let (dir, states) = store();
    for target in [outside.path(), Path::new("../..")] {
        let database = database_in(dir.path());
        let link = database.join("wal/out");
        symlink(target, &link).unwrap();
        let error = keep(&states, ID, &database).unwrap_err();
        assert!(matches!(error, StateError::NotKeepable { .. }), "{error}");
        assert!(error.to_string().starts_with(&link.display().to_string()), "{error}");
        assert!(link.is_symlink() && names(states.dir()).is_empty());
        fs::remove_dir_all(&database).unwrap();
    }
    let link = dir.path().join("link");
    symlink(outside.path(), &link).unwrap();
    assert!(matches!(keep(&states, ID, &link), Err(StateError::NotKeepable { .. })));
    // A state and a leftover contain links that lead out.
    keep(&states, ID, &database_in(dir.path())).unwrap();
    let leftover = states.dir().join(format!("making-9999999-0-{ID}/database"));
    fs::create_dir_all(&leftover).unwrap();
    symlink(outside.path(), leftover.join("out")).unwrap();
    symlink(outside.path(), states.dir().join(ID).join("database/out")).unwrap();
    let states = States::open(states.dir()).unwrap();
    assert!(!leftover.exists());
    assert!(states.list().unwrap()[0].record.is_err());
    states.remove(ID).unwrap();
    assert!(states.list().unwrap().is_empty());
    // A link is in the place of a state.
    symlink(outside.path(), states.dir().join(ID)).unwrap();
    assert!(states.find(ID).is_err() && states.remove(ID).is_err());
    assert!(States::open(states.dir()).is_err());
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn an_id_is_no_path() {
    let (dir, states) = store();
    let database = database_in(dir.path());
    for id in ["", "..", "../0123456789abcdef", "0123456789ABCDEF", "/etc"] {
        let errors = [
            states.find(id).map(|_| ()),
            states.remove(id),
            states.check(id, &mut |_| true).map(|_| ()),
            keep(&states, id, &database).map(|_| ()),
        ];
        for error in errors {
            assert!(matches!(error, Err(StateError::Id { .. })), "{id}: {error:?}");
        }
    }
    assert!(database.join("data").exists());
}

#[test]
fn a_database_that_is_being_written_is_not_kept() {
    let (dir, states) = store();
    let database = database_in(dir.path());
    // The engine still has it open.
    let log = OpenOptions::new().append(true).open(database.join("wal/log")).unwrap();
    let mut size = 3;
    let mut go_on = |_| {
        log.write_all_at(b"more", size).unwrap();
        size += 4;
        true
    };
    let error = states.keep(description(ID), &database, None, &mut go_on).unwrap_err();
    assert!(matches!(error, StateError::BeingWritten { .. }), "{error}");
    assert!(database.join("wal/log").exists());
}

#[test]
fn a_store_of_another_user_can_be_read() {
    let name = |pid: u32| format!("kvdyno-test-states-{pid}");
    if is_nobody() {
        let dir = Path::new("/var/tmp").join(name(std::os::unix::process::parent_id()));
        let states = States::open(&dir.join("states")).unwrap();
        assert!(states.find(ID).unwrap().is_some());
        assert!(states.remove(ID).is_err());
        return;
    }
    let prefix = name(std::process::id());
    let dir = tempfile::Builder::new().prefix(&prefix).rand_bytes(0).tempdir_in("/var/tmp");
    let dir = dir.unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    let states = States::open(&dir.path().join("states")).unwrap();
    keep(&states, ID, &database_in(dir.path())).unwrap();
    again_as_nobody("states::tests::a_store_of_another_user_can_be_read");
}

#[test]
fn files_keep_their_modes_so_that_copies_are_writable() {
    let (dir, states) = store();
    let database = database_in(dir.path());
    fs::set_permissions(database.join("data"), fs::Permissions::from_mode(0o640)).unwrap();
    let stored = keep(&states, ID, &database).unwrap();
    let mode = fs::metadata(stored.database().join("data")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}
