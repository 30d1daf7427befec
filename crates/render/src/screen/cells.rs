//! The cells of rows: a figure, what became of an engine that has none, and how they compare.

use super::super::footnotes::Footnotes;
use super::super::format;
use super::block::{Row, Than, versus};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::metric::{Definition, Metric, Metrics};
use kvdyno_analysis::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use kvdyno_analysis::figures::validity::Validity;

/// An engine's figures in a row.
#[derive(Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) group: Option<&'s Group>,
    pub(super) metrics: Option<&'s Metrics>,
    /// The ratio to the first engine's.
    pub(super) beside: Option<&'s RelativeTo>,
    /// Whether the rate of the role lasts.
    pub(super) validity: Option<&'s Validity>,
}

/// The figure of a row.
#[derive(Clone, Copy)]
pub(super) struct Figure {
    pub(super) definition: &'static Definition,
    /// The words of a comparison; none: the figure is not compared.
    pub(super) than: Option<Than>,
}

impl Figure {
    /// A figure that is compared with nothing.
    pub(super) fn uncompared(definition: &'static Definition) -> Self {
        Self { definition, than: None }
    }
}

impl<'s> Source<'s> {
    fn metric(&self, definition: &Definition) -> Option<&'s Metric> {
        self.metrics?.get(definition)
    }
}

/// A row of a figure; none where no engine has a value or a fate.
pub(super) fn row<'s>(
    label: impl Into<String>,
    sources: &[Source<'s>],
    figure: Figure,
    notes: &mut Footnotes,
) -> Option<Row> {
    let metrics: Vec<Option<&Metric>> =
        sources.iter().map(|source| source.metric(figure.definition)).collect();
    if metrics.iter().flatten().all(|metric| metric.value.is_none()) {
        return None;
    }
    let cells = sources.iter().zip(&metrics);
    let cells = cells.map(|(source, metric)| cell(source, *metric, figure, notes)).collect();
    let entry = |source: &Source<'s>| Some((source.group?, source.metric(figure.definition)?));
    let compared = match (sources, figure.than) {
        ([one], Some(_)) => format_range(
            one.metric(figure.definition),
            format::figure_format(figure.definition).text,
        ),
        ([one, other], Some(than)) => {
            let both = entry(one).zip(entry(other));
            both.map_or_else(String::new, |(one, other)| versus(one, other, than, notes))
        }
        _ => String::new(),
    };
    Some(Row { label: label.into(), cells, compared })
}

fn cell(
    source: &Source<'_>,
    metric: Option<&Metric>,
    figure: Figure,
    notes: &mut Footnotes,
) -> String {
    let Some(group) = source.group else { return "-".to_owned() };
    match metric.and_then(|metric| Some((metric, metric.value?))) {
        Some((metric, value)) => {
            let mut text = (format::figure_format(figure.definition).text)(value);
            if let Some(fate) = group.describe_missing_figures(Some(metric)) {
                text += &format!(" {}", notes.mark(&format!("{} {fate}", group.label)));
            }
            let flaw = source.validity.and_then(Validity::flaw);
            if let Some(flaw) = flaw.filter(|_| figure.definition.name == c::OPS_PER_S.name) {
                text += &format!(" {}", notes.mark(&flaw));
            }
            match source.beside.filter(|_| figure.than.is_some()) {
                Some(relative) => format!("{text} {}", times(relative, notes)),
                None => text,
            }
        }
        None => missing(group, metric, notes),
    }
}

/// Returns what became of the engine, in a word or by a note.
fn missing(group: &Group, metric: Option<&Metric>, notes: &mut Footnotes) -> String {
    if let Some(fate) = group.describe_missing_figures(None) {
        return match fate.split_once(" (0 of ") {
            Some((word, _)) if word.chars().count() <= 12 => word.to_owned(),
            _ => format!("- {}", notes.mark(&format!("{} {fate}", group.label))),
        };
    }
    match metric.and_then(|metric| metric.missing.as_deref()) {
        Some(why) => format!("- {}", notes.mark(why)),
        None => "-".to_owned(),
    }
}

/// The ratio to the first of three engines or more: `0.34x`, `~`, `0.34x?`; or a note on why there
/// is none.
fn times(relative: &RelativeTo, notes: &mut Footnotes) -> String {
    if let Some(why) = &relative.reason {
        return notes.mark(&format!("{NOT_COMPARABLE}: {why}"));
    }
    match relative.verdict {
        Significance::Base => String::new(),
        Significance::Different => format!("{}x", format::ratio(relative.ratio)),
        Significance::NotDistinguishable if relative.decided => "=".to_owned(),
        _ if relative.is_too_few() => format!("{}x?", format::ratio(relative.ratio)),
        _ => "~".to_owned(),
    }
}

/// The range of the trials of one engine.
fn format_range(metric: Option<&Metric>, format: fn(f64) -> String) -> String {
    let Some(metric) = metric else { return String::new() };
    match (metric.n, metric.range()) {
        (2.., Some((low, high))) => format!("{} to {}", format(low), format(high)),
        (2.., None) => String::new(),
        _ => "1 trial".to_owned(),
    }
}
