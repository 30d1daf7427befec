//! Tests of property files and command lines, property by property.

use super::properties::{Property, Word, parse_file, parse_line};
use super::*;
use crate::{Overrides, Suite};

const SUITE: &str = r#"
[suite]
name = "properties"
[data]
size = "1GiB"
key_bytes = 16
value_bytes = 100
[run]
threads = [1, 2]
[[engine]]
name = "lmdb"
[[phase]]
kind = "load"
[[phase]]
kind = "evict"
[[phase]]
kind = "measure"
duration = "1s"
role = [{ name = "readers", mix = [{ op = "get" }] }]
"#;

/// Half reads, half updates of one field.
const FILE: &str = "\
# By hand.
workload=site.ycsb.workloads.CoreWorkload
recordcount=1000
operationcount=5000
readproportion=0.5
updateproportion=0.5
requestdistribution=zipfian
table=usertable
";

fn overrides(lines: &[&str]) -> Overrides {
    Overrides {
        ycsb: lines.iter().map(ToString::to_string).collect(),
        ycsb_files: vec![
            ("dir/workloadx".to_owned(), FILE.to_owned()),
            ("wrong".to_owned(), "recordcount = 10\nreadproportion = lots\n".to_owned()),
        ],
        ..Overrides::default()
    }
}

/// Returns the arguments and notes for a command line, or the mistakes.
fn translate(text: &str, lines: &[&str]) -> Result<(Vec<String>, Vec<String>), String> {
    let mut source = Source::new("suite.toml", text);
    let mut mistakes = Mistakes::default();
    let suite = DeTable::parse(text).unwrap().into_inner();
    let both = arguments(&overrides(lines), &suite, &mut source, &mut mistakes);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    mistakes.into_result(&source).map(|()| both).map_err(|error| words(error.render(false)))
}

fn set(line: &str) -> Vec<String> {
    let both = translate(SUITE, &["operationcount=9", line]).unwrap();
    both.0
}

#[track_caller]
fn refused(line: &str, words: &[&str]) {
    let refusal = translate(SUITE, &["operationcount=9", line]).unwrap_err();
    assert!(words.iter().all(|words| refusal.contains(words)), "{refusal}");
}

/// Returns the argument that defines the phase of a command line.
fn phase(line: &str) -> String {
    set(line).into_iter().find(|set| set.starts_with("phases.run=")).unwrap()
}

/// Parses a suite with these properties; panics with its mistakes.
fn parsed(text: &str, lines: &[&str]) -> Suite {
    Suite::parse("suite.toml", text, &overrides(lines)).unwrap_or_else(|error| {
        panic!("{}", error.render(false));
    })
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let properties = parse_file(text, 0);
    for property in &properties {
        let typed = &text[property.span.clone()];
        assert!(!typed.starts_with([' ', '\n', '#']) && !typed.is_empty(), "{typed:?}");
    }
    properties.into_iter().map(|Property { name, value, .. }| (name, value)).collect()
}

