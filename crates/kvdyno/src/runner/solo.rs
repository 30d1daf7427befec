//! A worker run by itself: no limit, no volume, no record; its phases let go at once. For the
//! overhead of the load generator, and for benchmarks.

use super::worker::{Worker, WorkerMessage};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{DataShape, Durability, Location, Options};
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{self, Data, Phase};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Longer than any phase that is run this way.
const SILENCE: Duration = Duration::from_secs(120);

/// What to run.
pub struct Solo<'s> {
    /// By whom.
    pub worker: &'s WorkerIdentity,
    /// Options that differ from the defaults.
    pub options: Vec<(&'s str, kvdyno_record::engine::Value)>,
    /// The durability class.
    pub durability: Durability,
    /// The data set.
    pub data: Data,
    /// What to do.
    pub phases: Vec<Phase>,
    /// Where the database lies; made by the caller.
    pub place: Location,
    /// Made by the caller; the evidence is put into it.
    pub folder: &'s Path,
}

/// What a phase came to.
pub struct Outcome {
    /// The `Finished` event.
    pub finished: Event,
    /// The worker's readings of itself when the phase was announced.
    pub before: ProcessUsage,
}

impl Solo<'_> {
    /// Runs it to its end: an outcome for each phase.
    pub fn run(self) -> anyhow::Result<Vec<Outcome>> {
        let log = File::create(self.folder.join("log.txt"))?;
        let mut worker = Worker::start(self.worker, "run", None, log)?;
        worker.send(&self.job())?;
        let (mut outcomes, mut before) = (Vec::new(), ProcessUsage::default());
        loop {
            match worker.receive(SILENCE) {
                WorkerMessage::Event(event) => match *event {
                    Event::Ready { usage, .. } => {
                        before = usage;
                        worker.control(Control::Go);
                    }
                    Event::Closed { .. } => worker.control(Control::Go),
                    finished @ Event::Finished { .. } => {
                        worker.control(Control::Go);
                        outcomes.push(Outcome { finished, before: before.clone() });
                    }
                    Event::Failed { message, .. } => anyhow::bail!("{}: {message}", self.name()),
                    _ => {}
                },
                WorkerMessage::End => break worker.close_input(),
                WorkerMessage::Nonsense(line) => anyhow::bail!("{} said {line:?}", self.name()),
                WorkerMessage::Silence => {
                    worker.kill();
                    anyhow::bail!("{} was silent for {} s", self.name(), SILENCE.as_secs());
                }
            }
        }
        worker.wait()?;
        anyhow::ensure!(outcomes.len() == self.phases.len(), "{} ended early", self.name());
        Ok(outcomes)
    }

    fn name(&self) -> &str {
        &self.worker.description.engine.name
    }

    fn job(&self) -> Job {
        let description = &self.worker.description.engine;
        let mut options = Options::defaults(description, self.durability);
        for (name, value) in &self.options {
            options.values.insert((*name).to_owned(), value.clone());
        }
        let size = &self.data.value.size;
        Job {
            protocol: kvdyno_record::PROTOCOL,
            case: "solo".to_owned(),
            place: self.place.clone(),
            options,
            shape: DataShape {
                records: self.data.records,
                records_max: self.data.records,
                key_bytes: self.data.key.bytes,
                value_bytes_mean: size.mean().round() as u64,
                value_bytes_max: size.max(),
                sessions: 8,
                depth: workload::depth(&self.phases),
                requests: None,
            },
            data: self.data.clone(),
            phases: self.phases.clone(),
            slice_ns: 1_000_000_000,
            errors_max: 0,
            folder: self.folder.to_owned(),
            trial: 1,
            crew: None,
            recordings: Vec::new(),
        }
    }
}

/// Operations per second of the first role of a phase, by its window; keys where one operation
/// deals with several.
pub fn items_per_s(outcome: &Outcome) -> f64 {
    let Event::Finished { roles, .. } = &outcome.finished else { return 0.0 };
    let Some(role) = roles.first() else { return 0.0 };
    let items: u64 = role.ops.values().map(|op| op.items).sum();
    role.per_second(items).unwrap_or(0.0)
}
