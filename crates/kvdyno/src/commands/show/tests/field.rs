//! The frozen records of the page's tests: a drive with engines, and a field of engines, whose
//! ranking stays the same.

use super::{flat, frozen};
use crate::cli::ViewArgs;
use crate::printer::Printer;
use crate::records::bundle::{ENDING, pack};
use crate::records::runs;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::fixture::Fixture;
use kvdyno_render::screen::Ending;
use kvdyno_render::wide;
use std::path::{Path, PathBuf};
use std::process::Command;

const FIELD: &str = "2026-11-20T10-15-02Z_fixture_field";

/// Writes the record with a drive again, for the page's tests.
#[test]
#[ignore = "overwrites fixtures/records/v1.0"]
fn freeze_with_drive() {
    let path = frozen().with_file_name("2026-11-20T10-15-02Z_fixture_drive");
    if path.exists() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    Fixture::with_drive(2).write(&path);
}

/// A field of engines: in one file, because it has many.
fn frozen_field() -> PathBuf {
    frozen().with_file_name(format!("{FIELD}{ENDING}"))
}

#[test]
#[ignore = "overwrites fixtures/records/v1.0"]
fn freeze_field() {
    let dir = tempfile::tempdir().unwrap();
    let run = Fixture::field(4).write(&dir.path().join(FIELD));
    let [quick, tar] = ["quick.tar.zst", "quick.tar"].map(|name| dir.path().join(name));
    pack(&run, Vec::new(), &quick).unwrap();
    // Packed again by zstd itself: a ninth of a bundle's size.
    for (how, from, to) in [("-d", &quick, &tar), ("-19", &tar, &frozen_field())] {
        let status = Command::new("zstd").args(["-qf", how]).arg(from).arg("-o").arg(to).status();
        assert!(status.unwrap().success());
    }
}

#[test]
fn a_frozen_field_has_the_same_ranking_forever() {
    let bundle = frozen_field().display().to_string();
    let summary = Summary::read(&runs::find(&bundle, Path::new("runs")).unwrap()).unwrap();
    let table = |name: &str| {
        let (printer, captured) = Printer::new_captured();
        let view = ViewArgs { table: vec![name.to_owned()], ..ViewArgs::default() };
        super::super::print(&summary, &view, &Ending::default(), &printer).unwrap();
        captured.out()
    };
    let loads = flat(&table("load"));
    assert!(loads.contains("rocksdb-tuned scans commit 28.0 MiB"), "{loads}");
    let text = table("ranking");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    insta::assert_snapshot!("field", text);
    let csv = wide::tables(&summary).unwrap().into_iter().find(|(name, _)| *name == "ranking");
    let csv = String::from_utf8(csv.unwrap().1).unwrap();
    // Every engine of a class at every question, with a figure or a reason.
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names = reader.headers().unwrap().clone();
    let [value, missing] =
        ["value", "missing"].map(|name| names.iter().position(|other| other == name).unwrap());
    for line in reader.records() {
        let line = line.unwrap();
        assert!(line[value].is_empty() != line[missing].is_empty(), "{line:?}");
    }
}
