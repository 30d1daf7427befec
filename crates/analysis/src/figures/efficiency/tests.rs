//! Which ceiling an engine is compared with, when there is none, and what limits it.

use super::{CeilingCase, Efficiency};
use crate::answers::summary::Summary;
use crate::figures::catalogue as c;
use crate::figures::explain::Cause;
use crate::figures::findings::Id;
use crate::figures::group::RunRow;
use crate::figures::metric::Definition;
use crate::fixture::{Fixture, FixtureCase};
use kvdyno_record::host::Drive;
use kvdyno_record::usage::{DeviceUsage, Snapshot};

fn run<'s>(summary: &'s Summary, label: &str, threads: u32) -> &'s RunRow {
    let matches = |group: &&crate::figures::group::Group| {
        group.label == label && group.threads == Some(threads)
    };
    &summary.groups.iter().find(matches).unwrap().runs[0]
}

fn standing(summary: &Summary, threads: u32) -> &Efficiency {
    run(summary, "LMDB", threads).efficiency.as_ref().unwrap()
}

fn share(summary: &Summary, threads: u32, definition: &Definition) -> Option<f64> {
    run(summary, "LMDB", threads).metrics.value(definition)
}

/// Changes what the device counted in every trial of an engine, of all jobs or of one.
fn recount(fixture: &mut Fixture, name: &str, change: impl Fn(&mut DeviceUsage, u64)) {
    let is_named = |case: &&mut FixtureCase| {
        [&case.record.case.engine, &case.record.case.label].iter().any(|one| *one == name)
    };
    for case in fixture.cases.iter_mut().filter(is_named) {
        for phase in case.record.phases.iter_mut().filter(|phase| phase.kind == "measure") {
            let before = phase.before.device.clone().unwrap();
            let synced = phase.synced.as_mut().map(|(synced, _)| synced);
            for snapshot in [Some(&mut phase.after), synced].into_iter().flatten() {
                let device = snapshot.device.as_mut().unwrap();
                change(device, before.reads);
            }
            change_name(&mut phase.before, &phase.after);
        }
    }
}

/// Renames the device of `before`, so that both readings are of one device.
fn change_name(before: &mut Snapshot, after: &Snapshot) {
    let name = after.device.as_ref().unwrap().device.clone();
    before.device.as_mut().unwrap().device = name;
}

#[test]
fn an_engine_is_compared_with_as_many_blocking_threads() {
    let summary = Fixture::with_drive(4).summary();
    for (threads, job) in [(1, "psync-2"), (2, "psync-3")] {
        let standing = standing(&summary, threads);
        let ceiling = standing.ceiling.as_ref().unwrap();
        assert_eq!((ceiling.job.as_str(), ceiling.in_flight), (job, threads + 1), "and the writer");
        let most = standing.drive.as_ref().unwrap();
        assert_eq!((most.job.as_str(), most.in_flight), ("uring-32", 32));
        let row = run(&summary, "LMDB", threads);
        let ios = row.metrics.value(&c::DEVICE_READS_PER_S).unwrap()
            + row.metrics.value(&c::DEVICE_WRITES_PER_S).unwrap();
        let share_percent = share(&summary, threads, &c::CEILING_SHARE).unwrap();
        assert!((share_percent - 100.0 * ios / ceiling.ios_per_s).abs() < 1e-9, "{share_percent}");
        assert!(!standing.reads_alone && !standing.cached);
    }
}

#[test]
fn a_ceiling_is_what_the_drive_gave_the_job_and_not_others() {
    let ceiling = |more_writes: u64| {
        let mut fixture = Fixture::with_drive(2);
        recount(&mut fixture, "psync-2", |device, _| device.writes += more_writes);
        standing(&fixture.summary(), 1).ceiling.clone().unwrap()
    };
    let (alone, disturbed) = (ceiling(0), ceiling(300_000));
    assert!((alone.ios_per_s - disturbed.ios_per_s).abs() < 0.1, "{alone:?} {disturbed:?}");
    assert_eq!(disturbed.job, "psync-2");
}

#[test]
fn without_a_ceiling_there_is_no_share_and_no_reason_either() {
    let summary = Fixture::new().summary();
    assert_eq!(run(&summary, "LMDB", 1).metrics.get(&c::CEILING_SHARE), None);
    let standing = standing(&summary, 1);
    assert_eq!((&standing.why_no_share, standing.limit), (&None, Some(Cause::Reads)));
}

