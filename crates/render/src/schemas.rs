//! The JSON Schemas of the files that programs in other languages read, beside the suite's.

use kvdyno_analysis::answers::fleet::Fleet;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::answers::trend::entry::Entry;
use kvdyno_record::case::CaseRecord;
use kvdyno_record::engine::PluginDescription;
use kvdyno_record::run::RunRecord;
use kvdyno_trace::Header;
use schemars::{Schema, schema_for};

/// Returns all schemas but the suite's, each with its name.
pub fn all() -> [(&'static str, Schema); 7] {
    [
        ("run", schema_for!(RunRecord)),
        ("case", schema_for!(CaseRecord)),
        ("summary", schema_for!(Summary)),
        ("history", schema_for!(Entry)),
        ("fleet", schema_for!(Fleet)),
        ("trace", schema_for!(Header)),
        ("engine", schema_for!(PluginDescription)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `KVDYNO_BLESS=1 cargo test schemas` writes them anew.
    #[test]
    fn the_schemas_checked_in_are_those_of_the_types() {
        let dir = Path::new(env!("KVDYNO_SOURCE")).join("schemas");
        for (name, schema) in all() {
            let path = dir.join(format!("{name}.schema.json"));
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if std::env::var_os("KVDYNO_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == text, "{}: KVDYNO_BLESS=1 cargo test schemas", path.display());
        }
    }
}
