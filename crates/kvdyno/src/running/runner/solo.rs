//! A single worker without limit, volume or record; its phases start at once. It serves to measure
//! the overhead of the load generator, and for benchmarks.

use super::worker::{Worker, WorkerMessage};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{DataShape, Durability, Location, Options};
use kvdyno_record::protocol::{Control, Event, Job};
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{self, Data, Phase};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// The longest wait for a message: longer than any phase that runs this way.
const SILENCE: Duration = Duration::from_secs(120);

/// The settings of a worker.
pub struct Solo<'s> {
    /// The worker.
    pub worker: &'s WorkerIdentity,
    /// Options with other values than the defaults.
    pub options: Vec<(&'s str, kvdyno_record::engine::Value)>,
    /// The durability class.
    pub durability: Durability,
    /// The data set.
    pub data: Data,
    /// The phases.
    pub phases: Vec<Phase>,
    /// The location of the database; created by the caller.
    pub location: Location,
    /// The directory for the evidence; created by the caller.
    pub dir: &'s Path,
}

/// The result of a phase.
pub struct Outcome {
    /// The `Finished` event.
    pub finished: Event,
    /// The worker's own readings when it announced the phase.
    pub before: ProcessUsage,
}

impl Solo<'_> {
    /// Runs the worker to its end; returns the result of each phase.
    pub fn run(self) -> anyhow::Result<Vec<Outcome>> {
        let log = File::create(self.dir.join("log.txt"))?;
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
                WorkerMessage::Nonsense(line) => anyhow::bail!("{} sent {line:?}", self.name()),
                WorkerMessage::Silence => {
                    worker.kill();
                    anyhow::bail!("{} sent nothing for {} s", self.name(), SILENCE.as_secs());
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
            location: self.location.clone(),
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
            phases_before: Vec::new(),
            slice_ns: 1_000_000_000,
            errors_max: 0,
            dir: self.dir.to_owned(),
            trial: 1,
            crew: None,
            recordings: Vec::new(),
        }
    }
}

/// Operations per second of the first role of a phase, by its window; keys if one operation handles
/// several.
pub fn items_per_s(outcome: &Outcome) -> f64 {
    let Event::Finished { roles, .. } = &outcome.finished else { return 0.0 };
    let Some(role) = roles.first() else { return 0.0 };
    let items: u64 = role.ops.values().map(|op| op.items).sum();
    role.per_second(items).unwrap_or(0.0)
}
