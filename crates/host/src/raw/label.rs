//! The label that a run writes on its filesystems, and recognises them by after a kill.
//!
//! Offsets are those of the superblocks: ext4 (`s_volume_name`), XFS (`sb_fname`), btrfs
//! (`btrfs_super_block.label`).

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The prefix of every label of this program.
const BEGINNING: &str = "kvdyno-";

/// XFS has room for twelve bytes; the rest after the prefix names the run.
const RUN_LETTERS: usize = 5;

/// Offsets of a filesystem's magic number and its label, and the label's length.
const PLACES: [(u64, &[u8], u64, usize); 3] = [
    (0x438, b"\x53\xef", 0x478, 16),
    (0, b"XFSB", 108, 12),
    (0x1_0040, b"_BHRfS_M", 0x1_012b, 256),
];

/// The label of all filesystems that a run makes on devices.
pub fn run_label(run: &str) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let digest = Sha256::digest(run.as_bytes());
    let letters =
        digest.iter().take(RUN_LETTERS).map(|byte| LETTERS[usize::from(byte & 31)] as char);
    BEGINNING.chars().chain(letters).collect()
}

/// Returns whether any run of this program made the label.
pub(super) fn is_ours(label: &str) -> bool {
    label.len() == BEGINNING.len() + RUN_LETTERS && label.starts_with(BEGINNING)
}

/// Returns the label of the only filesystem on a device; `None`: there is none, or several, or it
/// has no label.
pub(super) fn find(file: &File) -> io::Result<Option<String>> {
    let mut first_label = None;
    for (offset, magic, label_at, room) in PLACES {
        let mut bytes_read = vec![0; magic.len()];
        let mut label = vec![0; room];
        match file.read_exact_at(&mut bytes_read, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => continue,
            read => read?,
        }
        if bytes_read != magic {
            continue;
        }
        if first_label.is_some() {
            return Ok(None);
        }
        file.read_exact_at(&mut label, label_at)?;
        let end = label.iter().position(|byte| *byte == 0).unwrap_or(room);
        first_label = Some(String::from_utf8_lossy(&label[..end]).into_owned());
    }
    Ok(first_label.filter(|label| !label.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_knows_its_own_and_no_other() {
        let (one, two) =
            (run_label("2026-11-21T10-00-00Z_x_7f3a"), run_label("2026-11-21T10-00-00Z_x_7f3b"));
        assert!(is_ours(&one) && is_ours(&two) && one != two, "{one} {two}");
        assert_eq!(one, run_label("2026-11-21T10-00-00Z_x_7f3a"));
        assert_eq!(one.len(), 12, "as much as XFS has room for");
        for label in ["home", "kvdyno", "kvdyno-databases"] {
            assert!(!is_ours(label), "{label}");
        }
    }

    #[test]
    fn labels_are_read_where_they_are() {
        let device = |writes: &[(u64, &[u8])]| {
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            for (offset, bytes) in writes {
                file.write_all_at(bytes, *offset).unwrap();
            }
            find(&file).unwrap()
        };
        for (offset, magic, label_at, _) in PLACES {
            assert_eq!(device(&[(offset, magic)]), None);
            let labelled = device(&[(offset, magic), (label_at, b"kvdyno-abcde")]);
            assert_eq!(labelled.as_deref(), Some("kvdyno-abcde"));
            assert_eq!(device(&[(label_at, b"kvdyno-abcde")]), None, "a label of nothing");
        }
        let (ext4, xfs) = (PLACES[0], PLACES[1]);
        let both = device(&[(ext4.0, ext4.1), (ext4.2, b"kvdyno-abcde"), (xfs.0, xfs.1)]);
        assert_eq!(both, None, "whose is it");
        let small = tempfile::tempfile().unwrap();
        small.set_len(4096).unwrap();
        assert_eq!(find(&small).unwrap(), None);
    }
}
