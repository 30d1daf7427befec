//! What was written must have been written somewhere: bytes at the device against bytes given to
//! the engine.

use super::Answer;
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::engine::Value;

pub(super) const NAME: &str = "a load's bytes reached the device";

/// Keys are not random, so an engine that shares their prefixes may write less than it is given.
const VALUES_AT_LEAST: f64 = 0.98;

/// Of a load: each record is written once, so nothing can be saved but by compression.
pub(super) fn written(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    match device_bytes(record, phase) {
        Err(why) => Answer::NotCheckable(why),
        Ok(device) => {
            let values = value_bytes(record, phase);
            Answer::holds(device as f64 >= values * VALUES_AT_LEAST, || {
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
        return Err(format!("values compress to {compress_to} and the engine may do so ({how})"));
    }
    let (end, _) = phase.synced.as_ref().ok_or("the load was not synced")?;
    let (Some(before), Some(after)) = (&phase.before.device, &end.device) else {
        return Err("no block device with counters under the place".to_owned());
    };
    if before.device != after.device {
        return Err("the device under the place changed".to_owned());
    }
    after
        .write_bytes
        .checked_sub(before.write_bytes)
        .ok_or_else(|| "the device's counters went backwards".to_owned())
}

/// An option by which the engine compresses: one with "compress" in its name that is not off.
fn compression(record: &CaseRecord) -> Option<String> {
    let off = |value: &Value| match value {
        Value::Boolean(on) => !on,
        Value::Text(text) => ["none", "no", "off"].contains(&text.as_str()),
        Value::Integer(_) | Value::Number(_) => true,
    };
    let options = &record.case.options.values;
    let found = options.iter().find(|(name, value)| name.contains("compress") && !off(value));
    found.map(|(name, value)| format!("{name} = {value}"))
}

/// All that was given, less the keys.
fn value_bytes(record: &CaseRecord, phase: &PhaseRecord) -> f64 {
    let (mut given, mut items) = (0, 0);
    for op in phase.roles.iter().flat_map(|role| role.ops.values()) {
        given += op.write_bytes;
        items += op.items;
    }
    given as f64 - items as f64 * f64::from(record.case.data.key.bytes)
}
