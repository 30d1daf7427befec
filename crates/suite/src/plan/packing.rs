//! Stores neighbouring records under one key: `pack = 64` of an engine. It has fewer and longer
//! values; the records are the same as for all other engines.

use crate::plan::sizing::SizedData;
use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::operation::Entry;
use crate::written::phase::Role;
use crate::written::typed::Typed;
use kvdyno_record::units;
use kvdyno_record::workload::{Choice, Data, Op, Packing, Size, ValueShape};

/// Returns the data set as the engine stores it; none: it is not packed.
pub(crate) fn pack_data(
    typed: &Typed,
    engine: &Engine,
    sized: &SizedData,
    mistakes: &mut Mistakes,
) -> Option<SizedData> {
    let pack = engine.pack.as_ref()?;
    let each = pack.value.0;
    if each < 2 {
        return None;
    }
    let Size::Fixed { bytes } = sized.data.value.size else {
        let mistake = mistakes.at(&pack.span, "`pack` needs values of one length");
        mistake.label("expected data with one `value_bytes`");
        return None;
    };
    for role in typed.roles() {
        for entry in role.entries().iter().filter(|entry| !is_same_work(role, entry)) {
            let mistake = mistakes.at(&entry.span, "`pack` does not support this operation");
            mistake
                .label("expected get or update, of uniform keys, and no trace")
                .help(format!("required by `pack` of engine `{}`", engine.label.0));
        }
    }
    let data = &sized.data;
    let keys = data.records.div_ceil(u64::from(each));
    let size = Size::Fixed { bytes: bytes.saturating_mul(u64::from(each)) };
    let packed = Data {
        records: keys,
        value: ValueShape { size, ..data.value.clone() },
        packed: Some(Packing { records: data.records, each }),
        ..data.clone()
    };
    let note = format!(
        "{}: {} records under {} keys, {each} each",
        engine.label.0,
        units::exact_count(data.records),
        units::exact_count(keys),
    );
    let record_bytes = data.key.bytes_mean() + (bytes.saturating_mul(u64::from(each))) as f64;
    Some(SizedData { data: packed, tag: sized.tag.clone(), record_bytes, notes: vec![note] })
}

/// Returns whether an entry does the same work on packed records as on single ones: it reads or
/// writes one record, and each record equally often.
fn is_same_work(role: &Role, entry: &Entry) -> bool {
    let keys = entry.keys.as_ref().or(role.keys.as_ref());
    let uniform = keys.is_none_or(|keys| keys.value == Choice::Uniform);
    role.trace.is_none() && uniform && matches!(entry.op, Op::Get | Op::Update)
}
