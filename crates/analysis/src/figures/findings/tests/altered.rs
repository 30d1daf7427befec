//! A record is sealed: every later change of a number is reported.

use super::*;
use crate::answers::summary::Summary;
use std::fs;
use std::path::{Path, PathBuf};

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] })
        .collect();
    files.sort();
    files
}

/// The positions at which numbers start.
fn numbers(text: &[u8]) -> Vec<usize> {
    let digit = |index: usize| text.get(index).is_some_and(u8::is_ascii_digit);
    (0..text.len()).filter(|index| digit(*index) && (*index == 0 || !digit(index - 1))).collect()
}

/// Changes some numbers of each file: each change must be reported. The program's own test changes
/// each number of a small record.
#[test]
fn every_changed_number_is_found() {
    const SHOWN: usize = 24;
    let scratch = crate::fixture::make_dir();
    let run = Fixture::new().write(&scratch.path().join("run"));
    assert_eq!(run.changed_since_sealed().unwrap(), Vec::<String>::new());
    let seals = ["SHA256SUMS", "complete"];
    let mut files = files_below(&run.path);
    files.retain(|path| !seals.iter().any(|seal| path.ends_with(seal)));
    let mut changed = 0;
    for path in files {
        let text = fs::read(&path).unwrap();
        let numbers = numbers(&text);
        for position in numbers.iter().step_by(numbers.len().div_ceil(8).max(1)) {
            let mut other = text.clone();
            other[*position] = if text[*position] == b'9' { b'1' } else { text[*position] + 1 };
            fs::write(&path, other).unwrap();
            assert_eq!(
                run.changed_since_sealed().unwrap().len(),
                1,
                "{} {position}",
                path.display()
            );
            changed += 1;
            if changed % SHOWN == 0
                && let Ok(summary) = Summary::read(&run)
            {
                let mut findings = summary.findings.iter();
                let finding = findings.find(|finding| finding.id == Id::RecordAltered);
                let finding = finding.unwrap_or_else(|| panic!("{} {position}", path.display()));
                assert!(
                    finding.evidence.contains("was altered since the run ended"),
                    "{finding:?}"
                );
                assert_ne!(summary.verdict, kvdyno_record::exit::Exit::Ok);
            }
        }
        fs::write(&path, text).unwrap();
    }
    assert!(changed > 100, "{changed}");
    assert!(
        Summary::read(&run).unwrap().figures.findings.iter().all(|f| f.id != Id::RecordAltered)
    );
}

#[test]
fn a_file_more_or_less_and_a_lost_seal_are_found() {
    let scratch = crate::fixture::make_dir();
    let run = Fixture::new().write(&scratch.path().join("run"));
    let added = run.path.join("cases/0001_x_a9");
    fs::create_dir(&added).unwrap();
    fs::write(added.join("case.json"), "{}").unwrap();
    assert_eq!(run.changed_since_sealed().unwrap(), ["cases/0001_x_a9/case.json"]);
    assert_eq!(Summary::read(&run).unwrap().figures.findings[0].id, Id::RecordAltered);
    fs::remove_dir_all(added).unwrap();
    fs::remove_file(run.path.join("suite.toml")).unwrap();
    assert_eq!(run.changed_since_sealed().unwrap(), ["suite.toml"]);
    fs::remove_file(run.path.join("SHA256SUMS")).unwrap();
    assert_eq!(run.changed_since_sealed().unwrap(), ["SHA256SUMS"]);
    fs::remove_file(run.path.join("complete")).unwrap();
    assert!(run.changed_since_sealed().unwrap().is_empty(), "an open run has no seal yet");
}

#[test]
fn a_database_smaller_than_its_data_is_found() {
    let mut fixture = Fixture::new();
    let too_small = |fixture: &Fixture| {
        fixture.summary().figures.findings.into_iter().find(|f| f.id == Id::DatabaseTooSmall)
    };
    assert!(too_small(&fixture).is_none());
    let case = fixture.case("lmdb_t1_r1");
    let size = kvdyno_record::usage::DatabaseSize {
        used_bytes: 119 << 10,
        reserved_bytes: 0,
        apparent_bytes: 119 << 10,
        files: 2,
    };
    case.phase("measure").database = Some(size);
    let words = too_small(&fixture).unwrap().evidence;
    assert!(words.contains("found 119 KiB in files at the end of phase measure"), "{words}");
}
