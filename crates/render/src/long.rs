//! Every figure of every trial as one long list, for programs: one row per case, phase, role,
//! operation and figure. Numbers are not rounded; what is missing is empty and says why. Text that
//! would be a formula in a spreadsheet is made inert.

use super::cell::Cell;
use super::columns::{Row as Location, explained_rows, loads, phases};
use super::format::range;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::METHOD_VERSION;
use kvdyno_analysis::figures::group::Trial;
use kvdyno_analysis::figures::metric::Metric;
use serde::Serialize;

/// One figure of one trial.
#[derive(Clone, Copy, Debug)]
pub struct Row<'s> {
    run: &'s str,
    place: Location<'s>,
    trial: &'s Trial,
    figure: &'s Metric,
    /// The figure's name.
    pub metric: &'static str,
    /// The figure's value in this trial; none: missing.
    pub value: Option<f64>,
    /// Why it is missing, in one trial at least.
    pub missing: Option<&'s str>,
}

/// A column: its name, its width in the workbook, and what is in it.
type Column = (&'static str, u16, fn(&Row<'_>) -> Cell);

/// The columns of the list.
pub(crate) const COLUMNS: [Column; 25] = [
    ("run", 28, |row| Cell::text(row.run)),
    ("method_version", 9, |_| Cell::count(u64::from(METHOD_VERSION))),
    ("case", 28, |row| Cell::text(&row.trial.case)),
    ("key", 40, |row| Cell::text(&row.place.group.key)),
    ("engine", 12, |row| Cell::text(&row.place.group.engine)),
    ("label", 14, |row| Cell::text(&row.place.group.label)),
    ("part", 10, |row| Cell::text_or_empty(row.place.group.part.as_ref())),
    ("durability", 10, |row| Cell::text(row.place.group.durability.as_str())),
    ("threads_swept", 8, |row| Cell::count(row.place.group.threads_swept.map(u64::from))),
    ("trial", 7, |row| Cell::count(u64::from(row.trial.trial))),
    ("outcome", 13, |row| Cell::text(&row.trial.outcome)),
    ("phase", 12, |row| Cell::text(row.place.phase)),
    ("role", 12, |row| Cell::text_or_empty(row.place.role_name())),
    ("threads", 8, |row| Cell::count(row.place.threads().map(u64::from))),
    ("op", 14, |row| {
        if row.place.is_pooled() {
            Cell::text(row.place.op_or_all())
        } else {
            Cell::text_or_empty(row.place.op)
        }
    }),
    ("metric", 30, |row| Cell::text(row.metric)),
    ("unit", 9, |row| Cell::text(row.figure.unit)),
    ("direction", 9, |row| enum_cell(row.figure.direction)),
    ("source", 18, |row| enum_cell(row.figure.source)),
    ("value", 20, |row| Cell::number(row.value)),
    ("value_all_trials", 20, |row| Cell::number(row.figure.value)),
    ("low_all_trials", 20, |row| Cell::number(range(row.figure).map(|(low, _)| low))),
    ("high_all_trials", 20, |row| Cell::number(range(row.figure).map(|(_, high)| high))),
    ("n", 7, |row| Cell::count(row.figure.n as u64)),
    ("missing", 60, |row| Cell::text_or_empty(row.missing)),
];

/// All rows, in the order of the groups.
pub fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let phases = phases(summary).flat_map(|phase| std::iter::once(phase).chain(phase.roles()));
    let mut places: Vec<Location<'_>> = loads(summary).chain(phases).collect();
    places.extend(explained_rows(summary));
    places.sort_by_key(|place| place.at);
    let mut rows = Vec::new();
    for place in places {
        for figure in &place.metrics.0 {
            rows.extend(place.group.trials.iter().enumerate().map(|(at, trial)| Row {
                run: &summary.run.id,
                place,
                trial,
                figure,
                metric: figure.name,
                value: figure.per_trial.get(at).copied().flatten(),
                missing: figure.missing.as_deref(),
            }));
        }
    }
    rows
}

/// The long list as CSV.
pub fn csv(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS.map(|(name, ..)| name))?;
    for row in rows(summary) {
        writer.write_record(COLUMNS.map(|(.., cell)| cell(&row).csv()))?;
    }
    Ok(writer.into_inner()?)
}

/// A word of a closed set, as JSON has it.
fn enum_cell(value: impl Serialize) -> Cell {
    Cell::text_or_empty(serde_json::to_value(value).ok().as_ref().and_then(|word| word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn the_range_of_all_trials_holds_their_value() {
        let text = csv(&Fixture::with_trials(6).summary()).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let head = reader.headers().unwrap().clone();
        let at = |name: &str| head.iter().position(|column| column == name).unwrap();
        let mut ranges = 0;
        for row in reader.records().map(Result::unwrap) {
            let number = |name: &str| row[at(name)].parse::<f64>().ok();
            if &row[at("metric")] == "operations" {
                assert_eq!(number("low_all_trials"), None, "a sum has no range");
            }
            let Some(low) = number("low_all_trials") else { continue };
            let (value, high) = (number("value_all_trials"), number("high_all_trials"));
            assert!(Some(low) <= value && value <= high, "{row:?}");
            ranges += 1;
        }
        assert!(ranges > 0);
    }
}
