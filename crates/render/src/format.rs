//! How each figure is shown: as tables print it, and as the workbook does.

use kvdyno_analysis::figures::metric::{Combine, Definition, Metric};
use kvdyno_analysis::figures::relative::RelativeTo;
use kvdyno_record::units;

/// How a column's numbers are shown in the workbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    /// As they are; texts, too.
    Plain,
    /// Long texts, in several lines.
    Words,
    /// Whole, in groups of three digits.
    Count,
    /// One digit behind the point.
    Tenth,
    /// Two digits.
    Ratio,
    /// Three digits.
    Fine,
}

/// How a figure is shown.
pub(crate) struct Format {
    /// On a terminal.
    pub(crate) text: fn(f64) -> String,
    /// The factor in the workbook, whose headings say the unit.
    pub(crate) times: f64,
    pub(crate) show: Show,
}

/// Returns how a terminal shows a figure that the catalogue may not have.
pub(crate) fn text_by_unit(unit: &str, name: &str) -> fn(f64) -> String {
    match unit {
        "1" => ratio,
        "B/s" => |bytes| ratio(bytes / 1e6),
        _ => format_by_unit(unit, name).text,
    }
}

/// Returns a figure's format by its unit; a few figures are finer or coarser than others of their
/// unit.
pub(crate) fn figure_format(definition: &Definition) -> Format {
    format_by_unit(definition.unit, definition.name)
}

fn format_by_unit(unit: &str, name: &str) -> Format {
    let (text, times, show): (fn(f64) -> String, f64, Show) = match (unit, name) {
        ("ns", "wall_ns" | "cpu_user_ns" | "cpu_system_ns") => (clock, 1e-9, Show::Fine),
        ("ns", "window_ns" | "rate_window_ns" | "deferred_ns") => (seconds, 1e-9, Show::Fine),
        ("ns", "cpu_ns_per_op") => (|ns| ratio(ns / 1e3), 1e-3, Show::Ratio),
        ("ns", _) => (microseconds, 1e-3, Show::Ratio),
        ("%", "found_percent") => (|percent| format!("{percent:.2}"), 1.0, Show::Ratio),
        ("%", "device_busy_percent" | "steal_percent") => (ratio, 1.0, Show::Tenth),
        ("%", name) if name.contains("_over_") => (ratio, 1.0, Show::Fine),
        ("%", _) => (format_integer, 1.0, Show::Tenth),
        ("1/s", _) => (format_count, 1.0, Show::Count),
        ("1/op" | "1/record", _) => (ratio, 1.0, Show::Fine),
        ("B", _) => (mebibytes, 1.0, Show::Count),
        ("B/s", _) => (|bytes| ratio(bytes / 1e6), 1e-6, Show::Ratio),
        ("B/op", _) => (|bytes| ratio(bytes / 1e3), 1e-3, Show::Fine),
        ("B/B" | "requests" | "CPUs", _) => (ratio, 1.0, Show::Ratio),
        _ => (format_integer, 1.0, Show::Count),
    };
    Format { text, times, show }
}

/// How far the range of a figure lies around it, in percent: `-3 +5`.
pub(crate) fn format_spread(metric: Option<&Metric>) -> String {
    let Some(metric) = metric.filter(|metric| metric.n > 1) else { return "-".to_owned() };
    match (metric.value.filter(|value| *value > 0.0), metric.range()) {
        (Some(value), Some((low, high))) => {
            let percent = |end: f64| 100.0 * (end - value) / value;
            format!("-{:.0} +{:.0}", percent(low).abs(), percent(high).abs())
        }
        _ => "-".to_owned(),
    }
}

/// The ends of the range of a figure for CSV.
pub(crate) fn range_cells(metric: &Metric) -> [String; 2] {
    match range(metric) {
        Some((low, high)) => [low, high].map(|end| end.to_string()),
        None => [String::new(), String::new()],
    }
}

/// The range of a figure in two trials or more, where it is a range of the value. A sum and a value
/// of merged samples have none.
pub(crate) fn range(metric: &Metric) -> Option<(f64, f64)> {
    let has_range = metric.n > 1 && combines_to_range(metric.combine) && metric.value.is_some();
    metric.range().filter(|_| has_range)
}

/// Whether values combined like this lie in the range of the trials' values.
pub(crate) fn combines_to_range(combine: Combine) -> bool {
    !matches!(combine, Combine::Sum | Combine::MergedHistograms)
}

pub(crate) fn trials(metric: Option<&Metric>) -> String {
    metric.map_or_else(|| "-".to_owned(), |metric| metric.n.to_string())
}

/// A ratio to the base engine.
pub(crate) fn ratio_cell(relative: Option<&RelativeTo>) -> String {
    relative.map_or_else(|| "-".to_owned(), RelativeTo::cell)
}

/// A time as time(1) prints it: `1:15.70`, `2:13:40.00`.
pub(crate) fn clock(ns: f64) -> String {
    let hundredths = (ns / 1e7).round() as u64;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds = seconds % 60;
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}.{rest:02}")
    } else {
        format!("{minutes}:{seconds:02}.{rest:02}")
    }
}

/// Microseconds for columns whose title names the unit, so that figures can be compared at a
/// glance.
pub(crate) fn microseconds(ns: f64) -> String {
    format_digits(ns / 1e3)
}

/// Seconds with hundredths: nobody waits for less.
pub(crate) fn seconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e9)
}

pub(crate) fn mebibytes(bytes: f64) -> String {
    format_digits(bytes / f64::from(1 << 20))
}

/// Three digits, or all of them: `0.018`, `78.7`, `64,660`.
fn format_digits(number: f64) -> String {
    if number < 1000.0 { ratio(number) } else { units::group_digits(number.round() as u64) }
}

pub(crate) fn format_count(number: f64) -> String {
    if number < 100.0 { ratio(number) } else { units::group_digits(number.round() as u64) }
}

pub(crate) fn format_integer(number: f64) -> String {
    format!("{number:.0}")
}

/// Three digits or so: `0.012`, `1.23`, `12.3`, `1234`.
pub(crate) fn ratio(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        n if n < 0.000_5 => format!("{number:.1e}"),
        n if n < 0.1 => format!("{number:.3}"),
        n if n < 10.0 => format!("{number:.2}"),
        n if n < 100.0 => format!("{number:.1}"),
        _ => format_integer(number),
    }
}

/// The change that a ratio of two values means: `-8.1 %`.
pub(crate) fn format_change(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) if (0.5..2.0).contains(&ratio) => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
        Some(ratio) => format!("x {ratio:.2}"),
        None => "from 0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_studies_print_them() {
        assert_eq!(clock(710.91e9), "11:50.91");
        assert_eq!(clock(8_020e9), "2:13:40.00");
        assert_eq!(clock(59.999e9), "1:00.00");
        assert_eq!(
            [0.0, 0.000_04, 0.0123, 1.234, 12.34, 1234.5].map(ratio),
            ["0", "4.0e-5", "0.012", "1.23", "12.3", "1234"]
        );
        assert_eq!(
            [18.0, 78_700.0, 64_660_000.0].map(microseconds),
            ["0.018", "78.7", "64,660"],
            "one unit, however far they lie apart"
        );
        assert_eq!([0.0, 136_314_880.0].map(mebibytes), ["0", "130"]);
        assert_eq!([2e9, 560.0].map(seconds), ["2.00", "0.00"]);
    }
}
