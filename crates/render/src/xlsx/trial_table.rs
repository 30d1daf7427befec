//! A table over trials: for each case a line of all trials (medians, sums, maxima as formulas), and
//! below it a line for each trial with its counts as recorded and what follows from them.

use super::sheet::{Heading, Sheet, address, heading};
use crate::cell::Cell;
use crate::columns::{ABOUT, CellSource, Column, Kind, Row};
use crate::format::{self, Show};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_analysis::figures::lists::unique;
use kvdyno_analysis::figures::metric::{Combine, Metrics};
use kvdyno_analysis::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use kvdyno_analysis::figures::trials::Trials;
use kvdyno_analysis::stats::median;
use std::collections::BTreeMap;

/// The numbers of a group, its phase and its role, and of an operation from 1; 0: the whole role.
pub(super) type RowKey = (usize, usize, usize, usize);

/// Returns the key of a row.
pub(super) fn key(row: &Row<'_>) -> RowKey {
    let (group, run, role) = row.position();
    let op = row.role.zip(row.op).and_then(|((_, role), op)| {
        let at = role.ops.iter().position(|row| row.op == op)?;
        Some(at + 1)
    });
    (group, run, role, op.unwrap_or(0))
}

/// A table, and where its lines of all trials are.
pub(super) struct Placed {
    pub(super) sheet: Sheet,
    /// The line of each row, by its key.
    pub(super) rows: BTreeMap<RowKey, u32>,
    /// The column of each heading.
    pub(super) columns: BTreeMap<&'static str, u16>,
}

impl Placed {
    /// The cell of a line in a column, as another sheet refers to it.
    pub(super) fn reference(&self, place: RowKey, heading: &str) -> Option<String> {
        let cell = address(*self.rows.get(&place)?, *self.columns.get(heading)?);
        Some(format!("'{}'!{cell}", self.sheet.name()))
    }
}

/// The records that each group was computed from.
pub(super) fn trials<'s>(evidence: &'s Evidence, summary: &Summary) -> Vec<Trials<'s>> {
    let cases: BTreeMap<&str, &CaseEvidence> =
        evidence.cases.iter().map(|case| (case.case.id.as_str(), case)).collect();
    let of_groups = summary.groups.iter().map(|group| {
        let group_cases = group.trials.iter().filter_map(|trial| cases.get(trial.case.as_str()));
        Trials { cases: group_cases.map(|case| (*case, BTreeMap::default())).collect() }
    });
    of_groups.collect()
}

