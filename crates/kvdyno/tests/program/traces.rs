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
    imported.assert_ok().assert_says("the source ends early: line 41 has no end");
    assert!(imported.out.contains("t.kvtrace: 40 requests, 21 distinct keys"), "{}", imported.out);
    scratch.run(&import).assert_code(2).assert_says("is there already");

    let shown = scratch.run(&["trace", "show", "t.kvtrace"]).out;
    for said in ["t.csv (twitter)", "21 distinct", "values written", "spread evenly over each"] {
        assert!(shown.contains(said), "`{said}`: {shown}");
    }
    let json = scratch.run(&["trace", "show", "t.kvtrace", "--json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["header"]["ops"]["put"], 20);
    assert_eq!(json["distinct"], 21.0);
}

#[test]
fn what_is_no_trace_is_refused_with_where_and_why() {
    let scratch = Scratch::new();
    scratch.write("t.csv", "7,a,1,0,3,get,0\n7,a,1,0,3,fetch,0\n");
    let import = ["trace", "import", "--format", "twitter", "t.csv", "-o", "t.kvtrace"];
    let refused = scratch.run(&import);
    refused.assert_code(2).assert_says("line 2: found operation `fetch`");
    let shown = scratch.run(&["trace", "show", "t.csv"]);
    shown.assert_code(2).assert_says("expected a trace that `kvdyno trace import` wrote");
}
