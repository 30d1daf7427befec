//! Each finding from a record that shows it, and none from one that does not.

mod altered;
mod clocks;
mod crew;
mod durability;
mod memory;
mod outcomes;
mod volumes;
mod younger;

use super::{Finding, Id, Severity};
use crate::fixture::{Fixture, SECOND};
use kvdyno_record::engine::{ErrorClass, PowerLoss, Value};
use kvdyno_record::exit::Exit;
use kvdyno_record::host::DriveHealth;
use kvdyno_record::host::settings;
use kvdyno_record::run::Hiccups;
use kvdyno_record::workload::{Activity, Choice, MixEntry, Op};
use std::collections::BTreeSet;
use std::sync::LazyLock;

fn findings(change: impl FnOnce(&mut Fixture)) -> Vec<Finding> {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    fixture.summary().figures.findings
}

/// The finding `id` after a change; without the change there is none.
fn finding_after(id: Id, change: impl FnOnce(&mut Fixture)) -> Finding {
    static UNPROVOKED: LazyLock<Vec<Finding>> = LazyLock::new(|| findings(|_| {}));
    assert!(UNPROVOKED.iter().all(|finding| finding.id != id), "{id:?} unprovoked");
    let findings = findings(change);
    let finding = findings.iter().find(|finding| finding.id == id);
    finding.unwrap_or_else(|| panic!("no {id:?} in {findings:#?}")).clone()
}

#[test]
fn names_are_stable_unique_and_as_serialised() {
    assert_eq!(Id::RamLimitNotReal.as_str(), "ram-limit-not-real");
    let names: BTreeSet<String> = Id::ALL.iter().map(|id| id.as_str()).collect();
    assert_eq!(names.len(), Id::ALL.len());
    for id in Id::ALL {
        assert_eq!(serde_json::to_value(id).unwrap(), id.as_str());
    }
}

#[test]
fn a_good_run_still_has_findings_of_its_limits() {
    let ids: Vec<String> = findings(|_| {}).iter().map(|finding| finding.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "does-not-fit",
            "drive-virtual",
            "small-against-drive",
            "drive-inside-unseen",
            "short-measure",
            "few-trials",
            "bound-by-latency",
            "bound-by-cpu",
            "bound-by-cpu",
            "bound-by-lock",
        ]
    );
}

/// The findings of a run with a bare drive, with more reads at the device than its own.
fn findings_at_drive(mut fixture: Fixture, case: &str, more: u64) -> Vec<Finding> {
    for trial in [1, 2] {
        let measure = fixture.case(&format!("{case}_r{trial}")).phase("measure");
        let synced = measure.synced.as_mut().map(|(synced, _)| synced);
        for snapshot in [Some(&mut measure.after), synced].into_iter().flatten() {
            let device = snapshot.device.as_mut().unwrap();
            device.reads += more;
            device.read_bytes += more * 4096;
        }
    }
    fixture.summary().figures.findings
}

/// A finding of a run with a bare drive, after a change of what its device counted.
fn at_drive(id: Id, case: &str, more_reads: u64) -> Finding {
    let drive = |more| findings_at_drive(Fixture::with_drive(2), case, more);
    assert!(drive(0).iter().all(|finding| finding.id != id), "{id:?} unprovoked");
    drive(more_reads).into_iter().find(|finding| finding.id == id).unwrap()
}

/// The number of writes that the filesystem makes for a flush is not known.
#[test]
fn a_drive_that_flushes_is_not_called_shared() {
    let is_shared = |flushes: bool| {
        let mut fixture = Fixture::with_drive(2);
        for trial in [1, 2] {
            let case = fixture.case(&format!("psync-2_t2_r{trial}"));
            for phase in &mut case.record.case.phases {
                if let Activity::Measure(mix) = &mut phase.work
                    && flushes
                {
                    mix.roles[0].mix.push(MixEntry::new(Op::Flush, 1.0, Choice::Uniform));
                }
            }
        }
        fixture.replan();
        let findings = findings_at_drive(fixture, "psync-2_t2", 20_000);
        findings.iter().any(|finding| finding.id == Id::DriveShared)
    };
    assert!(is_shared(false) && !is_shared(true));
}

