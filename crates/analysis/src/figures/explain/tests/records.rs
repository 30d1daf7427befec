//! Explanations of whole records.

use super::*;
use kvdyno_record::engine::{Counters, Value};

/// Asserts that the parts add up to 100, and those of the device's wait to no more than the wait.
#[track_caller]
fn adds_up(row: &Explained) {
    let parts = &SHARES[..9];
    let sum: Option<f64> = parts.iter().map(|(part, _)| row.metrics.value(part)).sum();
    assert!(sum.is_none_or(|sum| (sum - 100.0).abs() < 1e-6), "{row:?}");
    let of_device = SHARES[9..].iter().filter_map(|(part, _)| row.metrics.value(part)).sum::<f64>();
    assert!(of_device <= row.metrics.value(&c::TIME_DEVICE).unwrap_or(0.0) + 1e-6, "{row:?}");
}

/// Adds to the fixture's LMDB at one reader what newer workers record.
fn add_thread_readings(fixture: &mut Fixture) {
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let case = fixture.case(trial);
        let phase = case.phase("measure");
        let wait_samples = |reads: u64, syncs: u64| {
            let readers = WaitSamples { running: reads, read: 3 * reads, ..WaitSamples::default() };
            let writer = WaitSamples { write: syncs, sync: 4 * syncs, ..WaitSamples::default() };
            Some([("readers".to_owned(), readers), ("writer".to_owned(), writer)].into())
        };
        phase.before.wait_samples = wait_samples(7, 5);
        phase.after.wait_samples = wait_samples(57, 45);
        for (role, usage) in phase.roles.iter_mut().zip([usage(1, 1, 0), usage(0, 1, 0)]) {
            role.usage = Some(usage);
        }
        let writes = crate::figures::block_io::writes(phase);
        if let Some(device) = &mut phase.after.device {
            device.flushes = Some(2 * writes);
            device.flush_ns = Some(2 * writes * 300_000);
        }
        if let Some(device) = &mut phase.before.device {
            (device.flushes, device.flush_ns) = (Some(0), Some(0));
        }
        if let Some((synced, _)) = &mut phase.synced {
            synced.device.clone_from(&phase.after.device);
        }
    }
}

#[test]
fn roles_are_explained_one_by_one_where_their_threads_are_recorded() {
    let mut fixture = Fixture::new();
    add_thread_readings(&mut fixture);
    let summary = fixture.summary();
    let roles: Vec<_> = summary.explained.iter().filter(|one| one.group == 1).collect();
    let [readers, writer] = roles[..] else { panic!("{roles:?}") };
    assert_eq!(
        (readers.role.as_deref(), writer.role.as_deref()),
        (Some("readers"), Some("writer"))
    );
    assert_eq!(readers.wait_samples, 2 * 150);
    for role in &roles {
        adds_up(role);
    }
    let value = |one: &Explained, figure| one.metrics.value(figure).unwrap().round() as u64;
    assert_eq!(value(readers, &c::TIME_DEVICE_READ), 80);
    assert_eq!(value(writer, &c::TIME_DEVICE_SYNC), 72);
    assert_eq!((readers.cause, writer.cause), (Some(Cause::Reads), Some(Cause::Flushes)));
    assert_eq!(
        writer.sentence.as_deref(),
        Some(
            "writer waited 90 % of the time for the device: 2.00 flushes per write of 300 us each, \
             80 % of that in fsync and its like"
        )
    );
    let evidence = |id: crate::figures::findings::Id| {
        let mut findings = summary.findings.iter().filter(|finding| finding.id == id);
        findings.next().map(|finding| finding.evidence.clone()).unwrap_or_default()
    };
    let flushes = evidence(crate::figures::findings::Id::BoundByFlushes);
    assert!(flushes.contains("lmdb_t1_r1: writer waited 90 %"), "{flushes}");
    assert!(evidence(crate::figures::findings::Id::BoundByLatency).contains("readers waited 80 %"));
}

/// Too few samples in each trial are enough together, and each counts once.
#[test]
fn samples_of_all_trials_are_counted_once() {
    let mut fixture = Fixture::new();
    add_thread_readings(&mut fixture);
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let wait_samples = &mut fixture.case(trial).phase("measure").after.wait_samples;
        let readers = wait_samples.as_mut().unwrap().get_mut("readers").unwrap();
        readers.read = 3 * 7 + 12;
    }
    let summary = fixture.summary();
    let readers = summary.explained.iter().find(|one| one.group == 1).unwrap();
    assert_eq!((readers.role.as_deref(), readers.wait_samples), (Some("readers"), 24));
    assert_eq!(readers.metrics.value(&c::TIME_DEVICE_READ).unwrap().round() as u64, 80);
}

/// One trial's workers do not record their threads: figures must not mix two kinds.
#[test]
fn a_trial_without_thread_usage_explains_nothing() {
    let mut fixture = Fixture::new();
    add_thread_readings(&mut fixture);
    fixture.case("lmdb_t1_r2").phase("measure").roles[0].usage = None;
    let summary = fixture.summary();
    let readers = summary.explained.iter().find(|one| one.group == 1).unwrap();
    let value = readers.metrics.get(&c::TIME_USER).unwrap();
    assert_eq!(
        (value.n, value.missing.as_deref()),
        (1, Some("its threads' usage was not recorded"))
    );
}

#[test]
fn counted_stalls_go_before_reported_ones() {
    let text = |name: &str, micros| [(name.to_owned(), Value::Integer(micros))].into();
    let name = "rocksdb.stall.micros";
    let (before, after) = (text(name, 5), text(name, 12));
    assert_eq!(stalls::counted_ns(&before, &after), Some((name, 7_000)));
    assert_eq!(stalls::counted_ns(&Counters::new(), &after), Some((name, 12_000)));
    assert_eq!(stalls::counted_ns(&text("a", 5), &text("a", 12)), None);
}
