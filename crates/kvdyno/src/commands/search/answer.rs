//! What a search found, in words, as a curve, and as JSON.

use super::{Axis, Point};
use crate::printer::Printer;
use crate::report::table::{Side, Table};
use crate::report::wrap::wrap;
use crate::search::{Clause, Figure, Found, Target};
use crate::stats::median;
use crate::units;
use schemars::JsonSchema;
use serde::Serialize;

/// What a search found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::commands) struct Answer {
    /// As typed.
    pub(super) target: String,
    /// The engine.
    pub(super) engine: String,
    /// Of the values: `bytes` or `operations/s`.
    pub(super) unit: String,
    /// Where the edge lies; null: the search was cut off before it knew.
    #[serde(serialize_with = "words")]
    #[schemars(with = "Option<String>")]
    pub(super) found: Option<Found>,
    /// Points that met the target although an easier one did not: noise.
    pub(super) contradictions: usize,
    /// Of each point.
    pub(super) trials: u32,
    /// Every point tried, by value.
    pub(super) curve: Vec<Point>,
    /// The run that holds the points.
    pub(super) run: String,
}

fn words<S: serde::Serializer>(found: &Option<Found>, to: S) -> Result<S::Ok, S::Error> {
    match found {
        None => to.serialize_none(),
        Some(Found::Never { easiest }) => to.serialize_str(&format!("never up to {easiest}")),
        Some(Found::Always { hardest }) => to.serialize_str(&format!("always from {hardest}")),
        Some(Found::Between { met, missed }) => {
            to.serialize_str(&format!("met at {met}, missed at {missed}"))
        }
    }
}

impl Answer {
    pub(super) fn print<A: Axis>(&self, target: &Target, axis: &A, printer: &Printer) {
        printer.heading(&wrap(&self.sentence(axis), 0));
        printer.data("");
        printer.data(&self.table(target, axis).text());
        printer.data(&format!(
            "Medians over the trials, and their range. A point meets the target when each of its\n\
             {} trials does.",
            self.trials
        ));
        if self.contradictions > 0 {
            printer.warning(&format!(
                "{} met the target although an easier point did not: the edge is as wide as the \
                 noise; more trials or longer phases make it sharper",
                if self.contradictions == 1 { "1 point" } else { "some points" }
            ));
        }
        printer.note(&format!("the curve as a page: kvdyno report {}", self.run));
    }

    /// What was found, in a sentence.
    fn sentence<A: Axis>(&self, axis: &A) -> String {
        let Self { engine, target, .. } = self;
        match self.found {
            None => format!("{engine}: the search was cut off before it knew"),
            Some(Found::Never { easiest }) => {
                format!("{engine} does not meet `{target}`, not even at {}", axis.words(easiest))
            }
            Some(Found::Always { hardest }) => {
                format!("{engine} meets `{target}` at {} already", axis.words(hardest))
            }
            Some(Found::Between { met, missed }) => format!(
                "{engine} meets `{target}` at {}, and does not at {}",
                axis.words(met),
                axis.words(missed)
            ),
        }
    }

    fn table<A: Axis>(&self, target: &Target, axis: &A) -> Table {
        let mut titles = vec![(axis.unit().to_owned(), Side::Right)];
        titles.extend(target.clauses.iter().map(|c| (c.about().to_owned(), Side::Right)));
        titles.push(("met".to_owned(), Side::Right));
        let mut table = Table::titled(titles);
        for Point { value, judged } in &self.curve {
            let mut cells = vec![axis.words(*value)];
            for (clause, values) in target.clauses.iter().zip(&judged.values) {
                cells.push(match figure(clause, values) {
                    Some(text) => text,
                    None => {
                        let why = judged.without.as_deref().unwrap_or("too few samples for it");
                        format!("- {}", table.footnotes.mark(why))
                    }
                });
            }
            cells.push(format!("{}/{}", judged.met, judged.trials));
            table.row(&cells);
        }
        table
    }
}

/// `1.23 ms (1.1 to 1.4)`; nothing where some trial has no figure.
fn figure(clause: &Clause, values: &[Option<f64>]) -> Option<String> {
    let values: Vec<f64> = values.iter().copied().collect::<Option<_>>()?;
    let words = |value: f64| match clause.figure {
        Figure::Percentile(_) | Figure::Longest => units::duration(value as u64),
        Figure::Reads | Figure::Writes | Figure::Operations => units::rate(value),
    };
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(format!("{} ({} to {})", words(median(&values)?), words(low), words(high)))
}
