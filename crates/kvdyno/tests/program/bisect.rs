//! Bisections of a repository whose commits are real libraries.

use super::scratch::{Done, Scratch};
use std::path::Path;
use std::process::Command;

fn git(dir: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]);
    assert!(git.args(arguments).status().unwrap().success(), "{arguments:?}");
}

/// A repository with these texts of `planted.c`, one commit each, tagged `c0`, `c1`...
fn repository(scratch: &Scratch, texts: &[String]) {
    let dir = scratch.path("engine");
    std::fs::create_dir(&dir).unwrap();
    git(&dir, &["init", "--quiet"]);
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(dir.join("planted.c"), format!("/* {number} */\n{text}")).unwrap();
        git(&dir, &["add", "planted.c"]);
        git(&dir, &["commit", "--quiet", "-m", &format!("commit {number}")]);
        git(&dir, &["tag", &format!("c{number}")]);
    }
}

fn bisect(scratch: &Scratch, ends: [&str; 2], more: &[&str]) -> Done {
    let [good, bad] = ends;
    let arguments = ["bisect", "--repo", "engine", "--good", good, "--bad", bad];
    scratch.run(&[&arguments[..], more].concat())
}

#[test]
fn mistakes_are_told_before_anything_is_built() {
    let scratch = Scratch::new();
    repository(&scratch, &["int a;".to_owned(), "int b;".to_owned()]);
    let build = ["--build", "false", "--library", "engine.so"];
    bisect(&scratch, ["c0", "c9"], &build).assert_code(2).assert_says("no such commit");
    bisect(&scratch, ["c1", "c0"], &build).assert_code(2).assert_says("in the history of");
    bisect(&scratch, ["c0", "c0"], &build).assert_code(2).assert_says("in the history of");
    bisect(&scratch, ["HEAD~9", "c1"], &build).assert_code(2).assert_says("no such commit");
    bisect(&scratch, ["c0", "c1"], &[&build[..], &["--count"]].concat()).assert_code(2);
    let outside = scratch.write("mine.so", "mine");
    for library in [outside.to_str().unwrap(), "../mine.so"] {
        let elsewhere = ["--build", "true", "--library", library];
        bisect(&scratch, ["c0", "c1"], &elsewhere).assert_code(2).assert_says("in the clone");
    }
    assert!(outside.exists());
    let arguments = ["bisect", "--repo", ".", "--good", "a", "--bad", "b"];
    let none = scratch.run(&[&arguments[..], &build].concat());
    none.assert_code(2).assert_says("expected a git repository");
    assert!(!scratch.path("runs").exists());
    // The build of an end must succeed.
    bisect(&scratch, ["c0", "c1"], &build).assert_code(2).assert_says("its build failed");
    let none = ["--build", "true", "--library", "engine.so"];
    bisect(&scratch, ["c0", "c1"], &none).assert_code(2).assert_says("left no");
    assert!(!scratch.path("engine/engine.so").exists(), "the repository is only read");
}

mod soak {
    use super::*;
    use crate::counted::has_valgrind;
    use crate::planted;
    use crate::suites::{GET, suite};

    /// The seventh of sixteen commits adds 2 % to a read, and the fifth does not build.
    #[test]
    fn the_commit_that_made_reads_slower_is_found() {
        const TEST: &str = "the_commit_that_made_reads_slower_is_found";
        let scratch = Scratch::new();
        if !planted::find_rocksdb(&scratch, TEST) || !has_valgrind(TEST) {
            return;
        }
        let text = |number: u32| planted::source(if number < 7 { 10 } else { 50 });
        let mut texts: Vec<String> = (0..16).map(text).collect();
        texts[8].push_str("#error unfinished\n");
        repository(&scratch, &texts);
        let work = suite().data("records = 500\nvalue_bytes = 100").run("database = \"fresh\"");
        let work = work
            .engine("rocksdb")
            .load("batch = 500")
            .measure("warmup = \"50ms\"\nduration = \"120ms\"");
        scratch.write("s.toml", &work.role("readers", GET).text());
        let build = planted::build(&scratch, "new.so");
        let more = ["--build", &build, "--library", "new.so", "--suite", "s.toml", "--json"];
        let done = bisect(&scratch, ["c0", "c15"], &more);
        done.assert_code(0);
        let answer = done.json();
        let commits = answer["commits"].as_array().unwrap();
        let first = commits.iter().find(|it| it["sha"] == answer["first_bad"]).unwrap();
        assert_eq!(
            (&first["subject"], &answer["by"]),
            (&"commit 7".into(), &"instructions".into())
        );
        assert!(first["ratio"][0].as_f64().unwrap() > 1.005, "{first}");
        assert!(commits.len() <= 6, "{answer:#}");
        // The same command knows the answer, and another question is not that one.
        let again = bisect(&scratch, ["c0", "c15"], &more);
        again.assert_code(0);
        assert_eq!(again.json(), answer);
        let other = bisect(&scratch, ["c0", "c15"], &[&more[..], &["--phase", "load"]].concat());
        other.assert_code(2).assert_says("is of another question");
        let nothing = bisect(&scratch, ["c0", "c6"], &more);
        nothing.assert_code(4);
        assert!(nothing.json()["first_bad"].is_null());
    }
}
