//! What mkswap(8) writes: the first page of a swap area. Its label and its number say whose it is,
//! so that one who finds it knows.

use crate::Root;
use procfs_core::process::Stat;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

/// linux/swap.h, `union swap_header`: behind the boot block.
const VERSION_AT: u64 = 1024;
/// Sixteen bytes that mkswap makes up.
const NUMBER_AT: u64 = 1036;
const LABEL_AT: u64 = 1052;
const LABEL_BYTES: usize = 16;
const MAGIC: &[u8] = b"SWAPSPACE2";

const PREFIX: &str = "kvdyno-";

/// `linux/proc_ns.h`, `PROC_PID_INIT_INO`: all others are below it.
const FIRST_NAMESPACE: u64 = 0xefff_fffc;

/// Whose an area is. Swap is the whole machine's, and a process's number is not: it means another
/// one in another container, and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(super) pid: u32,
    /// The PID namespace of that number; 0: not known.
    namespace: u64,
    /// When it began, in ticks since boot; 0: it was gone.
    began: u64,
}

impl Owner {
    /// A process of our own namespace.
    pub(crate) fn of(root: &Root, pid: u32) -> Self {
        let namespace = fs::metadata(root.path("/proc/self/ns/pid")).map_or(0, |stat| stat.ino());
        let stat = root.parsed::<Stat>(format!("/proc/{pid}/stat"));
        Self { pid, namespace, began: stat.map_or(0, |stat| stat.starttime) }
    }

    /// It is known to be no more: of our own namespace, or of one that nobody is in, which only the
    /// machine's first namespace can tell.
    pub(crate) fn is_gone(&self, root: &Root) -> bool {
        let now = Self::of(root, self.pid);
        if [self.namespace, now.namespace].contains(&0) {
            return false;
        }
        if now.namespace != self.namespace {
            return now.namespace == FIRST_NAMESPACE && !is_inhabited(root, self.namespace);
        }
        let is_there = root.path(format!("/proc/{}", self.pid)).exists();
        !(is_there && [0, self.began].contains(&now.began))
    }
}

/// Whether a process that we see is in this other PID namespace, or may be. The first is in ours.
fn is_inhabited(root: &Root, namespace: u64) -> bool {
    let names = root.names("/proc").into_iter();
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut pids = names.filter(|name| is_number(name) && name != "1");
    pids.any(|pid| match fs::metadata(root.path(format!("/proc/{pid}/ns/pid"))) {
        Ok(stat) => stat.ino() == namespace,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Makes a swap area of this many bytes.
pub(super) fn make(device: &File, bytes: u64, owner: Owner) -> io::Result<()> {
    let pages = u32::try_from(bytes / page_bytes()).unwrap_or(u32::MAX);
    let mut page = vec![0; page_bytes() as usize];
    let mut put = |at: u64, bytes: &[u8]| {
        page[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    put(VERSION_AT, &1u32.to_ne_bytes());
    put(VERSION_AT + 4, &pages.saturating_sub(1).to_ne_bytes());
    // A number has seven digits at most: it fits.
    put(LABEL_AT, format!("{PREFIX}{}", owner.pid).as_bytes());
    put(NUMBER_AT, &owner.namespace.to_ne_bytes());
    put(NUMBER_AT + 8, &owner.began.to_ne_bytes());
    put(page_bytes() - MAGIC.len() as u64, MAGIC);
    device.write_all_at(&page, 0)?;
    device.sync_all()
}

/// Whose the swap area on a device is; `None`: it is none of ours.
pub(super) fn owner(device: &File) -> Option<Owner> {
    let mut magic = [0; MAGIC.len()];
    device.read_exact_at(&mut magic, page_bytes() - MAGIC.len() as u64).ok()?;
    let mut label = [0; LABEL_BYTES];
    device.read_exact_at(&mut label, LABEL_AT).ok()?;
    let label = std::str::from_utf8(&label).ok()?.trim_end_matches('\0');
    let pid = label.strip_prefix(PREFIX).filter(|_| magic == MAGIC)?.parse().ok()?;
    let number = |at| {
        let mut bytes = [0; 8];
        device.read_exact_at(&mut bytes, at).ok()?;
        Some(u64::from_ne_bytes(bytes))
    };
    Some(Owner { pid, namespace: number(NUMBER_AT)?, began: number(NUMBER_AT + 8)? })
}

/// Takes the area's mark away.
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

    #[test]
    fn a_number_in_another_namespace_or_of_before_is_somebody_else() {
        let root = Root::system();
        let (alive, dead) = (Owner::of(&root, std::process::id()), Owner::of(&root, 9_999_999));
        assert!(alive.namespace > 0 && alive.began > 0 && !alive.is_gone(&root), "{alive:?}");
        assert!(dead.is_gone(&root));
        assert!(
            Owner { began: alive.began - 1, ..alive }.is_gone(&root),
            "the number is another's"
        );
        assert!(!Owner { namespace: 0, ..dead }.is_gone(&root), "nobody can tell");
        let elsewhere = Owner { namespace: 1, ..dead };
        assert_eq!(elsewhere.is_gone(&root), dead.namespace == FIRST_NAMESPACE);
        assert!(is_inhabited(&root, alive.namespace) && !is_inhabited(&root, 1));
    }

    /// The system's own tool takes it for what it is.
    #[test]
    fn others_read_it_as_swap() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        make(file.as_file(), 1 << 20, Owner { pid: 77, namespace: 0, began: 0 }).unwrap();
        let blkid = std::process::Command::new("blkid").arg("-p").arg(file.path()).output();
        let Ok(output) = blkid else {
            return crate::testing::skipped("tools", "others_read_it_as_swap", "no blkid here");
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("TYPE=\"swap\"") && said.contains("LABEL=\"kvdyno-77\""), "{said}");
    }
}
