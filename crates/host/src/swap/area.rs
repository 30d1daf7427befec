//! The output of mkswap(8): the first page of a swap area. Its label and UUID identify its owner to
//! whoever finds it.

use crate::owner::Owner;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// The place of the version, after the boot block (linux/swap.h, `union swap_header`).
const VERSION_AT: u64 = 1024;
/// The place of the UUID: sixteen bytes that mkswap makes up.
const NUMBER_AT: u64 = 1036;
const LABEL_AT: u64 = 1052;
const LABEL_BYTES: usize = 16;
const MAGIC: &[u8] = b"SWAPSPACE2";

const PREFIX: &str = "kvdyno-";

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Makes a swap area of this many bytes.
pub(super) fn make(device: &File, bytes: u64, owner: Owner) -> io::Result<()> {
    let pages = u32::try_from(bytes / page_bytes()).unwrap_or(u32::MAX);
    let mut page = vec![0; page_bytes() as usize];
    let mut put = |offset: u64, bytes: &[u8]| {
        page[offset as usize..offset as usize + bytes.len()].copy_from_slice(bytes);
    };
    put(VERSION_AT, &1u32.to_ne_bytes());
    put(VERSION_AT + 4, &pages.saturating_sub(1).to_ne_bytes());
    // A process number has seven digits at most, so the label fits.
    put(LABEL_AT, format!("{PREFIX}{}", owner.pid).as_bytes());
    put(NUMBER_AT, &owner.namespace.to_ne_bytes());
    put(NUMBER_AT + 8, &owner.began.to_ne_bytes());
    put(page_bytes() - MAGIC.len() as u64, MAGIC);
    device.write_all_at(&page, 0)?;
    device.sync_all()
}

/// Returns the owner of the swap area on a device; `None`: it is none of this program's.
pub(super) fn owner(device: &File) -> Option<Owner> {
    let mut magic = [0; MAGIC.len()];
    device.read_exact_at(&mut magic, page_bytes() - MAGIC.len() as u64).ok()?;
    let mut label = [0; LABEL_BYTES];
    device.read_exact_at(&mut label, LABEL_AT).ok()?;
    let label = std::str::from_utf8(&label).ok()?.trim_end_matches('\0');
    let pid = label.strip_prefix(PREFIX).filter(|_| magic == MAGIC)?.parse().ok()?;
    let number = |offset| {
        let mut bytes = [0; 8];
        device.read_exact_at(&mut bytes, offset).ok()?;
        Some(u64::from_ne_bytes(bytes))
    };
    Some(Owner { pid, namespace: number(NUMBER_AT)?, began: number(NUMBER_AT + 8)? })
}

/// Overwrites the area's first page, and with it the signature.
pub(super) fn blank(device: &File) -> io::Result<()> {
    device.write_all_at(&vec![0; page_bytes() as usize], 0)?;
    device.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_says_whose_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(owner(&file), None);
        let who = Owner { pid: 4_194_304, namespace: 4_026_531_836, began: u64::MAX };
        make(&file, 1 << 20, who).unwrap();
        assert_eq!(owner(&file), Some(who));
        blank(&file).unwrap();
        assert_eq!(owner(&file), None);
    }

    /// The system's own tool recognises it.
    #[test]
    fn others_read_it_as_swap() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        make(file.as_file(), 1 << 20, Owner { pid: 77, namespace: 0, began: 0 }).unwrap();
        let blkid = std::process::Command::new("blkid").arg("-p").arg(file.path()).output();
        let Ok(output) = blkid else {
            return crate::testing::report_skip("tools", "others_read_it_as_swap", "no blkid here");
        };
        let output_text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output_text.contains("TYPE=\"swap\"") && output_text.contains("LABEL=\"kvdyno-77\""),
            "{output_text}"
        );
    }
}
