//! The common parts of the tables and pages of a history and of a fleet: figures along an axis, and
//! the runs that were left out of it.

use crate::table::Side;
use crate::tone::Tone;
use crate::versus::{Line, figure};
use kvdyno_analysis::answers::series::FigureSeries;
use kvdyno_analysis::answers::trend::LeftOut;
use kvdyno_analysis::figures::lists::unique;
use kvdyno_record::units;

/// The columns that name a figure.
pub(crate) const TITLES: [(&str, Side); 3] =
    [("case", Side::Left), ("of", Side::Left), ("figure", Side::Left)];

/// The cells of those columns.
pub(crate) fn name_cells<J>(series: &FigureSeries<f64, J>) -> [String; 3] {
    [series.case.clone(), series.owner().to_owned(), series.figure.to_owned()]
}

/// The cell of one of its values.
pub(crate) fn value_cell<J>(series: &FigureSeries<f64, J>, value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| figure(series.unit, value))
}

/// Returns a line for each reason why runs take no part.
pub(crate) fn left_out_lines(runs: &[LeftOut]) -> Vec<Line> {
    let reasons = unique(runs.iter().map(|run| run.reason.as_str()));
    let line = |why: &str| {
        let runs_with_reason = runs.iter().filter(|run| run.reason == why).count();
        (Tone::Warning, "left out", format!("{}: {why}", units::pluralize(runs_with_reason, "run")))
    };
    reasons.into_iter().map(line).collect()
}
