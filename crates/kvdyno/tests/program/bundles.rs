//! Bundles: packed, used instead of a run, repeated; and malicious archives.

use super::scratch::{Scratch, files_below, list, records};
use super::suites::{reads, suite};
use kvdyno_record::files::{RunDir, write_json};
use kvdyno_record::host::Host;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

/// A run of two trials of the null engine.
fn ran() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().trials(2).engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch
}

/// The directory that a bundle unpacks to, as tar(1) unpacks it.
fn unpack(bundle: &Path, into: &Path) -> PathBuf {
    let file = fs::File::open(bundle).unwrap();
    Archive::new(StreamingDecoder::new(file).unwrap()).unpack(into).unwrap();
    fs::read_dir(into).unwrap().next().unwrap().unwrap().path()
}

fn keys(run: &RunDir) -> BTreeSet<(String, u32)> {
    records(run).into_values().map(|record| (record.case.key, record.case.trial)).collect()
}

#[test]
fn a_bundle_stands_in_for_its_run() {
    let scratch = ran();
    let done = scratch.run(&["bundle", "test", "-o", "test.tar.zst"]);
    done.assert_code(0).assert_says("record/host");
    assert_eq!(done.out, "test.tar.zst\n");
    scratch.run(&["check", "test.tar.zst"]).assert_code(0);
    scratch.run(&["show", "test.tar.zst", "--full"]).assert_ok().assert_says("readers");
    scratch.run(&["compare", "test.tar.zst", "latest"]).assert_says("kvdyno list");
    let export = |run: &str| scratch.run(&["export", run, "--csv", "-"]).out;
    assert_eq!(export("test.tar.zst"), export("latest"));
    let unpacked = unpack(&scratch.path("test.tar.zst"), &scratch.path("unpacked"));
    let readme = fs::read_to_string(unpacked.join("README.md")).unwrap();
    assert!(readme.contains("\n    kvdyno run"), "{readme}");
    let record = unpacked.join("record");
    scratch.run(&["check", record.to_str().unwrap()]).assert_code(0);
    fs::remove_dir_all(scratch.path("unpacked")).unwrap();
    // Named after the run by default; equal bytes.
    let done = scratch.run(&["bundle"]);
    let run = scratch.only_run();
    let id = run.path.file_name().unwrap().to_str().unwrap();
    assert_eq!(done.out, format!("{id}.tar.zst\n"));
    let bytes = |name: &str| fs::read(scratch.path(name)).unwrap();
    assert!(bytes("test.tar.zst") == bytes(&format!("{id}.tar.zst")));

    let again = scratch.run(&["bundle", "test.tar.zst"]);
    again.assert_code(2);
    let resumed = scratch.run(&["resume", "test.tar.zst"]);
    resumed.assert_code(2).assert_says("`kvdyno rerun ");
    scratch.assert_nothing_left();
}