#[test]
fn more_than_the_bare_drive_can_do_is_reported() {
    let above = at_drive(Id::AboveCeiling, "lmdb_t1", 60_000);
    let words = "LMDB made 14.4 k I/Os per second at the device, 1.53 times the raw-device ceiling";
    assert!(above.evidence.contains(words), "{above:?}");
    let shared = at_drive(Id::DriveShared, "psync-2_t2", 20_000);
    let words = "expected 9.38 k I/Os per second of psync-2, found 11.4 k at the device";
    assert!(shared.evidence.contains(words), "{shared:?}");
}

#[test]
fn an_engine_that_loses_data_makes_the_run_invalid() {
    let lost = finding_after(Id::KeysMissing, |fixture| {
        fixture.case("lmdb_t1_r1").op("measure", "readers", "get").misses = 240;
    });
    assert!(lost.evidence.contains("240 of 111,197 keys looked up were missing"), "{lost:?}");
    assert_eq!(lost.severity, Severity::Invalid);
    finding_after(Id::ValuesWrong, |fixture| {
        fixture.case("lmdb_t1_r1").op("measure", "readers", "get").wrong = 1;
    });
    let short = finding_after(Id::VerifyFailed, |fixture| {
        let verify = fixture.case("lmdb_load_r1").phase("verify");
        verify.verified.as_mut().unwrap().counted = Some(632_121);
    });
    assert!(short.evidence.contains("expected 1,000,000 records, found 632,121"), "{short:?}");
    let mut fixture = Fixture::new();
    fixture.case("lmdb_t1_r1").op("measure", "readers", "get").misses = 1;
    assert_eq!(fixture.summary().verdict, Exit::Invalid);
}

#[test]
fn engines_of_one_class_that_lose_different_data_are_named() {
    let finding = finding_after(Id::PowerLossDiffers, |fixture| {
        for case in &mut fixture.cases {
            let Some(worker) = &mut case.record.worker else { continue };
            let classes = worker.description.engine.capabilities.durability.values_mut();
            let is_lmdb = case.record.case.engine == "lmdb";
            let lost = if is_lmdb { PowerLoss::Damages } else { PowerLoss::LosesLast };
            classes.for_each(|promise| promise.power_loss = lost);
        }
    });
    let evidence = &finding.evidence;
    assert!(
        evidence.contains("LMDB may be damaged") && evidence.contains("RocksDB loses"),
        "{evidence}"
    );
}

#[test]
fn files_far_smaller_than_their_data_are_told() {
    let finding = finding_after(Id::DatabaseCompressed, |fixture| {
        let measure = fixture.case("lmdb_t1_r1").phase("measure");
        let database = measure.database.as_mut().unwrap();
        database.used_bytes /= 3;
        database.apparent_bytes /= 3;
    });
    assert!(finding.evidence.contains("of data in"), "{finding:?}");
}

#[test]
fn a_limit_is_not_real_when_the_device_was_not_read() {
    let finding = finding_after(Id::RamLimitNotReal, |fixture| {
        let measure = fixture.case("lmdb_t1_r1").phase("measure");
        measure.after.device = measure.before.device.clone();
        measure.synced = None;
    });
    assert!(finding.evidence.contains("without one device read"), "{finding:?}");
    assert!(finding.advice.contains("another process"), "it was evicted: {finding:?}");
    let finding = finding_after(Id::RamLimitNotReal, |fixture| {
        let measure = fixture.case("lmdb_t1_r1").phase("measure");
        measure.resident_after.as_mut().unwrap().resident_bytes = 120 << 20;
    });
    assert!(finding.evidence.contains("120 MiB of the database are cached"), "{finding:?}");
}

