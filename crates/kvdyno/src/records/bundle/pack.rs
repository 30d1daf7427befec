//! Creates bundles.

use super::names::is_dir_name;
use super::{Limits, RECORD, SUMS};
use crate::output;
use anyhow::Context as _;
use kvdyno_record::files::{RunDir, sha256};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// The files of a record. A running run has its databases next to them.
const PARTS: [&str; 7] =
    ["SHA256SUMS", "cases", "complete", "host", "plan.json", "run.json", "suite.toml"];

#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub(crate) files: usize,
    /// The size of these files together.
    pub(crate) bytes: u64,
    /// The size of the bundle.
    pub(crate) size_bytes: u64,
}

enum Content {
    Dir,
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// Packs a run into `file`, with `documents` for people: paths, at most one directory
/// deep, and contents.
pub(crate) fn pack(
    run: &RunDir,
    documents: Vec<(&str, Vec<u8>)>,
    file: &Path,
) -> anyhow::Result<Packed> {
    let record = run.run()?;
    anyhow::ensure!(is_dir_name(&record.id), "the run's id is not a directory name");
    let mut contents = BTreeMap::new();
    for part in PARTS {
        collect(&run.path.join(part), &format!("{RECORD}/{part}"), &mut contents)?;
    }
    for (name, bytes) in documents {
        if let Some((dir, _)) = name.split_once('/') {
            contents.insert(dir.to_owned(), Content::Dir);
        }
        contents.insert(name.to_owned(), Content::Bytes(bytes));
    }
    contents.insert(RECORD.to_owned(), Content::Dir);
    let sums = sums(&contents)?;
    contents.insert(SUMS.to_owned(), Content::Bytes(sums));
    anyhow::ensure!(contents.len() as u64 <= Limits::default().entries, "it has too many files");

    let ended_s = record.ended_unix_ns.unwrap_or(record.started_unix_ns) / 1_000_000_000;
    let mut archive = tempfile::tempfile().context("failed to make a temporary file")?;
    let bytes = write(&contents, &record.id, ended_s, &mut archive)?;
    anyhow::ensure!(bytes <= Limits::default().bytes, "it is larger than a bundle can be");
    archive.rewind()?;
    let mut source = ErrorCapture { inner: BufReader::new(archive), error: None };
    let packed = compress_to_vec(&mut source, CompressionLevel::Fastest);
    source.error.map_or(Ok(()), Err).context("failed to read the temporary file")?;
    output::write(file, &packed)?;
    let files = contents.values().filter(|content| !matches!(content, Content::Dir)).count();
    Ok(Packed { files, bytes, size_bytes: packed.len() as u64 })
}

/// The compressor cannot report that its source failed: the error is stored here and ends the
/// source.
struct ErrorCapture<R> {
    inner: R,
    error: Option<io::Error>,
}

impl<R: Read> Read for ErrorCapture<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).or_else(|error| {
            self.error = Some(error);
            Ok(0)
        })
    }
}

/// Collects a path and everything below it. A record contains only files and directories.
fn collect(
    path: &Path,
    name: &str,
    contents: &mut BTreeMap<String, Content>,
) -> anyhow::Result<()> {
    let failed = || format!("failed to read {}", path.display());
    let kind = match fs::symlink_metadata(path) {
        // A partial run has no checksums and is not complete.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.with_context(failed)?.file_type(),
    };
    if kind.is_file() {
        contents.insert(name.to_owned(), Content::File(path.to_owned()));
        return Ok(());
    }
    anyhow::ensure!(kind.is_dir(), "{} is neither a file nor a directory", path.display());
    contents.insert(name.to_owned(), Content::Dir);
    for entry in fs::read_dir(path).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let file_name = entry.file_name();
        let file_name =
            file_name.to_str().context("a file's name is not UTF-8").with_context(failed)?;
        collect(&entry.path(), &format!("{name}/{file_name}"), contents)?;
    }
    Ok(())
}

/// Returns the checksums of all files in the format of sha256sum(1).
fn sums(contents: &BTreeMap<String, Content>) -> anyhow::Result<Vec<u8>> {
    let mut sums = String::new();
    for (name, content) in contents {
        let sum = match content {
            Content::Dir => continue,
            Content::File(path) => sha256(path)?,
            Content::Bytes(bytes) => {
                Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
            }
        };
        sums += &format!("{sum}  {name}\n");
    }
    Ok(sums.into_bytes())
}

/// Writes the archive and returns the bytes of its contents.
fn write(
    contents: &BTreeMap<String, Content>,
    id: &str,
    time_s: u64,
    output: impl Write,
) -> anyhow::Result<u64> {
    let mut archive = Builder::new(BufWriter::new(output));
    let mut bytes = 0;
    append(&mut archive, id, time_s, &Content::Dir)?;
    for (name, content) in contents {
        let name = format!("{id}/{name}");
        bytes += append(&mut archive, &name, time_s, content)
            .with_context(|| format!("failed to pack {name}"))?;
    }
    archive.into_inner()?.flush()?;
    Ok(bytes)
}

fn append(
    archive: &mut Builder<impl Write>,
    name: &str,
    time_s: u64,
    content: &Content,
) -> anyhow::Result<u64> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_mtime(time_s);
    header.set_uid(0);
    header.set_gid(0);
    let dir = matches!(content, Content::Dir);
    header.set_entry_type(if dir { EntryType::Directory } else { EntryType::Regular });
    header.set_mode(if dir { 0o755 } else { 0o644 });
    let (size, source): (u64, Box<dyn Read + '_>) = match content {
        Content::Dir => (0, Box::new(io::empty())),
        Content::File(path) => (fs::metadata(path)?.len(), Box::new(File::open(path)?)),
        Content::Bytes(bytes) => (bytes.len() as u64, Box::new(bytes.as_slice())),
    };
    header.set_size(size);
    header.set_cksum();
    archive.append(&header, source)?;
    Ok(size)
}
