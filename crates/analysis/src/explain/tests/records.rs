//! Whole records explained: of workers that tell their threads apart, and of those that know less.

use super::*;

/// What the frozen record has: the process's CPU time and the device's counters.
#[test]
fn an_old_record_is_explained_as_far_as_it_goes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("fixtures/records/v1.0/2026-11-20T10-15-02Z_fixture_7f3a");
    let summary = Summary::read(&RunFolder::open(path).unwrap()).unwrap();
    let lmdb: Vec<_> = summary.explained.iter().filter(|one| one.group < 3).collect();
    assert_eq!(lmdb.len(), 3, "a load and two numbers of threads");
    for one in &summary.explained {
        assert_eq!((one.basis, one.role.as_deref(), one.looks), (Basis::Process, None, 0));
        adds_up(one);
    }
    assert_eq!(lmdb[0].cause, Some(Cause::CpuUser));
    let words = lmdb[0].sentence.as_ref().unwrap();
    assert!(words.contains("the load computed for 90 % of the time"), "{words}");
    assert!(words.contains("(the engine's own threads included)"), "{words}");
    assert!(lmdb[1].unknown[0].contains("of all roles together"), "{:?}", lmdb[1].unknown);
}

/// The parts, of each trial and of all.
#[track_caller]
fn adds_up(one: &Explained) {
    let parts = &SHARES[..9];
    let sum: Option<f64> = parts.iter().map(|(part, _)| one.metrics.value(part)).sum();
    assert!(sum.is_none_or(|sum| (sum - 100.0).abs() < 1e-6), "{one:?}");
    let of_device = SHARES[9..].iter().filter_map(|(part, _)| one.metrics.value(part)).sum::<f64>();
    assert!(of_device <= one.metrics.value(&c::TIME_DEVICE).unwrap_or(0.0) + 1e-6, "{one:?}");
}

/// The fixture's LMDB at one reader, with what newer workers tell.
fn told_apart(fixture: &mut Fixture) {
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let case = fixture.case(trial);
        let phase = case.phase("measure");
        let looks = |reads: u64, syncs: u64| {
            let readers = Looks { running: reads, read: 3 * reads, ..Looks::default() };
            let writer = Looks { write: syncs, sync: 4 * syncs, ..Looks::default() };
            Some([("readers".to_owned(), readers), ("writer".to_owned(), writer)].into())
        };
        phase.before.looks = looks(7, 5);
        phase.after.looks = looks(57, 45);
        for (role, usage) in phase.roles.iter_mut().zip([usage(1, 1, 0), usage(0, 1, 0)]) {
            role.usage = Some(usage);
        }
        let writes = crate::block_io::writes(phase);
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
fn roles_are_explained_one_by_one_where_their_threads_are_told_apart() {
    let mut fixture = Fixture::new();
    told_apart(&mut fixture);
    let summary = fixture.summary();
    let of: Vec<_> = summary.explained.iter().filter(|one| one.group == 1).collect();
    let [readers, writer] = of[..] else { panic!("{of:?}") };
    assert_eq!(
        (readers.role.as_deref(), writer.role.as_deref()),
        (Some("readers"), Some("writer"))
    );
    assert_eq!((readers.basis, readers.looks), (Basis::Threads, 2 * 150));
    for one in &of {
        adds_up(one);
    }
    let value = |one: &Explained, figure| one.metrics.value(figure).unwrap().round() as u64;
    assert_eq!(value(readers, &c::TIME_DEVICE_READ), 80);
    assert_eq!(value(writer, &c::TIME_DEVICE_SYNC), 72);
    assert_eq!((readers.cause, writer.cause), (Some(Cause::Reads), Some(Cause::Flushes)));
    assert_eq!(
        writer.sentence.as_deref(),
        Some(
            "writer waited 90 % of the time for the device: 2.00 flushes a write of 300 us each, \
             80 % of that in fsync and its like"
        )
    );
    let found = |id: crate::findings::Id| {
        let mut found = summary.findings.iter().filter(|finding| finding.id == id);
        found.next().map(|finding| finding.evidence.clone()).unwrap_or_default()
    };
    let flushes = found(crate::findings::Id::BoundByFlushes);
    assert!(flushes.contains("lmdb_t1_r1: writer waited 90 %"), "{flushes}");
    assert!(found(crate::findings::Id::BoundByLatency).contains("readers waited 80 %"));
}

/// Too few looks in each trial are enough together, and are no more than they were.
#[test]
fn looks_of_all_trials_are_counted_once() {
    let mut fixture = Fixture::new();
    told_apart(&mut fixture);
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let looks = &mut fixture.case(trial).phase("measure").after.looks;
        let readers = looks.as_mut().unwrap().get_mut("readers").unwrap();
        readers.read = 3 * 7 + 12;
    }
    let summary = fixture.summary();
    let readers = summary.explained.iter().find(|one| one.group == 1).unwrap();
    assert_eq!((readers.role.as_deref(), readers.looks), (Some("readers"), 24));
    assert_eq!(readers.metrics.value(&c::TIME_DEVICE_READ).unwrap().round() as u64, 80);
}

/// One trial of another worker's, whose threads were not told apart: no figures of two kinds.
#[test]
fn trials_that_know_less_make_all_know_less() {
    let mut fixture = Fixture::new();
    told_apart(&mut fixture);
    fixture.case("lmdb_t1_r2").phase("measure").roles[0].usage = None;
    let summary = fixture.summary();
    let of: Vec<_> = summary.explained.iter().filter(|one| one.group == 1).collect();
    let [all] = of[..] else { panic!("{of:?}") };
    assert_eq!((all.basis, all.role.as_deref()), (Basis::Process, None));
    adds_up(all);
}

#[test]
fn counted_stalls_go_before_told_ones() {
    let text = |name: &str, micros| [(name.to_owned(), Value::Integer(micros))].into();
    let grown = stall_micros(&text("rocksdb.stall.micros", 5), &text("rocksdb.stall.micros", 12));
    assert_eq!(grown, Some(7));
    assert_eq!(stall_micros(&Counters::new(), &text("rocksdb.stall.micros", 12)), Some(12));
    assert_eq!(stall_micros(&text("a", 5), &text("a", 12)), None);
}