#[test]
fn readahead_counts_only_where_an_engine_leaves_it_on() {
    let finding = finding_after(Id::ReadaheadLarge, |fixture| {
        for case in fixture.cases.iter_mut().filter(|case| case.record.case.engine == "lmdb") {
            let options = &mut case.record.case.options.values;
            options.insert("readahead".to_owned(), Value::Boolean(true));
        }
        fixture.replan();
    });
    assert_eq!(finding.cases.len(), 6);
    assert!(finding.evidence.contains("8.00 MiB ahead"), "{finding:?}");
}

#[test]
fn places_without_a_drive_are_named() {
    let kind = |kind: &str| {
        let kind = kind.to_owned();
        move |fixture: &mut Fixture| {
            fixture.run.host_before.filesystem.as_mut().unwrap().kind = kind;
        }
    };
    finding_after(Id::DataDirInMemory, kind("tmpfs"));
    finding_after(Id::DataDirOverlay, kind("overlay"));
    finding_after(Id::DriveUncounted, |fixture| {
        for phase in fixture.cases.iter_mut().flat_map(|case| &mut case.record.phases) {
            phase.before.device = None;
        }
    });
}

#[test]
fn builds_clocks_and_machines_are_named() {
    let debug = finding_after(Id::DebugBuild, |fixture| {
        fixture.make_void("lmdb_t1_r1");
    });
    assert_eq!(debug.severity, Severity::Invalid);
    finding_after(Id::AssertionsOn, |fixture| {
        let worker = fixture.case("lmdb_t1_r1").record.worker.as_mut().unwrap();
        worker.description.engine.build.insert("assertions".to_owned(), "on".to_owned());
    });
    let portable = |builds: [&'static str; 2]| {
        move |fixture: &mut Fixture| {
            for (engine, build) in ["rocksdb", "lmdb"].into_iter().zip(builds) {
                for case in ["load", "t1", "t2"] {
                    for trial in [1, 2] {
                        let case = fixture.case(&format!("{engine}_{case}_r{trial}"));
                        let worker = case.record.worker.as_mut().unwrap();
                        let fact = ("build".to_owned(), build.to_owned());
                        worker.description.engine.build.extend([fact]);
                    }
                }
            }
        }
    };
    let one_portable = finding_after(Id::PortableBuild, portable(["official", "native"]));
    assert!(one_portable.evidence.contains("LMDB is not; "), "{one_portable:?}");
    assert_eq!(one_portable.cases, ["0004_rocksdb_load_r1", "0005_rocksdb_t1_r1"]);
    let both_portable = findings(portable(["official", "official"]));
    assert!(both_portable.iter().all(|finding| finding.id != Id::PortableBuild));
    let stolen = finding_after(Id::CpuStolen, |fixture| {
        let measure = fixture.case("lmdb_t1_r1").phase("measure");
        measure.after.steal_ns = Some(SECOND);
    });
    assert!(stolen.evidence.contains("up to 5.00 % of the CPU time"), "{stolen:?}");
    finding_after(Id::ConcurrentRun, |fixture| {
        fixture.cases[1].record.concurrent_runs = vec![4711];
    });
    finding_after(Id::BusyHost, |fixture| fixture.run.host_before.machine.load_1m = Some(1.9));
    finding_after(Id::SwapOn, |fixture| fixture.run.host_before.machine.swap_bytes = 1 << 30);
}

