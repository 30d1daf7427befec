//! Bundles made here, and archives that kvdyno did not make.

use super::unpack::BundleRefused;
use super::{Limits, pack, unpack};
use kvdyno_analysis::fixture::Fixture;
use kvdyno_record::files::RunDir;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

/// A directory with a run, one for bundles, and an empty one to unpack into.
struct Scratch {
    dir: TempDir,
    run: RunDir,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut fixture = Fixture::new();
        fixture.cases.truncate(2);
        let run = fixture.write(&dir.path().join("run"));
        fs::create_dir(dir.path().join("into")).unwrap();
        Self { dir, run }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn packed(&self) -> PathBuf {
        let path = self.path("bundle.tar.zst");
        pack(&self.run, vec![("report/tables.md", b"# tables\n".to_vec())], &path).unwrap();
        path
    }

    fn unpack(&self, bundle: &Path) -> Result<RunDir, BundleRefused> {
        unpack(bundle, &self.path("into"), Limits::default())
    }

    /// A refused archive; nothing of it is outside of its directory.
    #[track_caller]
    fn refused(&self, entries: &[(&str, EntryType, &[u8])]) -> String {
        self.refused_within(entries, Limits::default())
    }

    #[track_caller]
    fn refused_within(&self, entries: &[(&str, EntryType, &[u8])], limits: Limits) -> String {
        let _ = fs::remove_dir_all(self.path("into"));
        fs::create_dir(self.path("into")).unwrap();
        let before = self.names();
        let bundle = self.path("evil.tar.zst");
        fs::write(&bundle, evil(entries)).unwrap();
        let error = unpack(&bundle, &self.path("into"), limits).unwrap_err();
        fs::remove_file(bundle).unwrap();
        assert_eq!(self.names(), before, "{error}");
        error.to_string()
    }

    fn names(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }
}

/// An archive with any names and kinds.
fn evil(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut archive = Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            header.set_link_name("../../outside").unwrap();
        }
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    compress_to_vec(archive.into_inner().unwrap().as_slice(), CompressionLevel::Fastest)
}

const FILE: EntryType = EntryType::Regular;
const DIR: EntryType = EntryType::Directory;

#[test]
fn a_run_comes_out_as_it_went_in() {
    let scratch = Scratch::new();
    let out = scratch.unpack(&scratch.packed()).unwrap();
    assert_eq!(out.run().unwrap(), scratch.run.run().unwrap());
    assert!(out.is_complete());
    assert_eq!(out.changed_since_sealed().unwrap(), Vec::<String>::new());
    assert_eq!(out.case_records().unwrap().len(), 2);
    let top = out.path.parent().unwrap();
    assert_eq!(fs::read(top.join("report/tables.md")).unwrap(), b"# tables\n");
    let id = scratch.run.run().unwrap().id;
    assert_eq!(top.file_name().unwrap().to_str(), Some(id.as_str()));
}

/// The longest id of a case is `ID_BYTES_MAX` of the suite, and an added trial lengthens it.
#[test]
fn a_case_with_the_longest_id_fits() {
    let scratch = Scratch::new();
    let cases = scratch.run.path.join("cases");
    let case = scratch.run.cases().unwrap().remove(0).path;
    let long = cases.join(format!("{}_a10", "x".repeat(72 + 3)));
    fs::rename(case, &long).unwrap();
    fs::write(long.join("machine.ndjson"), "").unwrap();
    let out = scratch.unpack(&scratch.packed()).unwrap();
    assert!(out.path.join("cases").join(long.file_name().unwrap()).is_dir());
}

#[test]
fn the_same_record_gives_the_same_bundle() {
    let scratch = Scratch::new();
    let first = fs::read(scratch.packed()).unwrap();
    for entry in ["run.json", "plan.json"] {
        // The files look as if they had been copied here later.
        let path = scratch.run.path.join(entry);
        let bytes = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(first == fs::read(scratch.packed()).unwrap());
}

#[test]
fn databases_and_locks_are_left_out_and_links_refused() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.run.path.join("volume")).unwrap();
    fs::write(scratch.run.path.join("volume/data.mdb"), [0; 4096]).unwrap();
    fs::write(scratch.run.path.join("lock"), "").unwrap();
    let out = scratch.unpack(&scratch.packed()).unwrap();
    assert!(!out.path.join("volume").exists() && !out.path.join("lock").exists());
    std::os::unix::fs::symlink("/etc/passwd", scratch.run.path.join("host/passwd")).unwrap();
    let error = pack(&scratch.run, Vec::new(), &scratch.path("b.tar.zst")).unwrap_err();
    assert!(error.to_string().contains("host/passwd"), "{error}");
}

