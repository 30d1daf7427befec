//! Lines of a record's files, one at a time, and what can be wrong with any file of a record.

use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// The longest line, so that a bundle cannot fill the memory. Records have some KiB.
const LINE_MAX: u64 = 16 << 20;

/// An error of a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system's answer.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
    /// Invalid contents.
    #[error("{}: {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The mistake.
        message: String,
    },
    /// Written by a newer program.
    #[error(
        "{}: format {found} is newer than this program's {}: use a newer kvdyno",
        path.display(), crate::FORMAT
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
    },
    /// No run there.
    #[error("{}: not a run of kvdyno: it has no run.json", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
}

pub(crate) type Result<T> = std::result::Result<T, RecordError>;

/// Lines of a file, one at a time; none where there is no file. A last line without its end was cut
/// short by a kill and is left out.
pub(crate) struct RawLines {
    path: PathBuf,
    reader: Option<BufReader<File>>,
    line: Vec<u8>,
}

impl RawLines {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let reader = match File::open(path) {
            Ok(file) => Some(BufReader::with_capacity(1 << 16, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(io_error(path)(source)),
        };
        Ok(Self { path: path.to_owned(), reader, line: Vec::new() })
    }

    /// Begins with the first whole line of the file's last `bytes`.
    pub(crate) fn open_tail(path: &Path, bytes: u64) -> Result<Self> {
        let mut lines = Self::open(path)?;
        let Some(reader) = &mut lines.reader else { return Ok(lines) };
        let length = reader.get_ref().metadata().map_err(io_error(path))?.len();
        if length > bytes {
            reader.seek(SeekFrom::Start(length - bytes)).map_err(io_error(path))?;
            lines.next_line()?;
        }
        Ok(lines)
    }

    /// The next line with its end, and the file's path.
    pub(crate) fn next_line(&mut self) -> Result<Option<(&Path, &[u8])>> {
        let Some(reader) = &mut self.reader else { return Ok(None) };
        self.line.clear();
        let mut limited = reader.take(LINE_MAX);
        limited.read_until(b'\n', &mut self.line).map_err(io_error(&self.path))?;
        if self.line.ends_with(b"\n") {
            return Ok(Some((&self.path, &self.line)));
        }
        if self.line.len() as u64 == LINE_MAX {
            let message = "has a line of more than 16 MiB".to_owned();
            return Err(RecordError::Malformed { path: self.path.clone(), message });
        }
        Ok(None)
    }

    /// Ends the reading.
    pub(crate) fn end(&mut self) {
        self.reader = None;
    }
}

/// Values of a file of JSON lines, one at a time.
pub struct Lines<T> {
    lines: RawLines,
    of: PhantomData<T>,
}

impl<T: DeserializeOwned> Lines<T> {
    /// Begins to read; a file that does not exist has no values.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { lines: RawLines::open(path)?, of: PhantomData })
    }

    fn value(&mut self) -> Result<Option<T>> {
        match self.lines.next_line()? {
            Some((path, line)) => serde_json::from_slice(line).map(Some).map_err(json_error(path)),
            None => Ok(None),
        }
    }
}

impl<T: DeserializeOwned> Iterator for Lines<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.value();
        if next.is_err() {
            self.lines.end();
        }
        next.transpose()
    }
}

pub(crate) fn io_error(path: &Path) -> impl Fn(io::Error) -> RecordError + '_ {
    move |source| RecordError::Io { path: path.to_owned(), source }
}

pub(crate) fn json_error(path: &Path) -> impl Fn(serde_json::Error) -> RecordError + '_ {
    move |error| {
        let remedy = if error.is_data() {
            "; this version of kvdyno has other fields: open it with the one that wrote it"
        } else {
            ""
        };
        RecordError::Malformed { path: path.to_owned(), message: format!("{error}{remedy}") }
    }
}
