//! A record that was altered after its seal: every output with its figures has a warning.

use super::scratch::{Scratch, files_below, list};
use super::suites::reads;
use kvdyno_record::files::{RunDir, sha256};
use std::fs;

#[test]
fn every_command_says_that_a_record_was_altered() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    for _ in 0..2 {
        scratch.run(&["run", "s.toml"]).assert_ok();
    }
    let run = &scratch.runs()[1];
    let name = run.file_name().unwrap().to_str().unwrap();
    let case = files_below(run)
        .into_iter()
        .find(|path| path.ends_with("case.json") && path.to_string_lossy().contains("_t1_"));
    let case = case.unwrap();
    let text = fs::read_to_string(&case).unwrap();
    let count = text.find("\"count\": ").unwrap() + "\"count\": ".len();
    fs::write(&case, format!("{}1{}", &text[..count], &text[count..])).unwrap();

    let sealed = scratch.runs()[0].to_string_lossy().into_owned();
    for arguments in [
        &["show", name][..],
        &["report", name, "--output", "report.html"],
        &["export", name, "--json"],
        &["export", name, "--csv", "csv"],
        &["export", name, "--markdown", "-"],
        &["export", name, "--xlsx", "book.xlsx"],
        &["compare", &sealed, name],
    ] {
        let done = scratch.run(arguments);
        let output = format!("{} {}", done.out, done.err);
        // A terminal's lines are wrapped.
        let output = output.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(output.contains("altered"), "{arguments:?}: {output}");
    }
    scratch.run(&["check", name]).assert_code(4);
    scratch.run(&["show", name]).assert_code(4);
    let refused = scratch.run(&["bundle", name, "--output", "b.tar.zst"]);
    refused.assert_code(2).assert_says("altered");
    assert!(!scratch.path("b.tar.zst").exists());
    scratch.run(&["show", &sealed]).assert_ok();
}

/// A sealed run of the null engine.
fn run_null(scratch: &Scratch) -> RunDir {
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.only_run()
}

/// A stranger's list of checksums may name any path.
#[test]
fn a_listed_path_outside_the_run_is_not_read() {
    let scratch = Scratch::new();
    let run = run_null(&scratch);
    let list = run.path.join("SHA256SUMS");
    let sums = fs::read_to_string(&list).unwrap();
    let sum = sha256(&scratch.path("s.toml")).unwrap();
    for name in ["/dev/zero", "../../s.toml"] {
        fs::write(&list, format!("{sums}{sum}  {name}\n")).unwrap();
        assert_eq!(run.changed_since_sealed().unwrap(), [name]);
        scratch.run(&["check"]).assert_code(4).assert_says(name);
    }
}

/// Changes the last digit of every number in every file.
#[test]
fn no_number_is_altered_unseen() {
    let scratch = Scratch::new();
    let run = run_null(&scratch);
    // Copies of the kernel's files are long, and only people read them.
    for name in list(&run.path.join("host")) {
        fs::remove_dir_all(run.path.join("host").join(name)).unwrap();
    }
    run.seal().unwrap();
    let mut numbers = 0;
    for path in files_below(&run.path) {
        let sealed = fs::read(&path).unwrap();
        if path.ends_with("SHA256SUMS") {
            continue;
        }
        let name = path.strip_prefix(&run.path).unwrap().to_str().unwrap().to_owned();
        let is_digit = |index: &usize| sealed.get(*index).is_some_and(u8::is_ascii_digit);
        for index in (0..sealed.len()).filter(|index| is_digit(index) && !is_digit(&(index + 1))) {
            let mut altered = sealed.clone();
            altered[index] = if altered[index] == b'9' { b'0' } else { altered[index] + 1 };
            fs::write(&path, altered).unwrap();
            let changed = run.changed_since_sealed().unwrap();
            assert_eq!(changed, std::slice::from_ref(&name), "at byte {index}");
            numbers += 1;
        }
        fs::write(&path, sealed).unwrap();
    }
    assert!(numbers > 1000, "{numbers}");
    assert_eq!(run.changed_since_sealed().unwrap(), Vec::<String>::new());
}
