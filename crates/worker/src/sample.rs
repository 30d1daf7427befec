//! The command `sample`: describes the contents of a database that kvdyno did not load, by a walk
//! over all of its records.

use crate::rng::Rng;
use kvdyno_engine::{DataShape, Direction, Engine, Error, Range, Result, Session};
use kvdyno_record::origin::{Sample, SampleJob, write_key};
use kvdyno_record::workload::Size;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::process::ExitCode;

/// The longest length that is counted exactly. Longer ones are rounded up in steps of at least a
/// 64th of their length: a list of all lengths would be longer than the sample.
const EXACT_BYTES: u64 = 4096;

/// Reads a job, and prints what the database holds.
pub(crate) fn run<E: Engine>(input: &mut impl BufRead) -> Result<ExitCode> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    let job = SampleJob::from_json(&line).map_err(|error| super::json_error(&error))?;
    let sample = sample::<E>(&job)?;
    let line = sample.to_line().map_err(|error| super::json_error(&error))?;
    crate::output::write(&line)?;
    Ok(ExitCode::SUCCESS)
}

fn sample<E: Engine>(job: &SampleJob) -> Result<Sample> {
    // The size of the files says how much room the data needs.
    let shape = DataShape::uniform(job.file_bytes.div_ceil(100), 100, 0);
    let engine = E::open(&job.location, &job.options, &shape)?;
    let mut contents = Contents::new(job.keys_max);
    {
        let mut session = engine.session()?;
        session.scan(Range::all(Direction::Forward), |key, value| {
            contents.add(key, value);
            ControlFlow::Continue(())
        })?;
    }
    engine.close()?;
    contents.end(job)
}

/// The contents of a database, as far as the walk has come.
struct Contents {
    records: u64,
    key_bytes: BTreeMap<u64, u64>,
    value_bytes: BTreeMap<u64, u64>,
    keys_max: usize,
    /// The sampled keys. Each record is among them with the same chance (Vitter, Random sampling
    /// with a reservoir, 1985, algorithm R).
    keys: Vec<Box<[u8]>>,
    rng: Rng,
}

impl Contents {
    fn new(keys_max: u64) -> Self {
        Self {
            records: 0,
            key_bytes: BTreeMap::new(),
            value_bytes: BTreeMap::new(),
            keys_max: keys_max.max(1) as usize,
            keys: Vec::new(),
            rng: Rng::new(&[keys_max]),
        }
    }

    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.records += 1;
        *self.key_bytes.entry(key.len() as u64).or_default() += 1;
        *self.value_bytes.entry(round_length(value.len() as u64)).or_default() += 1;
        if self.keys.len() < self.keys_max {
            self.keys.push(key.into());
            return;
        }
        let place = self.rng.below(self.records) as usize;
        if let Some(other) = self.keys.get_mut(place) {
            *other = key.into();
        }
    }

    fn end(mut self, job: &SampleJob) -> Result<Sample> {
        if self.records == 0 {
            return Err(Error::invalid("expected records, found an empty database"));
        }
        // In the order of the walk, neighbours would be requested one after the other.
        for last in (1..self.keys.len()).rev() {
            let place = self.rng.below(last as u64 + 1) as usize;
            self.keys.swap(last, place);
        }
        let mut file = BufWriter::new(File::create_new(&job.keys)?);
        for key in &self.keys {
            write_key(&mut file, key)?;
        }
        file.flush()?;
        let size = |lengths: &BTreeMap<u64, u64>| {
            let weights: Vec<(u64, f64)> =
                lengths.iter().map(|(length, count)| (*length, *count as f64)).collect();
            Size::empirical(&weights)
        };
        Ok(Sample {
            records: self.records,
            keys: self.keys.len() as u64,
            key_bytes: size(&self.key_bytes),
            value_bytes: size(&self.value_bytes),
        })
    }
}

fn round_length(length: u64) -> u64 {
    if length <= EXACT_BYTES {
        return length;
    }
    let step = length.next_power_of_two() / 64;
    length.div_ceil(step) * step
}
