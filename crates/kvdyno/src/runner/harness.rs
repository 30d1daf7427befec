//! What the harness itself costs on this machine: the null engine, one thread, as fast as it goes.

use super::solo::{Solo, items_per_s};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::Durability;
use kvdyno_record::workload::{
    Choice, Data, Drive, Ends, Key, KeyFormat, MixEntry, Op, Phase, Role, Size, ValueShape, Work,
};
use std::path::Path;

const DURATION_NS: u64 = 300_000_000;

/// Time per operation of the null engine, in nanoseconds. `folder` is made and keeps the evidence.
pub fn harness_ns_per_op(null: &WorkerIdentity, folder: &Path) -> anyhow::Result<f64> {
    std::fs::create_dir_all(folder)?;
    let phase = |name: &str, work| Phase { name: name.to_owned(), work };
    let drive = random_reads(1, DURATION_NS);
    let solo = Solo {
        worker: null,
        options: Vec::new(),
        durability: Durability::None,
        data: small_records(1_000_000),
        phases: vec![
            phase("warmup", Work::Warmup(drive.clone())),
            phase("measure", Work::Measure(drive)),
        ],
        folder,
    };
    let outcomes = solo.run()?;
    let last = outcomes.last().ok_or_else(|| anyhow::anyhow!("no phase was run"))?;
    Ok(1e9 / items_per_s(last))
}

/// The customary small record: 16-byte keys, 100-byte values that compress to half.
pub fn small_records(records: u64) -> Data {
    Data {
        records,
        key: Key { bytes: 16, format: KeyFormat::Hex },
        value: ValueShape { size: Size::Fixed { bytes: 100 }, compress_to: 0.5 },
        seed: 1,
        verify: false,
    }
}

/// Uniform random reads by one role.
pub fn random_reads(threads: u32, duration_ns: u64) -> Drive {
    let get = MixEntry { op: Op::Get, weight: 1.0, keys: Choice::Uniform };
    let role = Role { name: "readers".to_owned(), threads, mix: vec![get], rate: None };
    Drive { roles: vec![role], ends: Ends { duration_ns: Some(duration_ns), operations: None } }
}
