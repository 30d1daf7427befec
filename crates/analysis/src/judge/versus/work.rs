//! The differences between the works of two cases, by name.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A difference between two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its name.
    pub subject: String,
    /// The base's value.
    pub base: String,
    /// The new side's value.
    pub new: String,
}

impl Difference {
    /// A difference, if the two values differ.
    pub(super) fn between(what: impl Into<String>, base: String, new: String) -> Option<Self> {
        (base != new).then(|| Self { subject: what.into(), base, new })
    }

    /// `data.records: 1000 in BASE, 2000 in NEW`.
    pub fn description(&self) -> String {
        let or_none = |value: &str| if value.is_empty() { "none" } else { value }.to_owned();
        format!("{}: {} in BASE, {} in NEW", self.subject, or_none(&self.base), or_none(&self.new))
    }
}

/// All differences between two works, by path.
pub(super) fn differences(base: &Value, new: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    walk("", base, new, &mut differences);
    differences
}

fn walk(path: &str, base: &Value, new: &Value, differences: &mut Vec<Difference>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (base, new) {
        (Value::Object(base), Value::Object(new)) => {
            let only_new = new.keys().filter(|key| !base.contains_key(*key));
            for key in base.keys().chain(only_new) {
                let value_in = |side: &serde_json::Map<String, Value>| side.get(key).cloned();
                let (base, new) =
                    (value_in(base).unwrap_or_default(), value_in(new).unwrap_or_default());
                walk(&below(key), &base, &new, differences);
            }
        }
        (Value::Array(base), Value::Array(new)) => {
            for index in 0..base.len().max(new.len()) {
                let value_in = |side: &[Value]| side.get(index).cloned().unwrap_or_default();
                let (base, new) = (value_in(base), value_in(new));
                walk(&below(&member(&base, &new, index)), &base, &new, differences);
            }
        }
        _ => differences.extend(Difference::between(path, format_value(base), format_value(new))),
    }
}

/// A member of a list by its name or operation, where both sides have the same; else by its index.
fn member(base: &Value, new: &Value, index: usize) -> String {
    let known_by = |key: &str| {
        let name = base.get(key).filter(|name| new.get(key) == Some(name));
        name.and_then(Value::as_str).map(str::to_owned)
    };
    known_by("name").or_else(|| known_by("op")).unwrap_or_else(|| index.to_string())
}

/// A value in words: `operations_per_s 2000, schedule poisson`.
fn format_value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        // 2000.0 is a rate of 2000.
        Value::Number(number) if number.is_f64() => number.as_f64().unwrap_or_default().to_string(),
        Value::Number(number) => number.to_string(),
        Value::Bool(is) => is.to_string(),
        Value::Array(members) => members.iter().map(format_value).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => match fields.get("name").and_then(Value::as_str) {
            Some(name) => format!("`{name}`"),
            None => fields.iter().map(field).collect::<Vec<_>>().join(", "),
        },
    }
}

fn field((key, value): (&String, &Value)) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => format!("{key} ({})", format_value(value)),
        _ => format!("{key} {}", format_value(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_differs_is_named_by_its_path() {
        let work = |records: u32, threads: u32, more: bool| {
            let mut phases = vec![json!({ "name": "measure", "roles": [
                { "name": "readers", "threads": threads, "mix": [{ "op": "get", "weight": 1 }] }
            ] })];
            phases.extend(more.then(|| json!({ "name": "again" })));
            json!({ "data": { "records": records }, "ram_limit_bytes": null, "phases": phases })
        };
        assert_eq!(differences(&work(1, 2, true), &work(1, 2, true)), []);
        let differences = differences(&work(1, 2, false), &work(5, 3, true));
        let differences: Vec<String> = differences.iter().map(Difference::description).collect();
        assert_eq!(
            differences,
            [
                "data.records: 1 in BASE, 5 in NEW",
                "phases.measure.roles.readers.threads: 2 in BASE, 3 in NEW",
                "phases.1: none in BASE, `again` in NEW",
            ]
        );
    }

    #[test]
    fn a_value_that_one_side_lacks_is_given_in_words() {
        let rate = json!({ "rate": { "operations_per_s": 2000.0, "schedule": "poisson" } });
        let differing = differences(&json!({ "rate": null }), &rate);
        let words = "rate: none in BASE, operations_per_s 2000, schedule poisson in NEW";
        assert_eq!(differing[0].description(), words);
        let values = json!({ "size": { "uniform": { "min": 1, "max": 9 } } });
        let differing = differences(&json!({ "size": { "fixed": { "bytes": 100 } } }), &values);
        let words: Vec<String> = differing.iter().map(Difference::description).collect();
        assert!(
            words.contains(&"size.uniform: none in BASE, max 9, min 1 in NEW".to_owned()),
            "{words:?}"
        );
    }
}
