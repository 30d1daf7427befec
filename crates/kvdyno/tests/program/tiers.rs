//! Memory tiers: data beyond the limit goes to the tier below; missing ones are refused; and
//! nothing remains.

use super::locations::can_mount;
use super::scratch::{Scratch, records};
use super::suites::reads;
use super::workers::{needs_root, report_skip};
use kvdyno_record::case::Outcome;
use std::fs::File;

/// Swap on an image of the run.
pub(crate) const SLOW: &str = "kind = \"swap\"\nsize = \"96MiB\"";

/// Swap in compressed memory.
pub(crate) const SQUEEZED: &str = "kind = \"zram\"\nsize = \"96MiB\"\nswappiness = 100";

/// If both kinds of swap are possible (by `plan`), a lock that one test has at a time: with two
/// areas each would have pages of the other's group. Otherwise prints a note.
pub(crate) fn can_swap(test: &str) -> Option<File> {
    let scratch = Scratch::new();
    let suite = reads().ram("64MiB").tier("slow", SLOW).tier("squeezed", SQUEEZED).engine("null");
    scratch.write("probe.toml", &suite.text());
    let planned = scratch.run(&["plan", "probe.toml"]);
    let can = planned.code == Some(0);
    if !can {
        report_skip("swap", test, planned.err.trim());
    }
    can.then(|| {
        let file = File::create(std::env::temp_dir().join("kvdyno-swap-tests.lock")).unwrap();
        file.lock().unwrap();
        file
    })
}

/// Every machine has a node 0, and memory can be bound to it.
#[test]
fn a_node_is_bound_to() {
    let test = "a_node_is_bound_to";
    let scratch = Scratch::new();
    let suite = reads().tier("near", "kind = \"node\"\nnode = 0").engine("null");
    scratch.write("s.toml", &suite.text());
    let planned = scratch.run(&["plan", "s.toml"]);
    if planned.code != Some(0) {
        return report_skip("numa", test, &planned.err);
    }
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.run(&["show", "--full"]).assert_ok().assert_says("NUMA node 0");
    for record in records(&scratch.only_run()).values() {
        assert_eq!(record.outcome, Outcome::Done);
        assert_eq!(record.ram_limit.tier.as_ref().unwrap().node, Some(0));
        assert_eq!(record.ram_limit.requested_bytes, None);
    }
    scratch.assert_nothing_left();
}

/// Each with its reason and remedy, before anything starts.
#[test]
fn what_a_host_does_not_have_is_refused() {
    let scratch = Scratch::new();
    let write = |lines: &str| {
        let suite = reads().ram("64MiB").tier("x", lines).engine("null");
        scratch.write("s.toml", &suite.text());
    };
    let refused = |done: super::scratch::Done, words: [&str; 2]| {
        done.assert_code(2).assert_says("memory tier `x`: ");
        done.assert_says(words[0]).assert_says(words[1]);
        assert!(scratch.runs().is_empty(), "a run was begun");
    };
    write("kind = \"node\"\nnode = 1000");
    let words = ["NUMA node 1000", "daxctl reconfigure-device"];
    refused(scratch.run(&["run", "s.toml"]), words);
    scratch.run(&["plan", "s.toml"]).assert_code(2).assert_says("memory tier `x`: ");
    let test = "what_a_host_does_not_have_is_refused";
    let Some(_alone) = can_swap(test).filter(|_| can_mount(test)) else { return };
    let hiding = |path: &str| {
        let script = format!("mount -t tmpfs none {path}");
        scratch.start(scratch.kvdyno_after(&script, &["run", "s.toml"])).wait()
    };
    write(SQUEEZED);
    refused(hiding("/sys/class/zram-control"), ["zram", "modprobe zram"]);
    let words = ["RAM limit", "kvdyno doctor"];
    refused(hiding("/sys/fs/cgroup"), words);
    write("kind = \"swap\"\nsize = \"1MiB\"");
    // Memory that is short would wait for memory.
    let script = format!("mount -t tmpfs none {}", scratch.path("tmp").display());
    let in_memory = scratch
        .kvdyno_after(&script, &["run", "s.toml", "--data-dir=tmp/place", "--create-data-dir"]);
    let words = ["tmp/place", "tmpfs"];
    refused(scratch.start(in_memory).wait(), words);
    write("kind = \"swap\"\nsize = \"1MiB\"\npath = \"/dev/null\"");
    refused(scratch.run(&["run", "s.toml"]), ["/dev/null", "`path`"]);
}

#[test]
fn without_root_there_is_no_swap() {
    let test = "without_root_there_is_no_swap";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    let suite = reads().ram("64MiB").tier("x", SQUEEZED).engine("null");
    scratch.write("s.toml", &suite.text());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let done = scratch.start(scratch.kvdyno_by(&nobody, &["run", "s.toml"])).wait();
    done.assert_code(2).assert_says("root");
    assert!(scratch.runs().is_empty());
    scratch.assert_nothing_left();
}
