//! The terminal's tables as CSV: one row per line, a column for every figure there is, numbers not
//! rounded, with the ends of its range. What is missing is empty.

use super::columns::{ABOUT, KINDS, Kind, Row};
use super::format::{combines_to_range, range_cells};
use super::ranking;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;

/// The tables that have rows: name and CSV text.
pub fn tables(summary: &Summary) -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let kinds = KINDS.iter().filter(|kind| kind.csv).map(|kind| (*kind, (kind.rows)(summary)));
    let with_rows = kinds.filter(|(_, rows)| !rows.is_empty());
    let mut tables: Vec<_> = with_rows
        .map(|(kind, rows)| Ok((kind.name, table(kind, &rows)?)))
        .collect::<anyhow::Result<_>>()?;
    if !summary.rankings.is_empty() {
        tables.push(("ranking", ranking::csv(summary)?));
    }
    tables.extend(super::study::csv(summary)?);
    Ok(tables)
}

fn table(kind: &Kind, rows: &[Row<'_>]) -> anyhow::Result<Vec<u8>> {
    let columns = || ABOUT.iter().chain(kind.columns).filter(|column| !column.csv.is_empty());
    let figures = catalogue::ALL.iter();
    let figures: Vec<_> =
        figures.filter(|figure| rows.iter().any(|row| row.metrics.get(figure).is_some())).collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = figures.iter().flat_map(|figure| {
        let ends: &[&str] =
            if combines_to_range(figure.combine) { &["", "_low", "_high"] } else { &[""] };
        ends.iter().map(|end| format!("{}{end}", figure.name))
    });
    let words = columns().map(|column| column.csv.to_owned());
    writer.write_record(words.chain(["trials".to_owned()]).chain(names))?;
    for row in rows {
        let mut cells: Vec<String> =
            columns().map(|column| column.export_cell(row).csv()).collect();
        // Single figures may have fewer: the long list has the number of each.
        let trials = row.metrics.0.iter().map(|metric| metric.n).max().unwrap_or(0);
        cells.push(trials.to_string());
        for figure in &figures {
            let metric = row.metrics.get(figure);
            let value = metric.and_then(|metric| metric.value);
            cells.push(value.map(|value| value.to_string()).unwrap_or_default());
            if combines_to_range(figure.combine) {
                cells.extend(metric.map(range_cells).unwrap_or_default());
            }
        }
        writer.write_record(cells)?;
    }
    Ok(writer.into_inner()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    fn parsed(summary: &Summary, name: &str) -> (csv::StringRecord, Vec<csv::StringRecord>) {
        let tables = tables(summary).unwrap();
        let (_, bytes) = tables.iter().find(|(table, _)| *table == name).unwrap();
        let mut reader = csv::Reader::from_reader(bytes.as_slice());
        let head = reader.headers().unwrap().clone();
        (head, reader.records().map(Result::unwrap).collect())
    }

    #[test]
    fn the_docs_have_every_column_that_is_no_figure() {
        let path = concat!(env!("KVDYNO_SOURCE"), "/docs/exports.md");
        let docs = std::fs::read_to_string(path).unwrap();
        let kinds = KINDS.iter().filter(|kind| kind.csv);
        let words = kinds.flat_map(|kind| ABOUT.iter().chain(kind.columns));
        let words = words.map(|column| column.csv).filter(|name| !name.is_empty());
        let long = crate::long::COLUMNS.iter().map(|(name, ..)| *name);
        let missing: Vec<&str> = words
            .chain(long)
            .chain(["trials", "FIGURE_low", "FIGURE_high"])
            .filter(|name| !docs.contains(&format!("`{name}`")))
            .collect();
        assert!(missing.is_empty(), "docs/exports.md lacks {missing:?}");
    }

    #[test]
    fn figures_have_ranges_where_a_range_is_one_of_the_value() {
        let summary = Fixture::with_trials(6).summary();
        for (table, figure) in [
            ("run", "ops_per_s"),
            ("run", "service_ns_p95"),
            ("load", "records_per_s"),
            ("cost", "cpu_ns_per_op"),
        ] {
            let (head, rows) = parsed(&summary, table);
            let at = |name: &str| head.iter().position(|column| column == name);
            let at_end = |end: &str| at(&format!("{figure}{end}")).unwrap();
            let mut ranges = 0;
            for row in rows {
                let number = |end: &str| row[at_end(end)].parse::<f64>().ok();
                if let (Some(low), Some(value), Some(high)) =
                    (number("_low"), number(""), number("_high"))
                {
                    assert!(low <= value && value <= high, "{table} {figure}");
                    assert_eq!(row[at("trials").unwrap()], *"6");
                    ranges += 1;
                }
            }
            assert!(ranges > 0, "{table} {figure}");
            assert_eq!(at("errors_low"), None, "a sum has no range");
        }
        let (head, rows) = parsed(&Fixture::with_trials(1).summary(), "run");
        let low = head.iter().position(|column| column == "ops_per_s_low").unwrap();
        assert!(rows.iter().all(|row| row[low].is_empty()), "one trial has no range");
    }
}
