//! A file that gets its name only when it is whole. If the program ends before, nothing is left
//! of it.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file that is being written.
#[derive(Debug)]
pub(crate) enum Unnamed {
    /// A file without a name: the kernel removes it when it is closed.
    Nameless(File),
    /// A file under a temporary name, for filesystems without nameless files. It is removed unless
    /// the program is killed.
    Hidden(NamedTempFile),
}

impl Unnamed {
    /// Creates a file that will be named `path`, with the usual permissions.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        let nameless = open(dir(path), flags, Mode::from_raw_mode(0o666));
        match nameless {
            Ok(file) => Ok(Self::Nameless(file.into())),
            Err(_) => {
                let make = |path: &Path| {
                    File::options().read(true).write(true).create_new(true).open(path)
                };
                create_hidden_file(path, make).map(Self::Hidden)
            }
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::Nameless(file) => file,
            Self::Hidden(file) => file.as_file_mut(),
        }
    }

    /// Names the file, which is now whole. A file that had the name before is replaced.
    pub(crate) fn call(mut self, path: &Path) -> io::Result<()> {
        self.file().sync_all()?;
        let hidden = match self {
            Self::Hidden(file) => file,
            Self::Nameless(file) => {
                // A link cannot replace an existing file, but a rename can.
                let itself = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                let link = |to: &Path| {
                    linkat(CWD, &itself, CWD, to, AtFlags::SYMLINK_FOLLOW)?;
                    file.try_clone()
                };
                create_hidden_file(path, link)?
            }
        };
        hidden.persist(path).map(drop).map_err(|error| error.error)
    }
}

impl Write for Unnamed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

impl Seek for Unnamed {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file().seek(to)
    }
}

fn dir(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a file under a temporary name in the directory of `path`.
fn create_hidden_file(
    path: &Path,
    make: impl FnMut(&Path) -> io::Result<File>,
) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".kvtrace-").make_in(dir(path), make)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For both kinds: the directory has no other file before (but the hidden one) or after.
    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let names = || std::fs::read_dir(dir.path()).unwrap().count();
        let make = |path: &Path| File::options().write(true).create_new(true).open(path);
        let hidden = Unnamed::Hidden(create_hidden_file(&path, make).unwrap());
        let nameless = Unnamed::create(&path).unwrap();
        assert!(matches!(nameless, Unnamed::Nameless(_)), "{nameless:?}");
        assert_eq!(names(), 1, "that of the hidden one");
        for (mut file, text) in [(hidden, "one"), (nameless, "two")] {
            file.write_all(text.as_bytes()).unwrap();
            file.call(&path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
            assert_eq!(names(), 1);
        }
        drop(Unnamed::create(&path).unwrap());
        assert_eq!(names(), 1);
    }
}
