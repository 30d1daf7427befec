//! Tests of lists and of the budget.

use super::*;

const IDS: [&str; 3] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"];

/// Three states of the same size; the first was used last, then the third, then the second.
fn three_states() -> (TempDir, States, u64) {
    let (dir, states) = store();
    for id in IDS {
        keep(&states, id, &database_in(dir.path())).unwrap();
    }
    for (id, hours) in [(IDS[1], 1), (IDS[2], 2), (IDS[0], 3)] {
        let used = File::open(states.dir().join(id).join("used")).unwrap();
        used.set_modified(UNIX_EPOCH + Duration::from_secs(3600 * hours)).unwrap();
    }
    let bytes = states.list().unwrap()[0].bytes;
    assert!(bytes > 0);
    (dir, states, bytes)
}

fn ids(states: &[StateSummary]) -> Vec<&str> {
    states.iter().map(|state| state.id.as_str()).collect()
}

#[test]
fn the_one_that_was_used_last_is_listed_first() {
    let (_dir, states, _) = three_states();
    let list = states.list().unwrap();
    assert_eq!(ids(&list), [IDS[0], IDS[2], IDS[1]]);
    assert_eq!(list[0].last_use, UNIX_EPOCH + Duration::from_secs(3 * 3600));
    drop(states.find(IDS[1]).unwrap());
    assert_eq!(ids(&states.list().unwrap()), [IDS[1], IDS[0], IDS[2]]);
    states.check(IDS[2], &mut |_| true).unwrap();
    assert_eq!(ids(&states.list().unwrap()), [IDS[1], IDS[0], IDS[2]], "to check is not to use");
}

#[test]
fn room_is_made_by_removing_the_longest_unused_first() {
    let (_dir, states, bytes) = three_states();
    assert!(states.make_room(bytes, 4 * bytes).unwrap().is_empty());
    assert_eq!(ids(&states.make_room(bytes, 3 * bytes).unwrap()), [IDS[1]]);
    assert_eq!(ids(&states.make_room(bytes + 1, 3 * bytes).unwrap()), [IDS[2]]);
    assert_eq!(ids(&states.list().unwrap()), [IDS[0]]);
    let error = states.make_room(4 * bytes, 3 * bytes).unwrap_err();
    assert!(error.to_string().contains("cannot be removed (no state)"), "{error}");
    assert_eq!(ids(&states.list().unwrap()), [IDS[0]], "nothing is removed in vain");
    assert_eq!(ids(&states.make_room(3 * bytes, 3 * bytes).unwrap()), [IDS[0]]);
    assert!(states.make_room(u64::MAX, 3 * bytes).is_err());
}

#[test]
fn room_is_not_made_of_states_in_use() {
    let (_dir, states, bytes) = three_states();
    let newest = states.find(IDS[0]).unwrap().unwrap();
    assert!(states.make_room(bytes, bytes).is_err());
    assert_eq!(states.list().unwrap().len(), 3, "nothing is removed in vain");
    drop(newest);
    let used = fs::metadata(states.dir().join(IDS[1]).join("used")).unwrap();
    let oldest = states.find(IDS[1]).unwrap().unwrap();
    let file = File::open(states.dir().join(IDS[1]).join("used")).unwrap();
    file.set_modified(used.modified().unwrap()).unwrap();
    assert_eq!(states.list().unwrap()[2].id, IDS[1], "it is the longest unused");
    assert_eq!(ids(&states.make_room(bytes, 3 * bytes).unwrap()), [IDS[2]]);
    let text = states.make_room(bytes, 2 * bytes - 1).unwrap_err().to_string();
    assert!(
        text.contains(IDS[1]) && text.contains("in use") && text.contains("--states"),
        "{text}"
    );
    assert_eq!(ids(&states.list().unwrap()), [IDS[0], IDS[1]]);
    drop(oldest);
    assert_eq!(states.make_room(bytes, 2 * bytes - 1).unwrap().len(), 2);
}

#[test]
fn a_broken_state_is_listed_with_the_reason_and_removed_only_by_name() {
    let (_dir, states, bytes) = three_states();
    let path = |id: &str| states.dir().join(id);
    fs::write(path(IDS[0]).join("database/wal/log"), "changed").unwrap();
    fs::write(path(IDS[1]).join("state.json"), "{").unwrap();
    fs::copy(path(IDS[0]).join("state.json"), path(IDS[2]).join("state.json")).unwrap();
    let states = States::open(states.dir()).unwrap();
    let list = states.list().unwrap();
    let reason = |id: &str| {
        let state = list.iter().find(|state| state.id == id).unwrap();
        assert!(state.bytes >= bytes, "{state:?}");
        state.record.clone().unwrap_err()
    };
    assert!(reason(IDS[0]).contains("database/wal/log: expected a file of 3 bytes"));
    assert!(reason(IDS[1]).contains("state.json: ") && reason(IDS[1]).contains("remove it"));
    assert!(reason(IDS[2]).contains(&format!("expected the id {}", IDS[2])));
    let text = states.make_room(bytes, 3 * bytes).unwrap_err().to_string();
    assert!(text.contains("broken") && text.contains("kvdyno state remove"), "{text}");
    for id in IDS {
        states.remove(id).unwrap();
    }
    assert!(names(states.dir()).is_empty());
}

#[test]
fn a_state_without_its_record_is_broken() {
    let (_dir, states) = store_with_state();
    fs::remove_file(states.dir().join(ID).join("state.json")).unwrap();
    let states = States::open(states.dir()).unwrap();
    let reason = states.list().unwrap()[0].record.clone().unwrap_err();
    assert!(reason.contains("state.json: No such file"), "{reason}");
    assert!(matches!(states.find(ID), Err(StateError::Record { .. })));
    states.remove(ID).unwrap();
}
