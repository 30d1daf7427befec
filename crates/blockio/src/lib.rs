//! Block I/O as the kernel sees it: each request to the device below a volume, by kind and by
//! requesting process, with the device's time for it.
//!
//! Small programs run in the kernel when a request enters a queue, is merged there, is issued to
//! the driver and is completed, and count there. They are assembled here for the running kernel,
//! loaded and read. All of it ends with this process. A latency does not include the wait in the
//! scheduler's queue, which is the kernel's and not the device's. The reasons and the costs:
//! docs/decisions/0008-block-io-from-the-kernel.md.

mod assembler;
mod btf;
mod layout;
mod loader;
mod log;
mod maps;
mod program;
mod reading;
mod ring;
mod system;
#[cfg(test)]
mod tests;
mod watched;

use kvdyno_host::device::Device;
use kvdyno_host::{Root, Unavailable};
use kvdyno_record::blockio::{BlockIo, WatchedDevice};
use kvdyno_record::host::Availability;
use layout::Moment;
use loader::Loaded;
use log::Log;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use system::Statistics;
use watched::Watched;

/// A watch on block I/O; dropping it ends the watch.
#[derive(Debug)]
pub struct BlockWatch {
    loaded: Loaded,
    devices: Vec<WatchedDevice>,
    ours: BTreeSet<u32>,
    log: Option<Log>,
}

impl BlockWatch {
    /// Begins to watch a device, or the devices it is made of. `log` is the file that every request
    /// is written to, if any.
    pub fn start(root: &Root, device: &Device, log: Option<&Path>) -> Result<Self, Unavailable> {
        let remedy = "use a volume on a device of this machine";
        let device_parts =
            watched::find(root, device).map_err(|why| Unavailable::new(why, remedy))?;
        let mut loaded = loader::load(root, &device_parts, log.is_some())?;
        let devices: Vec<WatchedDevice> = device_parts
            .into_iter()
            .map(|Watched { name, disk, .. }| WatchedDevice { name, disk })
            .collect();
        let path = log.filter(|_| loaded.maps.log.is_some());
        let log = log.zip(loaded.maps.log.as_ref()).map(|(path, map)| {
            Log::start(map, path, devices.clone()).map_err(|error| {
                Unavailable::new(format!("{}: {error}", path.display()), "run without the log")
            })
        });
        let log = log.transpose()?;
        if let Err(why) = loader::attach(&mut loaded) {
            // An empty file would look like a log without requests.
            let _ = path.map(std::fs::remove_file);
            return Err(why);
        }
        let mut watch = Self { loaded, devices, ours: BTreeSet::new(), log };
        watch.add_ours(&[std::process::id()]);
        Ok(watch)
    }

    /// The devices, as cells number them.
    pub fn devices(&self) -> &[WatchedDevice] {
        &self.devices
    }

    /// Adds processes that count as ours. Their earlier requests count as others'.
    pub fn add_ours(&mut self, processes: &[u32]) {
        for process in processes {
            if self.ours.insert(*process) {
                // The table has room for a thousand; processes beyond that count as foreign.
                let _ = self.loaded.maps.ours.update(&process.to_ne_bytes(), 1);
            }
        }
    }

    /// Reads everything counted so far.
    pub fn read(&self) -> io::Result<BlockIo> {
        reading::read(&self.loaded.maps, &self.loaded.programs, self.devices.len() as u32)
    }

    /// Returns each program's tracepoint, its time in ns, and how often it ran. The kernel counts
    /// both while `kernel.bpf_stats_enabled` is set, which costs more than the programs do.
    pub fn run_times(&self) -> io::Result<Vec<(&'static str, u64, u64)>> {
        let programs = Moment::ALL.iter().zip(&self.loaded.programs);
        let times = programs.map(|(moment, program)| {
            let Statistics { run_ns, runs, .. } = program.statistics()?;
            Ok((moment.tracepoint(), run_ns, runs))
        });
        times.collect()
    }

    /// Ends the watch and the log. Returns the number of lines in the log; `None`: there is none.
    pub fn end(self) -> io::Result<Option<u64>> {
        let Self { loaded, log, .. } = self;
        drop(loaded.programs);
        log.map(Log::end).transpose()
    }
}

/// Returns whether block I/O can be watched here, found out once by loading the programs.
pub fn availability(root: &Root) -> Availability {
    static HERE: OnceLock<Availability> = OnceLock::new();
    let find_out = || {
        let nowhere =
            Watched { name: String::new(), disk: String::new(), number: (0, 0), sectors: None };
        match loader::load(root, &[nowhere], false) {
            Ok(_) => Availability { available: true, detail: "available".to_owned() },
            Err(unavailable) => unavailable.into(),
        }
    };
    if root.is_system() { HERE.get_or_init(find_out).clone() } else { find_out() }
}
