//! Reads and writes a group's control files; errors name the file.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Reads a control file's text, without the white space at its ends.
pub(super) fn read(directory: &Path, file: &str) -> io::Result<String> {
    let path = directory.join(file);
    let text = fs::read_to_string(&path).map_err(|error| error_with_path(&path, &error))?;
    Ok(text.trim().to_owned())
}

/// Reads a control file that holds one number.
pub(super) fn number(directory: &Path, file: &str) -> io::Result<u64> {
    let text = read(directory, file)?;
    text.parse().map_err(|_| {
        let message = format!("{}: `{text}` is not a number", directory.join(file).display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

/// Writes a control file. The kernel accepts only one whole write.
pub(super) fn write(directory: &Path, file: &str, value: impl Display) -> io::Result<()> {
    let path = directory.join(file);
    let mut open = OpenOptions::new().write(true).truncate(true).open(&path);
    open.as_mut()
        .map_err(|error| error_with_path(&path, error))?
        .write_all(value.to_string().as_bytes())
        .map_err(|error| error_with_path(&path, &error))
}

fn error_with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