/// Writes a table; none where there are no rows, unless the table is always there.
pub(super) fn write(
    kind: &Kind,
    summary: &Summary,
    trials: &[Trials<'_>],
) -> anyhow::Result<Option<Placed>> {
    let rows = (kind.rows)(summary);
    if rows.is_empty() && !kind.always {
        return Ok(None);
    }
    let all = ABOUT.iter().chain(kind.columns).filter(|column| !column.heading.is_empty());
    let (about, columns): (Vec<_>, Vec<_>) =
        all.copied().partition(|column| matches!(column.from, CellSource::Words(_)));
    let head = |column: &Column| heading(column.heading, column.width, column.number_format());
    let mut headings: Vec<Heading> = about.iter().map(head).collect();
    headings.extend([heading("trial", 7, Show::Plain), heading("outcome", 13, Show::Plain)]);
    let first = u16::try_from(headings.len())?;
    headings.extend(columns.iter().map(head));
    headings.push(heading("why cells are empty", 60, Show::Plain));
    let mut writer = Writer {
        sheet: Sheet::table(kind.sheet, &headings, 1)?,
        about: &about,
        columns: &columns,
        places: (first..).zip(&columns).map(|(place, column)| (column.heading, place)).collect(),
        lines: lines(&rows),
        rows: &rows,
    };
    for (at, row) in rows.iter().enumerate() {
        writer.line(at, &trials[row.at])?;
    }
    writer.sheet.filter()?;
    // Charts find the lines of whole roles only.
    let placed = rows.iter().zip(&writer.lines).filter(|(row, _)| row.op.is_none());
    let rows = placed.map(|(row, line)| (key(row), *line)).collect();
    Ok(Some(Placed { sheet: writer.sheet, rows, columns: writer.places }))
}

/// The line of each row; its trials come below it.
fn lines(rows: &[Row<'_>]) -> Vec<u32> {
    let mut next = 1;
    let mut lines = Vec::new();
    for row in rows {
        lines.push(next);
        next += 1 + row.group.trials.len() as u32;
    }
    lines
}

struct Writer<'c, 's> {
    sheet: Sheet,
    about: &'c [Column],
    columns: &'c [Column],
    places: BTreeMap<&'static str, u16>,
    rows: &'c [Row<'s>],
    lines: Vec<u32>,
}

impl Writer<'_, '_> {
    fn line(&mut self, at: usize, trials: &Trials<'_>) -> anyhow::Result<()> {
        let row = &self.rows[at];
        let readings: Vec<_> =
            self.columns.iter().map(|column| readings(column, row, trials)).collect();
        let about: Vec<Cell> = self.about.iter().map(|column| column.export_cell(row)).collect();
        let mut cells = about.clone();
        let outcome = row.group.describe_outcomes().unwrap_or_else(|| "done".to_owned());
        cells.extend([Cell::text("all"), Cell::text(outcome)]);
        for (column, readings) in self.columns.iter().zip(&readings) {
            cells.push(self.summary_cell(at, column, readings));
        }
        cells.push(missing(row.metrics));
        self.sheet.strong_row(&cells)?;
        for (trial, info) in row.group.trials.iter().enumerate() {
            let mut cells = about.clone();
            cells.extend([Cell::Number(f64::from(info.trial)), Cell::text(&info.outcome)]);
            for (column, readings) in self.columns.iter().zip(&readings) {
                let value = readings.get(trial).copied().flatten();
                cells.push(self.trial_cell(column, value));
            }
            self.sheet.row(&cells)?;
        }
        let (first, count) = (self.lines[at] + 1, row.group.trials.len() as u32);
        if count > 0 {
            self.sheet.fold(first, first + count - 1)?;
        }
        Ok(())
    }

    /// A trial's number, or the formula that it follows from.
    fn trial_cell(&self, column: &Column, value: Option<f64>) -> Cell {
        match value {
            Some(result) if !column.formula.is_empty() => {
                Cell::Formula { formula: self.fill_template(column.formula), result }
            }
            value => Cell::number(value),
        }
    }

    /// The number of all trials, as the formula that computes it from the lines below.
    fn summary_cell(&self, at: usize, column: &Column, readings: &[Option<f64>]) -> Cell {
        let row = &self.rows[at];
        let values: Vec<f64> = readings.iter().flatten().copied().collect();
        let (function, result) = match column.from {
            CellSource::OverBase(read) => return Cell::number(row.relative().and_then(read)),
            CellSource::Verdict => return Cell::text_or_empty(row.relative().map(verdict)),
            CellSource::Range(definition, end) => {
                return Cell::number(row.metric(definition).and_then(format::range).map(end));
            }
            CellSource::Figure(definition) | CellSource::Main(definition) => {
                let combine = row.metric(definition).map_or(definition.combine, |m| m.combine);
                match function(combine) {
                    Some(function) => (function, value(column, row)),
                    None => return Cell::number(value(column, row)),
                }
            }
            _ => ("MEDIAN", median(&values)),
        };
        match result.filter(|_| !values.is_empty()) {
            Some(result) => {
                let place = self.places[column.heading];
                let first = self.lines[at] + 1;
                let last = first + readings.len() as u32 - 1;
                let (first, last) = (address(first, place), address(last, place));
                Cell::Formula { formula: format!("={function}({first}:{last})"), result }
            }
            None => Cell::Empty,
        }
    }

    /// A template with its headings replaced by the cells of the row that comes next.
    fn fill_template(&self, template: &str) -> String {
        let row = self.sheet.next_row();
        let mut formula = "=".to_owned();
        for part in template.split_inclusive(['{', '}']) {
            match part.strip_suffix('}') {
                Some(heading) => formula += &address(row, self.places[heading]),
                None => formula += part.trim_end_matches('{'),
            }
        }
        formula
    }
}

/// What combines the trials; none: the cells of the trials do not suffice.
fn function(combine: Combine) -> Option<&'static str> {
    match combine {
        Combine::Median => Some("MEDIAN"),
        Combine::Maximum => Some("MAX"),
        Combine::Sum => Some("SUM"),
        Combine::Mean => Some("AVERAGE"),
        Combine::MergedHistograms => None,
    }
}

/// A figure of all trials, in the unit of its heading.
fn value(column: &Column, row: &Row<'_>) -> Option<f64> {
    let definition = column.definition()?;
    Some(row.value(definition)? * format::figure_format(definition).times)
}

/// A column's number in each trial.
fn readings(column: &Column, row: &Row<'_>, trials: &Trials<'_>) -> Vec<Option<f64>> {
    let none = || vec![None; row.group.trials.len()];
    match (column.from, row.role_scope()) {
        (CellSource::Figure(definition) | CellSource::Main(definition), _) => {
            let times = format::figure_format(definition).times;
            let scaled = |value: &Option<f64>| value.map(|value| value * times);
            let of_trials = row.metric(definition).map(|metric| metric.per_trial.iter());
            of_trials.map_or_else(none, |of_trials| of_trials.map(scaled).collect())
        }
        (CellSource::Phase(read), _) => {
            let readings = trials.phase_readings(row.phase, |spent, case| Ok(read(spent, case)));
            readings.into_iter().map(Result::ok).collect()
        }
        (CellSource::Role(read), Some(at)) => {
            let readings = trials.role_readings(&at, |role, op| Ok(read(role, op)));
            readings.into_iter().map(Result::ok).collect()
        }
        _ => none(),
    }
}

fn verdict(beside: &RelativeTo) -> &'static str {
    match beside.verdict {
        _ if beside.reason.is_some() => NOT_COMPARABLE,
        Significance::Base => "base",
        Significance::Different => "different",
        Significance::NotDistinguishable if beside.decided => "= equal",
        _ if beside.is_too_few() => "? too few trials",
        _ => "~ undecided",
    }
}

/// Returns the reasons why figures are missing, each once.
fn missing(metrics: &Metrics) -> Cell {
    let reasons = unique(metrics.0.iter().filter_map(|metric| metric.missing.as_deref()));
    if reasons.is_empty() { Cell::Empty } else { Cell::text(reasons.join("; ")) }
}
