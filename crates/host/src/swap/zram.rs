//! A block device of compressed memory, made for one use (Linux 4.2).

use crate::Root;
use crate::patience::retry;
use crate::root::bracketed_word;
use crate::unavailable::Unavailable;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const CONTROL: &str = "/sys/class/zram-control";

/// The time to wait for a process that looks at every new device (udev).
const PATIENCE: Duration = Duration::from_secs(10);

/// A zram device of ours. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Zram {
    number: u32,
}

/// Fails if this kernel can make no zram device.
pub(super) fn check(root: &Root) -> Result<(), Unavailable> {
    if root.path(CONTROL).join("hot_add").exists() {
        return Ok(());
    }
    let reason = format!("this kernel has no zram here: there is no {CONTROL}");
    Err(Unavailable::new(reason, "modprobe zram, or use a kernel with CONFIG_ZRAM"))
}

impl Zram {
    /// Makes a device that takes this many bytes.
    pub(super) fn add(bytes: u64) -> io::Result<Self> {
        let number = fs::read_to_string(format!("{CONTROL}/hot_add"))?;
        let zram = Self { number: number.trim().parse().map_err(io::Error::other)? };
        fs::write(zram.attribute("disksize"), bytes.to_string())?;
        Ok(zram)
    }

    /// Returns the kernel's name of the device.
    pub(super) fn name(&self) -> String {
        format!("zram{}", self.number)
    }

    /// Returns the device's node.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/dev/zram{}", self.number))
    }

    /// Returns its compression: the one in brackets in the kernel's list.
    pub(super) fn compression(&self) -> Option<String> {
        let text = fs::read_to_string(self.attribute("comp_algorithm")).ok()?;
        Some(bracketed_word(text.trim()).to_owned())
    }

    /// Returns the most memory it ever took: the fifth number of `mm_stat` (Linux 4.1).
    pub(super) fn memory_peak_bytes(&self) -> Option<u64> {
        let text = fs::read_to_string(self.attribute("mm_stat")).ok()?;
        text.split_whitespace().nth(4)?.parse().ok()
    }

    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        remove(self.number);
    }
}

/// Removes a device with its contents, as soon as nothing has it open.
pub(super) fn remove(number: u32) {
    let is_open = |error: &io::Error| error.raw_os_error() == Some(libc::EBUSY);
    let _ = retry(PATIENCE, Duration::from_millis(10), is_open, || {
        fs::write(format!("{CONTROL}/hot_remove"), number.to_string())
    });
}
