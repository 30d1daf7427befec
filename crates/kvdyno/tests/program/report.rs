//! `kvdyno report` writes one page, beside the run, and leaves the run as it is.

use super::scratch::Scratch;
use super::suites::reads;
use std::fs;

#[test]
fn a_report_is_one_file_that_fetches_nothing() {
    let scratch = Scratch::new();
    let suite = reads().engine("null").text().replace("200ms", "1s");
    scratch.write("s.toml", &suite);
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();

    let done = scratch.run(&["report"]);
    done.assert_code(0);
    let path = scratch.path(done.out.trim());
    assert_eq!(
        path,
        scratch.path("runs").join(run.path.with_extension("html").file_name().unwrap())
    );
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>"), "{}", &page[..60]);
    assert!(!page.contains("%KVDYNO_DATA%"), "the data has taken its place");
    for from_elsewhere in ["src=\"", "href=\"http", "href=\"/", "@import", "url(http"] {
        assert!(!page.contains(from_elsewhere), "{from_elsewhere} would fetch something");
    }
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    scratch.run(&["check"]).assert_code(0);

    scratch.run(&["report", "-o", "mine.html"]).assert_code(0);
    // Half a megabyte each: no assertion prints them.
    assert!(fs::read_to_string(scratch.path("mine.html")).unwrap() == page, "-o writes another");
    let printed = scratch.run(&["report", "latest", "-o", "-"]);
    assert!(printed.out == page, "-o - prints another: {}", printed.err);
    scratch.run(&["report", "nothing"]).assert_code(2).assert_says("kvdyno list");
    scratch.assert_nothing_left();
}
