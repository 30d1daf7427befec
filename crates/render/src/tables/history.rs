//! Engines over their versions: a row for each figure, a column for each version.

use crate::table::{Side, Table, Titled};
use crate::versus::{expected_alarms, figure};
use crate::wrap::wrap;
use kvdyno_analysis::answers::history::{History, VersionSeries};
use kvdyno_analysis::answers::summary::Summary;

/// The figures of the narrow table.
const FIRST: [&str; 3] = ["records_per_s", "ops_per_s", "service_ns_p99"];

/// The most steps that are listed one by one.
const TOLD_MAX: usize = 12;

/// A table for each engine that the suite has in several versions.
pub(super) fn history(summary: &Summary, wide: bool) -> Vec<Titled> {
    summary.history.iter().map(|history| history_table(history, wide)).collect()
}

fn history_table(history: &History, wide: bool) -> Titled {
    let versions = history.versions.iter();
    let versions = versions.map(|release| (release.version.clone(), Side::Right));
    let what = [("phase and role".to_owned(), Side::Left), ("figure".to_owned(), Side::Left)];
    let mut table = Table::new(what.into_iter().chain(versions));
    for series in history.figures.iter().filter(|series| wide || FIRST.contains(&series.figure)) {
        let cells = series.cells(|median| figure(series.unit, median));
        let what = [series.scope(), series.figure.to_owned()];
        table.row(&what.into_iter().chain(cells).collect::<Vec<_>>());
    }
    let title = "Versions: what each step changed".into();
    Titled { name: "history", title, table, aid: reading_aid(history) }
}

fn reading_aid(history: &History) -> String {
    let trials = history.figures.iter().map(VersionSeries::trials).max().unwrap_or(0);
    let engine = &history.engine;
    let mut lines = vec![wrap(
        &format!(
            "{engine}: medians of {trials} trials. +8%: a rate against the version before, where \
             its 99 % interval leaves 1 out; chance alone would mark {} of all steps.",
            expected_alarms(history.false_alarms_expected)
        ),
        0,
    )];
    let changes = history.changes();
    lines.extend(history.sentence().map(|sentence| wrap(&format!("{sentence}."), 0)));
    lines.extend(changes.iter().take(TOLD_MAX).map(|change| wrap(change, 2)));
    let more = changes.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        lines.push(format!("and {more} more: `kvdyno show --json`, `history`"));
    }
    lines.join("\n")
}
