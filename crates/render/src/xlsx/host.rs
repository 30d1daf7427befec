//! The host sheet: every fact about the machine, before the run and after it.

use super::sheet::{Heading, Sheet, heading};
use crate::cell::Cell;
use crate::format::Show::Plain;
use kvdyno_analysis::answers::summary::Summary;
use serde_json::Value;
use std::collections::BTreeMap;

const HEADINGS: [Heading; 4] = [
    heading("fact", 46, Plain),
    heading("before the run", 50, Plain),
    heading("after it", 50, Plain),
    heading("changed", 9, Plain),
];

/// A line for each fact, by its path in `run.json`.
pub(super) fn sheet(summary: &Summary) -> anyhow::Result<Sheet> {
    let mut sheet = Sheet::table("Host", &HEADINGS, 1)?;
    let mut before = BTreeMap::new();
    flatten("", &serde_json::to_value(&summary.host)?, &mut before);
    let mut after = BTreeMap::new();
    if let Some(host) = &summary.host_after {
        flatten("", &serde_json::to_value(host)?, &mut after);
    }
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let [earlier, later] = [before.get(name), after.get(name)];
        let changed = summary.host_after.is_some() && earlier != later && name != "at_unix_ns";
        let mark = if changed { Cell::text("changed") } else { Cell::Empty };
        sheet.row(&[Cell::text(name), cell(earlier), cell(later), mark])?;
    }
    sheet.filter()?;
    Ok(sheet)
}

/// Adds each leaf by its path; what the host does not report is left out.
fn flatten(path: &str, value: &Value, facts: &mut BTreeMap<String, Value>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{name}"), field, facts);
            }
        }
        leaf => {
            facts.insert(path.to_owned(), leaf.clone());
        }
    }
}

fn cell(value: Option<&Value>) -> Cell {
    match value {
        None => Cell::Empty,
        Some(Value::String(text)) => Cell::text(text),
        // Past 2^53 a spreadsheet would round it.
        Some(Value::Number(number)) if number.as_f64().is_some_and(|n| n.abs() < 9e15) => {
            Cell::number(number.as_f64())
        }
        Some(other) => Cell::text(other.to_string()),
    }
}