#[test]
fn files_are_read_as_java_reads_them() {
    let text = "# comment \\\n! another\n\na=1\n b : 2\nc 3\nd\ne==\nf\\=g = h\\:\\\\\r\n\
                list=one,\\\n    two,\\\r\n\ttwo-and-a-half\nlast = \\u00e9t\\u0065 \\t.\n\
                odd=\\\\\neven=\\\\\\\n  x\ncomment=# no\nwrong=\\u12\n\u{c}blank = space \nend\\";
    let expected = [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
        ("d", ""),
        ("e", "="),
        ("f=g", "h:\\"),
        ("list", "one,two,two-and-a-half"),
        ("last", "\u{e9}te \t."),
        ("odd", "\\"),
        ("even", "\\x"),
        ("comment", "# no"),
        ("wrong", "\\u12"),
        ("blank", "space "),
        ("end", ""),
    ];
    assert_eq!(pairs(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    assert_eq!(pairs("a = b\rc = d"), [("a", "b"), ("c", "d")].map(|(a, b)| (a.into(), b.into())));
    assert!(pairs("").is_empty());
}

proptest::proptest! {
    /// Any text is read, and each property lies in its line.
    #[test]
    fn any_text_is_a_property_file(text in "[a-b=: #!\\\\\r\n\té]{0,40}") {
        for property in parse_file(&text, 0) {
            proptest::prop_assert!(text.get(property.span).is_some());
        }
    }
}

#[test]
fn command_lines_of_ycsb_are_read() {
    let line = "./bin/ycsb run rocksdb -s -t -P dir/workloadx -p recordcount=7 -threads 4 \\\n \
                -p rocksdb.dir='/tmp/a b' -target 100 -jvm-args -Xmx1g > out.txt";
    let mut source = Source::new("suite.toml", "");
    let mut mistakes = Mistakes::default();
    let words = parse_line(line, &mut source, &mut mistakes);
    mistakes.into_result(&source).unwrap();
    let words: Vec<String> = words
        .into_iter()
        .map(|word| match word {
            Word::File(path, _) => path,
            Word::Property(Property { name, value, .. }) => format!("{name}={value}"),
        })
        .collect();
    let expected = [
        "dotransactions=true",
        "dir/workloadx",
        "recordcount=7",
        "threadcount=4",
        "rocksdb.dir=/tmp/a b",
        "target=100",
    ];
    assert_eq!(words, expected);
    set("-t -p dotransactions=true");
    for load in ["bin/ycsb load basic -s", "-load", "-p dotransactions=false"] {
        refused(load, &["`dotransactions` cannot be `false`", "phase `load` has a row of its own"]);
    }
    refused("-threads", &["[--set-ycsb:1:1]", "`-threads` has no value"]);
    refused("-thread 4", &["`-thread` is not an option of YCSB", "-threads N"]);
    refused("-p recordcount", &["`recordcount` sets no property", "name=value"]);
    refused("-P other", &["other was not read"]);
}

#[test]
fn a_file_becomes_data_and_a_phase() {
    let (set, notes) = translate(SUITE, &["-P dir/workloadx", "-p threadcount=8"]).unwrap();
    let expected = [
        "data.records=1000",
        "data.key_format=ycsb",
        "data.key_order=",
        "data.key_bytes=",
        "data.value_bytes=1000",
        "run.threads=[8]",
        "phases.workloadx={ kind = \"measure\", operations = 5000, role = { clients = { threads = \
         \"sweep\", keys = { distribution = \"zipf\", theta = 0.99 }, mix = [{ op = \"get\", \
         weight = 0.5 }, { op = \"rmw\", weight = 0.5 }] } }, as-run = { role = { clients = { keys \
         = { distribution = \"gray_zipf\", theta = 0.99, items = 1e10, spread = \"fnv\", domain = \
         \"predicted\" } } } } }",
        "run.phases=[\"load\", \"evict\", \"workloadx\"]",
        "fidelity=as-run",
    ];
    assert_eq!(set, expected);
    assert_eq!(notes, ["properties of YCSB without effect here: table"]);
    let suite = parsed(SUITE, &["-P dir/workloadx"]);
    let phases: Vec<_> = suite.parts[0].typed.phase.iter().filter_map(|p| p.name()).collect();
    assert_eq!(phases.last().unwrap().0, "workloadx");
}

/// Later files and arguments win, and the command line over files.
#[test]
fn the_last_value_counts() {
    let (set, _) =
        translate(SUITE, &["-p recordcount=5 -P dir/workloadx", "recordcount=6"]).unwrap();
    assert!(set.contains(&"data.records=6".to_owned()), "{set:?}");
}

/// Each distribution has its equal in a suite, as written and as run.
#[test]
fn every_request_distribution_has_its_equal() {
    let keys = [
        ("uniform", "distribution = \"uniform\"", "distribution = \"uniform\""),
        ("sequential", "distribution = \"sequential\"", "distribution = \"sequential\""),
        ("latest", "distribution = \"latest\", theta = 0.99", "exact = false"),
        ("zipfian", "distribution = \"zipf\", theta = 0.99", "items = 1e10, spread = \"fnv\""),
        ("hotspot", "keys = 0.2, operations = 0.8, domain = \"loaded\"", "operations = 0.8"),
        ("exponential", "percentile = 95, fraction = 0.8571428571", "percentile = 95"),
    ];
    for (word, written, run) in keys {
        let line = format!("requestdistribution={word}");
        let phase = phase(&line);
        let (as_written, as_run) = phase.split_once("as-run").unwrap();
        assert!(as_written.contains(written), "{as_written}");
        assert!(as_run.contains(run), "{as_run}");
        parsed(SUITE, &["recordcount=1000 operationcount=10", &line]);
    }
    refused("requestdistribution=zipf", &["cannot be `zipf`", "expected uniform or zipfian"]);
    let hot = "-p requestdistribution=hotspot -p hotspotdatafraction=0.1 -p hotspotopnfraction=0.9";
    assert!(phase(hot).contains("keys = 0.1, operations = 0.9"));
}

#[test]
fn proportions_are_a_mix() {
    let mix = |line: &str| {
        let phase = phase(line);
        let (_, mix) = phase.split_once("mix = [").unwrap();
        mix.split_once("] } }, as-run").unwrap().0.to_owned()
    };
    assert_eq!(mix("a.b=c"), "{ op = \"get\", weight = 0.95 }, { op = \"rmw\", weight = 0.05 }");
    let whole = "{ op = \"get\", weight = 0.95 }, { op = \"update\", weight = 0.05 }";
    assert_eq!(mix("writeallfields=true"), whole);
    assert_eq!(mix("fieldcount=1"), whole);
    // An update of one field is a cycle, too.
    let cycles = "readproportion=0 updateproportion=0.25 readmodifywriteproportion=0.25";
    assert_eq!(mix(cycles), "{ op = \"rmw\", weight = 0.5 }");
    let scans = "readproportion=0 updateproportion=0 scanproportion=0.95 insertproportion=0.05 \
                 maxscanlength=3";
    let length = "length = { uniform = { min = 1, max = 3 } }";
    assert!(mix(scans).contains(length), "{}", mix(scans));
    assert!(set(scans).contains(&"run.database=state".to_owned()));
    let zipfian = format!("{scans} scanlengthdistribution=zipfian");
    assert!(mix(&zipfian).contains("[1, 1.000000], [2, 0.503478], [3, 0.337016]"));
    parsed(SUITE, &["recordcount=1000 operationcount=10", &zipfian]);
    refused("readproportion=0 updateproportion=0", &["all proportions", "readproportion=1"]);
    refused("readproportion=-1", &["expected a number of at least 0"]);
    refused("scanlengthdistribution=zipfian maxscanlength=1001", &["at most 1000 lengths"]);
}

#[test]
fn fields_are_one_value() {
    let length = |line: &str| {
        let set = set(line);
        let length = set.iter().find_map(|set| set.strip_prefix("data.value_bytes="));
        parsed(SUITE, &["recordcount=1000 operationcount=10", line]);
        length.unwrap().to_owned()
    };
    assert_eq!(length("a.b=c"), "1000");
    assert_eq!(length("fieldcount=3 fieldlength=7"), "21");
    let uniform = "fieldlengthdistribution=uniform";
    let one_field = format!("{uniform} fieldcount=1 minfieldlength=10");
    assert_eq!(length(&one_field), "{ uniform = { min = 10, max = 100 } }");
    // Each of ten lengths from 1 to 100 has the mean 50.5 and the variance 9999/12.
    assert_eq!(
        length(uniform),
        "{ normal = { mean = 505, sigma = 91.283, min = 10, max = 1000 } }"
    );
    let zipfian = length("fieldlengthdistribution=zipfian fieldcount=1 fieldlength=2");
    assert_eq!(zipfian, "{ empirical = [[1, 1.000000], [2, 0.503478]] }");
    refused("fieldlengthdistribution=zipfian", &["one field of at most 1000 lengths"]);
    refused("fieldlengthdistribution=histogram", &["cannot be `histogram`", "empirical"]);
    refused("fieldlengthdistribution=uniform minfieldlength=101", &["`fieldlength` of at least"]);
    assert!(set("dataintegrity=true").contains(&"data.verify=true".to_owned()));
}

#[test]
fn ordered_keys_have_their_length() {
    let has = |line: &str, words: [&str; 3]| {
        let set = set(line);
        assert!(words.iter().all(|word| set.contains(&(*word).to_owned())), "{set:?}");
        parsed(SUITE, &["operationcount=10", line]);
    };
    has("recordcount=1000", ["data.key_format=ycsb", "data.key_order=", "data.key_bytes="]);
    let ordered = "recordcount=1000 insertorder=ordered";
    has(ordered, ["data.key_format=", "data.key_order=ordered", "data.key_bytes=7"]);
    // Inserted keys have one more digit.
    let inserted = format!("{ordered} operationcount=20 insertproportion=0.1");
    has(&inserted, ["data.key_format=", "data.key_order=ordered", "data.key_bytes=8"]);
    refused("insertorder=ordered", &["`insertorder` cannot be `ordered`", "`recordcount` beside"]);
    let padded = format!("{ordered} zeropadding=12");
    has(&padded, ["data.key_format=", "data.key_order=ordered", "data.key_bytes=16"]);
    refused("zeropadding=12", &["`zeropadding` cannot be `12`", "expected 1"]);
    refused("keyprefix=k", &["expected user"]);
}

#[test]
fn the_end_is_a_count_or_a_time() {
    assert!(phase("operationcount=5").contains("operations = 5, role"));
    let both = phase("operationcount=5 maxexecutiontime=60");
    assert!(both.contains("operations = 5, duration = \"60s\""), "{both}");
    let refusal = translate(SUITE, &["recordcount=5"]).unwrap_err();
    assert!(refusal.contains("no `operationcount`"), "{refusal}");
    let lasting = Overrides { duration: Some("3s".to_owned()), ..overrides(&["recordcount=5"]) };
    Suite::parse("suite.toml", SUITE, &lasting).unwrap();
    let paced = phase("target=500");
    assert!(paced.contains("rate = { per_second = 500, schedule = \"fixed\" }"), "{paced}");
    assert!(!phase("target=0").contains("rate"));
    parsed(SUITE, &["recordcount=1000 operationcount=10 target=500 threadcount=3"]);
    parsed(&SUITE.replace("threads = [1, 2]", ""), &["recordcount=1000 operationcount=10"]);
}

#[test]
fn what_has_no_equal_is_refused_at_its_line() {
    refused("-P wrong", &["[wrong:2:1]", "`readproportion` cannot be `lots`"]);
    refused("recrodcount=5", &["no property `recrodcount`", "did you mean `recordcount`?"]);
    refused("workload=site.ycsb.workloads.RestWorkload", &["expected site.ycsb.workloads.Core"]);
    // The properties of that other class are not reported as well.
    let series = "workload=site.ycsb.workloads.TimeSeriesWorkload tagcount=4";
    let refusal = translate(SUITE, &[series]).unwrap_err();
    assert!(!refusal.contains("tagcount`"), "{refusal}");
    set("workload=com.yahoo.ycsb.workloads.CoreWorkload");
    refused("recordcount=10 insertstart=5", &["`insertstart` cannot be `5`", "expected 0"]);
    refused("recordcount=10 insertcount=5", &["`insertcount` cannot be `5`", "expected 10"]);
    set("recordcount=10 insertcount=10");
    refused("threadcount=0", &["expected a number of at least 1"]);
    refused("batchsize=100", &["set `batch` of the phase"]);
    let (_, notes) =
        translate(SUITE, &["operationcount=9 redis.host=a hdrhistogram.percentiles=50"]).unwrap();
    let expected = "properties of YCSB without effect here: redis.host, hdrhistogram.percentiles";
    assert_eq!(notes, [expected]);
    let (_, notes) = translate(SUITE, &["operationcount=9 readallfields=false"]).unwrap();
    assert!(notes[0].contains("the whole record"), "{notes:?}");
}
