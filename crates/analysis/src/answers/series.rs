//! A figure along an axis: an engine's versions, a suite's runs, its hosts. The modules `history`,
//! `trend` and `fleet` judge it along the axis.

use super::trend::entry::{Entry, ScopeFigures};
use crate::figures::catalogue;
use crate::figures::metric::{Definition, Direction};
use crate::judge::versus::FigureChoice;
use schemars::JsonSchema;
use serde::Serialize;

/// A figure along an axis, and the judgement of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "FigureSeries")]
pub struct FigureSeries<Value, Judgement> {
    /// The case in a few words: `lmdb t4`; in a history without the engine, and empty if alone.
    pub case: String,
    /// The phase.
    pub phase: String,
    /// The role, and the operation where it has several; null: figures of the whole process.
    pub role: Option<String>,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Its values by version, run or host; null: no value there.
    pub values: Vec<Option<Value>>,
    /// The judgement of the values.
    #[serde(flatten)]
    pub judgement: Judgement,
}

impl<Judgement> FigureSeries<f64, Judgement> {
    /// Collects the figures that `choice` selects from the runs `sources`, each over all `runs`.
    pub(super) fn collect(
        sources: &[&Entry],
        runs: &[&Entry],
        choice: &FigureChoice,
        judge: impl Fn(&'static Definition, &ScopeFigures, &[Option<f64>]) -> Judgement,
    ) -> Vec<Self> {
        let mut chosen: Vec<(&ScopeFigures, &'static Definition)> = Vec::new();
        for (figures, definition) in sources.iter().flat_map(|run| choose(run, choice)) {
            let is_listed = chosen.iter().any(|(other, listed)| {
                listed.name == definition.name && other.is_same_work(figures)
            });
            if !is_listed {
                chosen.push((figures, definition));
            }
        }
        let series = chosen.into_iter().map(|(figures, definition)| {
            let value = |run: &&Entry| {
                let figures = run.series.iter().find(|other| other.is_same_work(figures))?;
                figures.figures.get(definition.name).copied()
            };
            let values: Vec<Option<f64>> = runs.iter().map(value).collect();
            Self {
                case: figures.case.clone(),
                phase: figures.phase.clone(),
                role: figures.role.clone(),
                figure: definition.name,
                unit: definition.unit,
                judgement: judge(definition, figures, &values),
                values,
            }
        });
        series.collect()
    }

    /// The owner of the figure: the role, else the phase.
    pub fn owner(&self) -> &str {
        self.role.as_deref().unwrap_or(&self.phase)
    }

    /// `lmdb t4, readers: ops_per_s`.
    pub fn name(&self) -> String {
        format!("{}, {}: {}", self.case, self.owner(), self.figure)
    }
}

/// The figures of a run that the reader chose.
fn choose<'e>(
    run: &'e Entry,
    choice: &FigureChoice,
) -> impl Iterator<Item = (&'e ScopeFigures, &'static Definition)> {
    run.series.iter().flat_map(move |figures| {
        let chosen = catalogue::ALL.iter().filter(move |definition| {
            figures.figures.contains_key(definition.name)
                && definition.direction != Direction::Neither
                && choice.includes(definition.name, definition.direction, figures.scope())
        });
        chosen.map(move |definition| (figures, *definition))
    })
}

/// The values that exist, each with its index on the axis.
pub fn present(values: &[Option<f64>]) -> impl Iterator<Item = (usize, f64)> {
    values.iter().enumerate().filter_map(|(index, value)| Some((index, (*value)?)))
}
