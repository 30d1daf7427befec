//! The JSON Schemas of what is on disk and in exports, for readers in other languages.

use super::page::{Live, PageData, RunsData, VersusData};
use kvdyno_analysis::summary::Summary;
use kvdyno_analysis::versus::Versus;
use kvdyno_record::blockio::{BlockIoFile, BlockIoReading};
use kvdyno_record::case::{CaseRecord, CounterFile};
use kvdyno_record::engine::EngineEvent;
use kvdyno_record::plan::Plan;
use kvdyno_record::protocol::{Control, Event, Job, WorkerDescription};
use kvdyno_record::run::RunRecord;
use kvdyno_record::series::{MachineReading, Slice};
use schemars::{Schema, schema_for};

/// All of them but the suite's: name and schema.
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("run", schema_for!(RunRecord)),
        ("plan", schema_for!(Plan)),
        ("case", schema_for!(CaseRecord)),
        ("counters", schema_for!(CounterFile)),
        ("series-line", schema_for!(Slice)),
        ("machine-line", schema_for!(MachineReading)),
        ("blockio", schema_for!(BlockIoFile)),
        ("blockio-line", schema_for!(BlockIoReading)),
        ("event-line", schema_for!(EngineEvent)),
        ("worker-description", schema_for!(WorkerDescription)),
        ("worker-job", schema_for!(Job)),
        ("worker-control", schema_for!(Control)),
        ("worker-event", schema_for!(Event)),
        ("summary", schema_for!(Summary)),
        ("page", schema_for!(PageData)),
        ("page-runs", schema_for!(RunsData)),
        ("page-live", schema_for!(Live)),
        ("page-versus", schema_for!(VersusData)),
        ("versus", schema_for!(Versus)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `KVDYNO_BLESS=1 cargo test schemas` writes them anew.
    #[test]
    fn the_schemas_checked_in_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        for (name, schema) in all() {
            let path = folder.join(format!("{name}.schema.json"));
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if std::env::var_os("KVDYNO_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let known = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(known == text, "{}: KVDYNO_BLESS=1 cargo test schemas", path.display());
        }
    }
}
