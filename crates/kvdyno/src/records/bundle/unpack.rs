//! Unpacks bundles from anywhere.

use super::count::{Bounded, CountingReader};
use super::names::path;
use super::{Limits, RECORD, SUMS};
use kvdyno_record::files::{RunDir, sha256};
use kvdyno_record::units;
use ruzstd::decoding::StreamingDecoder;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tar::{Archive, Entry, EntryType};

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BundleRefused(String);

impl BundleRefused {
    fn no_run_error() -> Self {
        Self("there is no run in it: `kvdyno bundle` makes bundles".to_owned())
    }
}

/// Unpacks a bundle into the existing, empty directory `into` and returns the run's directory.
/// Writes nothing anywhere else. After a refusal, files that were already unpacked stay in `into`.
pub(crate) fn unpack(bundle: &Path, into: &Path, limits: Limits) -> Result<RunDir, BundleRefused> {
    let packed = Rc::new(Cell::new(0));
    let file = File::open(bundle).map_err(io_error(bundle))?;
    let counted = CountingReader { inner: BufReader::new(file), bytes: Rc::clone(&packed) };
    let decoder = StreamingDecoder::new(counted).map_err(|error| unpack_error(&error))?;
    let bounded = Bounded { inner: decoder, limits, packed, bytes: 0 };
    let mut archive = Archive::new(bounded);
    let mut extraction = Extraction { into, limits, names: BTreeSet::new(), bytes: 0 };
    // Raw: the library must not resolve long names, links and sparse files; they are refused here.
    for entry in archive.entries().map_err(|error| unpack_error(&error))?.raw(true) {
        extraction.add(entry.map_err(|error| unpack_error(&error))?)?;
    }
    let top = extraction.top_dir()?;
    check_sums(&top, &extraction)?;
    RunDir::open(top.join(RECORD)).map_err(|_| BundleRefused::no_run_error())
}

struct Extraction<'i> {
    into: &'i Path,
    limits: Limits,
    names: BTreeSet<PathBuf>,
    /// Sizes in the headers.
    bytes: u64,
}

impl Extraction<'_> {
    fn add(&mut self, entry: Entry<'_, impl Read>) -> Result<(), BundleRefused> {
        let bytes = entry.path_bytes().into_owned();
        let refused = |why: String| {
            let name: String = String::from_utf8_lossy(&bytes).chars().take(200).collect();
            BundleRefused(format!("refused `{name}` in it: {why}"))
        };
        let most = self.limits.entries;
        if self.names.len() as u64 >= most {
            return Err(BundleRefused(format!("it has more than {most} files and directories")));
        }
        let kind = entry.header().entry_type();
        if let Some(why) = unsupported_kind(kind) {
            return Err(refused(why.to_owned()));
        }
        let name = path(&bytes).map_err(|why| refused(why.to_owned()))?;
        if !self.names.insert(name.clone()) {
            return Err(refused("it occurs twice".to_owned()));
        }
        self.bytes = self.bytes.saturating_add(entry.size());
        if self.bytes > self.limits.bytes {
            let most = units::bytes(self.limits.bytes);
            return Err(refused(format!("with it, the bundle unpacks to more than {most}")));
        }
        let target = self.into.join(name);
        match kind {
            EntryType::Directory => fs::create_dir(&target).map_err(io_error(&target)),
            _ => write(entry, &target),
        }
    }

    /// The one directory that contains everything.
    fn top_dir(&self) -> Result<PathBuf, BundleRefused> {
        let first =
            |name: &PathBuf| name.components().next().map(|part| part.as_os_str().to_owned());
        let tops: BTreeSet<_> = self.names.iter().filter_map(first).collect();
        match tops.into_iter().collect::<Vec<_>>().as_slice() {
            [top] => Ok(self.into.join(top)),
            _ => Err(BundleRefused::no_run_error()),
        }
    }
}

/// The reason why an entry is neither a file nor a directory.
fn unsupported_kind(kind: EntryType) -> Option<&'static str> {
    match kind {
        EntryType::Regular | EntryType::Directory => None,
        EntryType::Symlink => Some("it is a symbolic link"),
        EntryType::Link => Some("it is a hard link"),
        EntryType::Char | EntryType::Block => Some("it is a device"),
        EntryType::Fifo => Some("it is a pipe"),
        _ => Some("it is neither a file nor a directory"),
    }
}

fn write(mut entry: Entry<'_, impl Read>, target: &Path) -> Result<(), BundleRefused> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create_new(true).open(target).map_err(io_error(target))?;
    let size = entry.size();
    let written = io::copy(&mut entry, &mut file).map_err(|error| unpack_error(&error))?;
    if written == size { Ok(()) } else { Err(unpack_error(&"it ends too early")) }
}

/// Each file is listed, each listed file exists, and its checksum is right.
fn check_sums(top: &Path, extraction: &Extraction<'_>) -> Result<(), BundleRefused> {
    let list = top.join(SUMS);
    let text = fs::read_to_string(&list).map_err(|_| BundleRefused::no_run_error())?;
    let mut listed = BTreeSet::new();
    for line in text.lines() {
        let (sum, name) = line.split_once("  ").unwrap_or((line, ""));
        let wrong = |why| checksum_error(name, why);
        let file = path(name.as_bytes()).map_err(wrong)?;
        let file = top.join(file);
        match sha256(&file) {
            Ok(sum_found) if sum_found == sum => {}
            Ok(_) => return Err(wrong("its contents differ")),
            Err(_) => return Err(wrong("it is missing")),
        }
        listed.insert(file);
    }
    let names = extraction.names.iter().map(|name| extraction.into.join(name));
    let unlisted =
        names.filter(|file| file.is_file() && *file != list).find(|file| !listed.contains(file));
    match unlisted {
        Some(file) => {
            let name = file.strip_prefix(top).unwrap_or(&file).display().to_string();
            Err(checksum_error(&name, "it is not listed"))
        }
        None => Ok(()),
    }
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> BundleRefused + '_ {
    move |error| BundleRefused(format!("{}: {error}", path.display()))
}

fn unpack_error(error: &dyn std::fmt::Display) -> BundleRefused {
    BundleRefused(format!("cannot unpack it: {error}"))
}

fn checksum_error(name: &str, why: &str) -> BundleRefused {
    BundleRefused(format!("`{name}` in it differs from its {SUMS}: {why}"))
}
