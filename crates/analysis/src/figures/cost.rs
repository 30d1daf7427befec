//! The costs of a phase: CPU, device, memory, space. They are costs of the whole process (and the
//! device): there are none per role.

use super::catalogue as c;
use super::evidence::CaseEvidence;
use super::metric::{Definition, Metrics, Reading, Why};
use super::spent::{NO_FILES, Spent, device, quotient, resident};
use super::trials::Trials;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::host::Host;
use kvdyno_record::plan::Counting;
use kvdyno_record::usage::{
    DatabaseSize, DeviceUsage, ProcessUsage, ProcessorUsage, Residency, Snapshot,
};

/// The figures of a measured phase, with those of the settle phase that follows it.
pub(super) fn measure_metrics(
    trials: &Trials<'_>,
    phase: &str,
    settle: Option<&str>,
    host: &Host,
) -> Metrics {
    let mut metrics = Metrics::default();
    common(&mut metrics, trials, phase, settle, host);
    let written = |pick: fn(&DeviceUsage) -> u64| {
        trials.phase_readings(phase, |spent, case| device_writes(spent, case, settle, pick))
    };
    let per_op = |read: &dyn Fn(Spent<'_>, &CaseEvidence) -> Reading| {
        trials.phase_readings(phase, |spent, case| spent.per_op(read(spent, case)))
    };
    let written_per_op = |pick: fn(&DeviceUsage) -> u64| {
        per_op(&|spent, case| device_writes(spent, case, settle, pick))
    };
    metrics.add(&c::DEVICE_WRITES_PER_OP, written_per_op(|device| device.writes));
    metrics.add(&c::DEVICE_WRITE_BYTES_PER_OP, written_per_op(|device| device.write_bytes));
    metrics.add(&c::DEVICE_WRITES, written(|device| device.writes));
    metrics.add(&c::DEVICE_WRITE_BYTES, written(|device| device.write_bytes));
    let write_amplification = trials.phase_readings(phase, |spent, case| {
        let device = device_writes(spent, case, settle, |device| device.write_bytes)?;
        quotient(device, spent.written_bytes() as f64, "nothing was written")
    });
    metrics.add(&c::WRITE_AMPLIFICATION, write_amplification);
    let process_per_op = |pick: fn(&ProcessUsage) -> u64| {
        per_op(&|spent, case| process_settled(spent, case, settle, pick))
    };
    metrics.add(&c::CPU_PER_OP, process_per_op(|usage| usage.user_ns + usage.system_ns));
    let switches = |usage: &ProcessUsage| usage.voluntary_switches + usage.involuntary_switches;
    metrics.add(&c::SWITCHES_PER_OP, process_per_op(switches));
    let read_per_op = |pick: fn(&DeviceUsage) -> u64| {
        per_op(&|spent, case| device_reads(spent, case, settle, pick))
    };
    metrics.add(&c::DEVICE_READS_PER_OP, read_per_op(|device| device.reads));
    metrics.add(&c::DEVICE_READ_BYTES_PER_OP, read_per_op(|device| device.read_bytes));
    let read_amplification = trials.phase_readings(phase, |spent, case| {
        let device = device_reads(spent, case, settle, |device| device.read_bytes)?;
        quotient(device, spent.read_bytes() as f64, "nothing was read")
    });
    metrics.add(&c::READ_AMPLIFICATION, read_amplification);
    if trials.cases.iter().any(|(case, _)| case.is_server()) {
        metrics.add(&c::CLIENT_CPU_PER_OP, per_op(&|spent, _| spent.client_cpu_ns()));
    }
    if trials.cases.iter().any(|(case, _)| case.case.swap().is_some()) {
        let swapped_per_op = |pick: fn(&DeviceUsage) -> u64| per_op(&|spent, _| spent.swap(pick));
        metrics.add(&c::SWAP_IN_BYTES_PER_OP, swapped_per_op(|swap| swap.read_bytes));
        metrics.add(&c::SWAP_OUT_BYTES_PER_OP, swapped_per_op(|swap| swap.write_bytes));
    }
    add_device_rates(&mut metrics, trials, phase);
    let ios = trials.phase_readings(phase, |spent, case| {
        let ios = device_ios(spent, case, settle)?;
        quotient(ios, spent.items() as f64, "no record was dealt with")
    });
    metrics.add(&c::DEVICE_IOS_PER_RECORD, ios);
    add_processor_counts(&mut metrics, trials, phase);
    space(&mut metrics, trials, phase, settle, host);
    metrics
}

