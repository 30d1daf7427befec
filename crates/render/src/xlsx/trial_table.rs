//! A table over trials: for each case a line of all trials (medians, sums, maxima as formulas), and
//! below it a line for each trial with its counts as recorded and what follows from them.

use super::sheet::{Cell, Heading, Sheet, Show, address, heading};
use kvdyno_analysis::comparison::{Beside, Verdict};
use kvdyno_analysis::evidence::{CaseEvidence, Evidence};
use kvdyno_analysis::group::Group;
use kvdyno_analysis::metric::{Combine, Definition, Metric, Metrics, Reading};
use kvdyno_analysis::spent::Spent;
use kvdyno_analysis::stats::median;
use kvdyno_analysis::summary::Summary;
use kvdyno_analysis::trials::{At, Trials};
use kvdyno_record::case::{OpResult, RoleResult};
use std::collections::BTreeMap;

/// The groups with the records that they were computed from.
pub(super) struct Lines<'s> {
    pub(super) groups: Vec<(&'s Group, Trials<'s>)>,
}

impl<'s> Lines<'s> {
    pub(super) fn of(evidence: &'s Evidence, summary: &'s Summary) -> Self {
        let cases: BTreeMap<&str, &CaseEvidence> =
            evidence.cases.iter().map(|case| (case.case.id.as_str(), case)).collect();
        let trials = |group: &'s Group| {
            let found = group.trials.iter().filter_map(|trial| cases.get(trial.case.as_str()));
            Trials { cases: found.map(|case| (*case, BTreeMap::default())).collect() }
        };
        Self { groups: summary.groups.iter().map(|group| (group, trials(group))).collect() }
    }

    /// Engines and the harness, with their places; a bare drive has a sheet of its own.
    pub(super) fn engines(&self) -> impl Iterator<Item = (usize, &'s Group)> + '_ {
        let all = self.groups.iter().map(|(group, _)| *group).enumerate();
        all.filter(|(_, group)| !group.bare_drive)
    }
}

