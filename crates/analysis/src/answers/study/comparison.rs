//! A study's rows, each with its counterparts in a run, or why there is none.

use super::differs::{self, Difference};
use super::matching::Candidates;
use super::published::{
    PublishedValue, Selectors, Study, StudyHead, StudyRow, StudyTable, TableKind,
};
use crate::figures::Figures;
use crate::figures::catalogue;
use crate::figures::metric::Metrics;
use schemars::JsonSchema;
use serde::Serialize;

/// A study compared with a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyComparison {
    /// The study's authors, source, machine and data.
    pub study: StudyHead,
    /// Its machine and data compared with this run's, and the effect.
    pub differences: Vec<Difference>,
    /// The published figures, in their order: never mixed with figures of the run.
    pub published: Vec<Published>,
}

/// A published row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// The table's name in the study's file.
    pub table: String,
    /// The table's title.
    pub title: String,
    /// The kind of a run's figures that it can be compared with; null: none.
    pub matches: Option<TableKind>,
    /// The properties of the row: engine, phase, threads and others.
    pub selectors: Selectors,
    /// Its figures.
    pub values: Vec<PublishedValue>,
    /// Why its figures are doubtful; null: they are not.
    pub doubt: Option<String>,
    /// The authors gave up on it.
    pub gave_up: bool,
    /// The rows of this run that are its counterparts.
    pub own: Vec<RowRef>,
    /// Why it has no counterpart; null: it has one, or could have none.
    pub why_none: Option<String>,
}

/// A row of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RowRef {
    /// The index of its group.
    pub group: usize,
    /// The index of its measured phase in the group; null: its load.
    pub run: Option<usize>,
    /// The index of the role in the phase; null: the phase as a whole.
    pub role: Option<usize>,
}

impl StudyComparison {
    /// Compares a study with a run; none where there is no study of that name.
    pub fn from_figures(id: &str, figures: &Figures) -> Option<Self> {
        let study = super::study_by_id(id)?;
        let mut published = Vec::new();
        for table in &study.table {
            let candidates = table.matches.map(|kind| Candidates::for_table(kind, table, figures));
            for row in &table.row {
                published.push(published_row(&study, table, row, candidates.as_ref()));
            }
        }
        let differences = differs::list_differences(&study.study, figures);
        Some(Self { study: study.study, differences, published })
    }

    /// `Symas Corp., 2018-08`.
    pub fn source(&self) -> String {
        format!("{}, {}", self.study.authors, self.study.published)
    }

    /// The machine of its figures, in one line.
    pub fn host(&self) -> String {
        let host = &self.study.host;
        let drives = host.drives.join("; ");
        let parts =
            [host.cpu.as_deref(), host.ram.as_deref(), Some(&drives), host.kernel.as_deref()];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }
}

impl Published {
    /// A figure by its name.
    pub fn value(&self, figure: &str) -> Option<&PublishedValue> {
        self.values.iter().find(|value| value.figure == figure)
    }
}

impl RowRef {
    /// The figures of the row, and those of the phase that it is part of.
    pub fn metrics<'s>(&self, figures: &'s Figures) -> Vec<&'s Metrics> {
        let Some(group) = figures.groups.get(self.group) else { return Vec::new() };
        let Some(run) = self.run else {
            return group.load.iter().map(|load| &load.metrics).collect();
        };
        let Some(run) = group.runs.get(run) else { return Vec::new() };
        let role = self.role.and_then(|role| run.roles.get(role));
        let role = role.or_else(|| run.roles.first().filter(|_| run.roles.len() == 1));
        role.map(|role| &role.metrics).into_iter().chain([&run.metrics]).collect()
    }
}

fn published_row(
    study: &Study,
    table: &StudyTable,
    row: &StudyRow,
    candidates: Option<&Candidates<'_>>,
) -> Published {
    let selectors = row.selectors.or(&table.selectors);
    let (rows, why_none) =
        match candidates.map(|candidates| candidates.find_matching_rows(&selectors)) {
            Some(Ok(rows)) => (rows, None),
            Some(Err(why)) => (Vec::new(), Some(why)),
            None => (Vec::new(), None),
        };
    let unit = |name: &str| {
        let in_catalogue = catalogue::ALL.iter().find(|known| known.name == name);
        let in_study =
            || study.figure.iter().find(|own| own.name == name).map(|own| own.unit.as_str());
        in_catalogue.map(|known| known.unit).or_else(in_study).unwrap_or_default()
    };
    let value = |(name, written): (&String, &_)| {
        PublishedValue::new(name, unit(name), *written, row.derived.contains(name))
    };
    Published {
        table: table.name.clone(),
        title: table.title.clone(),
        matches: table.matches,
        selectors,
        values: row.values.iter().map(value).collect(),
        doubt: row.doubt.clone(),
        gave_up: row.gave_up,
        own: rows,
        why_none,
    }
}