/// Adds what the device did per second of the window, without what is still dirty at its end.
fn add_device_rates(metrics: &mut Metrics, trials: &Trials<'_>, phase: &str) {
    let per_s = |pick: fn(&DeviceUsage) -> u64| {
        trials.phase_readings(phase, |spent, _| {
            quotient(spent.device(pick)? * 1e9, spent.phase.wall_ns as f64, "it took no time")
        })
    };
    metrics.add(&c::DEVICE_READS_PER_S, per_s(|device| device.reads));
    metrics.add(&c::DEVICE_WRITES_PER_S, per_s(|device| device.writes));
    metrics.add(&c::DEVICE_READ_BYTES_PER_S, per_s(|device| device.read_bytes));
    metrics.add(&c::DEVICE_WRITE_BYTES_PER_S, per_s(|device| device.write_bytes));
}

/// What the device wrote from the start of a phase until all that it left behind was done.
fn device_writes(
    spent: Spent<'_>,
    case: &CaseEvidence,
    settle: Option<&str>,
    pick: fn(&DeviceUsage) -> u64,
) -> Reading {
    let end = match settle {
        Some(name) => end_of_settle(case.phase(name)?),
        None => spent.synced_snapshot()?,
    };
    device(&spent.phase.before, end, pick)
}

/// What the device read from the start of a phase until all that it left behind was done. A sync
/// reads nothing.
fn device_reads(
    spent: Spent<'_>,
    case: &CaseEvidence,
    settle: Option<&str>,
    pick: fn(&DeviceUsage) -> u64,
) -> Reading {
    device(&spent.phase.before, end_of_work(spent, case, settle)?, pick)
}

/// The device's reads and writes until all that a phase left behind was done.
fn device_ios(spent: Spent<'_>, case: &CaseEvidence, settle: Option<&str>) -> Reading {
    let reads = device_reads(spent, case, settle, |device| device.reads)?;
    Ok(reads + device_writes(spent, case, settle, |device| device.writes)?)
}

/// The engine's usage from the start of a phase until all that it left behind was done.
fn process_settled(
    spent: Spent<'_>,
    case: &CaseEvidence,
    settle: Option<&str>,
    pick: fn(&ProcessUsage) -> u64,
) -> Reading {
    spent.process_until(end_of_work(spent, case, settle)?, pick)
}

/// The readings when the engine had done all that a phase left behind.
fn end_of_work<'c>(
    spent: Spent<'c>,
    case: &'c CaseEvidence,
    settle: Option<&str>,
) -> Result<&'c Snapshot, Why> {
    Ok(match settle {
        Some(name) => end_of_settle(case.phase(name)?),
        None => &spent.phase.after,
    })
}

/// Adds the processor's counts, where the plan requires them.
fn add_processor_counts(metrics: &mut Metrics, trials: &Trials<'_>, phase: &str) {
    if !trials.cases.iter().any(|(case, _)| case.case.count == Some(Counting::Processor)) {
        return;
    }
    for (definition, (name, pick)) in c::BY_PROCESSOR.into_iter().zip(ProcessorUsage::ALL) {
        let readings = trials.phase_readings(phase, |spent, case| {
            let not_measured = case.record.as_ref().map_or(&[][..], |record| &record.not_measured);
            let why = ProcessorUsage::uncounted_reason(name, not_measured);
            spent.per_op(spent.processor(pick, why))
        });
        metrics.add(definition, readings);
    }
}