#[test]
fn a_partial_run_can_be_packed() {
    let scratch = Scratch::new();
    for seal in ["SHA256SUMS", "complete"] {
        fs::remove_file(scratch.run.path.join(seal)).unwrap();
    }
    assert!(!scratch.unpack(&scratch.packed()).unwrap().is_complete());
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let scratch = Scratch::new();
    let refuse = |name: &str| scratch.refused(&[("run", DIR, b""), (name, FILE, b"evil")]);
    let names = ["../outside", "run/../../outside", "/tmp/kvdyno-outside", "run", "run/./x"];
    insta::assert_snapshot!(names.map(refuse).join("\n"), @r"
    refused `../outside` in it: its name leads out of its directory
    refused `run/../../outside` in it: its name leads out of its directory
    refused `/tmp/kvdyno-outside` in it: its name is absolute
    refused `run` in it: it occurs twice
    refused `run/./x` in it: kvdyno does not use such names
    ");
    assert!(!Path::new("/tmp/kvdyno-outside").exists());
}

#[test]
fn links_devices_and_pipes_are_refused() {
    let scratch = Scratch::new();
    let refuse = |kind| scratch.refused(&[("run", DIR, b""), ("run/x", kind, b"")]);
    let kinds = [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::GNUSparse,
    ];
    insta::assert_snapshot!(kinds.map(refuse).join("\n"), @r"
    refused `run/x` in it: it is a symbolic link
    refused `run/x` in it: it is a hard link
    refused `run/x` in it: it is a device
    refused `run/x` in it: it is a device
    refused `run/x` in it: it is a pipe
    refused `run/x` in it: it is neither a file nor a directory
    ");
    for kind in [EntryType::GNULongName, EntryType::XHeader] {
        assert_eq!(refuse(kind), refuse(EntryType::GNUSparse), "{kind:?}");
    }
    // A link, and a file below it.
    let through = [("run", EntryType::Symlink, &b""[..]), ("run/x", FILE, b"evil")];
    assert_eq!(scratch.refused(&through), "refused `run` in it: it is a symbolic link");
}

#[test]
fn a_name_twice_is_refused() {
    let scratch = Scratch::new();
    let twice = [("run", DIR, &b""[..]), ("run/x", FILE, b"1"), ("run/x", FILE, b"2")];
    assert_eq!(scratch.refused(&twice), "refused `run/x` in it: it occurs twice");
}

#[test]
fn more_than_the_limits_is_refused_with_the_limit() {
    let scratch = Scratch::new();
    let limits = Limits { entries: 2, bytes: 1 << 20, ratio: 50, ratio_from: 64 << 10 };
    let many = [("a", DIR, &b""[..]), ("a/b", FILE, b"1"), ("a/c", FILE, b"2")];
    let error = scratch.refused_within(&many, limits);
    assert_eq!(error, "it has more than 2 files and directories");
    let noise = noise(2 << 20);
    let large = [("a", DIR, &b""[..]), ("a/b", FILE, &noise)];
    let error = scratch.refused_within(&large, limits);
    assert!(error.contains("1.00 MiB"), "{error}");
    // Half a megabyte of zeros is a few bytes when packed.
    let zeros = vec![0; 512 << 10];
    let bomb = [("a", DIR, &b""[..]), ("a/b", FILE, &zeros)];
    let error = scratch.refused_within(&bomb, limits);
    assert!(error.contains("50 times"), "{error}");
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let byte = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(byte).collect()
}

/// The header declares a terabyte, and no data follows it.
#[test]
fn a_size_that_is_only_claimed_is_refused_before_anything_is_written() {
    let scratch = Scratch::new();
    let mut header = Header::new_gnu();
    header.set_path("a").unwrap();
    header.set_entry_type(FILE);
    header.set_size(1 << 40);
    header.set_cksum();
    let bundle = scratch.path("claims.tar.zst");
    fs::write(&bundle, compress_to_vec(header.as_bytes().as_slice(), CompressionLevel::Fastest))
        .unwrap();
    let error = scratch.unpack(&bundle).unwrap_err().to_string();
    assert!(error.contains("8.00 GiB"), "{error}");
    assert_eq!(fs::read_dir(scratch.path("into")).unwrap().count(), 0);
}

#[test]
fn every_file_must_be_what_the_checksums_say() {
    let scratch = Scratch::new();
    let sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"; // of "x"
    let good = format!("{sum}  record/run.json\n");
    let with = |sums: &str, files: &[(&'static str, &'static [u8])]| {
        let mut entries: Vec<(&str, EntryType, &[u8])> =
            vec![("a", DIR, b""), ("a/record", DIR, b""), ("a/SHA256SUMS", FILE, sums.as_bytes())];
        entries.extend(files.iter().map(|(name, bytes)| (*name, FILE, *bytes)));
        scratch.refused(&entries)
    };
    let changed = with(&good, &[("a/record/run.json", b"y")]);
    let missing = with(&good, &[]);
    let more = with(&good, &[("a/record/run.json", b"x"), ("a/record/more", b"x")]);
    let out = format!("{sum}  ../../run.json\n");
    let out = with(&out, &[("a/record/run.json", b"x")]);
    insta::assert_snapshot!([changed, missing, more, out].join("\n"), @r"
    `record/run.json` in it differs from its SHA256SUMS: its contents differ
    `record/run.json` in it differs from its SHA256SUMS: it is missing
    `record/more` in it differs from its SHA256SUMS: it is not listed
    `../../run.json` in it differs from its SHA256SUMS: its name leads out of its directory
    ");
}

#[test]
fn what_is_no_bundle_is_said_to_be_none() {
    let scratch = Scratch::new();
    let empty = scratch.refused(&[]);
    assert!(empty.contains("`kvdyno bundle` makes"), "{empty}");
    let two = scratch.refused(&[("a", DIR, b""), ("b", DIR, b"")]);
    assert!(two.contains("`kvdyno bundle` makes"), "{two}");
    let text = scratch.path("text.tar.zst");
    fs::write(&text, "not an archive").unwrap();
    assert!(scratch.unpack(&text).is_err());
    // Truncated.
    let packed = fs::read(scratch.packed()).unwrap();
    fs::write(&text, &packed[..packed.len() / 2]).unwrap();
    assert!(scratch.unpack(&text).is_err());
}
