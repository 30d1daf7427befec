//! Tests of the language as a whole: reader, schema and plan file agree.

use super::*;
use kvdyno_record::column::ColumnName;
use kvdyno_record::operations::OpInfo;

/// Fails if a file of the repository differs from this text; `KVDYNO_BLESS=1` writes it.
#[track_caller]
fn assert_checked_in(file: &str, text: &str) {
    let path = format!("{}/{file}", env!("KVDYNO_SOURCE"));
    if std::env::var_os("KVDYNO_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == text, "KVDYNO_BLESS=1 cargo test schemas, then commit {file}");
}

#[test]
fn the_schema_is_among_the_schemas_checked_in_and_so_is_its_reference() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    assert_checked_in("schemas/suite.schema.json", &text);
    assert_checked_in(
        "docs/suite-reference.md",
        &crate::written::schema::reference::reference(&schema()),
    );
}

#[test]
fn every_operation_and_distribution_survives_the_plan_file() {
    let plan = plan(EVERYTHING, &[]);
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
}

/// Returns the keys that the reader accepts at a path, from its message about an unknown key.
fn keys_at(path: &str) -> Vec<String> {
    let part = ["part=[{ name = \"a\", data = {}, run = {} }]"];
    let needed = usize::from(path.starts_with("part."));
    known_with(path, &part[..needed])
}

/// Returns the keys that the reader accepts at a path, after these arguments changed the suite.
fn known_with(path: &str, arguments: &[&str]) -> Vec<String> {
    let argument = format!("{path}zzzzzzzz=1");
    let arguments = [arguments, &[&argument]].concat();
    let refusal = refusal(EVERYTHING, &set(&arguments)).replace("\n  ", "");
    let (_, keys) = refusal.split_once("known names: ").unwrap_or_else(|| panic!("{refusal}"));
    let mut keys: Vec<_> = keys.trim().split(", ").map(|name| name.trim().to_owned()).collect();
    keys.sort();
    keys
}

#[test]
fn the_schema_knows_the_keys_that_the_reader_knows() {
    let schema = schema();
    let variant = |path: &str, definition: &str, index: usize| {
        (path.to_owned(), vec![format!("/$defs/{definition}/oneOf/{index}")])
    };
    let plain =
        |path: &str, definition: &str| (path.to_owned(), vec![format!("/$defs/{definition}")]);
    let mut tables = vec![
        (String::new(), vec![String::new()]),
        plain("suite.", "Header"),
        plain("data.", "Data"),
        plain("ram.", "Ram"),
        plain("data_dir.", "DataDir"),
        plain("run.", "Run"),
        plain("drive.", "Drive"),
        plain("drive.job.0.", "DriveJob"),
        plain("engine.0.", "Engine"),
        plain("part.0.", "Part"),
        plain("part.0.data.", "OverData"),
        plain("part.0.run.", "OverRun"),
        plain("phase.6.role.all.", "Role"),
        plain("phase.6.role.all.rate.", "Scheduled"),
    ];
    tables.extend((0..7).map(|index| variant(&format!("phase.{index}."), "Phase", index)));
    for (path, pointers) in tables {
        let mut written: Vec<String> = Vec::new();
        for pointer in pointers {
            let properties = schema.pointer(&(pointer.clone() + "/properties"));
            let properties = properties.and_then(|value| value.as_object());
            let properties = properties.unwrap_or_else(|| panic!("no {pointer}"));
            written.extend(properties.keys().cloned());
        }
        written.sort();
        assert_eq!(keys_at(&path), written, "at `{path}`");
    }
}

