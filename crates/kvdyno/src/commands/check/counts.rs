//! Compares three sources for the same operations: the counts in `case.json`, the slices of
//! `series.ndjson`, the histograms of `latency.hlog`.

use super::{Answer, Check};
use kvdyno_record::case::{CaseRecord, OpResult, RoleResult};
use kvdyno_record::files::{CaseDir, RecordError};
use kvdyno_record::hlog::{self, Kind, LONGEST_NS};
use kvdyno_record::protocol::NO_LOAD_GENERATOR;
use kvdyno_record::workload::Phase;
use std::collections::BTreeMap;

const COUNTS: &str = "series, histogram and counts have the same operations";
const TIMES: &str = "series, histogram and counts have the same times";
const PARTS: &str = "submission and completion add up to the service time";

/// The relative tolerance: the recorder's buckets are 0.78 % wide, and the log's 0.1 %.
const BUCKET: f64 = 0.01;

#[derive(Clone, Copy, Debug, Default)]
struct OpTotals {
    count: u64,
    errors: u64,
    sum_ns: f64,
    max_ns: u64,
}

type TotalsByOp = BTreeMap<(String, String, String), OpTotals>;

pub(super) fn checks(dir: &CaseDir, record: &CaseRecord, name: &str) -> Vec<Check> {
    let files = from_series(dir).and_then(|series| Ok((series, from_histograms(dir)?)));
    let (in_series, log) = match files {
        Ok(files) => files,
        Err(error) => {
            let failed = |subject| Check::new(COUNTS, subject, Answer::Failed(error.to_string()));
            return checked_ops(record, name).map(|op| failed(op.subject)).collect();
        }
    };
    let mut checks = Vec::new();
    for CheckedOp { subject, tag, role, op } in checked_ops(record, name) {
        let totals = |subject: &TotalsByOp| subject.get(&tag).copied().unwrap_or_default();
        let [service, response, submit, completion] = KINDS.map(|kind| totals(&log[&kind]));
        let series = totals(&in_series);
        let mut counted = vec![("series", series.count), ("histogram", service.count)];
        if role.offered_per_s.is_some() {
            counted.push(("response histogram", response.count));
        }
        // Values that another program did not report cannot be compared.
        let lacks = |totals: &OpTotals| totals.count == 0 && is_imported(record);
        let unreported =
            || Answer::NotCheckable("the imported report has no such times".to_owned());
        if has_depth(record, &tag.0, &tag.1) {
            let in_parts = !lacks(&submit) && !lacks(&completion);
            if in_parts {
                counted.push(("submit histogram", submit.count));
                counted.push(("completion histogram", completion.count));
            }
            let answer = || parts(&service, &submit, &completion);
            let answer = if in_parts { answer() } else { unreported() };
            checks.push(Check::new(PARTS, &subject, answer));
        }
        let timed = !lacks(&service);
        counted.retain(|(source, _)| timed || *source != "histogram");
        checks.push(Check::new(COUNTS, &subject, counts(op, &series, &counted)));
        let answer = if timed { times(op, &[series, service]) } else { unreported() };
        checks.push(Check::new(TIMES, subject, answer));
    }
    checks
}

/// An operation of a role, and its key in the files.
struct CheckedOp<'r> {
    subject: String,
    tag: (String, String, String),
    role: &'r RoleResult,
    op: &'r OpResult,
}

fn checked_ops<'r>(record: &'r CaseRecord, name: &'r str) -> impl Iterator<Item = CheckedOp<'r>> {
    record.phases.iter().flat_map(move |phase| {
        phase.roles.iter().flat_map(move |role| {
            role.ops.iter().map(move |(op_name, op)| CheckedOp {
                subject: format!("{name} {}/{}/{op_name}", phase.name, role.role),
                tag: (phase.name.clone(), role.role.clone(), op_name.clone()),
                role,
                op,
            })
        })
    })
}

const KINDS: [Kind; 4] = [Kind::Service, Kind::Response, Kind::Submit, Kind::Completion];

/// Whether another program measured the case.
fn is_imported(record: &CaseRecord) -> bool {
    let worker = record.worker.as_ref();
    worker.is_some_and(|worker| worker.description.load_generator == NO_LOAD_GENERATOR)
}

/// Whether the plan of a role keeps operations in flight.
fn has_depth(record: &CaseRecord, phase: &str, role: &str) -> bool {
    let planned = record.case.phases.iter().find(|planned| planned.name == phase);
    let mut roles = planned.and_then(Phase::mix).into_iter().flat_map(|mix| &mix.roles);
    roles.any(|planned| planned.name == role && planned.depth.is_some())
}

