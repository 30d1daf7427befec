//! Signatures that filesystems, volume managers and partition tables leave on a device, found by a
//! table of their places, and by `blkid` as a second opinion where it is installed.
//!
//! The places are those of libblkid's probes (util-linux, libblkid/src/superblocks and partitions).

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes at an offset.
struct Signature {
    what: &'static str,
    /// The place, in bytes from the device's beginning.
    offset: u64,
    magic: &'static [u8],
}

const fn signature(what: &'static str, offset: u64, magic: &'static [u8]) -> Signature {
    Signature { what, offset, magic }
}

const SIGNATURES: [Signature; 34] = [
    signature("an ext2, ext3 or ext4 filesystem", 0x438, b"\x53\xef"),
    signature("an XFS filesystem", 0, b"XFSB"),
    signature("a Btrfs filesystem", 0x1_0040, b"_BHRfS_M"),
    signature("an F2FS filesystem", 0x400, b"\x10\x20\xf5\xf2"),
    signature("a bcachefs filesystem", 0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    signature("a bcache device", 0x1018, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    signature("an NTFS filesystem", 3, b"NTFS    "),
    signature("an exFAT filesystem", 3, b"EXFAT   "),
    signature("a FAT filesystem", 0x36, b"FAT1"),
    signature("a FAT filesystem", 0x52, b"FAT32"),
    signature("an ISO 9660 filesystem", 0x8001, b"CD001"),
    signature("a UDF filesystem", 0x8001, b"BEA01"),
    signature("a SquashFS image", 0, b"hsqs"),
    signature("a JFS filesystem", 0x8000, b"JFS1"),
    signature("a ReiserFS filesystem", 0x1_0034, b"ReIsEr"),
    signature("a NILFS2 filesystem", 0x406, b"\x34\x34"),
    signature("an OCFS2 filesystem", 0x2000, b"OCFSV2"),
    signature("a GFS2 filesystem", 0x1_0000, b"\x01\x16\x19\x70"),
    signature("swap space", 4086, b"SWAPSPACE2"),
    signature("swap space", 4086, b"SWAP-SPACE"),
    signature("a hibernated system", 4086, b"S1SUSPEND"),
    signature("swap space", 0xfff6, b"SWAPSPACE2"),
    signature("an LVM physical volume", 0x018, b"LVM2 001"),
    signature("an LVM physical volume", 0x218, b"LVM2 001"),
    signature("an LVM physical volume", 0x418, b"LVM2 001"),
    signature("an LVM physical volume", 0x618, b"LVM2 001"),
    signature("a LUKS volume", 0, b"LUKS\xba\xbe"),
    signature("a LUKS volume", 0x4000, b"SKUL\xba\xbe"),
    signature("a Linux RAID member", 0, b"\xfc\x4e\x2b\xa9"),
    signature("a Linux RAID member", 0x1000, b"\xfc\x4e\x2b\xa9"),
    signature("a BlueStore device of Ceph", 0, b"bluestore block device"),
    signature("a GPT partition table", 512, b"EFI PART"),
    signature("a GPT partition table", 4096, b"EFI PART"),
    signature("a partition table or a boot sector", 0x1fe, b"\x55\xaa"),
];

/// The bytes at the beginning that are searched: a ZFS label has its signature past 128 KiB.
const HEAD_BYTES: u64 = 1 << 20;

/// Returns what lies on a device; `None`: nothing that is known.
pub(super) fn find(file: &File, bytes: u64) -> io::Result<Option<String>> {
    find_of_length(file, bytes, 1)
}

/// Like [`find`] for a device with random blocks: only marks that appear by chance at most once in
/// four billion blocks.
pub(super) fn find_in_noise(file: &File, bytes: u64) -> io::Result<Option<String>> {
    find_of_length(file, bytes, 4)
}

fn find_of_length(file: &File, bytes: u64, shortest: usize) -> io::Result<Option<String>> {
    let mut head = vec![0; HEAD_BYTES.min(bytes) as usize];
    file.read_exact_at(&mut head, 0)?;
    let mut signatures = SIGNATURES.iter().filter(|signature| signature.magic.len() >= shortest);
    let first = signatures.find(|signature| has_magic(&head, signature.offset, signature.magic));
    if let Some(signature) = first {
        return Ok(Some(format!("{} (at byte {})", signature.what, signature.offset)));
    }
    if is_zfs(&head) {
        return Ok(Some("a ZFS pool member".to_owned()));
    }
    find_at_end(file, bytes)
}

fn has_magic(head: &[u8], offset: u64, magic: &[u8]) -> bool {
    head.get(offset as usize..).is_some_and(|rest| rest.starts_with(magic))
}

/// Returns whether there is a ZFS uberblock: 128 slots of 1 KiB from 128 KiB on, in either byte
/// order.
fn is_zfs(head: &[u8]) -> bool {
    const MAGIC: u64 = 0x00ba_b10c;
    let slots = (128_usize..256).filter_map(|slot| head.get(slot << 10..)?.first_chunk::<8>());
    slots
        .into_iter()
        .any(|slot| [u64::from_le_bytes(*slot), u64::from_be_bytes(*slot)].contains(&MAGIC))
}

/// Returns what has its signature, or a second one, at the end of a device.
fn find_at_end(file: &File, bytes: u64) -> io::Result<Option<String>> {
    const RAID: &[u8] = b"\xfc\x4e\x2b\xa9";
    let raid_090 = (bytes & !0xffff).checked_sub(0x1_0000);
    let raid_100 = bytes.checked_sub(0x2000).map(|offset| offset & !0xfff);
    let places = [
        (bytes.checked_sub(512), &b"EFI PART"[..], "the second half of a GPT partition table"),
        (bytes.checked_sub(4096), b"EFI PART", "the second half of a GPT partition table"),
        (raid_090, RAID, "a Linux RAID member"),
        (raid_090, b"\xa9\x2b\x4e\xfc", "a Linux RAID member"),
        (raid_100, RAID, "a Linux RAID member"),
    ];
    for (offset, magic, what) in places {
        let Some(offset) = offset else { continue };
        let mut bytes_read = vec![0; magic.len()];
        file.read_exact_at(&mut bytes_read, offset)?;
        if bytes_read == magic {
            return Ok(Some(format!("{what} (at byte {offset})")));
        }
    }
    Ok(None)
}

/// The result of `blkid -p`; none: it recognises nothing, or is not installed.
pub(super) fn probe_with_blkid(path: &Path) -> Option<String> {
    let mut command = Command::new("blkid");
    command.args(["-p", "-o", "export"]).arg(path).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    // blkid(8): 2, nothing was found; 8, it cannot decide between several.
    if output.status.code() == Some(8) {
        return Some("signatures of several kinds (blkid)".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let kind = value("TYPE=").or_else(|| value("PTTYPE="))?;
    Some(format!("{kind} (blkid)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 4 << 20;

    fn with(offset: u64, magic: &[u8]) -> Option<String> {
        let file = tempfile::tempfile().unwrap();
        file.set_len(BYTES).unwrap();
        file.write_all_at(magic, offset).unwrap();
        find(&file, BYTES).unwrap()
    }

    #[test]
    fn every_signature_is_found_where_it_is() {
        for signature in &SIGNATURES {
            let actual = with(signature.offset, signature.magic);
            let expected = format!("{} (at byte {})", signature.what, signature.offset);
            assert_eq!(actual, Some(expected));
        }
        for (offset, magic) in [
            (BYTES - 512, &b"EFI PART"[..]),
            (BYTES - (64 << 10), b"\xfc\x4e\x2b\xa9"),
            (BYTES - 8192, b"\xfc\x4e\x2b\xa9"),
            (131 << 10, b"\x0c\xb1\xba\x00\x00\x00\x00\x00"),
        ] {
            assert!(with(offset, magic).is_some(), "{offset}");
        }
    }

    #[test]
    fn in_noise_two_bytes_are_no_signature() {
        for (signature, is_found) in
            [(&SIGNATURES[0], false), (&SIGNATURES[33], false), (&SIGNATURES[1], true)]
        {
            let file = tempfile::tempfile().unwrap();
            file.set_len(BYTES).unwrap();
            file.write_all_at(signature.magic, signature.offset).unwrap();
            let actual = find_in_noise(&file, BYTES).unwrap();
            assert_eq!(actual.is_some(), is_found, "{}", signature.what);
        }
    }

    #[test]
    fn nothing_is_found_on_what_is_empty_small_or_foreign() {
        assert_eq!(with(0, b"data of somebody's own format"), None);
        let small = tempfile::tempfile().unwrap();
        small.set_len(512).unwrap();
        assert_eq!(find(&small, 512).unwrap(), None);
    }
}
