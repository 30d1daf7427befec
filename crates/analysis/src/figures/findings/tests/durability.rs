//! Findings about the I/O that reached the drive.

use super::{finding_after, findings};
use crate::figures::findings::Id;
use crate::fixture::Fixture;
use kvdyno_record::blockio::{
    BlockIo, BlockIoFile, Cell, IoKind, IoOwner, Lost, PhaseBlockIo, Watch,
};

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
    // Every case has as many flushes as commits.
    let flushed = |fixture: &mut Fixture| {
        for case in &mut fixture.cases {
            for phase in &mut case.record.phases {
                phase.after.device.as_mut().unwrap().flushes = Some(10_000_000);
            }
        }
    };
    silent(&flushed);
    silent(&|fixture| unflushed(fixture, "1"));
    silent(&|fixture| {
        let drive = fixture.run.host_before.drive.as_mut().unwrap();
        drive.write_cache = Some("write through".to_owned());
    });
}

#[test]
fn a_watch_that_saw_nothing_of_what_the_device_counted_proves_nothing() {
    let watched = |fixture: &mut Fixture, writes: u64| {
        fixture.run.block_io = Watch::Latency;
        let case = fixture.case("lmdb_t1_r1");
        let phases = vec![PhaseBlockIo { phase: "measure".to_owned(), io: BlockIo::default() }];
        case.block_io = Some(BlockIoFile { phases, ..BlockIoFile::default() });
        let phase = case.phase("measure");
        let before = phase.before.device.clone().unwrap();
        let device = phase.after.device.as_mut().unwrap();
        (device.reads, device.writes) = (before.reads, before.writes + writes);
        device.flushes = None;
    };
    let is_unflushed = |writes| {
        let findings = findings(|fixture| watched(fixture, writes));
        findings.iter().any(|finding| finding.id == Id::CommitNotFlushed)
    };
    assert_eq!([0, 10_000].map(is_unflushed), [true, false]);
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