#[test]
fn what_the_kernel_does_by_itself_is_named_where_it_matters() {
    let damon = |fixture: &mut Fixture| {
        let switch = "/sys/kernel/mm/damon/admin/kdamonds/0/state".to_owned();
        fixture.run.host_before.settings.insert(switch, "on".to_owned());
    };
    let on = finding_after(Id::DamonOn, damon);
    assert!(on.evidence.contains("under a limit of 28.0 MiB"), "{on:?}");
    assert!(on.advice.ends_with("`echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state`"));
    let all = findings(|fixture| {
        damon(fixture);
        fixture.cases.iter_mut().for_each(|case| case.record.ram_limit.enforced_by = None);
    });
    assert!(all.iter().all(|finding| finding.id != Id::DamonOn), "small, and with all the RAM");
    let large = finding_after(Id::DamonOn, |fixture| {
        damon(fixture);
        fixture.case("lmdb_t1_r1").record.ram_limit.enforced_by = None;
        let measure = fixture.case("lmdb_t1_r1").phase("measure");
        measure.database.as_mut().unwrap().used_bytes = 13 << 30;
    });
    assert!(large.evidence.contains("with a database of 13.0 GiB"), "{large:?}");
    let wbt = finding_after(Id::WritesThrottled, |fixture| {
        let drive = fixture.run.host_before.drive.as_mut().unwrap();
        drive.queue.insert("wbt_lat_usec".to_owned(), "75000".to_owned());
    });
    assert!(wbt.evidence.contains("reads of vda take over 75000 us"), "{wbt:?}");
    assert!(wbt.cases.iter().all(|case| !case.contains("null")), "{wbt:?}");
}

#[test]
fn discards_count_where_the_drive_had_any() {
    let mounted = |fixture: &mut Fixture| {
        let filesystem = fixture.run.host_before.filesystem.as_mut().unwrap();
        filesystem.options = "rw,noatime,discard".to_owned();
    };
    let finding = finding_after(Id::DiscardOnline, |fixture| {
        mounted(fixture);
        let measure = fixture.case("rocksdb_t1_r1").phase("measure");
        let device = measure.after.device.as_mut().unwrap();
        (device.discards, device.discard_bytes) = (device.discards + 12, 64 << 20);
    });
    assert!(finding.evidence.contains("12 discards of 64.0 MiB in all"), "{finding:?}");
    assert_eq!(finding.cases.len(), 1);
    assert!(findings(mounted).iter().all(|finding| finding.id != Id::DiscardOnline));
}

#[test]
fn limits_that_others_set_are_named() {
    let setting = |name: &'static str, text: &'static str| {
        move |fixture: &mut Fixture| {
            fixture.run.host_before.settings.insert(name.to_owned(), text.to_owned());
        }
    };
    let stopped = finding_after(Id::CpuThrottled, |fixture| {
        setting(settings::CPUS_ABOVE, "1.5 on /sys/fs/cgroup/docker")(fixture);
        fixture.run.host_before.machine.throttled_ns = Some(SECOND);
        fixture.run.host_after.as_mut().unwrap().machine.throttled_ns = Some(3 * SECOND);
    });
    let words = "threads were stopped for 2.00 s during the run: 1.5 on /sys/fs/cgroup/docker";
    assert_eq!(stopped.evidence, words);
    let never = findings(|fixture| {
        fixture.run.host_before.machine.throttled_ns = Some(SECOND);
        fixture.run.host_after.as_mut().unwrap().machine.throttled_ns = Some(SECOND);
    });
    assert!(never.iter().all(|finding| finding.id != Id::CpuThrottled), "never reached");
    let io =
        finding_after(Id::IoLimitAbove, setting(settings::IO_ABOVE, "254:0 rbps=1048576 on /x"));
    assert!(io.evidence.ends_with("254:0 rbps=1048576 on /x"), "{io:?}");
    let none = findings(setting(settings::IO_ABOVE, settings::NO_LIMIT));
    assert!(none.iter().all(|finding| finding.id != Id::IoLimitAbove));
    let memory = setting(settings::MEMORY_ABOVE, "1073741824 on /sys/fs/cgroup/docker");
    let above = finding_after(Id::MemoryLimitAbove, |fixture| {
        memory(fixture);
        fixture.case("lmdb_t1_r1").record.ram_limit.enforced_by = None;
    });
    assert!(above.evidence.ends_with("together to 1.00 GiB"), "{above:?}");
    let limited = findings(|fixture| {
        memory(fixture);
        for case in &mut fixture.cases {
            case.record.ram_limit.enforced_by = Some("cgroup v2".to_owned());
        }
    });
    assert!(limited.iter().all(|finding| finding.id != Id::MemoryLimitAbove), "ours is tighter");
}