/// The figures of a load, with those of the settle phase that follows it.
pub(crate) fn load_metrics(
    trials: &Trials<'_>,
    phase: &str,
    settle: Option<&str>,
    host: &Host,
) -> Metrics {
    let mut metrics = Metrics::default();
    // Counts the records written, not those planned.
    let walls = trials.phase_readings(phase, |spent, _| Ok(spent.phase.wall_ns as f64));
    let deferred = trials.deferred_ns(phase, settle);
    let both = walls.iter().cloned().zip(deferred);
    let rate_windows: Vec<Reading> = both.map(|(wall, deferred)| Ok(wall? + deferred?)).collect();
    let records = trials.phase_readings(phase, |spent, case| Ok(spent.records(&case.case.data)));
    let bytes = trials.phase_readings(phase, |spent, _| Ok(spent.written_bytes() as f64));
    metrics.add(&c::RECORDS_PER_S, per_s(&records, &rate_windows));
    metrics.add(&c::BURST_RECORDS_PER_S, per_s(&records, &walls));
    metrics.add(&c::USER_BYTES_PER_S, per_s(&bytes, &rate_windows));
    metrics.add(&c::RATE_WINDOW, rate_windows);
    common(&mut metrics, trials, phase, settle, host);
    let mut add = |definition: &Definition, read: &dyn Fn(Spent<'_>, &CaseEvidence) -> Reading| {
        metrics.add(definition, trials.phase_readings(phase, read));
    };
    add(&c::FS_OUTPUTS_PER_RECORD, &|spent, case| {
        let outputs = spent.process(|usage| usage.output_blocks_512)?;
        quotient(outputs, spent.records(&case.case.data), "nothing was loaded")
    });
    add(&c::DEVICE_IOS_PER_RECORD, &|spent, case| {
        quotient(
            device_ios(spent, case, settle)?,
            spent.records(&case.case.data),
            "nothing was loaded",
        )
    });
    let together = |spent: Spent<'_>, case: &CaseEvidence| {
        device_writes(spent, case, settle, |device| device.write_bytes)
    };
    add(&c::DEVICE_WRITE_BYTES, &together);
    add(&c::DEVICE_WRITE_BYTES_LOAD, &|spent, _| spent.device_synced(|device| device.write_bytes));
    add(&c::WRITE_AMPLIFICATION, &|spent, case| {
        quotient(together(spent, case)?, spent.written_bytes() as f64, "nothing was written")
    });
    if let Some(name) = settle {
        let alone = |spent: Spent<'_>, _: &CaseEvidence| {
            let end = end_of_settle(spent.phase);
            device(&spent.phase.before, end, |device| device.write_bytes)
        };
        metrics.add(&c::DEVICE_WRITE_BYTES_SETTLE, trials.phase_readings(name, alone));
    }
    space(&mut metrics, trials, phase, settle, host);
    metrics
}

/// Counts over times in nanoseconds.
fn per_s(counts: &[Reading], times: &[Reading]) -> Vec<Reading> {
    let both = counts.iter().cloned().zip(times.iter().cloned());
    both.map(|(count, ns)| quotient(count? * 1e9, ns?, "it took no time")).collect()
}

/// The readings at the end of a settle phase, including the sync of its dirty pages where there was
/// one. The load before it ended with a sync of its own.
fn end_of_settle(phase: &PhaseRecord) -> &Snapshot {
    phase.synced.as_ref().map_or(&phase.after, |(snapshot, _)| snapshot)
}

/// Adds the figures that loads and measured phases share.
fn common(
    metrics: &mut Metrics,
    trials: &Trials<'_>,
    phase: &str,
    settle: Option<&str>,
    host: &Host,
) {
    metrics.add(&c::DEFERRED, trials.deferred_ns(phase, settle));
    let reads = |pick: fn(&DeviceUsage) -> u64| {
        trials.phase_readings(phase, |spent, case| device_reads(spent, case, settle, pick))
    };
    metrics.add(&c::DEVICE_READS, reads(|device| device.reads));
    metrics.add(&c::DEVICE_READ_BYTES, reads(|device| device.read_bytes));
    let mut add = |definition: &Definition, read: &dyn Fn(Spent<'_>) -> Reading| {
        metrics.add(definition, trials.phase_readings(phase, |spent, _| read(spent)));
    };
    let wall = |spent: Spent<'_>| spent.phase.wall_ns as f64;
    add(&c::WALL, &|spent| Ok(wall(spent)));
    add(&c::CPU_USER, &|spent| spent.process(|usage| usage.user_ns));
    add(&c::CPU_SYSTEM, &|spent| spent.process(|usage| usage.system_ns));
    add(&c::CPU_PERCENT, &|spent| {
        quotient(100.0 * spent.cpu_ns()?, wall(spent), "it took no time")
    });
    add(&c::SWITCHES_VOLUNTARY, &|spent| spent.process(|usage| usage.voluntary_switches));
    add(&c::SWITCHES_INVOLUNTARY, &|spent| spent.process(|usage| usage.involuntary_switches));
    add(&c::FAULTS_MINOR, &|spent| spent.process(|usage| usage.minor_faults));
    add(&c::FAULTS_MAJOR, &|spent| spent.process(|usage| usage.major_faults));
    add(&c::FS_INPUTS, &|spent| spent.process(|usage| usage.input_blocks_512));
    add(&c::FS_OUTPUTS, &|spent| spent.process(|usage| usage.output_blocks_512));
    add(&c::DEVICE_FLUSHES, &|spent| spent.flushes());
    add(&c::DEVICE_BUSY, &|spent| {
        quotient(100.0 * spent.device(|device| device.busy_ns)?, wall(spent), "it took no time")
    });
    add(&c::DEVICE_QUEUE, &|spent| {
        quotient(spent.device(|device| device.queue_ns)?, wall(spent), "it took no time")
    });
    let mean = |spent: Spent<'_>, ns: fn(&DeviceUsage) -> u64, count: fn(&DeviceUsage) -> u64| {
        quotient(spent.device(ns)?, spent.device(count)?, "the device did none")
    };
    add(&c::DEVICE_READ_LATENCY, &|spent| mean(spent, |d| d.read_ns, |d| d.reads));
    add(&c::DEVICE_WRITE_LATENCY, &|spent| mean(spent, |d| d.write_ns, |d| d.writes));
    add(&c::DEVICE_FLUSH_LATENCY, &|spent| spent.flush_ns_mean());
    add(&c::STEAL, &|spent| {
        let cpus = f64::from(host.machine.cpus.max(1));
        quotient(100.0 * spent.steal_ns()?, wall(spent) * cpus, "it took no time")
    });
}

