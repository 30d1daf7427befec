//! Compares a server's own operation counts with the load generator's.

use super::{Answer, Check};
use kvdyno_record::case::{CaseRecord, CounterPair, PhaseRecord};
use kvdyno_record::engine::Value;
use kvdyno_record::files::CaseDir;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "the server counted as many operations as the load generator";

pub(super) fn checks(dir: &CaseDir, record: &CaseRecord, name: &str) -> Vec<Check> {
    let Some(worker) = &record.worker else { return Vec::new() };
    let counted = &worker.description.engine.capabilities.counted;
    let phases = record.phases.iter().filter(|phase| !phase.roles.is_empty());
    if counted.is_empty() || record.phases.is_empty() {
        return Vec::new();
    }
    let file = match dir.counters() {
        Ok(file) => file,
        Err(error) => return vec![Check::new(NAME, name, Answer::Failed(error.to_string()))],
    };
    let none = CounterPair::default();
    phases
        .map(|phase| {
            let pair = file.phases.get(&phase.name).unwrap_or(&none);
            Check::new(NAME, format!("{name} {}", phase.name), check_phase(phase, counted, pair))
        })
        .collect()
}

fn check_phase(
    phase: &PhaseRecord,
    counted: &BTreeMap<String, String>,
    pair: &CounterPair,
) -> Answer {
    let mut performed: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, op) in phase.roles.iter().flat_map(|role| &role.ops) {
        if op.errors.values().sum::<u64>() > 0 {
            return Answer::NotCheckable(format!("some {name} failed"));
        }
        let Some(counter) = counted.get(name) else {
            return Answer::NotCheckable(format!("it has no count of {name}"));
        };
        let count = if name == "batch" { op.items } else { op.count };
        *performed.entry(counter).or_default() += count;
    }
    // An operation that was never used has no counter.
    let read = |counters: &kvdyno_record::engine::Counters, name: &str| match counters.get(name) {
        Some(Value::Integer(count)) => *count,
        _ => 0,
    };
    for (counter, performed) in performed {
        let growth = read(&pair.after, counter).checked_sub(read(&pair.before, counter));
        if growth != Some(performed) {
            let growth = growth.map_or_else(|| "fewer than before".to_owned(), |n| n.to_string());
            return Answer::Failed(format!(
                "{counter} grew by {growth}, but {performed} were performed"
            ));
        }
    }
    Answer::Ok
}
