//! The JSON Schema of the suite language, for editors: checked in as `schemas/suite.schema.json`.

#[cfg(test)]
pub(crate) mod reference;

use crate::written::typed::Whole;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::Value;

/// Returns the schema, generated from the types that suites are read into.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(without_null);
    settings.into_generator().into_root_schema_for::<Whole>().to_value()
}

/// Removes null from a schema: TOML has none, and an optional key is just not required.
fn without_null(schema: &mut Schema) {
    transform_subschemas(&mut without_null, schema);
    let is_null = |kind: &Value| kind == "null" || kind.get("type").is_some_and(|t| t == "null");
    for word in ["type", "anyOf"] {
        let Some(Value::Array(kinds)) = schema.get_mut(word) else { continue };
        kinds.retain(|kind| !is_null(kind));
        if let [only] = &kinds[..] {
            let only = only.clone();
            schema.remove(word);
            match only {
                Value::Object(only) => schema.ensure_object().extend(only),
                other => _ = schema.insert(word.to_owned(), other),
            }
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}
