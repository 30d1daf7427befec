//! Swap for one case: on an image of ours, on a device that the user gave to the run, or in zram.
//!
//! Swap survives the process that enabled it, so a process that survives this one creates it
//! ([`reaper`](super::reaper)). Each area's label names its owner, and
//! [`leftovers`](super::leftovers) removes areas whose reaper was killed too. A case's
//! [`Group`](super::Group) limits how much of it the case may use, and how readily.

mod area;
mod system;
#[cfg(test)]
mod tests;
mod zram;

use super::fresh::{describe_storage, image, loops};
use super::group::availability;
use super::owner::Owner;
use super::patience::retry;
use super::storage::FilesystemClass;
use super::unavailable::Unavailable;
use super::{Root, Storage, mount, raw};
use kvdyno_record::tier::{Memory, SwapRecord};
use kvdyno_record::volume::ImageRecord;
use loops::LoopDevice;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zram::Zram;

/// The time that the machine has to make room for what comes back out of swap.
const PATIENCE: Duration = Duration::from_secs(60);

/// The time to wait for the memory of a dead process to be released.
const LETTING_GO: Duration = Duration::from_secs(5);

const PAUSE: Duration = Duration::from_millis(20);

/// Swap that is to be made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SwapSpec {
    /// Its backing.
    pub memory: Memory,
    /// The directory for an image of ours.
    pub dir: PathBuf,
    /// The process that it is made for.
    pub owner: u32,
}

/// Active swap. Dropping it switches it off and removes its backing.
#[derive(Debug)]
pub struct Swap {
    backing: Backing,
    record: SwapRecord,
    is_on: bool,
}

/// The device that swap lies on.
#[derive(Debug)]
enum Backing {
    Loop(LoopDevice),
    Given(PathBuf),
    Zram(Zram),
}

/// Checks that this user could have such swap on this machine. Changes nothing.
pub fn check(root: &Root, memory: &Memory) -> Result<(), Unavailable> {
    if memory.swap().is_none() {
        return Ok(());
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Unavailable::new("switching swap on needs root", "run as root"));
    }
    if !root.path("/proc/swaps").exists() {
        let reason = "this kernel has no swap: there is no /proc/swaps";
        return Err(Unavailable::new(reason, "use a kernel with CONFIG_SWAP"));
    }
    let group = availability(root);
    if !group.available {
        let reason = format!("without a RAM limit nothing would be swapped: {}", group.detail);
        return Err(Unavailable::new(reason, "see `kvdyno doctor`"));
    }
    match memory {
        Memory::Zram { .. } => zram::check(root),
        Memory::Swap { path: None, .. } => loops::check(root),
        Memory::Swap { path: Some(path), bytes, .. } => check_device(root, path, *bytes),
        Memory::Dram | Memory::Node { .. } => Ok(()),
    }
}

/// Checks that a device is large enough. Whether it may be overwritten is checked when it is
/// claimed ([`raw::Raw::acquire`]).
fn check_device(root: &Root, path: &Path, bytes: u64) -> Result<(), Unavailable> {
    let name = path.display();
    if !raw::is_device(path) {
        let reason = format!("{name} is not a block device");
        return Err(Unavailable::new(reason, "remove `path` for an image in the run's directory"));
    }
    match raw::bytes(root, path) {
        has if has < bytes => {
            let reason = format!("{name}: expected {bytes} bytes, found {has}");
            Err(Unavailable::new(reason, "ask for less"))
        }
        _ => Ok(()),
    }
}

/// Fails if an image for such swap could not be in a directory, which need not exist yet: it must
/// be on a local device. Swapping to memory needs memory, and a program or machine that serves a
/// file may have to wait for memory itself: the whole machine would hang.
pub fn check_dir(root: &Root, memory: &Memory, dir: &Path) -> Result<(), Unavailable> {
    let volume = Storage::from_path(root, dir).ok().filter(|_| memory.image_bytes() > 0);
    match volume.filter(|volume| {
        !matches!(volume.class(), FilesystemClass::Device | FilesystemClass::Layers)
    }) {
        Some(volume) => {
            let (kind, dir) = (volume.kind(), dir.display());
            let reason = format!("no swap on an image in {dir}, which is {kind}");
            let remedy = "name a directory on ext4, xfs or btrfs, or a device for the swap";
            Err(Unavailable::new(reason, remedy))
        }
        None => Ok(()),
    }
}