/// Adds the figures of memory, and of space when all that the phase left behind was done.
fn space(
    metrics: &mut Metrics,
    trials: &Trials<'_>,
    phase: &str,
    settle: Option<&str>,
    host: &Host,
) {
    let size = |spent: Spent<'_>, case: &CaseEvidence| -> Result<DatabaseSize, Why> {
        match spent.phase.database {
            Some(size) if size.files > 0 => Ok(size),
            None if !case.stores_nothing() => Err("the database's size could not be read".into()),
            Some(_) | None => Err(NO_FILES.into()),
        }
    };
    let cached = |spent: Spent<'_>, case: &CaseEvidence, residency: Option<&Residency>| {
        if case.stores_nothing() {
            return Err(NO_FILES.into());
        }
        resident(spent.phase, residency)
    };
    let settled = settle.unwrap_or(phase);
    let mut add = |definition: &Definition, read: &dyn Fn(Spent<'_>, &CaseEvidence) -> Reading| {
        metrics.add(definition, trials.phase_readings(settled, read));
    };
    add(&c::DATABASE_USED, &|spent, case| Ok(size(spent, case)?.used_bytes as f64));
    add(&c::DATABASE_RESERVED, &|spent, case| Ok(size(spent, case)?.reserved_bytes as f64));
    add(&c::DATABASE_APPARENT, &|spent, case| Ok(size(spent, case)?.apparent_bytes as f64));
    add(&c::LIVE_BYTES, &|spent, case| live_bytes(spent, case));
    add(&c::SPACE_AMPLIFICATION, &|spent, case| {
        let used = size(spent, case)?.used_bytes as f64;
        quotient(used, live_bytes(spent, case)?, "no records are left")
    });
    add(&c::DATA_TO_RAM, &|spent, case| {
        let enforced = case.record.as_ref().filter(|record| record.ram_limit.enforced_by.is_some());
        let limit = enforced.and_then(|record| record.ram_limit.requested_bytes);
        let ram = limit.unwrap_or(host.machine.memory_bytes) as f64;
        quotient(size(spent, case)?.used_bytes as f64, ram, "the machine's memory is not known")
    });
    let mut add = |definition: &Definition, read: &dyn Fn(Spent<'_>, &CaseEvidence) -> Reading| {
        metrics.add(definition, trials.phase_readings(phase, read));
    };
    add(&c::RESIDENT_BEFORE, &|spent, case| {
        cached(spent, case, spent.phase.resident_before.as_ref())
    });
    add(&c::RESIDENT_AFTER, &|spent, case| {
        cached(spent, case, spent.phase.resident_after.as_ref())
    });
    add(&c::DATA_TO_RAM_ASKED, &|_, case| match case.case.ram_limit_bytes {
        Some(limit) => quotient(case.case.user_bytes() as f64, limit as f64, "a limit of zero"),
        None => Err("no RAM limit was asked for".into()),
    });
    let peak = trials.case_readings(phase, |record| {
        let server = record.phases.iter().filter_map(|phase| phase.after.server.as_ref());
        let server = server.map(|usage| usage.rss_peak_bytes).max();
        let process = record.process.as_ref().filter(|_| record.server.is_none());
        let peak = server.or_else(|| process.map(|process| process.rss_peak_bytes));
        peak.map(|bytes| bytes as f64)
            .ok_or_else(|| "the process's counters could not be read".into())
    });
    metrics.add(&c::RSS_PEAK, peak);
}

