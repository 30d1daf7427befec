//! The health report of a drive: wear and temperature. The commands sent here change nothing and
//! wake no sleeping disk.
//!
//! `NVMe` drives are read by an ioctl, which needs root; SATA and SAS drives by `smartctl`, if it
//! is installed. Virtual drives report nothing.

#![expect(unsafe_code, reason = "ioctl(2) has no safe wrapper")]

use super::{Root, child};
use kvdyno_record::host::DriveHealth;
use linux_raw_sys::ioctl::NVME_IOCTL_ADMIN_CMD;
use serde_json::Value;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// Get Log Page, and the page that every drive has: SMART / health information.
const GET_LOG_PAGE: u8 = 2;
const HEALTH_PAGE: u32 = 2;
const PAGE_BYTES: usize = 512;
const KELVIN: i64 = 273;
/// `NVMe` counts written data in thousands of 512-byte units.
const WRITTEN_UNIT: u64 = 512_000;

/// The time limit of a command: a drive that does not answer must not delay a run.
const LIMIT: Duration = Duration::from_secs(5);

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct AdminCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// Reads the report of a whole device, by its kernel name. `None`: it has none, or this user may
/// not read it; a tree of copies has no drives.
pub(super) fn read(root: &Root, disk: &str) -> Option<DriveHealth> {
    if !root.is_system() || !rustix::process::geteuid().is_root() {
        return None;
    }
    let path = format!("/dev/{disk}");
    if disk.starts_with("nvme") {
        let page = health_page(&File::open(path).ok()?).ok()?;
        Some(parse_page(&page))
    } else if disk.starts_with("sd") {
        parse_report(&smartctl(&path)?)
    } else {
        None
    }
}

/// The health page of an `NVMe` drive.
fn health_page(drive: &File) -> io::Result<[u8; PAGE_BYTES]> {
    let mut page = [0_u8; PAGE_BYTES];
    let dwords = u32::try_from(PAGE_BYTES / 4 - 1).unwrap_or_default();
    let mut command = AdminCommand {
        opcode: GET_LOG_PAGE,
        namespace: u32::MAX,
        address: page.as_mut_ptr() as u64,
        data_bytes: u32::try_from(PAGE_BYTES).unwrap_or_default(),
        words_10_15: [(dwords << 16) | HEALTH_PAGE, 0, 0, 0, 0, 0],
        timeout_ms: u32::try_from(LIMIT.as_millis()).unwrap_or_default(),
        ..AdminCommand::default()
    };
    // SAFETY: the descriptor is open while `drive` lives; the command has the kernel's layout, and
    // it and the page it names live across the call, which fills at most `data_bytes` of the page.
    // Get Log Page writes nothing to the drive.
    let result =
        unsafe { libc::ioctl(drive.as_raw_fd(), NVME_IOCTL_ADMIN_CMD.into(), &raw mut command) };
    match result {
        0 => Ok(page),
        // A result over 0 is the drive's own status.
        1.. => Err(io::Error::other(format!("NVMe status {result:#x}"))),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Parses a health page (NVM Express base specification 2.0, figure 207): numbers are
/// little-endian.
fn parse_page(page: &[u8; PAGE_BYTES]) -> DriveHealth {
    let number = |offset: usize, bytes: usize| {
        page[offset..offset + bytes]
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte))
    };
    let kelvin = i64::try_from(number(1, 2)).unwrap_or_default();
    DriveHealth {
        source: "NVMe log 2".to_owned(),
        healthy: Some(page[0] == 0),
        percentage_used: Some(number(5, 1)),
        temperature_c: (kelvin > 0).then_some(kelvin - KELVIN),
        // The number has 16 bytes; eight of them hold 9 x 10^24 bytes.
        written_bytes: number(48, 8).checked_mul(WRITTEN_UNIT),
        media_errors: Some(number(160, 8)),
        hot_minutes: Some(number(192, 4)),
    }
}

/// Returns the JSON of `smartctl`; `None`: it is not installed or takes too long.
fn smartctl(path: &str) -> Option<String> {
    let mut command = Command::new("smartctl");
    command.args(["--json=c", "-n", "standby", "-H", "-A", path]);
    let finished = child::run(command, Vec::new(), child::time_limit(LIMIT)).ok()?;
    String::from_utf8(finished.output).ok()
}

/// Parses a report of `smartctl --json`; `None`: the drive reported nothing.
fn parse_report(text: &str) -> Option<DriveHealth> {
    let report: Value = serde_json::from_str(text).ok()?;
    let healthy = report.pointer("/smart_status/passed").and_then(Value::as_bool);
    let temperature_c = report.pointer("/temperature/current").and_then(Value::as_i64);
    // Since smartctl 7.4.
    let used = report.pointer("/endurance_used/current_percent").and_then(Value::as_u64);
    (healthy.is_some() || temperature_c.is_some()).then(|| DriveHealth {
        source: "smartctl".to_owned(),
        healthy,
        percentage_used: used,
        temperature_c,
        ..DriveHealth::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_an_nvme_drive() {
        let mut page = [0_u8; PAGE_BYTES];
        page[0] = 0b100;
        page[1..3].copy_from_slice(&(273_u16 + 71).to_le_bytes());
        page[5] = 83;
        page[48..56].copy_from_slice(&2_000_000_u64.to_le_bytes());
        page[160] = 3;
        page[192..196].copy_from_slice(&260_u32.to_le_bytes());
        let health = parse_page(&page);
        assert_eq!((health.healthy, health.percentage_used), (Some(false), Some(83)));
        assert_eq!(health.temperature_c, Some(71));
        assert_eq!(health.written_bytes, Some(1_024_000_000_000));
        assert_eq!((health.media_errors, health.hot_minutes), (Some(3), Some(260)));
        let silent = parse_page(&[0; PAGE_BYTES]);
        assert_eq!((silent.healthy, silent.temperature_c), (Some(true), None));
    }

    #[test]
    fn a_command_is_as_long_as_the_kernel_has_it_and_others_refuse_it() {
        assert_eq!(size_of::<AdminCommand>(), 72);
        let error = health_page(&File::open("/dev/null").unwrap()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn reports_of_smartctl() {
        let report = r#"{"smart_status":{"passed":true},"temperature":{"current":33},
            "endurance_used":{"current_percent":2}}"#;
        let health = parse_report(report).unwrap();
        assert_eq!((health.healthy, health.percentage_used), (Some(true), Some(2)));
        assert_eq!(health.temperature_c, Some(33));
        let refused = r#"{"smartctl":{"exit_status":2,"messages":[{"string":"not SMART"}]}}"#;
        assert_eq!(parse_report(refused), None);
        assert_eq!(parse_report("not JSON"), None);
    }

    #[test]
    fn virtual_drives_and_copies_are_not_asked() {
        assert_eq!(read(&Root::system(), "vda"), None);
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(&Root::from_directory(dir.path(), 1), "nvme0n1"), None);
    }
}