impl Swap {
    /// Makes swap and switches it on; it is used before all other swap of this machine.
    pub fn make(root: &Root, spec: &SwapSpec) -> io::Result<Option<Self>> {
        let (backing, bytes) = match &spec.memory {
            Memory::Dram | Memory::Node { .. } => return Ok(None),
            Memory::Zram { bytes, .. } => {
                let zram = Zram::add(*bytes).map_err(step_error("add a zram device"))?;
                (Backing::Zram(zram), *bytes)
            }
            Memory::Swap { path: Some(path), bytes, .. } => (Backing::Given(path.clone()), *bytes),
            Memory::Swap { path: None, bytes, .. } => {
                check_dir(root, &spec.memory, &spec.dir).map_err(io::Error::other)?;
                let setting = format!("set {bytes} bytes aside in {}", spec.dir.display());
                let image = image::make(&spec.dir, *bytes).map_err(step_error(&setting))?;
                let device =
                    LoopDevice::attach(&image).map_err(step_error("make a loop device"))?;
                (Backing::Loop(device), *bytes)
            }
        };
        let path = backing.path();
        let owner = Owner::read(root, spec.owner);
        let written =
            raw::open_to_write(&path).and_then(|device| area::make(&device, bytes, owner));
        written.map_err(step_error(&format!("make swap of {}", path.display())))?;
        let record = backing.record(root, bytes, &spec.dir)?;
        system::swap_on(&path).map_err(step_error(&format!("switch on {}", path.display())))?;
        Ok(Some(Self { backing, record, is_on: true }))
    }

    /// Returns the record of the active swap.
    pub fn record(&self) -> &SwapRecord {
        &self.record
    }

    /// Switches the swap off, removes its backing, and returns its record.
    pub fn remove(mut self) -> io::Result<SwapRecord> {
        if let Backing::Zram(zram) = &self.backing {
            self.record.memory_peak_bytes = zram.memory_peak_bytes();
        }
        let path = self.backing.path();
        self.is_on = false;
        switch_off(&path).map_err(step_error(&format!("switch off {}", path.display())))?;
        Ok(self.record.clone())
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if self.is_on {
            let _ = switch_off(&self.backing.path());
        }
    }
}

impl Backing {
    fn path(&self) -> PathBuf {
        match self {
            Self::Loop(device) => device.path(),
            Self::Given(path) => path.clone(),
            Self::Zram(zram) => zram.path(),
        }
    }

    fn record(&self, root: &Root, bytes: u64, dir: &Path) -> io::Result<SwapRecord> {
        let path = self.path();
        let base = SwapRecord { bytes, ..SwapRecord::default() };
        Ok(match self {
            Self::Loop(device) => {
                let (storage, direct_io) = (describe_storage(root, dir)?, device.direct_io);
                let image = Some(ImageRecord { bytes, direct_io, storage });
                SwapRecord { device: device.name(), image, ..base }
            }
            Self::Given(_) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                SwapRecord { device: name, ..base }
            }
            Self::Zram(zram) => {
                SwapRecord { device: zram.name(), compression: zram.compression(), ..base }
            }
        })
    }
}

/// Returns a function that adds the failed step to an error.
fn step_error(act: &str) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("failed to {act}: {error}"))
}

impl Drop for Backing {
    fn drop(&mut self) {
        if let Self::Given(path) = self {
            blank_if_ours(path, |_| true);
        }
    }
}

/// Blanks a device of these owners, so that the next run finds it empty, as we did. A device that
/// is still swapped to keeps its label; one that somebody else uses by now is not touched.
fn blank_if_ours(path: &Path, is_ours: impl Fn(Owner) -> bool) {
    if let Ok(device) = raw::open_to_write(path)
        && area::owner(&device).is_some_and(is_ours)
    {
        let _ = area::blank(&device);
    }
}

/// Switches an area off: at once if nothing is in it; else its pages are read back, as far as there
/// is room.
fn switch_off(area: &Path) -> io::Result<()> {
    let no_room =
        |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EINTR | libc::ENOMEM));
    retry(PATIENCE, PAUSE, no_room, || system::swap_off(area))
}

/// Removes swap of these owners, identified by its label, and returns its paths. Swap of live
/// containers stays.
pub(super) fn remove_owned(root: &Root, is_ours: impl Fn(Owner) -> bool) -> Vec<PathBuf> {
    let areas = mount::swaps(root).into_keys().filter(|path| {
        let owner = File::open(path).ok().and_then(|device| area::owner(&device));
        owner.is_some_and(&is_ours)
    });
    let swept = areas.filter(|path| {
        await_unused(root, path);
        switch_off(path).is_ok()
    });
    let swept: Vec<PathBuf> = swept.collect();
    for path in &swept {
        blank_if_ours(path, &is_ours);
        let number = path.to_str().and_then(|path| path.strip_prefix("/dev/zram"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            zram::remove(number);
        }
    }
    swept
}

/// Waits a while for an area to become empty. A process that has just died releases its memory a
/// moment later; until then, all of it would be read back. The whole machine swaps to an area, so
/// the rest belongs to others.
fn await_unused(root: &Root, area: &Path) {
    let look = || match mount::swaps(root).get(area) {
        Some(1..) => Err(()),
        _ => Ok(()),
    };
    let _ = retry(LETTING_GO, PAUSE, |()| true, look);
}