#[test]
fn a_rerun_does_equal_work() {
    let scratch = Scratch::new();
    // Permissions on the command line are not stored.
    let text = suite()
        .data("records = 2000\nvalue_bytes = 100")
        .engine("null")
        .load("batch = 500")
        .measure("operations = 5000")
        .role("readers", super::suites::GET)
        .text();
    scratch.write("s.toml", &text);
    let arguments = ["run", "s.toml", "--set", "data.records=1234", "--trials", "2"];
    scratch.run(&arguments).assert_ok();
    let first = scratch.only_run();
    scratch.run(&["bundle", "-o", "b.tar.zst"]).assert_code(0);
    let before = scratch.runs();
    let planned = scratch.run(&["rerun", "b.tar.zst", "--plan"]);
    planned.assert_code(0).assert_says("case");
    assert!(!planned.err.contains("differs: "), "{}", planned.err);
    assert_eq!(scratch.runs(), before, "a plan runs nothing");
    let done = scratch.run(&["rerun", "b.tar.zst", "--data-dir", "place", "--create-data-dir"]);
    done.assert_ok().assert_says("compare b.tar.zst ");
    assert!(!done.err.contains("differs: "), "{}", done.err);
    // The compared runs, and the result.
    let runs = scratch.runs();
    assert_eq!(runs.len(), 2);
    let second = RunDir::open(runs[1].clone()).unwrap();
    assert_eq!(keys(&first), keys(&second));
    let (old, new) = (first.plan().unwrap(), second.plan().unwrap());
    assert_eq!(old.cases, new.cases);
    assert!(new.sized[0].contains("_test_"), "{:?}", new.sized);
    let text = |run: &RunDir| fs::read_to_string(run.path.join("suite.toml")).unwrap();
    assert_eq!(text(&first), text(&second));
    assert!(second.run().unwrap().data_dir.ends_with("/place"));
    scratch.run(&["check", "latest"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn what_differs_here_is_said_before_it_begins() {
    let scratch = ran();
    let run = scratch.only_run();
    let mut record = run.run().unwrap();
    record.host_before = Host { hostname: "elsewhere".to_owned(), ..record.host_before };
    record.program = "0.0.1".to_owned();
    fs::remove_file(run.path.join("SHA256SUMS")).unwrap();
    run.write_run(&record).unwrap();
    let done = scratch.run(&["rerun"]);
    done.assert_ok().assert_says("differs: host: elsewhere there, ");
    done.assert_says("differs: kvdyno: 0.0.1 there, ");
    let output = |words: &str| done.err.find(words).unwrap();
    assert!(output("differs: ") < output("complete: "), "{}", done.err);
}

#[test]
fn a_plan_that_cannot_be_repeated_here_is_refused_before_anything_is_made() {
    let scratch = ran();
    let run = scratch.only_run();
    let plan = run.plan().unwrap();
    let refuse = |words: &str, code: i32| {
        scratch.run(&["rerun"]).assert_code(code).assert_says(words);
        assert_eq!(scratch.runs().len(), 1);
    };
    let write = |plan| write_json(&run.path.join("plan.json"), plan).unwrap();
    let mut hostile = plan.clone();
    hostile.cases[0].id = "../../outside".to_owned();
    write(&hostile);
    refuse("`../../outside` in plan.json", 1);
    let mut unknown = plan.clone();
    unknown.cases[0].engine = "nill".to_owned();
    write(&unknown);
    refuse("`kvdyno-nill`", 2);
    let mut older = plan.clone();
    let value = kvdyno_record::engine::Value::Integer(1);
    older.cases[0].options.values.insert("gone".to_owned(), value);
    write(&older);
    refuse("`gone`", 2);
    let mut secret = plan;
    let text = kvdyno_record::engine::Value::Text("x://***@host/".to_owned());
    secret.cases[0].options.values.insert("server".to_owned(), text);
    write(&secret);
    refuse("option `server` of null", 2);
}

/// An archive of one entry below a directory `run`.
fn evil(scratch: &Scratch, name: &str, kind: EntryType, link: &str, bytes: &[u8]) -> PathBuf {
    let mut archive = Builder::new(Vec::new());
    let mut add = |name: &str, kind: EntryType, bytes: &[u8]| {
        let mut header = Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive.append(&header, bytes).unwrap();
    };
    add("run", EntryType::Directory, b"");
    add(name, kind, bytes);
    let tar = archive.into_inner().unwrap();
    let path = scratch.path("evil.tar.zst");
    fs::write(&path, compress_to_vec(tar.as_slice(), CompressionLevel::Fastest)).unwrap();
    path
}

#[test]
fn archives_that_reach_outside_or_swell_are_refused_and_leave_nothing() {
    let scratch = Scratch::new();
    let outside = scratch.write("outside", "precious");
    let absolute = outside.to_str().unwrap().to_owned();
    let zeros = vec![0; 80 << 20];
    let cases: [(&str, EntryType, &str, &[u8], &str); 5] = [
        ("run/../../../outside", EntryType::Regular, "", b"evil", "outside"),
        (&absolute, EntryType::Regular, "", b"evil", &absolute),
        ("run/record", EntryType::Symlink, "../..", b"", "a symbolic link"),
        ("run/record", EntryType::Link, "/etc/passwd", b"", "a hard link"),
        ("run/zeros", EntryType::Regular, "", &zeros, "200 times"),
    ];
    for (name, kind, link, bytes, words) in cases {
        evil(&scratch, name, kind, link, bytes);
        let before = files_below(&scratch.path(""));
        for command in ["show", "check", "rerun"] {
            let done = scratch.run(&[command, "evil.tar.zst"]);
            done.assert_code(1).assert_says("`evil.tar.zst`").assert_says(words);
        }
        let is_output = |path: &PathBuf| path.starts_with(scratch.path("outputs"));
        let after = files_below(&scratch.path("")).into_iter().filter(|path| !is_output(path));
        let before = before.into_iter().filter(|path| !is_output(path));
        assert_eq!(after.collect::<Vec<_>>(), before.collect::<Vec<_>>(), "{name}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
        assert_eq!(list(&scratch.path("tmp")), Vec::<String>::new(), "{name}");
    }
    scratch.run(&["show", "missing.tar.zst"]).assert_code(2).assert_says("missing.tar.zst");
    scratch.assert_nothing_left();
}
