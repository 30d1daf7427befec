//! Writes every request as a line of `blockio.csv`, in its own thread.

use super::maps::{Event, LOG_BYTES, decode_cell};
use super::ring::Ring;
use super::system::Map;
use kvdyno_record::blockio::WatchedDevice;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// The interval between two reads of the ring.
const LOOK_EVERY: Duration = Duration::from_millis(10);

const HEADER: [&str; 10] = [
    "issued_unix_ns",
    "process",
    "name",
    "owner",
    "device",
    "kind",
    "fua",
    "sector",
    "bytes",
    "latency_ns",
];

/// A log that is being written, until it is dropped.
#[derive(Debug)]
pub(super) struct Log {
    /// The writer ends when this is dropped.
    stop: Sender<()>,
    writer: JoinHandle<io::Result<u64>>,
}

impl Log {
    pub(super) fn start(map: &Map, path: &Path, devices: Vec<WatchedDevice>) -> io::Result<Self> {
        let mut ring = Ring::map(map, LOG_BYTES)?;
        let mut lines = LineWriter::begin(File::create_new(path)?, devices)?;
        let (stop, ends) = mpsc::channel();
        let writer = std::thread::spawn(move || {
            // Events from before the end are still in the ring when the end is seen.
            loop {
                let last = ends.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Disconnected);
                ring.drain(|event| lines.write(event));
                if last {
                    return lines.end();
                }
            }
        });
        Ok(Self { stop, writer })
    }

    /// Writes the rest, and returns the number of lines.
    pub(super) fn end(self) -> io::Result<u64> {
        let Self { stop, writer } = self;
        drop(stop);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer died")))
    }
}

/// The file, and the state for writing a line.
struct LineWriter {
    file: csv::Writer<BufWriter<File>>,
    devices: Vec<WatchedDevice>,
    /// How far the system's clock is ahead of the monotonic one, in ns.
    unix_ahead_ns: i64,
    count: u64,
    error: Option<csv::Error>,
}

impl LineWriter {
    fn begin(file: File, devices: Vec<WatchedDevice>) -> io::Result<Self> {
        let mut file = csv::Writer::from_writer(BufWriter::with_capacity(1 << 20, file));
        file.write_record(HEADER)?;
        let unix_ahead_ns = now_ns(ClockId::Realtime) - now_ns(ClockId::Monotonic);
        Ok(Self { file, devices, unix_ahead_ns, count: 0, error: None })
    }

    /// Writes an event as a line. After an error it writes nothing more, and `end` returns it.
    fn write(&mut self, event: &Event) {
        if self.error.is_none() {
            match self.line(event) {
                Ok(()) => self.count += 1,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn line(&mut self, event: &Event) -> csv::Result<()> {
        let name = event.name.split(|byte| *byte == 0).next().unwrap_or_default();
        let (device, kind, owner) = decode_cell(event.cell);
        let issued_ns = event.completed_ns.saturating_sub(event.latency_ns);
        let device = self.devices.get(device as usize).map_or("", |device| &device.name);
        self.file.write_record([
            issued_ns.saturating_add_signed(self.unix_ahead_ns).to_string().as_str(),
            &event.process.to_string(),
            // A request is one line of the log: a name must not break it.
            &String::from_utf8_lossy(name).replace(char::is_control, "?"),
            owner.as_str(),
            device,
            kind.as_str(),
            &event.fua.to_string(),
            &event.sector.to_string(),
            &event.bytes.to_string(),
            &event.latency_ns.to_string(),
        ])
    }

    fn end(mut self) -> io::Result<u64> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        self.file.flush()?;
        Ok(self.count)
    }
}

fn now_ns(clock: ClockId) -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec * 1_000_000_000 + tv_nsec
}
