//! The properties of YCSB: `CoreWorkload`'s, its client's, and those without effect here.

/// Properties with an effect here.
const KNOWN: [&str; 33] = [
    "workload",
    "recordcount",
    "operationcount",
    "insertcount",
    "insertstart",
    "maxexecutiontime",
    "threadcount",
    "target",
    "batchsize",
    "fieldcount",
    "fieldlength",
    "minfieldlength",
    "fieldlengthdistribution",
    "readallfields",
    "writeallfields",
    "dataintegrity",
    "readproportion",
    "updateproportion",
    "insertproportion",
    "scanproportion",
    "readmodifywriteproportion",
    "requestdistribution",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "exponential.percentile",
    "exponential.frac",
    "maxscanlength",
    "minscanlength",
    "scanlengthdistribution",
    "insertorder",
    "zeropadding",
    "keyprefix",
    "dotransactions",
];

/// Properties without effect here: YCSB's reports, its names for things, and the store's location.
const HARMLESS: [&str; 23] = [
    "table",
    "columnfamily",
    "fieldnameprefix",
    "fieldlengthhistogram",
    "readallfieldsbyname",
    "db",
    "hosts",
    "port",
    "label",
    "status",
    "debug",
    "silent",
    "verbose",
    "exporter",
    "exportfile",
    "measurementtype",
    "reportlatencyforeacherror",
    "latencytrackederrors",
    "maxscanrate",
    "scanoptimelimit",
    "discardscannedrecord",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
];

/// The effect of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes the suite, or is refused.
    Workload,
    /// It has no effect here.
    Harmless,
    /// YCSB has no such property.
    Unknown,
}

/// Returns the effect of a property. A name with a dot belongs to YCSB's measurements or to the
/// client of a store: `hdrhistogram.percentiles`, `redis.host`.
pub(super) fn effect(name: &str) -> Effect {
    if KNOWN.contains(&name) {
        Effect::Workload
    } else if HARMLESS.contains(&name) || (name.contains('.') && !name.starts_with("exponential."))
    {
        Effect::Harmless
    } else {
        Effect::Unknown
    }
}

/// The names of all properties.
pub(super) fn names() -> Vec<&'static str> {
    KNOWN.into_iter().chain(HARMLESS).collect()
}