/// Where a column's numbers come from.
pub(super) enum Origin {
    /// A figure of the catalogue, times this: a reading, written as it is.
    Figure(&'static Definition, f64),
    /// A count of the record that is no figure by itself.
    Phase(fn(Spent<'_>, &CaseEvidence) -> Reading),
    /// The same of a role.
    Role(fn(&RoleResult, &OpResult) -> Reading),
    /// A figure, times this, that follows from other columns of its row: `{their}/{names}`.
    Formula(&'static Definition, f64, &'static str),
    /// In lines of all trials: this column over the base engine's, times this.
    OverBase(&'static str, f64),
    /// In lines of all trials: whether it can be told apart from the base, in words.
    Verdict,
    /// In lines of all trials: an end of the range of a figure.
    Range(&'static Definition, fn((f64, f64)) -> f64),
}

/// A column of numbers.
pub(super) struct Column {
    /// What formulas call it.
    pub(super) name: &'static str,
    pub(super) heading: Heading,
    pub(super) from: Origin,
}

/// A column.
pub(super) const fn column(
    name: &'static str,
    title: &'static str,
    show: Show,
    from: Origin,
) -> Column {
    Column { name, heading: heading(title, 13, show), from }
}

/// One case, phase or role over its trials.
pub(super) struct Line<'s> {
    pub(super) group: usize,
    /// Where charts find it; an operation of a role is in none.
    pub(super) place: Option<Place>,
    /// What it is about, besides what every line says.
    pub(super) about: Vec<Cell>,
    pub(super) phase: &'s str,
    /// A role, and its operation.
    pub(super) at: Option<At<'s>>,
    pub(super) metrics: &'s Metrics,
    /// The line that it is put in relation to.
    pub(super) base: Option<usize>,
    /// What came of that.
    pub(super) beside: Option<&'s Beside>,
}

/// By number: a group, its phase, and its role or 0.
pub(super) type Place = (usize, usize, usize);

/// A table, and where its lines of all trials are.
pub(super) struct Placed {
    pub(super) sheet: Sheet,
    /// The row of a place.
    pub(super) rows: BTreeMap<Place, u32>,
    /// The column of a name.
    pub(super) columns: BTreeMap<&'static str, u16>,
}

impl Placed {
    /// The cell of a line in a column, as another sheet refers to it.
    pub(super) fn reference(&self, place: Place, column: &str) -> Option<String> {
        let cell = address(*self.rows.get(&place)?, *self.columns.get(column)?);
        Some(format!("'{}'!{cell}", self.sheet.name()))
    }
}

/// What every line says first.
const ABOUT: [Heading; 9] = [
    heading("engine", 14, Show::Plain),
    heading("durability", 10, Show::Plain),
    heading("records", 13, Show::Count),
    heading("key, B", 8, Show::Count),
    heading("value, B (mean)", 9, Show::Count),
    heading("RAM limit, B", 15, Show::Count),
    heading("tier", 12, Show::Plain),
    heading("volume", 12, Show::Plain),
    heading("threads", 8, Show::Count),
];

/// What every line says before its numbers.
const TRIAL: [Heading; 2] = [heading("trial", 7, Show::Plain), heading("outcome", 13, Show::Plain)];

/// Writes a table. `about` are the headings of the lines' own words.
pub(super) fn write(
    name: &'static str,
    about: &[Heading],
    columns: &[Column],
    groups: &Lines<'_>,
    lines: &[Line<'_>],
) -> anyhow::Result<Placed> {
    let mut headings = [&ABOUT[..], about, &TRIAL].concat();
    let first = u16::try_from(headings.len())?;
    headings.extend(columns.iter().map(|column| column.heading.clone()));
    headings.push(heading("why cells are empty", 60, Show::Plain));
    let mut writer = Writer {
        sheet: Sheet::table(name, &headings, 1)?,
        columns,
        places: (first..).zip(columns).map(|(place, column)| (column.name, place)).collect(),
        rows: rows(lines, groups),
    };
    for (at, line) in lines.iter().enumerate() {
        let (group, trials) = &groups.groups[line.group];
        writer.line(at, line, group, trials, lines)?;
    }
    writer.sheet.filter()?;
    let placed = lines.iter().zip(&writer.rows);
    let rows = placed.filter_map(|(line, row)| Some((line.place?, *row))).collect();
    Ok(Placed { sheet: writer.sheet, rows, columns: writer.places })
}

/// The row of each line; its trials come below it.
fn rows(lines: &[Line<'_>], groups: &Lines<'_>) -> Vec<u32> {
    let mut next = 1;
    let mut rows = Vec::new();
    for line in lines {
        rows.push(next);
        next += 1 + groups.groups[line.group].0.trials.len() as u32;
    }
    rows
}

struct Writer<'c> {
    sheet: Sheet,
    columns: &'c [Column],
    places: BTreeMap<&'static str, u16>,
    rows: Vec<u32>,
}

impl Writer<'_> {
    fn line(
        &mut self,
        at: usize,
        line: &Line<'_>,
        group: &Group,
        trials: &Trials<'_>,
        lines: &[Line<'_>],
    ) -> anyhow::Result<()> {
        let count = group.trials.len();
        let readings: Vec<Vec<Option<f64>>> =
            self.columns.iter().map(|column| readings(column, line, trials, count)).collect();
        let about = [about(group), line.about.clone()].concat();
        let mut cells = about.clone();
        let outcome = group.trouble().unwrap_or_else(|| "done".to_owned());
        cells.extend([Cell::text("all"), Cell::text(outcome)]);
        for (column, readings) in self.columns.iter().zip(&readings) {
            cells.push(self.of_all(at, column, line, readings, lines));
        }
        cells.push(missing(line.metrics));
        self.sheet.strong_row(&cells)?;
        for (trial, info) in group.trials.iter().enumerate() {
            let mut cells = about.clone();
            cells.extend([Cell::Number(f64::from(info.trial)), Cell::text(&info.outcome)]);
            for (column, readings) in self.columns.iter().zip(&readings) {
                let value = readings.get(trial).copied().flatten();
                cells.push(self.of_trial(column, value));
            }
            self.sheet.row(&cells)?;
        }
        let first = self.rows[at] + 1;
        if count > 0 {
            self.sheet.fold(first, first + count as u32 - 1)?;
        }
        Ok(())
    }

    /// A trial's number, or the formula that it follows from.
    fn of_trial(&self, column: &Column, value: Option<f64>) -> Cell {
        match (&column.from, value) {
            (Origin::Formula(_, _, template), Some(result)) => {
                Cell::Formula { formula: self.filled(template), result }
            }
            (_, value) => Cell::number(value),
        }
    }

    /// The number of all trials, as the formula that makes it of the lines below.
    fn of_all(
        &self,
        at: usize,
        column: &Column,
        line: &Line<'_>,
        readings: &[Option<f64>],
        lines: &[Line<'_>],
    ) -> Cell {
        let values: Vec<f64> = readings.iter().flatten().copied().collect();
        let (function, result) = match &column.from {
            Origin::OverBase(of, times) => return self.over_base(at, of, *times, line, lines),
            Origin::Verdict => {
                return line.beside.map_or(Cell::Empty, |beside| Cell::text(verdict(beside)));
            }
            Origin::Range(definition, end) => {
                let range = line.metrics.get(definition).and_then(Metric::range);
                return Cell::number(range.map(end));
            }
            Origin::Figure(definition, times) | Origin::Formula(definition, times, _) => {
                let value = line.metrics.value(definition).map(|value| value * times);
                (function(definition.combine), value)
            }
            Origin::Phase(_) | Origin::Role(_) => ("MEDIAN", median(&values)),
        };
        match result.filter(|_| !values.is_empty()) {
            Some(result) => {
                let place = self.places[column.name];
                let first = self.rows[at] + 1;
                let last = first + readings.len() as u32 - 1;
                let (first, last) = (address(first, place), address(last, place));
                Cell::Formula { formula: format!("={function}({first}:{last})"), result }
            }
            None => Cell::Empty,
        }
    }

    fn over_base(
        &self,
        at: usize,
        of: &str,
        times: f64,
        line: &Line<'_>,
        lines: &[Line<'_>],
    ) -> Cell {
        let value = |line: &Line<'_>| {
            let column = self.columns.iter().find(|column| column.name == of)?;
            match &column.from {
                Origin::Figure(definition, times) | Origin::Formula(definition, times, _) => {
                    line.metrics.value(definition).map(|value| value * times)
                }
                _ => None,
            }
        };
        let base = line.base.and_then(|base| Some((base, value(&lines[base])?)));
        let (Some((base, below)), Some(above)) = (base.filter(|(_, b)| *b > 0.0), value(line))
        else {
            return Cell::Empty;
        };
        let place = self.places[of];
        let ratio =
            format!("{}/{}", address(self.rows[at], place), absolute(self.rows[base], place));
        let factor =
            if (times - 1.0).abs() < f64::EPSILON { String::new() } else { format!("{times}*") };
        Cell::Formula { formula: format!("={factor}{ratio}"), result: times * above / below }
    }

    /// A template with its names replaced by the cells of the row that comes next.
    fn filled(&self, template: &str) -> String {
        let row = self.sheet.next_row();
        let mut formula = "=".to_owned();
        for part in template.split_inclusive(['{', '}']) {
            match part.strip_suffix('}') {
                Some(name) => formula += &address(row, self.places[name]),
                None => formula += part.trim_end_matches('{'),
            }
        }
        formula
    }
}

/// `C$7`: the row stays when the formula is copied.
fn absolute(row: u32, column: u16) -> String {
    let address = address(row, column);
    let digits = address.find(|c: char| c.is_ascii_digit()).unwrap_or(address.len());
    format!("{}${}", &address[..digits], &address[digits..])
}

fn function(combine: Combine) -> &'static str {
    match combine {
        Combine::Median | Combine::MergedHistograms => "MEDIAN",
        Combine::Maximum => "MAX",
        Combine::Sum => "SUM",
        Combine::Mean => "AVERAGE",
    }
}

/// A column's number in each trial.
fn readings(
    column: &Column,
    line: &Line<'_>,
    trials: &Trials<'_>,
    count: usize,
) -> Vec<Option<f64>> {
    let kept = |readings: Vec<Reading>| readings.into_iter().map(Result::ok).collect();
    match &column.from {
        Origin::Figure(definition, times) | Origin::Formula(definition, times, _) => {
            let of_trials = line.metrics.get(definition).map(|metric| metric.per_trial.clone());
            let of_trials = of_trials.unwrap_or_else(|| vec![None; count]);
            of_trials.into_iter().map(|value| value.map(|value| value * times)).collect()
        }
        Origin::Phase(read) => kept(trials.of_phase(line.phase, read)),
        Origin::Role(read) => match &line.at {
            Some(at) => kept(trials.of_role(at, read)),
            None => vec![None; count],
        },
        Origin::OverBase(..) | Origin::Verdict | Origin::Range(..) => vec![None; count],
    }
}

fn verdict(beside: &Beside) -> &'static str {
    match beside.verdict {
        Verdict::Base => "base",
        Verdict::Different => "different",
        Verdict::NotDistinguishable => "~ no significant difference",
        Verdict::SpreadUnknown => "? too few trials",
    }
}

fn about(group: &Group) -> Vec<Cell> {
    vec![
        Cell::text(&group.label),
        Cell::text(group.durability.as_str()),
        Cell::count(Some(group.records)),
        Cell::count(Some(group.key_bytes.into())),
        Cell::count(Some(group.value_bytes_mean)),
        Cell::count(group.ram_limit_bytes),
        Cell::text(group.tier.as_deref().unwrap_or_default()),
        Cell::text(group.volume.as_deref().unwrap_or_default()),
        Cell::count(group.threads.map(u64::from)),
    ]
}

/// Each reason once.
fn missing(metrics: &Metrics) -> Cell {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in metrics.0.iter().filter_map(|metric| metric.missing.as_deref()) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.is_empty() { Cell::Empty } else { Cell::text(reasons.join("; ")) }
}
