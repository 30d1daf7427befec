//! Numbers as the tables print them.

use kvdyno_analysis::comparison::Beside;
use kvdyno_analysis::metric::Metric;
use kvdyno_record::units;

/// How far the range of a figure lies around it, in percent: `-3 +5`.
pub(in super::super) fn spread(metric: Option<&Metric>) -> String {
    let Some(metric) = metric.filter(|metric| metric.n > 1) else { return "-".to_owned() };
    match (metric.value.filter(|value| *value > 0.0), metric.range()) {
        (Some(value), Some((low, high))) => {
            let percent = |end: f64| 100.0 * (end - value) / value;
            format!("-{:.0} +{:.0}", percent(low).abs(), percent(high).abs())
        }
        _ => "-".to_owned(),
    }
}

pub(in super::super) fn trials(metric: Option<&Metric>) -> String {
    metric.map_or_else(|| "-".to_owned(), |metric| metric.n.to_string())
}

/// A ratio to the base engine.
pub(in super::super) fn beside(beside: Option<&Beside>) -> String {
    beside.map_or_else(|| "-".to_owned(), Beside::cell)
}

/// As time(1) prints it: `1:15.70`, `2:13:40.00`.
pub(in super::super) fn clock(ns: f64) -> String {
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

/// In columns whose title names the unit, so that figures can be compared at a glance.
pub(in super::super) fn microseconds(ns: f64) -> String {
    plain(ns / 1e3)
}

/// Hundredths: nobody waits for less.
pub(in super::super) fn seconds(ns: f64) -> String {
    format!("{:.2}", ns / 1e9)
}

pub(in super::super) fn mebibytes(bytes: f64) -> String {
    plain(bytes / f64::from(1 << 20))
}

/// Three digits, or all of them: `0.018`, `78.7`, `64,660`.
fn plain(number: f64) -> String {
    if number < 1000.0 { ratio(number) } else { units::grouped(number.round() as u64) }
}

pub(in super::super) fn grouped(number: f64) -> String {
    if number < 100.0 { ratio(number) } else { units::grouped(number.round() as u64) }
}

pub(in super::super) fn whole(number: f64) -> String {
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
        _ => whole(number),
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
