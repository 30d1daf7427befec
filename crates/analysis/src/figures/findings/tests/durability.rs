//! Findings about the I/O that reached the drive.

use super::{finding_after, findings};
use crate::figures::findings::Id;
use crate::fixture::Fixture;
use kvdyno_record::blockio::{
    BlockIo, BlockIoFile, Cell, IoKind, IoOwner, Lost, PhaseBlockIo, Watch,
};

/// Gives every case as many flushes as commits.
fn flush_all(fixture: &mut Fixture) {
    for case in &mut fixture.cases {
        for phase in &mut case.record.phases {
            phase.after.device.as_mut().unwrap().flushes = Some(10_000_000);
        }
    }
}

#[test]
fn commits_are_compared_with_the_flushes_of_the_device() {
    let unflushed = |fixture: &mut Fixture, fua: &str| {
        let drive = fixture.run.host_before.drive.as_mut().unwrap();
        drive.queue.insert("fua".to_owned(), fua.to_owned());
        let phase = fixture.case("lmdb_t1_r1").phase("measure");
        phase.after.device.as_mut().unwrap().flushes =
            phase.before.device.as_ref().unwrap().flushes;
    };
    let finding = finding_after(Id::CommitNotFlushed, |fixture| unflushed(fixture, "0"));
    assert!(finding.evidence.contains("commits by 1 writer, 0 flushes at vda"), "{finding:?}");
    let silent = |change: &dyn Fn(&mut Fixture)| {
        let findings = findings(|fixture| {
            unflushed(fixture, "0");
            change(fixture);
        });
        assert!(findings.iter().all(|finding| finding.id != Id::CommitNotFlushed));
    };
    silent(&flush_all);
    silent(&|fixture| unflushed(fixture, "1"));
    silent(&|fixture| {
        let drive = fixture.run.host_before.drive.as_mut().unwrap();
        drive.write_cache = Some("write through".to_owned());
    });
}

#[test]
fn a_watch_that_saw_nothing_of_what_the_device_counted_proves_nothing() {
    let watched = |fixture: &mut Fixture, writes: Option<u64>, flushes: Option<u64>| {
        let drive = fixture.run.host_before.drive.as_mut().unwrap();
        drive.queue.insert("fua".to_owned(), "0".to_owned());
        flush_all(fixture);
        fixture.run.block_io = Watch::Latency;
        let case = fixture.case("lmdb_t1_r1");
        let phases = vec![PhaseBlockIo { phase: "measure".to_owned(), io: BlockIo::default() }];
        case.block_io = Some(BlockIoFile { phases, ..BlockIoFile::default() });
        let phase = case.phase("measure");
        let before = phase.before.device.clone().unwrap();
        let Some(writes) = writes else {
            phase.after.device = None;
            return;
        };
        let device = phase.after.device.as_mut().unwrap();
        (device.reads, device.writes) = (before.reads, before.writes + writes);
        device.flushes = before.flushes.zip(flushes).map(|(before, more)| before + more);
    };
    let is_unflushed = |(writes, flushes)| {
        let findings = findings(|fixture| watched(fixture, writes, flushes));
        findings.iter().any(|finding| finding.id == Id::CommitNotFlushed)
    };
    let counts = [(Some(0), None), (Some(10_000), None), (None, None)];
    assert_eq!(counts.map(is_unflushed), [true, false, false]);
    // The kernel's own count of flushes remains.
    let counts = [(Some(10_000), Some(0)), (Some(10_000), Some(10_000))];
    assert_eq!(counts.map(is_unflushed), [true, false]);
}

#[test]
fn others_at_the_drive_are_named_where_they_were_traced() {
    let cell = |kind, owner, count| Cell {
        device: 0,
        kind,
        owner,
        count,
        bytes: 0,
        fua: 0,
        latency_ns: 0,
        slots: vec![(130, count)],
    };
    let watched = |fixture: &mut Fixture, foreign, flushes| {
        fixture.run.block_io = Watch::Latency;
        let cells = vec![
            cell(IoKind::Read, IoOwner::Ours, 9_500),
            cell(IoKind::Read, IoOwner::Foreign, foreign),
            cell(IoKind::Flush, IoOwner::Kernel, flushes),
        ];
        let io = BlockIo { cells, lost: Lost::default() };
        let phases = vec![PhaseBlockIo { phase: "measure".to_owned(), io }];
        fixture.case("lmdb_t1_r1").block_io =
            Some(BlockIoFile { phases, ..BlockIoFile::default() });
    };
    let finding = finding_after(Id::ForeignIo, |fixture| watched(fixture, 499, 1));
    assert!(finding.evidence.contains("499 (4.99 %) of the requests"), "{finding:?}");
    // The trace counts FUA, too, whatever the drive can do.
    let unflushed = finding_after(Id::CommitNotFlushed, |fixture| watched(fixture, 0, 1));
    assert!(unflushed.evidence.contains("1 flush and 0 FUA writes at"), "{unflushed:?}");
    let quiet = findings(|fixture| watched(fixture, 50, 10_000_000));
    let ids = [Id::ForeignIo, Id::CommitNotFlushed];
    assert!(quiet.iter().all(|finding| !ids.contains(&finding.id)), "{quiet:?}");
}
