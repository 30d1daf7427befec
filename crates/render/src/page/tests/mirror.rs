//! The page's program declares its input by hand, in `report/src`. Every field that it reads must
//! be one that this program writes, and must be declared as nullable where it may be null.

use crate::page::{FleetData, PageData, RunsData, TraceData, TrendData, VersusData};
use schemars::schema_for;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The interfaces of the page's sources: a name and what is between its braces.
fn interfaces() -> BTreeMap<String, String> {
    let dir = Path::new(env!("KVDYNO_SOURCE")).join("report/src");
    let mut interfaces = BTreeMap::new();
    let own_types = [
        "overtime.ts",
        "search.ts",
        "versions.ts",
        "trends.ts",
        "fleets.ts",
        "flames.ts",
        "traces.ts",
        "comparison.ts",
        "crews.ts",
        "hiccups.ts",
        "ranked.ts",
        "sheets.ts",
        "study.ts",
    ];
    let files = own_types.into_iter().chain(["data.ts"]);
    for file in files {
        let text = std::fs::read_to_string(dir.join(file)).unwrap();
        let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
        let lines = lines.filter(|line| !line.trim_start().starts_with("/**"));
        let text = lines.collect::<Vec<_>>().join(" ");
        for part in text.split("export interface ").skip(1) {
            let (name, body) = part.split_once(" {").unwrap();
            interfaces.insert(name.to_owned(), braced(body).to_owned());
        }
    }
    interfaces
}

/// Returns the text up to the brace that closes it.
fn braced(body: &str) -> &str {
    let mut depth = 1;
    let end = body.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0
    });
    &body[..end.unwrap()]
}

/// Returns `name: type` pairs; the type of an inner object is its whole text.
fn fields(body: &str) -> Vec<(String, String)> {
    let mut depth = 0;
    let pairs = body.split(|c| {
        depth += i32::from("{[(<".contains(c)) - i32::from("}])>".contains(c));
        c == ';' && depth == 0
    });
    let pairs = pairs.filter_map(|pair| pair.split_once(':'));
    pairs.map(|(name, kind)| (name.trim().to_owned(), kind.trim().to_owned())).collect()
}

struct Mirror {
    interfaces: BTreeMap<String, String>,
    schema: Value,
    checked: BTreeSet<String>,
}

impl Mirror {
    /// A schema without its references, and whether it may be null.
    fn resolved(&self, schema: &Value) -> (Value, bool) {
        if let Some(name) = schema["$ref"].as_str() {
            return self.resolved(self.schema.pointer(&name[1..]).unwrap());
        }
        let null = serde_json::json!("null");
        let any = schema["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        if let [some, none] = any
            && none["type"] == null
        {
            return (self.resolved(some).0, true);
        }
        let nullable = schema["type"].as_array().is_some_and(|types| types.contains(&null));
        (schema.clone(), nullable)
    }

    fn check(&mut self, path: &str, kind: &str, schema: &Value) {
        let (schema, nullable) = self.resolved(schema);
        let optional = path.ends_with('?');
        let says_null = kind.ends_with("null") || optional;
        assert!(!nullable || says_null, "{path} may be null, and {kind} may not");
        let kind = kind.trim_end_matches(" | null").trim_start_matches('(');
        if let Some(kind) = kind.strip_suffix("[]").map(|kind| kind.trim_end_matches(')'))
            && schema["items"].is_object()
        {
            return self.check(&format!("{path}[]"), kind, &schema["items"]);
        }
        let body = match (kind.strip_prefix('{'), self.interfaces.get(kind)) {
            (Some(body), _) => braced(body).to_owned(),
            (None, Some(body)) if self.checked.insert(kind.to_owned()) => body.clone(),
            _ => return,
        };
        // A choice of several shapes is the program's own to tell apart.
        let Some(properties) = schema["properties"].as_object().cloned() else { return };
        for (name, kind) in fields(&body) {
            let property = properties.get(name.trim_end_matches('?'));
            let property = property.unwrap_or_else(|| panic!("{path} has no {name}"));
            self.check(&format!("{path}.{name}"), &kind, property);
        }
    }
}

#[test]
fn the_page_reads_what_the_program_writes() {
    let roots = [
        ("PageData", schema_for!(PageData)),
        ("RunsData", schema_for!(RunsData)),
        ("VersusData", schema_for!(VersusData)),
        ("TrendData", schema_for!(TrendData)),
        ("FleetData", schema_for!(FleetData)),
        ("TraceData", schema_for!(TraceData)),
    ];
    let mut checked = BTreeSet::new();
    for (name, schema) in roots {
        let schema = schema.to_value();
        let interfaces = interfaces();
        let mut mirror = Mirror { interfaces, schema: schema.clone(), checked: BTreeSet::new() };
        mirror.check(name, name, &schema);
        checked.append(&mut mirror.checked);
    }
    // Interfaces that the page makes for itself are not among them.
    assert!(checked.len() > 30, "{checked:?}");
    for name in [
        "Live",
        "Group",
        "Standing",
        "RoleRow",
        "Metric",
        "TimeLine",
        "Search",
        "History",
        "Side",
        "Seat",
        "TrendFigure",
        "FleetFigure",
        "TraceWindow",
    ] {
        assert!(checked.contains(name), "{name}: {checked:?}");
    }
}
