//! The sizes of data and RAM: as in the suite, scaled, or as the host allows.

use crate::written::linkbench::LinkBench;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::read::Or as _;
use crate::written::scalar::{Count, DataSize, Share};
use crate::written::scale::{PAGE, scale_number};
use crate::written::source::Span;
use crate::written::typed;
use kvdyno_record::engine::Description;
use kvdyno_record::graph::Graph;
use kvdyno_record::key::YCSB_BYTES_MAX;
use kvdyno_record::origin::Origin;
use kvdyno_record::tier::Tier;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, Key, KeyFormat, KeyOrder, Size, ValueShape};

/// Upper bound of data with size "auto": a demo must end soon.
const AUTO_MOST: u64 = 1 << 30;
/// Lower bound: with less data, the engine's own structures would dominate.
const AUTO_LEAST: u64 = 64 << 20;
/// Hex digits of a key number.
const HEX_BYTES_LEAST: u64 = 16;

/// The host's properties that decide sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizingHost {
    /// Memory of the machine.
    pub memory_bytes: u64,
    /// Memory not in use.
    pub memory_available_bytes: u64,
    /// Free bytes on the volume of the data directory.
    pub free_bytes: u64,
    /// Processors this process may use.
    pub cpus: u32,
    /// The data directory is a block device: it has room for one database, which fills it.
    pub device: bool,
}

/// A data set with notes on its size.
#[derive(Clone, Debug)]
pub(crate) struct SizedData {
    pub(crate) data: Data,
    /// `v1000`, `n80m`: distinguishes several data sets in a case's name; none for a single one.
    pub(crate) tag: Option<String>,
    /// Mean bytes of key and value.
    pub(crate) record_bytes: f64,
    /// Decisions, as text.
    pub(crate) notes: Vec<String>,
}

impl SizedData {
    /// Bytes of all keys and values.
    pub(crate) fn user_bytes(&self) -> f64 {
        self.data.records as f64 * self.record_bytes
    }

    /// Mean bytes of a value.
    pub(crate) fn value_bytes_mean(&self) -> u64 {
        (self.record_bytes - self.data.key.bytes_mean()).round() as u64
    }
}

/// A RAM limit with the tier below it, and its name in a case's name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limit {
    /// The limit; none: the suite has no limit.
    pub(crate) bytes: Option<u64>,
    /// The memory tier below the limit; none: the suite has no tiers.
    pub(crate) tier: Option<Tier>,
    /// `64gib`, or `x4` for data four times the limit; none for a single limit. With a tier
    /// `64gib_with-zram`.
    pub(crate) tag: Option<String>,
}

impl Limit {
    /// The memory that an engine may use, swap included; the host's memory without a limit.
    pub(crate) fn memory_bytes(&self, host: &SizingHost) -> u64 {
        let swap = self.tier.as_ref().and_then(|tier| tier.memory.swap());
        let swap = swap.map_or(0, |(bytes, _)| bytes);
        self.bytes.map_or(host.memory_bytes, |bytes| bytes.saturating_add(swap))
    }

    /// Returns the limit with a tier below it.
    fn with(&self, tier: Tier) -> Self {
        let tag = self.tag.as_ref().map_or(String::new(), |tag| format!("{tag}_"));
        let tag = Some(format!("{tag}with-{}", tier.name));
        Self { tag, tier: Some(tier), ..self.clone() }
    }
}