#[test]
fn a_drive_that_got_hot_meanwhile_is_named() {
    let hot = finding_after(Id::DriveUnwell, |fixture| {
        let drive = fixture.run.host_after.as_mut().unwrap().drive.as_mut().unwrap();
        drive.health = Some(DriveHealth {
            source: "NVMe log 2".to_owned(),
            healthy: Some(true),
            temperature_c: Some(78),
            ..DriveHealth::default()
        });
    });
    assert_eq!(hot.evidence, "vda: healthy, 78 C (NVMe log 2)");
}

#[test]
fn an_idle_thread_stands_in_for_the_null_engine() {
    let without_null = |fixture: &mut Fixture| {
        fixture.cases.retain(|case| case.record.case.engine != "null");
        fixture.plan.cases.retain(|case| case.engine != "null");
        let gaps = kvdyno_record::hlog::to_text(&kvdyno_record::hlog::histogram()).unwrap();
        fixture.run.hiccups = Some(Hiccups { length_ns: 1, max_ns: 60 * SECOND, histogram: gaps });
    };
    let below = finding_after(Id::TailBelowLoadGenerator, without_null);
    assert!(below.evidence.contains("without an engine the machine paused for 1m"), "{below:?}");
    assert!(below.advice.contains("an idle thread's readings"), "{below:?}");
}

#[test]
fn unsettled_overloaded_and_erring_runs_are_named() {
    finding_after(Id::NotSettled, |fixture| {
        let settle = fixture.case("lmdb_load_r1").phase("settle");
        settle.settled = Some((false, "2 compactions are running".to_owned()));
    });
    let overloaded = |fixture: &mut Fixture| {
        let role = &mut fixture.case("lmdb_t1_r1").phase("measure").roles[0];
        (role.offered_per_s, role.backlog, role.own_ns) = (Some(15_000.0), 24_000, 5 * SECOND);
    };
    let behind = finding_after(Id::OpenLoopBehind, overloaded);
    assert!(behind.evidence.contains("expected 15.0 k/s from role readers"), "{behind:?}");
    finding_after(Id::LoadGeneratorShare, overloaded);
    finding_after(Id::OperationsFailed, |fixture| {
        let op = fixture.case("lmdb_t1_r1").op("measure", "writer", "update");
        op.errors.insert(ErrorClass::Conflict, 3);
    });
    finding_after(Id::FewSlices, |fixture| fixture.case("lmdb_t1_r1").slices.truncate(3));
    finding_after(Id::NotVerified, |fixture| {
        for phase in fixture.cases.iter_mut().flat_map(|case| &mut case.record.phases) {
            phase.verified = None;
        }
    });
}

#[test]
fn readers_at_unequal_write_rates_are_named() {
    let unequal = finding_after(Id::WritersUnequal, |fixture| {
        for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
            let op = fixture.case(trial).op("measure", "writer", "update");
            (op.count, op.items) = (op.count * 20, op.items * 20);
        }
    });
    assert!(unequal.evidence.contains("LMDB wrote 26,898/s, RocksDB 1,953/s"), "{unequal:?}");
    assert!(unequal.advice.contains("set a rate on the writer"), "{unequal:?}");
}

#[test]
fn a_rate_that_falls_is_not_steady() {
    let falls = finding_after(Id::NotSteady, |fixture| {
        for slice in &mut fixture.case("lmdb_t1_r1").slices {
            let ops = slice.roles.get_mut("readers").unwrap();
            ops.get_mut("get").unwrap().count /= 1 + slice.slice;
        }
    });
    assert!(falls.evidence.contains("readers: the rate fell by 8"), "{falls:?}");
    assert!(falls.advice.starts_with("not a steady state"), "{falls:?}");
}

