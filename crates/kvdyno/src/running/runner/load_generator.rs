//! The overhead of the load generator on this machine: the null engine with one thread, as fast as
//! possible.

use super::solo::{Solo, items_per_s};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Location};
use kvdyno_record::workload::{
    Activity, Choice, Data, Ends, ExpectedHits, Key, KeyFormat, Mix, MixEntry, Op, Phase, Role,
    Size, ValueShape,
};
use std::path::Path;

/// The scheduler disturbs single samples: the median of several is stable.
const SAMPLES: usize = 5;
const SAMPLE_NS: u64 = 100_000_000;

/// Time per operation of the null engine in nanoseconds, as the median of samples. Creates `dir`
/// for the evidence.
pub fn load_generator_ns_per_op(null: &WorkerIdentity, dir: &Path) -> anyhow::Result<f64> {
    std::fs::create_dir_all(dir)?;
    let mix = random_reads(1, SAMPLE_NS);
    let mut phases = vec![Phase::new("warmup", Activity::Warmup(mix.clone()))];
    phases.extend(
        (1..=SAMPLES).map(|n| Phase::new(format!("measure_{n}"), Activity::Measure(mix.clone()))),
    );
    let solo = Solo {
        worker: null,
        options: Vec::new(),
        durability: Durability::None,
        data: small_records(1_000_000),
        phases,
        location: Location::Directory(dir.to_owned()),
        dir,
    };
    let outcomes = solo.run()?;
    let mut per_s: Vec<f64> = outcomes.iter().skip(1).map(items_per_s).collect();
    per_s.sort_by(f64::total_cmp);
    let median = per_s.get(SAMPLES / 2).copied().unwrap_or_default();
    anyhow::ensure!(median > 0.0, "the null engine completed no operation");
    Ok(1e9 / median)
}

/// A customary small record: 16-byte keys, 100-byte values that compress to half.
pub fn small_records(records: u64) -> Data {
    Data {
        records,
        key: Key::ordered(16, KeyFormat::Hex),
        value: ValueShape { size: Size::Fixed { bytes: 100 }, compress_to: 0.5 },
        seed: 1,
        verify: false,
        graph: None,
        from: None,
        packed: None,
    }
}

/// Uniform random reads by one role.
pub fn random_reads(threads: u32, duration_ns: u64) -> Mix {
    let get = MixEntry::new(Op::Get, 1.0, Choice::Uniform);
    let role = Role {
        name: "readers".to_owned(),
        threads,
        mix: vec![get],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::All,
        replay: None,
    };
    Mix { roles: vec![role], ends: Ends::after_ns(duration_ns) }
}
