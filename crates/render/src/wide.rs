//! The terminal's tables as CSV: one row per line, a column for every figure there is, numbers not
//! rounded. What is missing is empty.

use super::inert::inert;
use kvdyno_analysis::catalogue;
use kvdyno_analysis::efficiency::Against;
use kvdyno_analysis::explain::{Cause, Explained};
use kvdyno_analysis::group::{Group, RunRow};
use kvdyno_analysis::metric::Metrics;
use kvdyno_analysis::summary::Summary;

/// What rows are about, and their figures.
type Rows<'s> = Vec<(Vec<String>, &'s Metrics)>;

/// What a row is about, before its figures.
const ABOUT: [&str; 13] = [
    "label",
    "engine",
    "durability",
    "threads",
    "records",
    "key_bytes",
    "value_bytes_mean",
    "ram_limit_bytes",
    "tier",
    "volume",
    "trials_done",
    "outcome",
    "phase",
];

/// What a line of costs says further.
const STANDING: [&str; 3] = ["ceiling", "ceiling_ios_per_s", "limit"];

/// What a line of the drive says further.
const JOB: [&str; 8] =
    ["io", "method", "ran", "block_bytes", "depth", "job_threads", "ceiling", "op"];

/// The tables that have rows: name and CSV text.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let groups = || summary.groups.iter().filter(|group| !group.bare_drive);
    let load = groups().filter_map(|group| {
        let load = group.load.as_ref()?;
        Some((about(group, &load.phase), &load.metrics))
    });
    let cost = groups().flat_map(|group| {
        let line = |run: &RunRow| [about(group, &run.phase), standing(run)].concat();
        group.runs.iter().map(move |run| (line(run), &run.metrics)).collect::<Rows<'_>>()
    });
    let run = groups().flat_map(|group| {
        group.runs.iter().flat_map(move |run| {
            let about = about(group, &run.phase);
            run.roles.iter().flat_map(move |role| {
                let line =
                    |op: &str| [about.clone(), vec![role.role.clone(), op.to_owned()]].concat();
                let ops = role.ops.iter().map(|op| (line(&op.op), &op.metrics));
                std::iter::once((line(&role.mix), &role.metrics)).chain(ops.collect::<Vec<_>>())
            })
        })
    });
    let tables = [
        ("load", table(&ABOUT, &load.collect::<Rows<'_>>())?),
        ("run", table(&[&ABOUT[..], &["role", "op"]].concat(), &run.collect::<Rows<'_>>())?),
        ("cost", table(&[&ABOUT[..], &STANDING].concat(), &cost.collect::<Rows<'_>>())?),
        ("time", table(&[&ABOUT[..], &TIME].concat(), &time(summary))?),
        ("drive", table(&[&ABOUT[..], &JOB].concat(), &drive(summary))?),
    ];
    Ok(tables.into_iter().filter_map(|(name, csv)| Some((name, csv?))).collect())
}

/// What a line of time says further.
const TIME: [&str; 5] = ["role", "role_threads", "looks", "cause", "sentence"];

/// Where the time of each load and role went.
fn time(summary: &Summary) -> Rows<'_> {
    let line = |one: &Explained| {
        let group = summary.groups.get(one.group)?;
        let role = one.role.as_deref().filter(|_| !one.load).unwrap_or_default();
        let words = [
            role.to_owned(),
            one.threads.to_string(),
            one.looks.to_string(),
            one.cause.map_or("", Cause::word).to_owned(),
            one.sentence.clone().unwrap_or_default(),
        ];
        Some([about(group, &one.phase), words.to_vec()].concat())
    };
    let all = summary.explained.iter();
    all.filter_map(|one| Some((line(one)?, &one.metrics))).collect()
}

/// What a phase was held against, and what limits it.
fn standing(run: &RunRow) -> Vec<String> {
    let efficiency = run.efficiency.as_ref();
    let ceiling = efficiency.and_then(|standing| standing.ceiling.as_ref());
    let limit = efficiency.and_then(|standing| standing.limit);
    vec![
        ceiling.map(Against::name).unwrap_or_default(),
        ceiling.map(|ceiling| ceiling.ios_per_s.to_string()).unwrap_or_default(),
        limit.map(|limit| limit.word().to_owned()).unwrap_or_default(),
    ]
}

/// The bare drive's jobs, and each kind of I/O where a job has several.
fn drive(summary: &Summary) -> Rows<'_> {
    let mut rows = Rows::new();
    let runs = summary.groups.iter().flat_map(|group| group.runs.iter().map(move |r| (group, r)));
    for (group, run) in runs {
        let Some(job) = &run.job else { continue };
        for role in &run.roles {
            let line = |op: &str| {
                let words = [&job.io, &job.method, job.ran.as_deref().unwrap_or_default()];
                let mut line = about(group, &run.phase);
                line.extend(words.map(|word: &str| word.to_owned()));
                line.extend([job.block_bytes.to_string(), role.depth.unwrap_or(1).to_string()]);
                line.extend([role.threads.to_string(), group.ceiling.to_string(), op.to_owned()]);
                line
            };
            rows.push((line(&role.mix), &role.metrics));
            rows.extend(role.ops.iter().map(|op| (line(&op.op), &op.metrics)));
        }
    }
    rows
}

fn about(group: &Group, phase: &str) -> Vec<String> {
    let or_empty = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
    vec![
        group.label.clone(),
        group.engine.clone(),
        group.durability.as_str().to_owned(),
        or_empty(group.threads.map(u64::from)),
        group.records.to_string(),
        group.key_bytes.to_string(),
        group.value_bytes_mean.to_string(),
        or_empty(group.ram_limit_bytes),
        group.tier.clone().unwrap_or_default(),
        group.volume.clone().unwrap_or_default(),
        group.trials.iter().filter(|trial| trial.done).count().to_string(),
        group.trouble().unwrap_or_else(|| "done".to_owned()),
        phase.to_owned(),
    ]
}

/// One table; none without rows.
fn table(about: &[&str], rows: &[(Vec<String>, &Metrics)]) -> anyhow::Result<Option<Vec<u8>>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let present = |definition: &&&kvdyno_analysis::metric::Definition| {
        rows.iter().any(|(_, metrics)| metrics.get(definition).is_some())
    };
    let figures: Vec<_> = catalogue::ALL.iter().filter(present).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = figures.iter().map(|figure| figure.name);
    writer.write_record(about.iter().copied().chain(names))?;
    for (words, metrics) in rows {
        let value = |figure: &&&kvdyno_analysis::metric::Definition| {
            metrics.value(figure).map(|value| value.to_string()).unwrap_or_default()
        };
        let words = words.iter().map(|word| inert(word).into_owned());
        writer.write_record(words.chain(figures.iter().map(value)))?;
    }
    Ok(Some(writer.into_inner()?))
}