/// The schema has each operation, with the keys that the reader accepts.
#[test]
fn the_schema_knows_every_operation_and_its_keys() {
    let schema = schema();
    let keys = |value: &serde_json::Value| -> Vec<String> {
        let properties = value.pointer("/properties").and_then(|value| value.as_object());
        properties.unwrap_or_else(|| panic!("{value}")).keys().cloned().collect()
    };
    let entry = schema.pointer("/$defs/Entry").unwrap();
    let variants = entry["oneOf"].as_array().unwrap();
    for name in OpInfo::mix_operations().map(|info| info.name) {
        let is = |variant: &&serde_json::Value| variant["properties"]["op"]["const"] == name;
        let variant = variants.iter().find(is).unwrap_or_else(|| panic!("no `{name}`"));
        let mut written = [keys(entry), keys(variant)].concat();
        written.sort();
        let mix = format!("phase.6.role.all.mix=[{{ op = \"{name}\" }}]");
        assert_eq!(known_with("phase.6.role.all.mix.0.", &[&mix]), written, "{name}");
    }
    assert_eq!(variants.len(), OpInfo::mix_operations().count());
}

#[test]
fn the_smallest_suite_of_the_documentation_expands() {
    let page = include_str!("../../../../docs/suites.md");
    let (_, text) = page.split_once("```toml\n[suite]").unwrap();
    let (smallest, _) = text.split_once("```").unwrap();
    let plan = plan(&format!("[suite]{smallest}"), &[]);
    assert_eq!(plan.cases.len(), 8);
    assert_eq!(plan.cases[1].threads, Some(4));
}

/// A fragment of the guide replaces the same tables of its first suite.
#[test]
fn every_fragment_of_the_guide_is_a_suite_with_the_rest_of_the_first() {
    let page = include_str!("../../../../docs/suites.md");
    let texts = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let fragments: Vec<toml::Table> = texts.map(|text| text.parse().unwrap()).collect();
    assert!(fragments.len() > 10, "{} fragments", fragments.len());
    for mut fragment in fragments.clone() {
        let mut suite = fragments[0].clone();
        if let Some(toml::Value::Table(roles)) = fragment.get("phase").cloned() {
            let mut phases = suite["phase"].clone();
            phases[1]["role"] = roles["role"].clone();
            fragment.insert("phase".to_owned(), phases);
        }
        if fragment.contains_key("run") {
            suite["phase"][1]["role"][0]["threads"] = "sweep".into();
        }
        suite.extend(fragment);
        let text = toml::to_string(&suite).unwrap();
        let read = Suite::parse("guide", &text, &Overrides::default());
        assert!(read.is_ok(), "{text}\n{}", read.err().unwrap());
    }
}

#[test]
fn a_suite_asks_for_columns() {
    let planned = plan(SMALL, &["show.columns=['over_4ms', 'took']"]);
    assert_eq!(planned.columns, [ColumnName::Over4Ms, ColumnName::Took]);
    assert!(plan(SMALL, &[]).columns.is_empty());
    let refused = refusal(SMALL, &set(&["show.columns=['over_1m']"]));
    for words in ["`over_1m` is not a column of tables", "did you mean `over_1ms`?", "mb_per_s"] {
        assert!(refused.contains(words), "{refused}");
    }
    let refused = refusal(SMALL, &set(&["show.column=['rms']"]));
    assert!(refused.contains("did you mean `columns`?"), "{refused}");
}

/// `fidelity` is refused where it can change nothing, and noted where it changes something.
#[test]
fn fidelity_is_of_phases_with_two_versions() {
    for suite in ["quick", "linkbench"] {
        let refused = refusal(builtin_text(suite), &set(&["fidelity=as-run"]));
        assert!(refused.contains("no named phase has two versions"), "{refused}");
    }
    let parts = "part=[{ name = \"a\", fidelity = \"as-written\" }]";
    let refused = refusal(SMALL, &set(&[parts]));
    assert!(refused.contains("no named phase has two versions"), "{refused}");
    let is_noted = |phases: &[&str]| {
        let phases = phases.iter().map(ToString::to_string).collect();
        let plan = plan_of(builtin_text("ycsb"), &Overrides { phases, ..Overrides::default() });
        plan.unwrap().sized.iter().any(|note| note.contains("in the version as run"))
    };
    assert!(is_noted(&[]) && is_noted(&["load", "a"]) && !is_noted(&["load"]));
}

#[test]
fn a_suite_needs_a_phase() {
    let head = SMALL.split("[[phase]]").next().unwrap();
    let refused = refusal(&format!("phase = []\n{head}"), &Overrides::default());
    assert!(refused.contains("the list `phase` is empty"), "{refused}");
}