/// Checks that submission and completion together are the service time of operations.
fn parts(service: &OpTotals, submit: &OpTotals, completion: &OpTotals) -> Answer {
    if service.count == 0 {
        return Answer::NotCheckable("no operation was done".to_owned());
    }
    let sum = submit.sum_ns + completion.sum_ns;
    let near = (sum - service.sum_ns).abs() <= service.sum_ns * BUCKET + service.count as f64;
    Answer::ok_if(near, || {
        format!(
            "submit {:.0} and completion {:.0} ns in all, service {:.0}",
            submit.sum_ns, completion.sum_ns, service.sum_ns
        )
    })
}

fn counts(op: &OpResult, series: &OpTotals, counts: &[(&str, u64)]) -> Answer {
    let errors: u64 = op.errors.values().sum();
    let equal = counts.iter().all(|(_, count)| *count == op.count) && series.errors == errors;
    Answer::ok_if(equal, || {
        let counts: Vec<String> =
            counts.iter().map(|(source, n)| format!("{source} {n}")).collect();
        format!(
            "counts {}, {}; errors: counts {errors}, series {}",
            op.count,
            counts.join(", "),
            series.errors
        )
    })
}

fn times(op: &OpResult, [series, service]: &[OpTotals; 2]) -> Answer {
    if op.count == 0 {
        return Answer::NotCheckable("no operation was done".to_owned());
    }
    let sum = op.service_ns as f64;
    // The log stores times above an hour as an hour.
    let logged_max = op.service_ns_max.min(LONGEST_NS);
    let clipped = op.service_ns_max > LONGEST_NS;
    let near = |a: f64, b: f64| (a - b).abs() <= b * BUCKET + op.count as f64;
    let near_max = |a: u64, b: u64| a.abs_diff(b) as f64 <= b as f64 * BUCKET + 1.0;
    let mut wrong = Vec::new();
    if series.sum_ns.to_bits() != sum.to_bits() || series.max_ns != op.service_ns_max {
        wrong.push(format!("series: {} ns in all, longest {}", series.sum_ns, series.max_ns));
    }
    if !clipped && !near(service.sum_ns, sum) {
        wrong.push(format!("histogram: {:.0} ns in all", service.sum_ns));
    }
    if !near_max(service.max_ns, logged_max) {
        wrong.push(format!("histogram: longest {} ns", service.max_ns));
    }
    Answer::ok_if(wrong.is_empty(), || {
        let counts = format!("counts: {} ns in all, longest {}", op.service_ns, op.service_ns_max);
        format!("{counts}; {}", wrong.join("; "))
    })
}

fn from_series(dir: &CaseDir) -> Result<TotalsByOp, RecordError> {
    let mut sums: BTreeMap<(String, String, String), (OpTotals, u64)> = BTreeMap::new();
    for slice in dir.series()? {
        let slice = slice?;
        for (role, ops) in slice.roles {
            for (op, counts) in ops {
                let tag = (slice.phase.clone(), role.clone(), op);
                let (totals, sum_ns) = sums.entry(tag).or_default();
                *sum_ns += counts.service_ns;
                totals.count += counts.count;
                totals.errors += counts.errors;
                totals.max_ns = totals.max_ns.max(counts.service_ns_max);
            }
        }
    }
    let whole = |(totals, sum)| OpTotals { sum_ns: sum as f64, ..totals };
    Ok(sums.into_iter().map(|(tag, totals)| (tag, whole(totals))).collect())
}

/// Sums the times in the histograms, each as the middle of its bucket.
fn from_histograms(dir: &CaseDir) -> Result<BTreeMap<Kind, TotalsByOp>, RecordError> {
    let buckets = hlog::histogram();
    let mut log = BTreeMap::from(KINDS.map(|kind| (kind, TotalsByOp::new())));
    for interval in dir.latency()? {
        let interval = interval?;
        let tag = (interval.phase, interval.role, interval.op);
        let totals = log.entry(interval.kind).or_default().entry(tag).or_default();
        for (value, count) in interval.counts {
            totals.sum_ns += buckets.median_equivalent(value) as f64 * count as f64;
            totals.count = totals.count.saturating_add(count);
            totals.max_ns = totals.max_ns.max(value);
        }
    }
    Ok(log)
}
