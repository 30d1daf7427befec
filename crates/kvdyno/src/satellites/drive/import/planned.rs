//! A fio job as a case of a plan.

use kvdyno_record::engine::{DataShape, Durability, Options, Value};
use kvdyno_record::fio::Job;
use kvdyno_record::plan::{Case, Database};
use kvdyno_record::workload::{
    Activity, Choice, Data, Ends, Key, KeyFormat, Mix, MixEntry, Op, Phase, Role, Size, ValueShape,
};

/// The phase of each case.
pub(super) const MEASURE: &str = "measure";

/// A job as a planned case.
pub(super) fn case(index: usize, job: &Job) -> Case {
    let block = job.block_bytes();
    let threads = job.threads();
    let depth = (!job.is_synchronous()).then(|| job.number("iodepth").unwrap_or(1) as u32);
    let in_flight = depth.map_or("sync".to_owned(), |depth| format!("d{depth}"));
    // The report has the size of the file only if the job sets it.
    let records = (job.number("size").unwrap_or(block) / block.max(1)).max(1);
    let label: String = job.name.to_lowercase().chars().map(letter).take(64).collect();
    let id = format!("{:04}_{label}_t{threads}_r1", index + 1);
    let size = Size::Fixed { bytes: block };
    Case {
        key: format!("fio-import/{label}/{block}/t{threads}/{in_flight}"),
        engine: "fio".to_owned(),
        label,
        part: None,
        library: None,
        server: None,
        crew: None,
        options: options(job),
        trial: 1,
        listed: 0,
        ceiling: false,
        threads: Some(threads),
        threads_swept: None,
        database: Database {
            id: id.clone(),
            loaded_by: id.clone(),
            last_use: true,
            is_state: false,
        },
        volume: None,
        ram_limit_bytes: None,
        ram_limit_from: 0,
        tier: None,
        data: Data {
            records,
            key: Key::ordered(8, KeyFormat::Binary),
            value: ValueShape { size, compress_to: 1.0 },
            seed: 0,
            verify: false,
            graph: None,
            from: None,
            packed: None,
        },
        shape: DataShape {
            records,
            records_max: records,
            key_bytes: 8,
            value_bytes_mean: block,
            value_bytes_max: block,
            sessions: threads,
            depth: depth.unwrap_or(1),
            requests: None,
        },
        phases: vec![phase(job, threads, depth)],
        budget_ns: 0,
        turns_with: None,
        slice_ns: job.window_ns(),
        io_latency: false,
        profile: false,
        count: None,
        errors_max: 0,
        id,
    }
}

/// The job's options by fio's names, and the host of its client.
fn options(job: &Job) -> Options {
    let text = |value: &String| Value::Text(value.clone());
    let mut values: std::collections::BTreeMap<_, _> =
        job.options.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    values.extend(job.client.iter().map(|client| ("client".to_owned(), text(client))));
    let durability = if job.is_durable() { Durability::Commit } else { Durability::Async };
    Options { durability, values }
}

/// Replaces a character that is not allowed in file names.
fn letter(c: char) -> char {
    if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' { c } else { '-' }
}

fn phase(job: &Job, threads: u32, depth: Option<u32>) -> Phase {
    let keys = if job.is_random() { Choice::Uniform } else { Choice::Sequential { step: 1 } };
    let sides = [
        (Op::Get, job.read.total_ios),
        (Op::Update, job.write.total_ios),
        (Op::Delete, job.trim.total_ios),
        (Op::Flush, job.syncs()),
    ];
    let done = sides.into_iter().filter(|(_, ios)| *ios > 0);
    let entry = |(op, ios)| MixEntry::new(op, ios as f64, keys.clone());
    let role = Role { depth, ..Role::new(role_name(job), threads, done.map(entry).collect()) };
    let ends = Ends::after_ns(job.window_ns());
    Phase::new(MEASURE, Activity::Measure(Mix { roles: vec![role], ends }))
}

pub(super) fn role_name(job: &Job) -> &'static str {
    let [reads, writes, trims] = [&job.read, &job.write, &job.trim].map(|side| side.total_ios > 0);
    match (reads, writes, trims) {
        (true, false, false) => "reads",
        (false, true, false) => "writes",
        (false, false, true) => "trims",
        _ => "mixed",
    }
}
