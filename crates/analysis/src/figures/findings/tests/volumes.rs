//! The storage of databases, and the method of their copies.

use super::*;
use kvdyno_record::host::Drive;

/// LMDB on a directory of a drive that reads far ahead and holds writes back, `RocksDB` on an
/// image: each has findings of its own drive, and the data directory has none.
#[test]
fn findings_of_a_drive_are_of_the_cases_on_it() {
    let findings = findings(|fixture| {
        for case in &mut fixture.cases {
            let options = &mut case.record.case.options.values;
            options.insert("readahead".to_owned(), Value::Boolean(true));
        }
        let far = Drive {
            name: "sdb".to_owned(),
            bytes: 1 << 40,
            read_ahead_bytes: Some(4 << 20),
            queue: [("wbt_lat_usec".to_owned(), "2000".to_owned())].into(),
            ..Drive::default()
        };
        let near = Drive {
            name: "loop0".to_owned(),
            bytes: 1 << 30,
            read_ahead_bytes: Some(128 << 10),
            ..Drive::default()
        };
        fixture.put_on_volume("_lmdb_", "disk", &far, false);
        fixture.put_on_volume("_rocksdb_", "image", &near, true);
        fixture.put_on_volume("_null_", "image", &near, true);
    });
    let findings_of =
        |id: Id| -> Vec<&Finding> { findings.iter().filter(|one| one.id == id).collect() };
    let [readahead] = findings_of(Id::ReadaheadLarge)[..] else { panic!("{findings:#?}") };
    assert!(readahead.evidence.contains("sdb reads 4.00 MiB ahead"), "{readahead:?}");
    assert!(readahead.cases.iter().all(|case| case.contains("_lmdb_")), "{readahead:?}");
    let [throttled] = findings_of(Id::WritesThrottled)[..] else { panic!("{findings:#?}") };
    assert!(throttled.cases.iter().all(|case| case.contains("_lmdb_")), "{throttled:?}");
    assert!(throttled.advice.contains("/sys/block/sdb/queue/wbt_lat_usec"), "{throttled:?}");
    // An image stores its bytes on the data directory's drive.
    let small: Vec<_> =
        findings_of(Id::SmallAgainstDrive).iter().map(|one| &one.evidence).collect();
    let on = |drive: &str| small.iter().any(|evidence| evidence.contains(&format!("of {drive} (")));
    assert!(small.len() == 2 && on("sdb") && on("vda"), "{small:?}");
}

/// The loop device is removed with its database: no switch exists.
#[test]
fn of_an_image_no_switch_is_advised() {
    let finding = finding_after(Id::WritesThrottled, |fixture| {
        let queue = [("wbt_lat_usec".to_owned(), "2000".to_owned())].into();
        let drive = Drive { name: "loop0".to_owned(), queue, ..Drive::default() };
        fixture.put_on_volume("_", "image", &drive, true);
    });
    assert!(finding.evidence.contains("reads of loop0"), "{finding:?}");
    assert!(!finding.advice.contains("/sys/block"), "{finding:?}");
}

/// An image in memory is memory, whatever its filesystem; a drive of its own is not.
#[test]
fn an_image_is_what_its_directory_is() {
    let on = |is_image: bool| {
        move |fixture: &mut Fixture| {
            fixture.run.host_before.filesystem.as_mut().unwrap().kind = "tmpfs".to_owned();
            let drive = Drive { name: "loop0".to_owned(), ..Drive::default() };
            fixture.put_on_volume("_", "xfs", &drive, is_image);
        }
    };
    let finding = finding_after(Id::DataDirInMemory, on(true));
    assert!(finding.evidence.starts_with("the image of volume xfs is tmpfs"), "{finding:?}");
    assert!(findings(on(false)).iter().all(|finding| finding.id != Id::DataDirInMemory));
}
