//! The terminal's tables as CSV: one row per line, a column for every figure there is, numbers not
//! rounded. What is missing is empty.

use super::catalogue;
use super::group::Group;
use super::inert::inert;
use super::metric::Metrics;
use super::summary::Summary;

/// What rows are about, and their figures.
type Rows<'s> = Vec<(Vec<String>, &'s Metrics)>;

/// What a row is about, before its figures.
const ABOUT: [&str; 12] = [
    "label",
    "engine",
    "durability",
    "threads",
    "records",
    "key_bytes",
    "value_bytes_mean",
    "ram_limit_bytes",
    "volume",
    "trials_done",
    "outcome",
    "phase",
];

/// The tables that have rows: name and CSV text.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let groups = || summary.groups.iter();
    let load = groups().filter_map(|group| {
        let load = group.load.as_ref()?;
        Some((about(group, &load.phase), &load.metrics))
    });
    let cost = groups().flat_map(|group| {
        group.runs.iter().map(move |run| (about(group, &run.phase), &run.metrics))
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
        ("cost", table(&ABOUT, &cost.collect::<Rows<'_>>())?),
    ];
    Ok(tables.into_iter().filter_map(|(name, csv)| Some((name, csv?))).collect())
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
    let present = |definition: &&&super::metric::Definition| {
        rows.iter().any(|(_, metrics)| metrics.get(definition).is_some())
    };
    let figures: Vec<_> = catalogue::ALL.iter().filter(present).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = figures.iter().map(|figure| figure.name);
    writer.write_record(about.iter().copied().chain(names))?;
    for (words, metrics) in rows {
        let value = |figure: &&&super::metric::Definition| {
            metrics.value(figure).map(|value| value.to_string()).unwrap_or_default()
        };
        let words = words.iter().map(|word| inert(word).into_owned());
        writer.write_record(words.chain(figures.iter().map(value)))?;
    }
    Ok(Some(writer.into_inner()?))
}