/// Why there is no share, after a change.
fn why(change: impl Fn(&mut Fixture)) -> String {
    let mut fixture = Fixture::with_drive(2);
    change(&mut fixture);
    let summary = fixture.summary();
    assert_eq!(share(&summary, 1, &c::CEILING_SHARE), None);
    standing(&summary, 1).why_no_share.clone().unwrap()
}

#[test]
fn what_the_bare_drive_did_not_do_is_no_ceiling() {
    let elsewhere = why(|fixture| {
        recount(fixture, "drive", |device, _| device.device = "nvme0n1".to_owned());
    });
    assert_eq!(elsewhere, "no raw-device ceiling was taken on vda");
    let larger = why(|fixture| {
        recount(fixture, "lmdb", |device, before| {
            device.read_bytes += (device.reads - before) * 60_000;
        });
    });
    assert_eq!(larger, "its I/Os have 62.6 KiB on average, those of the nearest ceiling 4.00 KiB");
    let writes = why(|fixture| recount(fixture, "lmdb", |device, _| device.writes += 4_000_000));
    assert_eq!(writes, "98.1 % of its I/Os were writes: no ceiling has such a mix");
    let idle = why(|fixture| {
        recount(fixture, "lmdb", |device, before| {
            device.reads = before;
            device.writes = 500;
        });
    });
    assert_eq!(idle, "it made no I/O");
}

/// Two filesystems can be loop0 one after the other; one can be loop0 and then loop1.
#[test]
fn on_volumes_the_volume_counts_and_not_its_devices_name() {
    let drive = |name: &str| Drive { name: name.to_owned(), ..Drive::default() };
    let mut fixture = Fixture::with_drive(2);
    fixture.put_on_volume("_", "ext4", &drive("loop0"), true);
    recount(&mut fixture, "drive", |device, _| device.device = "loop1".to_owned());
    let summary = fixture.summary();
    let ceiling = standing(&summary, 1).ceiling.clone().unwrap();
    assert_eq!(ceiling.volume.as_deref(), Some("ext4"));
    let elsewhere = why(|fixture| {
        fixture.put_on_volume("_", "xfs", &drive("loop0"), true);
        fixture.put_on_volume("_lmdb_", "ext4", &drive("loop0"), true);
    });
    assert_eq!(elsewhere, "no raw-device ceiling was taken on volume ext4");
}

#[test]
fn another_number_in_flight_is_no_ceiling_and_the_drives_most_stays() {
    let without = |jobs: &[&str]| {
        let mut fixture = Fixture::with_drive(2);
        let planned = fixture.plan.cases.iter_mut();
        for case in planned.chain(fixture.cases.iter_mut().map(|case| &mut case.record.case)) {
            case.ceiling &= !jobs.contains(&case.label.as_str());
        }
        fixture.summary()
    };
    // One reader and one writer are two in all, two readers and one writer three; two readers alone
    // have a ceiling as well.
    let summary = without(&["psync-3"]);
    assert_eq!(standing(&summary, 2).ceiling.as_ref().unwrap().job, "psync-2");
    let summary = without(&["psync-2", "psync-3"]);
    assert_eq!(share(&summary, 1, &c::CEILING_SHARE), None);
    let why = standing(&summary, 1).why_no_share.as_deref();
    assert_eq!(why, Some("no raw-device ceiling with 2 in flight, only with 32"));
    assert!(share(&summary, 1, &c::DRIVE_SHARE).is_some());
}

#[test]
fn writes_that_no_ceiling_covers_leave_the_reads_alone() {
    let mut fixture = Fixture::with_drive(2);
    recount(&mut fixture, "lmdb", |device, _| device.writes += 80_000);
    let summary = fixture.summary();
    let standing = standing(&summary, 1);
    assert!(standing.reads_alone);
    let reads = run(&summary, "LMDB", 1).metrics.value(&c::DEVICE_READS_PER_S).unwrap();
    let ceiling = standing.ceiling.as_ref().unwrap();
    let share_percent = share(&summary, 1, &c::CEILING_SHARE).unwrap();
    assert!((share_percent - 100.0 * reads / ceiling.ios_per_s).abs() < 1e-9, "{share_percent}");
}

