//! Files that the user names: pages, exports, bundles. Files of a record have fixed names, and
//! `kvdyno_record::files` writes them.

use anyhow::Context as _;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The mode of a new file, before the umask.
const MODE: u32 = 0o666;

/// Whether a path stands for standard output, which the printer writes.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout"].iter().any(|name| path == Path::new(name))
}

/// Writes a file whole or not at all. A device or a pipe is written into, and a link is followed.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write_with(path, |mut file| Ok(file.write_all(bytes)?))
}

/// Writes a file as [`write`] does, by a function.
pub(crate) fn write_with(
    path: &Path,
    fill: impl FnOnce(File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    replace(path, fill).with_context(|| format!("failed to write {}", path.display()))
}

fn replace(path: &Path, fill: impl FnOnce(File) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let existing = fs::metadata(path).ok();
    let is_file = existing.as_ref().is_none_or(Metadata::is_file);
    // A rename would put a file in place of the device, the pipe or the link.
    let (true, Some(target)) = (is_file, follow_links(path)?) else {
        return fill(OpenOptions::new().write(true).create(true).truncate(true).open(path)?);
    };
    let temporary = begin(&target)?;
    if let Some(existing) = existing {
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    fill(temporary.as_file().try_clone()?)?;
    temporary.as_file().sync_all()?;
    temporary.persist(target).map_err(|failed| failed.error)?;
    Ok(())
}

/// The path behind a link; none: the link leads nowhere yet.
fn follow_links(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::symlink_metadata(path) {
        Ok(stat) if stat.is_symlink() => match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            target => target.map(Some),
        },
        _ => Ok(Some(path.to_owned())),
    }
}

/// Makes a file next to `target`, with a name that no other file has.
fn begin(target: &Path) -> io::Result<NamedTempFile> {
    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty());
    let permissions = Permissions::from_mode(MODE);
    let mut builder = tempfile::Builder::new();
    builder.prefix(".kvdyno-").permissions(permissions).tempfile_in(dir.unwrap_or(Path::new(".")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    use std::process::Command;

    #[test]
    fn only_the_named_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("page.html.tmp"), "mine").unwrap();
        write(&path("page.html"), b"page").unwrap();
        assert_eq!(fs::read(path("page.html")).unwrap(), b"page");
        assert_eq!(fs::read(path("page.html.tmp")).unwrap(), b"mine");
        File::create(path("plain")).unwrap();
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode();
        assert_eq!(mode("page.html"), mode("plain"), "as the umask has it");
        fs::set_permissions(path("page.html"), Permissions::from_mode(0o640)).unwrap();
        write(&path("page.html"), b"new").unwrap();
        assert_eq!(mode("page.html") & 0o777, 0o640);
        write_with(&path("page.html"), |_| anyhow::bail!("no")).unwrap_err();
        assert_eq!(fs::read(path("page.html")).unwrap(), b"new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "no temporary is left");
    }

    #[test]
    fn links_are_followed_and_pipes_are_written_into() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/old"), "old").unwrap();
        for name in ["old", "new"] {
            symlink(path("elsewhere").join(name), path(name)).unwrap();
            write(&path(name), b"page").unwrap();
            assert!(path(name).is_symlink());
            assert_eq!(fs::read(path("elsewhere").join(name)).unwrap(), b"page");
        }
        let pipe = path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }
}