/// Returns every data set of the suite: each amount with each value length.
pub(crate) fn data_sets(
    part: &Part,
    engines: &[&Description],
    host: &SizingHost,
    mistakes: &mut Mistakes,
) -> Vec<SizedData> {
    let typed = &part.typed.data;
    if let Some(origin) = typed.from.as_ref().and_then(|from| from.origin.as_ref()) {
        return vec![own_data_set(part, origin)];
    }
    let records = typed.records.iter().flat_map(|list| &list.0);
    let records = records.map(|at| (Amount::Records(at.0), &at.span));
    let sizes = typed.size.iter().flat_map(|list| &list.0);
    let amounts: Vec<_> =
        records.chain(sizes.map(|at| (Amount::Size(at.value), &at.span))).collect();
    let lengths = typed.value_bytes.as_ref().map_or(&[][..], |lengths| &lengths.0);
    let mut sets = Vec::new();
    for &(amount, span) in &amounts {
        if let (Some(linkbench), Amount::Records(ids)) = (&typed.linkbench, amount) {
            let mut sized = graph_set(part, ids, linkbench);
            sized.tag = (amounts.len() > 1).then(|| amount.tag(&sized.data));
            sets.push(sized);
        }
        for length in lengths {
            let mut sized = data_set(part, amount, span, &length.0, engines, host, mistakes);
            let amount = (amounts.len() > 1).then(|| amount.tag(&sized.data));
            let length = (lengths.len() > 1).then(|| format!("v{}", sized.value_bytes_mean()));
            let tag = [amount, length].into_iter().flatten().collect::<Vec<_>>().join("_");
            sized.tag = (!tag.is_empty()).then_some(tag);
            sets.push(sized);
        }
    }
    // Data sets that a scale makes equal are measured once.
    let mut distinct: Vec<SizedData> = Vec::new();
    for set in sets {
        match distinct.iter_mut().find(|other| other.data == set.data) {
            Some(other) => other.notes.extend(set.notes),
            None => distinct.push(set),
        }
    }
    distinct
}

/// The amount of data, as typed.
#[derive(Clone, Copy)]
enum Amount {
    Records(u64),
    Size(DataSize),
}

impl Amount {
    /// Returns the amount as a part of a case's name.
    fn tag(self, data: &Data) -> String {
        match self {
            Self::Records(_) => format!("n{}", units::exact_count(data.records)).to_lowercase(),
            Self::Size(DataSize::Is(bytes)) => {
                format!("d{}", units::exact_bytes(bytes)).to_lowercase()
            }
            Self::Size(DataSize::Auto) => "dauto".to_owned(),
        }
    }
}

fn data_set(
    part: &Part,
    amount: Amount,
    span: &Span,
    size: &Size,
    engines: &[&Description],
    host: &SizingHost,
    mistakes: &mut Mistakes,
) -> SizedData {
    let typed = &part.typed.data;
    let (key_bytes, lengths) = key_lengths(typed);
    let key_bytes_mean = lengths.as_ref().map_or(f64::from(key_bytes), Size::mean);
    let record_bytes = key_bytes_mean + size.mean();
    let mut notes = Vec::new();
    let records = match amount {
        Amount::Records(records) => scale_number(part.scale, records, "records", &mut notes),
        Amount::Size(size) => {
            let bytes = match size {
                DataSize::Is(bytes) => bytes,
                DataSize::Auto => auto_bytes(part, engines, host, &mut notes),
            };
            (scale_number(part.scale, bytes, "bytes of data", &mut notes) as f64 / record_bytes)
                as u64
        }
    };
    let records = records.max(1);
    if records as f64 * record_bytes > i64::MAX as f64 {
        let mistake = mistakes.at(span, "the data is larger than any filesystem");
        mistake.label("expected at most 8 EiB of keys and values");
    }
    let shortest_key = lengths.as_ref().map_or(key_bytes.into(), Size::min);
    let format = key_format(part, shortest_key, engines, &mut notes);
    let data = Data {
        records,
        key: Key { bytes: key_bytes, format, order: key_order(typed, format), lengths },
        value: ValueShape {
            size: size.clone(),
            compress_to: typed.compress_to.value_or(Share(1.0)).0,
        },
        seed: typed.seed.value_or(Count(1)).0,
        verify: typed.verify.value_or(false),
        graph: None,
        from: None,
        packed: None,
    };
    SizedData { data, tag: None, record_bytes, notes }
}

/// Returns the records of the user's own database as a data set.
fn own_data_set(part: &Part, origin: &Origin) -> SizedData {
    let (typed, sample) = (&part.typed.data, &origin.sample);
    let record_bytes = sample.key_bytes.mean() + sample.value_bytes.mean();
    let key = Key {
        bytes: sample.key_bytes.max() as u32,
        format: KeyFormat::Binary,
        order: KeyOrder::Hashed,
        lengths: Some(sample.key_bytes.clone()),
    };
    let data = Data {
        records: sample.records,
        key,
        value: ValueShape {
            size: sample.value_bytes.clone(),
            compress_to: typed.compress_to.value_or(Share(1.0)).0,
        },
        seed: typed.seed.value_or(Count(1)).0,
        verify: false,
        graph: None,
        from: Some(origin.clone()),
        packed: None,
    };
    SizedData { data, tag: None, record_bytes, notes: Vec::new() }
}

