//! The reference of the suite language, `docs/suite-reference.md`, generated from the JSON Schema.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

const HEAD: &str = "# Suite reference

Every table and key of a suite. [Suites](suites.md) is the guide. This page is generated from the
JSON Schema of the language: `KVDYNO_BLESS=1 cargo test schemas` writes it. `kvdyno schema` prints
the schema for an editor.

A key with `required` in the column *default* must be present. A key without a default is optional.

## Top level

";

/// Returns the reference page of a schema.
pub(crate) fn reference(schema: &Value) -> String {
    let Some(definitions) = schema["$defs"].as_object() else { return String::new() };
    let mut reference = Reference { definitions, headings: BTreeMap::new() };
    reference.collect_headings(schema, "");
    let mut page = HEAD.to_owned() + &reference.keys(schema) + "\n## Tables\n";
    let mut tables: Vec<_> = reference.headings.iter().collect();
    tables.sort_by_key(|(_, heading)| heading.trim_matches(['[', ']']));
    for (name, heading) in tables {
        page += &format!("\n### `{heading}`\n\n{}", reference.section(&definitions[*name]));
    }
    page += "\n## Choices\n";
    let is_table = |name: &str| reference.headings.contains_key(name);
    for (name, definition) in definitions.iter().filter(|(name, _)| !is_table(name)) {
        if definition["oneOf"].is_array() {
            page +=
                &format!("\n### {}\n\n{}", split_camel_case(name), reference.section(definition));
        }
    }
    page += "\n## Values\n\nA number with a unit is text and has quotes.\n\n";
    page += "| value | written | meaning |\n|---|---|---|\n";
    for (name, definition) in definitions.iter().filter(|(name, _)| reference.is_value(name)) {
        let written = match definition["examples"].as_array() {
            Some(examples) => format_words(examples),
            None => reference.value(definition),
        };
        page += &format!(
            "| {} | {written} | {} |\n",
            split_camel_case(name),
            split_description(definition).0
        );
    }
    page
}

struct Reference<'s> {
    definitions: &'s Map<String, Value>,
    /// The TOML header of each definition that is a table.
    headings: BTreeMap<&'s str, String>,
}

impl<'s> Reference<'s> {
    /// Finds the headers of all tables below a path.
    fn collect_headings(&mut self, schema: &'s Value, path: &str) {
        let mut keys: Vec<_> = variants(schema).chain([schema]).flat_map(properties).collect();
        // Tables that a role and a drive's job have in common are found under the role.
        keys.sort_by_key(|(key, _)| path.is_empty() && *key == "drive");
        for (key, value) in keys {
            let items = value.get("items");
            let Some(name) = self.table(items.unwrap_or(value)) else { continue };
            if !self.headings.contains_key(name) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let heading = items.map_or(format!("[{path}]"), |_| format!("[[{path}]]"));
                self.headings.insert(name, heading);
                let definitions = self.definitions;
                self.collect_headings(&definitions[name], &path);
            }
        }
    }

    /// Returns the definition of a value that is a table with keys of its own.
    fn table(&self, value: &Value) -> Option<&'s str> {
        let (name, definition) = self.definitions.get_key_value(target(value)?)?;
        let name = name.as_str();
        if let Some(several) = definition["anyOf"].as_array() {
            return several.iter().find_map(|shape| self.table(shape));
        }
        let has_keys = properties(definition).next().is_some();
        let is_table = has_keys || variants(definition).any(|variant| tag(variant).is_some());
        (is_table && self.base(name) == name).then_some(name)
    }

    /// Returns the table whose keys a part overrides: `Data` for `OverData`.
    fn base<'n>(&self, name: &'n str) -> &'n str {
        let base = name.strip_prefix("Over");
        base.filter(|base| self.definitions.contains_key(*base)).unwrap_or(name)
    }

    /// Returns whether a definition is a plain value: not a table, a choice, or one of several
    /// shapes that the keys' rows show themselves.
    fn is_value(&self, name: &str) -> bool {
        let definition = &self.definitions[name];
        let has_section = definition["oneOf"].is_array() || self.headings.contains_key(name);
        !has_section && !definition["anyOf"].is_array() && self.base(name) == name
            || definition["examples"].is_array()
    }

    fn section(&self, definition: &Value) -> String {
        let text = definition["description"].as_str().unwrap_or_default();
        let mut text = text.split("\n\n").map(line).collect::<Vec<_>>().join("\n\n") + "\n";
        if properties(definition).next().is_some() {
            text += &format!("\n{}", self.keys(definition));
        }
        let (plain, with_keys): (Vec<&Value>, Vec<_>) = variants(definition)
            .partition(|variant| properties(variant_keys(variant)).all(|(_, value)| is_tag(value)));
        if !plain.is_empty() {
            text += "\n| value | meaning |\n|---|---|\n";
        }
        for variant in plain {
            text += &format!("| `{}` | {} |\n", label(variant), split_description(variant).0);
        }
        for variant in with_keys {
            let (meaning, keys) = (split_description(variant).0, self.keys(variant_keys(variant)));
            text += &format!("\n`{}`: {meaning}\n\n{keys}", label(variant));
        }
        text
    }

    /// Returns the keys of a table, one per row.
    fn keys(&self, table: &Value) -> String {
        let mut rows = String::from("| key | value | default | meaning |\n|---|---|---|---|\n");
        let required = table["required"].as_array().map_or(&[][..], Vec::as_slice);
        for (key, value) in properties(table).filter(|(_, value)| !is_tag(value)) {
            let (meaning, default) = split_description(value);
            let required = required.iter().any(|name| name == key).then(|| "required".to_owned());
            let default = default.or(required).unwrap_or_default();
            rows += &format!("| `{key}` | {} | {default} | {meaning} |\n", self.value(value));
        }
        rows
    }

    /// Describes the values that a schema accepts.
    fn value(&self, schema: &Value) -> String {
        if let Some(name) = target(schema) {
            return self.link(self.base(name));
        }
        if let Some(several) = schema["anyOf"].as_array() {
            return match &several[..] {
                [item, list] if list["items"] == *item => {
                    format!("{}, or a list of these", self.value(item))
                }
                several => join_alternatives(several.iter().map(|shape| self.value(shape))),
            };
        }
        if let Some(all) = schema["enum"].as_array() {
            return format_words(all);
        }
        match (schema["type"].as_str(), &schema["items"], &schema["additionalProperties"]) {
            (Some("array"), Value::Null, _) => {
                let pair = schema["prefixItems"].as_array().into_iter().flatten();
                let pair: Vec<String> = pair.map(|item| self.value(item)).collect();
                format!("[{}]", pair.join(", "))
            }
            (Some("array"), items, _) => format!("list of {}", self.value(items)),
            (Some("object"), _, of @ Value::Object(_)) => format!("`NAME` = {}", self.value(of)),
            (Some("object"), ..) => "table".to_owned(),
            (Some("boolean"), ..) => "`true`, `false`".to_owned(),
            (Some("string"), ..) => "text".to_owned(),
            (Some("integer"), ..) => "whole number".to_owned(),
            _ => "number".to_owned(),
        }
    }

    fn link(&self, name: &str) -> String {
        let definition = &self.definitions[name];
        if definition["anyOf"].is_array() && definition["examples"].is_null() {
            return self.value(definition);
        }
        let constants: Option<Vec<Value>> =
            variants(definition).map(|variant| variant.get("const").cloned()).collect();
        match (self.headings.get(name), constants) {
            (Some(heading), _) => format!("[`{heading}`](#{})", anchor(heading)),
            (None, Some(constants)) if !constants.is_empty() => {
                format!("[{}](#{})", format_words(&constants), anchor(&split_camel_case(name)))
            }
            _ if definition["oneOf"].is_array() => {
                format!(
                    "[{}](#{})",
                    split_camel_case(name).to_lowercase(),
                    anchor(&split_camel_case(name))
                )
            }
            _ => format!("[{}](#values)", split_camel_case(name).to_lowercase()),
        }
    }
}