/// Engines read blocks and pages of other sizes than 4 KiB.
#[test]
fn of_ceilings_of_several_sizes_the_nearest_counts() {
    let against = |bytes: u64| {
        let mut fixture = Fixture::with_drive(2);
        let planned = fixture.plan.cases.iter_mut();
        for case in planned.chain(fixture.cases.iter_mut().map(|case| &mut case.record.case)) {
            if case.label == "psync-2" {
                case.shape.value_bytes_mean = 16_384;
            }
        }
        recount(&mut fixture, "lmdb", |device, before| {
            device.read_bytes += (device.reads - before) * (bytes - 4_096);
        });
        standing(&fixture.summary(), 1).ceiling.as_ref().map(CeilingCase::name)
    };
    assert_eq!(against(11_000), Some("psync 16k x 2".to_owned()));
    assert_eq!(against(9_000), Some("psync 16k x 2".to_owned()));
    assert_eq!(against(8_000), None, "4 KiB is nearer");
    assert_eq!(against(4_200), None, "two in flight were measured with 16 KiB alone");
}

#[test]
fn a_ceiling_that_made_no_io_is_none() {
    let mut fixture = Fixture::with_drive(2);
    recount(&mut fixture, "psync-3", |device, before| {
        device.reads = before;
        device.writes = 500;
    });
    let summary = fixture.summary();
    assert_eq!(standing(&summary, 2).ceiling.as_ref().unwrap().job, "psync-2", "the next");
    // Two in flight gave less than the engine's three: that is no share.
    assert_eq!(share(&summary, 2, &c::CEILING_SHARE), None);
    let above = standing(&summary, 2).why_no_share.clone().unwrap();
    assert!(above.ends_with("% of psync 4k x 2, so that was not its limit"), "{above}");
    let all = why(|fixture| {
        recount(fixture, "drive", |device, before| {
            device.reads = before;
            device.writes = 500;
        });
    });
    assert_eq!(all, "the raw-device ceilings made no I/O: they were not the drive's");
}

/// One decision: the table of times, the table of limits, the answer and the findings agree about a
/// role.
#[test]
fn table_sentence_and_finding_name_one_cause() {
    let summary = Fixture::with_drive(4).summary();
    let expected = [
        ("LMDB", Cause::Reads, "limited by the latency of single reads"),
        ("RocksDB", Cause::CpuUser, "limited by the CPU"),
    ];
    let answers = crate::answers::answer::answers(&summary, summary.search.as_ref());
    let count_findings = |id: Id, case: &String| {
        let of_id = summary.findings.iter().filter(|finding| finding.id == id);
        of_id.filter(|finding| finding.cases.contains(case)).count()
    };
    for (label, cause, clause) in expected {
        let group = summary.groups.iter().position(|g| g.label == label && g.threads == Some(1));
        let group = group.unwrap();
        let of_group = summary.explained.iter().filter(|one| one.group == group);
        let readers = of_group.clone().find(|one| one.role.as_deref() == Some("readers")).unwrap();
        assert_eq!((readers.cause, cause.clause()), (Some(cause), clause));
        let standing = summary.groups[group].runs[0].efficiency.as_ref().unwrap();
        assert_eq!((standing.limit, &standing.why_no_limit), (Some(cause), &None));
        assert!(answers.iter().any(|answer| answer.sentence.contains(clause)), "{answers:?}");
        let case = &summary.groups[group].trials[0].case;
        let id = if cause.is_cpu() { Id::BoundByCpu } else { Id::BoundByLatency };
        assert_eq!(count_findings(id, case), 1, "{label}");
        // Its writer waits for others: a lock is not a CPU.
        assert_eq!(count_findings(Id::BoundByLock, case), usize::from(label == "RocksDB"));
    }
}

#[test]
fn a_limit_that_is_not_known_says_why() {
    let mut fixture = Fixture::new();
    for case in &mut fixture.cases {
        case.record.phases.iter_mut().for_each(|phase| phase.after.wait_samples = None);
    }
    let summary = fixture.summary();
    let standing = standing(&summary, 1);
    assert_eq!(standing.limit, None);
    let why = standing.why_no_limit.as_deref().unwrap();
    assert!(why.starts_with("cannot read /proc/PID/task/TID/syscall"), "{why}");
}
