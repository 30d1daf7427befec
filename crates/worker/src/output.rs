//! The output of a worker: event lines to the program, bulk files in the case's directory.

use crate::clock::unix_ns;
use kvdyno_engine::{EngineEvent, Error, ErrorClass, Result};
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog;
use kvdyno_record::protocol::Event;
use kvdyno_record::series::Slice;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// The file that the program reads; none: standard output.
static PROGRAM: Mutex<Option<File>> = Mutex::new(None);

/// Reserves standard output for the worker's own lines. From now on, whatever an engine's code
/// prints there goes to standard error.
pub(crate) fn reserve_stdout() -> io::Result<()> {
    let stdout = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) = Some(stdout.into());
    Ok(())
}

/// Writes to the program at once.
pub(crate) fn write(bytes: &[u8]) -> io::Result<()> {
    match &mut *PROGRAM.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(reserved) => reserved.write_all(bytes),
        None => io::stdout().write_all(bytes),
    }
}

/// Sends one event line to the program.
pub(crate) fn send(event: &Event) -> Result<()> {
    let line = event.to_line().map_err(|error| other_error(&error))?;
    write(&line)?;
    Ok(())
}

/// The case's bulk files.
pub(crate) struct Files {
    series: File,
    events: File,
    latency: hlog::Writer,
    base_unix_ns: u64,
}

impl Files {
    /// Creates the files in the case's directory, where none of them may exist yet.
    pub(crate) fn create(dir: &Path) -> Result<Self> {
        let make = |name: &str| {
            let path = dir.join(name);
            File::create_new(&path)
                .map_err(|error| Error::from(error).context(&path.display().to_string()))
        };
        let base_unix_ns = unix_ns();
        let base = SystemTime::UNIX_EPOCH + Duration::from_nanos(base_unix_ns);
        Ok(Self {
            series: make("series.ndjson")?,
            events: make("events.ndjson")?,
            latency: hlog::Writer::create(&dir.join("latency.hlog"), base).map_err(record)?,
            base_unix_ns,
        })
    }

    /// Adds one slice: its counts, and the histograms behind them.
    pub(crate) fn slice<'h>(
        &mut self,
        phase_unix_ns: u64,
        slice: &Slice,
        histograms: impl IntoIterator<Item = (String, &'h hdrhistogram::Histogram<u64>)>,
    ) -> Result<()> {
        let start = (phase_unix_ns + slice.start_ns).saturating_sub(self.base_unix_ns);
        let length = Duration::from_nanos(slice.length_ns);
        self.latency.write(Duration::from_nanos(start), length, histograms).map_err(record)?;
        write_line(&mut self.series, slice)
    }

    /// Adds events of the engine.
    pub(crate) fn events(&mut self, events: &[EngineEvent]) -> Result<()> {
        events.iter().try_for_each(|event| write_line(&mut self.events, event))
    }
}

fn write_line(file: &mut File, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(value).map_err(|error| other_error(&error))?;
    line.push(b'\n');
    file.write_all(&line).map_err(|error| Error::from(error).context("writing the case's series"))
}

fn record(error: RecordError) -> Error {
    match error {
        RecordError::Io { path, source } => {
            Error::from(source).context(&path.display().to_string())
        }
        other => Error::new(ErrorClass::Other, other.to_string()),
    }
}

fn other_error(error: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorClass::Other, error.to_string())
}