/// Returns the name of the definition that a schema refers to.
fn target(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn variants(schema: &Value) -> impl Iterator<Item = &Value> {
    schema["oneOf"].as_array().into_iter().flatten()
}

/// Returns whether a key has one fixed value: such a key distinguishes variants, as `kind` does.
fn is_tag(value: &Value) -> bool {
    value.get("const").is_some()
}

fn tag(variant: &Value) -> Option<(&String, &Value)> {
    properties(variant).find(|(_, value)| is_tag(value))
}

/// Returns the table with a variant's keys: itself, or the table below its name.
fn variant_keys(variant: &Value) -> &Value {
    let below = properties(variant).next().filter(|_| tag(variant).is_none());
    below.map_or(variant, |(_, value)| value)
}

fn label(variant: &Value) -> String {
    match (variant.get("const"), tag(variant), properties(variant).next()) {
        (Some(word), ..) => word.to_string(),
        (None, Some((key, value)), _) => format!("{key} = {}", value["const"]),
        (None, None, name) => name.map(|(name, _)| name.clone()).unwrap_or_default(),
    }
}

/// Returns a description on one line, and the default at its end.
fn split_description(schema: &Value) -> (String, Option<String>) {
    let text = line(schema["description"].as_str().unwrap_or_default());
    match text.split_once("Default: ") {
        None => (text, None),
        Some((meaning, default)) => {
            (meaning.trim_end().to_owned(), Some(default.trim_end_matches('.').to_owned()))
        }
    }
}

/// Returns a text on one line, with links to the pages that it names: `docs/drive.md`.
fn line(text: &str) -> String {
    let linked = |word: &str| {
        let (before, rest) = word.split_once("docs/")?;
        let (page, after) = rest.split_once(".md")?;
        Some(format!("{before}[{page}]({page}.md){after}"))
    };
    let words = text.split_whitespace().map(|word| linked(word).unwrap_or_else(|| word.to_owned()));
    words.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn format_words(all: &[Value]) -> String {
    all.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Joins the alternatives, each once: a number with and without its range looks the same.
fn join_alternatives(values: impl Iterator<Item = String>) -> String {
    let mut values: Vec<String> = values.collect();
    values.dedup();
    values.join(" or ")
}

/// Splits a name such as `LengthDistribution` into words.
fn split_camel_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        match letter {
            'A'..='Z' if !words.is_empty() => words += &format!(" {}", letter.to_lowercase()),
            letter => words.push(letter),
        }
    }
    words
}

/// Returns a heading's anchor, as code forges generate it.
fn anchor(heading: &str) -> String {
    let chars = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    chars.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}
