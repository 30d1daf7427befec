//! Records block I/O around the phases of a case, if the run requests it: readings on the case's
//! time line, and sums of each phase. A failure is recorded, and does not affect the case.

use super::environment::CaseEnvironment;
use super::readings::append;
use kvdyno_blockio::BlockWatch;
use kvdyno_host::{Unavailable, meter, process};
use kvdyno_record::blockio::{BlockIo, BlockIoFile, BlockIoReading, PhaseBlockIo, Watch};
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::files::write_json;
use kvdyno_record::usage::DeviceUsage;
use std::fs::File;
use std::io;
use std::path::Path;

/// Up to this many requests may fall between two readings.
const REQUESTS_MISSED: u64 = 100;

/// The recording of one case.
#[derive(Default)]
pub(super) struct BlockIoOfCase {
    /// The watch, until the case ends; `None`: block I/O is not recorded.
    watch: Option<BlockWatch>,
    lines: Option<File>,
    /// The counters before the phase; `None`: they could not be read.
    before: Option<BlockIo>,
    file: BlockIoFile,
    /// Why counters could not be read, the first time.
    failure: Option<String>,
}

impl BlockIoOfCase {
    /// Starts the recording, and adds obstacles to `not_measured`.
    pub(super) fn start(environment: &CaseEnvironment<'_>, not_measured: &mut Vec<String>) -> Self {
        let mut recording = Self::default();
        let watch = match environment.run.block_io {
            Watch::Off if environment.case.io_latency => Watch::Latency,
            watch => watch,
        };
        if watch == Watch::Off {
            return recording;
        }
        match open(environment, watch == Watch::Log) {
            Ok((watch, lines)) => {
                recording.file.devices = watch.devices().to_vec();
                (recording.watch, recording.lines) = (Some(watch), Some(lines));
            }
            Err(why) => not_measured.push(format!("block I/O latency: {why}")),
        }
        recording
    }

    /// Adds processes and their children to those of the case.
    pub(super) fn add_processes(&mut self, environment: &CaseEnvironment<'_>, pids: &[u32]) {
        if let Some(watch) = &mut self.watch {
            for pid in pids {
                watch.add_ours(&process::with_descendants(&environment.run.root, *pid));
            }
        }
    }

    /// Reads the counters before a phase.
    pub(super) fn begin_phase(&mut self) {
        self.before = self.read();
    }

    /// Writes one line of `blockio.ndjson`.
    pub(super) fn write_line(&mut self, phase: &str) {
        let Some(io) = self.read() else { return };
        let Some(lines) = &self.lines else { return };
        let reading = BlockIoReading { phase: phase.to_owned(), at_unix_ns: meter::unix_ns(), io };
        append(lines, &reading);
    }

    /// Adds the sums of a phase that has ended.
    pub(super) fn end_phase(&mut self, phase: &str) {
        self.write_line(phase);
        if let (Some(before), Some(after)) = (self.before.take(), self.read()) {
            let io = after.since(&before);
            self.file.phases.push(PhaseBlockIo { phase: phase.to_owned(), io });
        }
    }

    /// Reports that the device counted requests of a phase but none was recorded: it passes them to
    /// devices that are not known to be below it (multipath).
    pub(super) fn missed_requests(&self, phase: &PhaseRecord) -> Option<String> {
        let count =
            |usage: &Option<DeviceUsage>| Some(usage.as_ref()?.reads + usage.as_ref()?.writes);
        let counted = count(&phase.after.device)?.checked_sub(count(&phase.before.device)?)?;
        let recorded = self.file.phases.last().filter(|recorded| recorded.phase == phase.name)?;
        let is_missing = recorded.io.cells.is_empty() && counted > REQUESTS_MISSED;
        is_missing.then(|| {
            let phase = &phase.name;
            format!(
                "block I/O latency: the device counted {counted} requests in {phase}, but none was \
                 recorded"
            )
        })
    }

    /// Ends the recording and stores the results.
    pub(super) fn end(&mut self, dir: &Path, not_measured: &mut Vec<String>) {
        let Some(watch) = self.watch.take() else { return };
        let filed = watch.end().and_then(|logged| {
            self.file.logged = logged;
            write_json(&dir.join("blockio.json"), &self.file).map_err(io::Error::other)
        });
        let failure = filed.err().map(|error| error.to_string()).or_else(|| self.failure.take());
        not_measured.extend(failure.map(|why| format!("block I/O latency: {why}")));
    }

    fn read(&mut self) -> Option<BlockIo> {
        match self.watch.as_ref()?.read() {
            Ok(io) => Some(io),
            Err(error) => {
                self.failure.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }
}

fn open(environment: &CaseEnvironment<'_>, log: bool) -> Result<(BlockWatch, File), Unavailable> {
    let device = environment.site.device.as_ref().ok_or_else(|| {
        Unavailable::new(
            "the volume has no device",
            "use a data directory on a device of this machine",
        )
    })?;
    let dir = &environment.dir.path;
    let log = log.then(|| dir.join("blockio.csv"));
    let watch = BlockWatch::start(&environment.run.root, device, log.as_deref())?;
    let lines = File::create_new(dir.join("blockio.ndjson")).map_err(|error| {
        Unavailable::new(format!("blockio.ndjson: {error}"), "see the directory")
    })?;
    Ok((watch, lines))
}
