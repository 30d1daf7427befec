//! What a person calls a run: kept, listed, and found by.

use super::scratch::Scratch;
use super::suites::{GET, suite};

#[test]
fn a_run_is_listed_and_found_by_the_name_it_was_given() {
    let scratch = Scratch::new();
    let text = suite().engine("null").load("batch = 500").measure("operations = 500");
    scratch.write("s.toml", &text.role("readers", GET).text());
    let named = ["run", "s.toml", "--name", "small cache", "--note", "with 64 MiB"];
    scratch.run(&named).assert_ok();
    scratch.run(&["run", "s.toml"]).assert_ok();

    let listed = scratch.run(&["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.out).unwrap();
    assert_eq!(listed[0]["name"], "small cache");
    assert_eq!(listed[0]["note"], "with 64 MiB");
    assert_eq!(listed[0]["engines"][0], "null");
    assert_eq!(listed[1]["name"], serde_json::Value::Null);
    let table = scratch.run(&["list"]).out;
    let row = table.lines().find(|line| line.contains("small cache"));
    assert!(row.is_some_and(|row| row.contains("complete")), "{table}");

    let shown = scratch.run(&["show", "small cache", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["run"]["id"], listed[0]["id"]);
    assert_eq!(shown["run"]["note"], "with 64 MiB");
    scratch.run(&["run", "s.toml", "--name", "a/b"]).assert_code(2).assert_says("a/b");
    scratch.assert_nothing_left();
}