/// Returns the data set of a graph: each id is a record, with all its links.
fn graph_set(part: &Part, ids: u64, linkbench: &LinkBench) -> SizedData {
    let mut notes = Vec::new();
    let ids = scale_number(part.scale, ids, "ids", &mut notes).max(Graph::IDS_MIN);
    let graph = linkbench.graph(ids);
    notes.push(format!(
        "{} ids: nodes with {} links, {} in the mean",
        units::exact_count(ids),
        units::exact_count(graph.totals.links),
        units::bytes((graph.bytes() / ids as f64) as u64)
    ));
    let bytes = (graph.bytes() / ids as f64).round() as u64;
    let key = Key { bytes: 8, format: KeyFormat::Binary, order: KeyOrder::Ordered, lengths: None };
    let size = Size::Fixed { bytes: bytes.saturating_sub(8) };
    let data = Data {
        records: ids,
        key,
        value: ValueShape { size, compress_to: 1.0 },
        seed: part.typed.data.seed.value_or(Count(1)).0,
        verify: false,
        graph: Some(graph),
        from: None,
        packed: None,
    };
    SizedData { data, tag: None, record_bytes: bytes as f64, notes }
}

/// Returns the bytes of the longest key, and the distribution of lengths if they vary.
fn key_lengths(typed: &typed::Data) -> (u32, Option<Size>) {
    let ycsb = typed.key_format.as_ref().is_some_and(|format| format.value == KeyFormat::Ycsb);
    match typed.key_bytes.as_ref().map(|length| &length.value.0) {
        _ if ycsb => (YCSB_BYTES_MAX, None),
        None => (16, None),
        Some(Size::Fixed { bytes }) => (*bytes as u32, None),
        Some(lengths) => (lengths.max() as u32, Some(lengths.clone())),
    }
}

/// Returns the typed order; by default YCSB's keys are hashed and others ordered.
fn key_order(typed: &typed::Data, format: KeyFormat) -> KeyOrder {
    let ycsb = format == KeyFormat::Ycsb;
    typed.key_order.value_or(if ycsb { KeyOrder::Hashed } else { KeyOrder::Ordered })
}

/// Returns the typed format; otherwise a format that all engines of the suite take, because all
/// must do the same work.
fn key_format(
    part: &Part,
    shortest_key: u64,
    engines: &[&Description],
    notes: &mut Vec<String>,
) -> KeyFormat {
    if let Some(format) = &part.typed.data.key_format {
        return format.value;
    }
    let numbered = engines.iter().find(|engine| engine.capabilities.numbered_keys_only);
    match numbered {
        _ if shortest_key < HEX_BYTES_LEAST => KeyFormat::Binary,
        None => KeyFormat::Hex,
        Some(engine) => {
            notes.push(format!(
                "keys are binary, because {} has no hex keys (`key_format` sets another format)",
                engine.name
            ));
            KeyFormat::Binary
        }
    }
}

/// Returns every RAM limit of the suite, with every memory tier; one without bytes if there is no
/// limit.
pub(crate) fn limits(part: &Part, sized: &mut SizedData, host: &SizingHost) -> Vec<Limit> {
    if part.no_ram_limit {
        sized.notes.push("no RAM limit (--no-ram-limit)".to_owned());
        return vec![Limit::default()];
    }
    let limits = bare_limits(part, sized, host);
    let tiers = part.typed.ram.tier.iter().map(|tier| tier.resolve(part.scale, &mut sized.notes));
    match tiers.collect::<Vec<_>>() {
        tiers if tiers.is_empty() => limits,
        tiers => {
            let below = |limit: Limit| tiers.iter().map(move |tier| limit.with(tier.clone()));
            limits.into_iter().flat_map(below).collect()
        }
    }
}