/// Keys and values of the records that were there when a phase was over.
fn live_bytes(spent: Spent<'_>, case: &CaseEvidence) -> Reading {
    const UNKNOWN: &str = "a trace, a graph or a crew changed the number of records";
    let records = spent.phase.live_records.ok_or(UNKNOWN)?;
    Ok(case.case.bytes_for_records(records))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::group::Group;
    use crate::fixture::Fixture;
    use kvdyno_record::workload::Packing;

    #[test]
    fn a_packed_load_is_counted_by_its_records() {
        let figures = |packed: Option<u32>| {
            let mut fixture = Fixture::with_trials(1);
            for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "lmdb") {
                let records = |each| case.data.records * u64::from(each) - 3;
                case.data.packed = packed.map(|each| Packing { records: records(each), each });
            }
            let summary = fixture.summary();
            let load = summary.groups.iter().find_map(|group| group.load.as_ref()).unwrap();
            let figures = [&c::RECORDS_PER_S, &c::FS_OUTPUTS_PER_RECORD, &c::DEVICE_IOS_PER_RECORD];
            figures.map(|figure| load.metrics.value(figure).unwrap())
        };
        let (single, packed) = (figures(None), figures(Some(64)));
        for (at, times) in [(0, 64.0), (1, 1.0 / 64.0), (2, 1.0 / 64.0)] {
            assert!((packed[at] / single[at] / times - 1.0).abs() < 1e-6, "{single:?} {packed:?}");
        }
    }

    /// Compactions after the window are work of its operations.
    #[test]
    fn cpu_time_of_the_work_left_behind_belongs_to_the_operations() {
        let cpu = |more_ns: u64| {
            let mut fixture = Fixture::with_trials(1);
            let settle = fixture.case("lmdb_t1_r1").phase("measure-settle");
            let synced = settle.synced.as_mut().map(|(snapshot, _)| snapshot);
            for snapshot in [&mut settle.after].into_iter().chain(synced) {
                snapshot.process.as_mut().unwrap().user_ns += more_ns;
            }
            let summary = fixture.summary();
            let is_it = |group: &&Group| group.engine == "lmdb" && group.threads == Some(1);
            let group = summary.groups.iter().find(is_it).unwrap();
            assert_eq!(group.runs[0].settle.as_deref(), Some("measure-settle"));
            group.runs[0].metrics.value(&c::CPU_PER_OP).unwrap()
        };
        let (little, much) = (cpu(0), cpu(10_000_000_000));
        assert!(much > little, "{little} {much}");
    }

    /// Regression test for fault 10: the space was divided by the bytes that the plan loads.
    #[test]
    fn space_amplification_is_over_what_is_alive() {
        let space = |live_records: Option<u64>| {
            let mut fixture = Fixture::with_trials(1);
            fixture.case("lmdb_t1_r1").phase("measure-settle").live_records = live_records;
            let summary = fixture.summary();
            let group =
                |group: &&crate::figures::Group| group.threads == Some(1) && group.engine == "lmdb";
            let group = summary.groups.iter().find(group).unwrap();
            let metrics = &group.runs[0].metrics;
            [&c::SPACE_AMPLIFICATION, &c::LIVE_BYTES].map(|figure| metrics.value(figure))
        };
        let [Some(whole), Some(bytes)] = space(Some(1_000_000)) else { panic!("all are there") };
        assert!((bytes - 116e6).abs() < 1.0, "{bytes}");
        let [Some(half), _] = space(Some(500_000)) else { panic!("half is there") };
        assert!((half / whole - 2.0).abs() < 1e-9, "{whole} {half}");
        assert_eq!(space(None), [None, None], "a trace was replayed");
    }
}
