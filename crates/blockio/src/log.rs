//! Every request as a line of `blockio.csv`, written by a thread of its own as they come.

use super::maps::{Event, LOG_BYTES, of_cell};
use super::system::{Map, Ring};
use kvdyno_record::blockio::WatchedDevice;
use rustix::time::{ClockId, Timespec, clock_gettime};
use std::fs::File;
use std::io::{self, BufWriter};
use std::mem::offset_of;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the ring.
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

/// A log that is being written.
#[derive(Debug)]
pub(super) struct Log {
    over: Arc<AtomicBool>,
    writer: Option<JoinHandle<io::Result<u64>>>,
}

impl Log {
    pub(super) fn start(map: &Map, path: &Path, devices: Vec<WatchedDevice>) -> io::Result<Self> {
        let mut ring = Ring::map(map, LOG_BYTES)?;
        let mut lines = Lines::begin(File::create_new(path)?, devices)?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let writer = std::thread::spawn(move || {
            // What came before the end is still in the ring when the end is seen.
            loop {
                let last = ends.load(Ordering::Acquire);
                ring.drain(|event| lines.write(event));
                if last {
                    return lines.end();
                }
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Ok(Self { over, writer: Some(writer) })
    }

    /// Writes what is left, and says how many lines there are.
    pub(super) fn end(mut self) -> io::Result<u64> {
        self.over.store(true, Ordering::Release);
        let writer = self.writer.take().map(JoinHandle::join);
        writer.and_then(Result::ok).unwrap_or_else(|| Err(io::Error::other("the writer died")))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// The file, and what is needed to write a line.
struct Lines {
    file: csv::Writer<BufWriter<File>>,
    devices: Vec<WatchedDevice>,
    /// What the system's clock is ahead of the monotonic one.
    unix_ahead_ns: i64,
    count: u64,
    error: Option<csv::Error>,
}

impl Lines {
    fn begin(file: File, devices: Vec<WatchedDevice>) -> io::Result<Self> {
        let mut file = csv::Writer::from_writer(BufWriter::with_capacity(1 << 20, file));
        file.write_record(HEADER)?;
        let unix_ahead_ns = now(ClockId::Realtime) - now(ClockId::Monotonic);
        Ok(Self { file, devices, unix_ahead_ns, count: 0, error: None })
    }

    /// After an error nothing more is written; the end tells of it.
    fn write(&mut self, event: &[u8]) {
        if self.error.is_none() {
            match self.line(event) {
                Ok(()) => self.count += 1,
                Err(error) => self.error = Some(error),
            }
        }
    }

    fn line(&mut self, event: &[u8]) -> csv::Result<()> {
        let eight = |at: usize| word::<8>(event, at).map_or(0, u64::from_ne_bytes);
        let four = |at: usize| word::<4>(event, at).map_or(0, u32::from_ne_bytes);
        let name = word::<16>(event, offset_of!(Event, name)).unwrap_or_default();
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let (device, kind, owner) = of_cell(four(offset_of!(Event, cell)));
        let latency_ns = eight(offset_of!(Event, latency_ns));
        let issued_ns = eight(offset_of!(Event, completed_ns)).saturating_sub(latency_ns);
        let device = self.devices.get(device as usize).map_or("", |device| &device.name);
        self.file.write_record([
            issued_ns.saturating_add_signed(self.unix_ahead_ns).to_string().as_str(),
            &four(offset_of!(Event, process)).to_string(),
            &String::from_utf8_lossy(name),
            owner.word(),
            device,
            kind.word(),
            &four(offset_of!(Event, fua)).to_string(),
            &eight(offset_of!(Event, sector)).to_string(),
            &four(offset_of!(Event, bytes)).to_string(),
            &latency_ns.to_string(),
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

fn word<const N: usize>(event: &[u8], at: usize) -> Option<[u8; N]> {
    event.get(at..at + N)?.try_into().ok()
}

fn now(clock: ClockId) -> i64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec * 1_000_000_000 + tv_nsec
}