#[test]
fn a_rate_that_begins_at_nothing_has_no_percentage() {
    let rises = finding_after(Id::NotSteady, |fixture| {
        for slice in &mut fixture.case("lmdb_t1_r1").slices {
            let ops = slice.roles.get_mut("readers").unwrap();
            if slice.slice < 5 {
                ops.get_mut("get").unwrap().count = 0;
            }
        }
    });
    assert!(rises.evidence.contains("readers: the rate rose from zero in the"), "{rises:?}");
    assert!(!rises.evidence.contains('%'), "{rises:?}");
}

#[test]
fn stalls_are_named_from_events_and_from_counters() {
    let stall_finding = |change: &dyn Fn(&std::path::Path)| {
        let dir = crate::fixture::make_dir();
        let run = Fixture::new().write_partial(&dir.path().join("run"));
        change(&run.path.join("cases/0005_rocksdb_t1_r1"));
        let findings = crate::answers::summary::Summary::read(&run).unwrap().figures.findings;
        findings.into_iter().find(|finding| finding.id == Id::WritesStalled)
    };
    assert_eq!(stall_finding(&|_| {}), None);
    let began = Fixture::new().case("rocksdb_t1_r1").phase("measure").started_unix_ns;
    let by_events = stall_finding(&|case| {
        let begin_ns = began + SECOND;
        let event = |at_ns: u64, edge: &str, cur: &str| {
            format!(
                "{{\"at_unix_ns\":{at_ns},\"kind\":\"stall\",\"edge\":\"{edge}\",\
                 \"detail\":{{\"cur\":\"{cur}\"}}}}\n"
            )
        };
        let events =
            event(begin_ns, "begin", "stopped") + &event(begin_ns + 2 * SECOND, "end", "normal");
        std::fs::write(case.join("events.ndjson"), events).unwrap();
    });
    let evidence = by_events.unwrap().evidence;
    assert!(evidence.contains("stopped once, for 2.00 s of 10.0 s"), "{evidence}");
    let by_counters = stall_finding(&|case| {
        let counters = r#"{"phases":{"measure":{"before":{"rocksdb.stall.micros":5},
            "after":{"rocksdb.stall.micros":1500005}}}}"#;
        std::fs::write(case.join("counters.json"), counters).unwrap();
    });
    let evidence = by_counters.unwrap().evidence;
    assert!(evidence.contains("waited for 1.50 s (rocksdb.stall.micros)"), "{evidence}");
    let hardly = stall_finding(&|case| {
        let counters = r#"{"phases":{"measure":{"before":{"rocksdb.stall.micros":5},
            "after":{"rocksdb.stall.micros":90005}}}}"#;
        std::fs::write(case.join("counters.json"), counters).unwrap();
    });
    assert_eq!(hardly, None);
}

#[test]
fn a_database_that_others_wrote_to_is_named() {
    let shared = |fixture: &mut Fixture| {
        let before = ["0001_lmdb_load_r1", "0002_lmdb_t1_r1"].map(str::to_owned).to_vec();
        fixture.case("lmdb_t2_r1").record.database_used_by = before;
    };
    let finding = finding_after(Id::DatabaseShared, shared);
    assert!(finding.evidence.contains("written to by 0002_lmdb_t1_r1"), "{finding:?}");
    let mut drive = Fixture::with_drive(1);
    drive.case("psync-2_t2_r1").record.database_used_by = vec!["0002_lmdb_t1_r1".to_owned()];
    let findings = drive.summary().figures.findings;
    assert!(findings.iter().all(|finding| finding.id != Id::DatabaseShared), "{findings:?}");
}

#[test]
fn the_worst_comes_first() {
    let findings = findings(|fixture| {
        fixture.case("lmdb_t1_r1").op("measure", "readers", "get").misses = 1;
        fixture.case("lmdb_t1_r1").record.ram_limit.enforced_by = None;
        fixture.run.host_before.machine.swap_bytes = 1;
    });
    let ids: Vec<Id> = findings.iter().map(|finding| finding.id).collect();
    assert_eq!(ids[..3], [Id::KeysMissing, Id::RamLimitNotHeld, Id::SwapOn], "{ids:?}");
    assert!(findings.is_sorted_by_key(|finding| finding.severity));
}
