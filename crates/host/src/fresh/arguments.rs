//! The options of mkfs and mount that a suite may set: the layout of a filesystem, never its
//! device. A surplus word would be taken for another device.

use super::error::FreshError;
use kvdyno_record::volume::{FilesystemKind, Format};

/// Returns the options of a filesystem's mkfs that a suite may set; each takes a value.
fn value_options(kind: FilesystemKind) -> &'static [&'static str] {
    match kind {
        FilesystemKind::Ext4 => {
            &["-b", "-C", "-E", "-g", "-G", "-i", "-I", "-J", "-m", "-N", "-O", "-T"]
        }
        FilesystemKind::Xfs => &["-b", "-d", "-i", "-l", "-m", "-n", "-s"],
        FilesystemKind::Btrfs => &["-d", "-m", "-n", "-s", "-O", "-R", "--csum"],
    }
}

/// Refuses options that might name another device.
pub(super) fn check(format: &Format) -> Result<(), FreshError> {
    let Format::Filesystem { filesystem, mkfs, mount } = format else { return Ok(()) };
    let allowed = value_options(*filesystem);
    let expected = format!("options of mkfs.{}: {}", filesystem.as_str(), allowed.join(", "));
    for pair in mkfs.chunks(2) {
        let option = &pair[0];
        let refused =
            |word: &str| FreshError::Word { word: word.to_owned(), expected: expected.clone() };
        if !allowed.contains(&option.as_str()) {
            return Err(refused(option));
        }
        match pair.get(1) {
            Some(value) if is_plain_value(value) => {}
            Some(value) => return Err(refused(value)),
            None => return Err(refused(&format!("{option} without its value"))),
        }
    }
    let mounts = |option: &str| !option.split(',').any(is_no_mount);
    match mount.iter().find(|option| !is_plain_value(option) || !mounts(option)) {
        Some(word) => {
            let expected = "an option of this filesystem, mounted to be written, that names no \
                            other device"
                .to_owned();
            Err(FreshError::Word { word: word.clone(), expected })
        }
        None => Ok(()),
    }
}

/// Returns whether a mount option is no property of a filesystem, but does something else than
/// mount this one to be written.
fn is_no_mount(option: &str) -> bool {
    let others = "bind rbind remount move ro loop sizelimit shared rshared slave rslave private \
                  rprivate unbindable runbindable";
    let name = option.split('=').next().unwrap_or_default().to_lowercase();
    others.split(' ').any(|other| other == name)
}

/// Returns whether a value has only words, numbers and lists of them, without paths.
fn is_plain_value(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "^_,=.-%+".contains(c);
    // Beginnings of values that name another device or file.
    let elsewhere = "device journal_dev journal_path logdev rtdev name file label uuid usrjquota \
                     offset";
    let leads_elsewhere = |part: &str| {
        let part = part.to_lowercase();
        elsewhere.split(' ').any(|word| part.starts_with(word))
    };
    !value.is_empty()
        && !value.starts_with('-')
        && value.chars().all(plain)
        && !value.split(',').any(leads_elsewhere)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(filesystem: FilesystemKind, mkfs: &str, mount: &str) -> Option<String> {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        let format = Format::Filesystem { filesystem, mkfs: words(mkfs), mount: words(mount) };
        check(&format).err().map(|error| error.to_string())
    }

    #[test]
    fn a_layout_is_taken() {
        for mkfs in ["", "-O ^has_journal", "-E stride=8,stripe_width=8 -b 4096", "-J size=64"] {
            assert_eq!(refused(FilesystemKind::Ext4, mkfs, "data=writeback nobarrier"), None);
        }
        assert_eq!(refused(FilesystemKind::Xfs, "-m reflink=0 -l size=64m", "logbsize=256k"), None);
        assert_eq!(refused(FilesystemKind::Btrfs, "-n 16k --csum xxhash", "compress=zstd"), None);
    }

    #[test]
    fn another_device_is_not() {
        use FilesystemKind::{Btrfs, Ext4, Xfs};
        let cases = [
            (Ext4, "/dev/sda", ""),
            (Ext4, "-O ^has_journal /dev/sda", ""),
            (Ext4, "sda 1024", ""),
            (Ext4, "LABEL=home -b", ""),
            (Ext4, "-J device=UUID=1234", ""),
            (Ext4, "-J size=4,device=sdb1", ""),
            (Ext4, "-d /etc", ""),
            (Ext4, "-b", ""),
            (Ext4, "-O -F", ""),
            (Xfs, "-l logdev=/dev/sdb", ""),
            (Xfs, "-d file=1,name=x", ""),
            (Xfs, "-r rtdev=sdb", ""),
            (Btrfs, "--rootdir x", ""),
            (Ext4, "", "journal_dev=0x801"),
            (Ext4, "", "noatime,journal_path=/dev/sdb"),
            (Btrfs, "", "device=/dev/sdb"),
            (Ext4, "-E offset=4096", ""),
            (Ext4, "", "remount,bind"),
            (Ext4, "", "noatime,ro"),
            (Xfs, "", "loop=/dev/loop7"),
        ];
        for (kind, mkfs, mount) in cases {
            assert!(refused(kind, mkfs, mount).is_some(), "{mkfs} {mount}");
        }
    }
}