/// Returns every RAM limit, without tiers.
fn bare_limits(part: &Part, sized: &mut SizedData, host: &SizingHost) -> Vec<Limit> {
    let ram = &part.typed.ram;
    let mut limits = Vec::new();
    for typed in ram.limit.iter().flat_map(|list| &list.0) {
        let scaled = scale_number(part.scale, typed.0, "bytes of RAM", &mut sized.notes).max(PAGE);
        let bytes = ram.with_unscaled(scaled, typed.0);
        if bytes > scaled {
            let more = units::bytes(bytes - scaled);
            sized
                .notes
                .push(format!("and {more} of RAM for parts that do not scale ([ram] unscaled)"));
        }
        let tag = units::exact_bytes(bytes).to_lowercase();
        limits.push(Limit { bytes: Some(bytes), tag: Some(tag), tier: None });
    }
    for ratio in ram.data_to_ram.iter().flat_map(|list| &list.0) {
        let bytes = (sized.user_bytes() / ratio.value) as u64 / PAGE * PAGE;
        let bytes = bytes.max(PAGE);
        sized.notes.push(format!(
            "RAM limit {} = {} of data / {}",
            units::bytes(bytes),
            units::bytes(sized.user_bytes() as u64),
            ratio.value
        ));
        let tag = Some(format!("x{}", ratio.value));
        limits.push(Limit { bytes: Some(bytes), tag, tier: None });
    }
    for bytes in limits.iter().filter_map(|limit| limit.bytes) {
        if bytes > host.memory_available_bytes {
            sized.notes.push(format!(
                "RAM limit {} is more than the {} of memory available here: the machine's memory \
                 is the limit",
                units::bytes(bytes),
                units::bytes(host.memory_available_bytes)
            ));
        }
    }
    if !limits.is_empty() && ram.while_loading.as_ref().is_some_and(|limited| !limited.value) {
        sized.notes.push("the RAM limit begins with the first evict: loads have none".to_owned());
    }
    let mut seen = Vec::new();
    limits.retain(|limit| {
        let is_new = !seen.contains(&limit.bytes);
        seen.push(limit.bytes);
        is_new
    });
    match &mut limits[..] {
        [] => limits.push(Limit::default()),
        [only] => only.tag = None,
        _ => {}
    }
    limits
}

/// Returns a data size that fits this host.
fn auto_bytes(
    part: &Part,
    engines: &[&Description],
    host: &SizingHost,
    notes: &mut Vec<String>,
) -> u64 {
    let factors = engines.iter().map(|engine| engine.planning.space_factor);
    let factor = factors.fold(1.0, f64::max);
    let by_space = (host.free_bytes as f64 / 2.0 / factor) as u64;
    let (by_memory, memory_rule) = auto_by_memory(part, host);
    let fitting = AUTO_MOST.min(by_space).min(by_memory);
    let bytes = (fitting >> 20 << 20).max(AUTO_LEAST);
    let least = if fitting < AUTO_LEAST { "; but not less than 64.0 MiB" } else { "" };
    notes.push(format!(
        "data {} = the smallest of 1.00 GiB, half the free space of {} over the largest space \
         factor {factor} ({}), and {memory_rule} ({}){least}",
        units::bytes(bytes),
        units::bytes(host.free_bytes),
        units::bytes(by_space),
        units::bytes(by_memory),
    ));
    bytes
}

/// Returns data as many times larger than the RAM limit as the suite sets, 4 times by default. The
/// limit is an eighth of the memory, or as typed.
fn auto_by_memory(part: &Part, host: &SizingHost) -> (u64, String) {
    let ram = &part.typed.ram;
    let largest = ram.limit.iter().flat_map(|list| &list.0).map(|limit| limit.0).max();
    if let Some(limit) = largest {
        return (limit.saturating_mul(4), format!("4 x the RAM limit of {}", units::bytes(limit)));
    }
    let ratios = ram.data_to_ram.iter().flat_map(|list| &list.0).map(|ratio| ratio.value);
    let ratio = ratios.reduce(f64::max).unwrap_or(4.0);
    let bytes = (ratio * host.memory_bytes as f64 / 8.0) as u64;
    (bytes, format!("{ratio} x 1/8 of the memory of {}", units::bytes(host.memory_bytes)))
}
