//! Compares bytes written to the device with bytes given to the engine.

use super::Answer;
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::engine::Value;

pub(super) const NAME: &str = "a load's bytes reached the device";

/// The device must get at least this share of the values' bytes. Keys do not count, as they are not
/// random: an engine that shares their prefixes may write fewer bytes than it was given.
const VALUES_AT_LEAST: f64 = 0.98;

/// Checks a load: each record is written once, so only compression can save bytes.
pub(super) fn check_bytes(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    match device_bytes(record, phase) {
        Err(why) => Answer::NotCheckable(why),
        Ok(device) => {
            let values = value_bytes(record, phase);
            Answer::ok_if(device as f64 >= values * VALUES_AT_LEAST, || {
                format!("{device} bytes written at the device, {values:.0} bytes of values given")
            })
        }
    }
}

fn device_bytes(record: &CaseRecord, phase: &PhaseRecord) -> Result<u64, String> {
    let worker = record.worker.as_ref().map(|worker| &worker.description.engine.capabilities);
    if worker.is_some_and(|capabilities| capabilities.stores_nothing) {
        return Err("this engine stores nothing".to_owned());
    }
    let compress_to = record.case.data.value.compress_to;
    if let Some(how) = compression(record).filter(|_| compress_to < 1.0) {
        return Err(format!(
            "values compress to {compress_to} and the engine may compress ({how})"
        ));
    }
    let (end, _) = phase.synced.as_ref().ok_or("the load was not synced")?;
    let (Some(before), Some(after)) = (&phase.before.device, &end.device) else {
        return Err("no block device with counters below the data directory".to_owned());
    };
    if before.device != after.device {
        return Err("the device below the data directory changed".to_owned());
    }
    after
        .write_bytes
        .checked_sub(before.write_bytes)
        .ok_or_else(|| "the device's counters went backwards".to_owned())
}

/// An enabled option with "compress" in its name.
fn compression(record: &CaseRecord) -> Option<String> {
    let off = |value: &Value| match value {
        Value::Boolean(enabled) => !enabled,
        Value::Text(text) => ["none", "no", "off"].contains(&text.as_str()),
        Value::Integer(_) | Value::Number(_) => true,
    };
    let options = &record.case.options.values;
    let option = options.iter().find(|(name, value)| name.contains("compress") && !off(value));
    option.map(|(name, value)| format!("{name} = {value}"))
}

/// The bytes given to the engine, without keys.
fn value_bytes(record: &CaseRecord, phase: &PhaseRecord) -> f64 {
    let (mut bytes, mut items) = (0, 0);
    for op in phase.roles.iter().flat_map(|role| role.ops.values()) {
        bytes += op.write_bytes;
        items += op.items;
    }
    bytes as f64 - items as f64 * f64::from(record.case.data.key.bytes)
}
