//! The percentiles that a user lists: a table, and the same as CSV.

use super::columns::{ABOUT, AXES, CSV_LEAD, Line, PERCENTILES_LEAD, Row, VisibleColumns, phases};
use super::format;
use super::table::{Side, Table, Titled};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::metric::Combine;
use kvdyno_analysis::figures::percentiles::{Percentile, PercentileRow};

const AID: &str = "\
Medians over trials of each trial's own percentile; if a trial has too few samples, of all trials
merged. A percentile needs ten samples beyond it. service: from the start of a call. response: from
its scheduled start. submit: until it was handed over. completion: from there to its answer.";

/// The table: a row for each case, phase, role, operation and kind of times.
pub fn table(
    summary: &Summary,
    percentiles: &[Percentile],
    listed: &[PercentileRow],
    wide: bool,
) -> Titled {
    let rows = locate_rows(summary, listed);
    let places: Vec<Row<'_>> = rows.iter().map(|(row, _)| *row).collect();
    let shown = VisibleColumns::from_summary(summary, &places, wide);
    let columns = AXES.iter().chain(PERCENTILES_LEAD);
    let columns: Vec<_> = columns.filter(|column| shown.has(column)).collect();
    let lead = columns.iter().map(|column| (shown.title(column.title), column.side));
    let titles = percentiles.iter().map(|one| (format!("p{one}\nus"), Side::Right));
    let mut table = Table::new(lead.chain(titles));
    let mut notes = std::mem::take(&mut table.footnotes);
    for (row, values) in rows {
        let mut line = Line::new(row, None, &shown, &mut notes);
        let mut cells: Vec<String> = columns.iter().map(|column| column.text(&mut line)).collect();
        cells.extend(values.values.iter().map(|value| match (value.value, &value.missing) {
            (Some(ns), _) => format::ratio(ns / 1e3),
            (None, Some(why)) => format!("- {}", notes.mark(why)),
            (None, None) => "-".to_owned(),
        }));
        table.row(&cells);
    }
    table.footnotes = notes;
    table.lead = (!wide).then_some(columns.len());
    Titled { name: "percentiles", title: "Percentiles of times".into(), table, aid: AID.to_owned() }
}

/// The percentiles with ranges as CSV, in nanoseconds and not rounded.
pub fn csv(
    summary: &Summary,
    percentiles: &[Percentile],
    listed: &[PercentileRow],
) -> anyhow::Result<Vec<u8>> {
    let columns = || ABOUT.iter().chain(CSV_LEAD).filter(|column| !column.csv.is_empty());
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = percentiles.iter().flat_map(|one| {
        ["", "_low", "_high", "_trials"].map(|end| format!("ns_{}{end}", one.name()))
    });
    let lead = columns().map(|column| column.csv.to_owned());
    writer.write_record(lead.chain(names).chain(["missing".to_owned()]))?;
    for (row, percentile_row) in locate_rows(summary, listed) {
        let mut cells: Vec<String> =
            columns().map(|column| column.export_cell(&row).csv()).collect();
        for value in &percentile_row.values {
            let [low, high] = format::range_cells(value);
            let median = value.value.map(|ns| ns.to_string()).unwrap_or_default();
            let trials = match value.combine {
                Combine::MergedHistograms => String::new(),
                _ => value.n.to_string(),
            };
            cells.extend([median, low, high, trials]);
        }
        let missing = percentile_row.values.iter().find_map(|value| value.missing.as_deref());
        cells.push(super::cell::Cell::text_or_empty(missing).csv());
        writer.write_record(cells)?;
    }
    Ok(writer.into_inner()?)
}

/// Pairs each listed row with its row of the summary.
fn locate_rows<'s, 'p>(
    summary: &'s Summary,
    listed: &'p [PercentileRow],
) -> Vec<(Row<'s>, &'p PercentileRow)> {
    let rows: Vec<Row<'s>> = phases(summary).flat_map(Row::roles).collect();
    let place = |listed: &'p PercentileRow| {
        let is_its = |row: &&Row<'s>| {
            row.at == listed.group
                && row.phase == listed.phase
                && row.op == listed.op.as_deref()
                && row.role_name() == Some(listed.role.as_str())
        };
        let row = rows.iter().find(is_its)?;
        Some((Row { clock: listed.clock, ..*row }, listed))
    };
    listed.iter().filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::figures::evidence::Evidence;
    use kvdyno_analysis::figures::percentiles::read;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn listed_percentiles_have_a_table_and_a_file() {
        let list: Vec<Percentile> =
            ["25", "95", "99.95", "99.9999"].map(|text| text.parse().unwrap()).into();
        let dir = kvdyno_analysis::fixture::make_dir();
        let evidence = Evidence::read(&Fixture::new().write(&dir.path().join("run"))).unwrap();
        let summary = Summary::from_evidence(&evidence).unwrap();
        let rows = read(&evidence, &summary, &list).unwrap();
        let text = table(&summary, &list, &rows, false).table.text();
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        assert!(text.contains("p99.9999 needs 10,000,000 samples"), "{text}");
        insta::assert_snapshot!("percentiles", text);
        let csv = String::from_utf8(csv(&summary, &list, &rows).unwrap()).unwrap();
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let headers = reader.headers().unwrap().clone();
        let at = |name: &str| headers.iter().position(|header| header == name).unwrap();
        let records: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), rows.len());
        for (record, row) in records.iter().zip(&rows) {
            assert_eq!(record[at("time")], *row.clock.as_str());
            let p95 = &row.values[1];
            let median = p95.value.map(|ns| ns.to_string()).unwrap_or_default();
            assert_eq!(record[at("ns_p95")], *median);
            if let Some((low, high)) = p95.range().filter(|_| p95.n > 1) {
                assert_eq!(record[at("ns_p95_low")], *low.to_string());
                assert_eq!(record[at("ns_p95_high")], *high.to_string());
            }
        }
        let without = |record: &&csv::StringRecord| record[at("ns_p99_9999")].is_empty();
        let missing: Vec<&str> =
            records.iter().filter(without).map(|record| &record[at("missing")]).collect();
        assert!(!missing.is_empty() && missing.iter().all(|why| !why.is_empty()), "{missing:?}");
    }
}
