//! `kvdyno trace`: from a file of somebody's to what is said of it.

use super::scratch::Scratch;

#[test]
fn a_trace_is_imported_and_shown() {
    let scratch = Scratch::new();
    let mut text = String::new();
    for second in 0..20 {
        text += &format!("{second},hot,3,70,1,get,0\n{second},k{second},3,100,2,set,60\n");
    }
    scratch.write("t.csv", &format!("{text}20,hot,3,7"));
    let import = ["trace", "import", "--format", "twitter", "t.csv", "-o", "t.kvtrace"];
    let imported = scratch.run(&import);
    imported.assert_ok().assert_says("line 41");
    assert!(imported.out.contains("t.kvtrace: 40 requests, 21 distinct keys"), "{}", imported.out);
    scratch.run(&import).assert_code(2).assert_says("--force");

    let shown = scratch.run(&["trace", "show", "t.kvtrace"]).out;
    for output in ["t.csv (twitter)", "21 distinct", "values written"] {
        assert!(shown.contains(output), "`{output}`: {shown}");
    }
    let json = scratch.run(&["trace", "show", "t.kvtrace", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["header"]["ops"]["put"], 20);
    assert_eq!(json["distinct"], 21.0);
}

/// Lengths of more than 2,047 bytes, in all that is shown of them.
#[test]
fn the_sizes_of_requests_are_those_of_the_log() {
    let scratch = Scratch::new();
    let log = "fio version 2 iolog\n/d add\n/d open\n/d read 0 4096\n/d write 8192 65536\n\
               /d close\n";
    scratch.write("log", log);
    let import = ["trace", "import", "--format", "fio-iolog", "log", "-o", "t.kvtrace"];
    scratch.run(&import).assert_ok();
    let json = scratch.run(&["trace", "show", "t.kvtrace", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (kind, bytes) in [("read_bytes", 4_096), ("written_bytes", 65_536)] {
        for figure in ["min", "p50", "p99", "max"] {
            assert_eq!(json[kind][figure], bytes, "{kind} {figure}");
        }
    }
    let shown = scratch.run(&["trace", "show", "t.kvtrace"]).out;
    for bytes in ["4,096", "65,536"] {
        assert!(shown.contains(bytes), "{shown}");
    }
}

#[test]
fn what_is_no_trace_is_refused_with_where_and_why() {
    let scratch = Scratch::new();
    scratch.write("t.csv", "7,a,1,0,3,get,0\n7,a,1,0,3,fetch,0\n");
    let import = ["trace", "import", "--format", "twitter", "t.csv", "-o", "t.kvtrace"];
    let refused = scratch.run(&import);
    refused.assert_code(2).assert_says("line 2").assert_says("`fetch`");
    let shown = scratch.run(&["trace", "show", "t.csv"]);
    shown.assert_code(2).assert_says("kvdyno trace import");
}
