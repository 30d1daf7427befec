//! A run as OpenMetrics text: for the textfile collector, and for `serve`'s /metrics.

use super::columns::{Row, explained_rows, loads, phases};
use super::page::{InFlight, LatencyNow, Live, State};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_record::text::escape_line;
use std::fmt::Write as _;

/// The last line of a text.
const END: &str = "# EOF\n";

/// A name and its value.
type Label<'t> = (&'static str, &'t str);

/// The name, unit and factor of a figure in base units.
struct Exposed {
    name: String,
    /// A suffix of the name; none: OpenMetrics has no base unit for it.
    unit: Option<&'static str>,
    factor: f64,
}

/// All figures of a run, as gauges.
pub fn run(summary: &Summary) -> String {
    figures(summary) + END
}

/// The progress of a run; of a run that is not at work, its figures, too. For a run at work
/// `summary` is none, since computing it takes CPU time from the run.
pub fn format_exposition(run: &str, live: &Live, summary: Option<&Summary>) -> String {
    let figures = summary.map(figures).unwrap_or_default();
    format!("{}{figures}{END}", progress(run, live))
}

/// The text before the first run: it has no figures.
pub fn empty() -> String {
    END.to_owned()
}

fn figures(summary: &Summary) -> String {
    let phases = phases(summary).flat_map(|phase| std::iter::once(phase).chain(phase.roles()));
    let mut rows: Vec<Row<'_>> = loads(summary).chain(phases).collect();
    rows.extend(explained_rows(summary));
    rows.sort_by_key(|row| row.at);
    let mut text = String::new();
    let run = &summary.run;
    let labels = [("run", run.id.as_str()), ("suite", &run.suite), ("program", &run.program)];
    family(&mut text, "kvdyno_run", None, "The run of these figures, as labels.");
    sample(&mut text, "kvdyno_run", &labels, 1.0);
    for definition in catalogue::ALL {
        let exposed = exposed_metric(definition);
        let mut is_first = true;
        for row in &rows {
            let Some(value) = row.metrics.value(definition) else { continue };
            if std::mem::take(&mut is_first) {
                let Exposed { name, unit, .. } = &exposed;
                family(&mut text, name, *unit, definition.help);
            }
            let threads = row.threads().map(|threads| threads.to_string()).unwrap_or_default();
            let labels = [
                ("suite", run.suite.as_str()),
                ("key", &row.group.key),
                ("engine", &row.group.label),
                ("phase", row.phase),
                ("role", row.role_name().unwrap_or_default()),
                ("op", row.op_or_all()),
                ("threads", &threads),
            ];
            sample(&mut text, &exposed.name, &labels, value * exposed.factor);
        }
    }
    text
}

fn progress(run: &str, live: &Live) -> String {
    let mut text = String::new();
    let cases = [
        ("kvdyno_cases_planned", live.cases_planned, "Cases in the plan."),
        ("kvdyno_cases_recorded", live.cases_recorded, "Cases that left a record."),
        ("kvdyno_cases_done", live.cases_done, "Cases that ran to their end."),
        ("kvdyno_running", usize::from(live.state == State::Running), "1: the run is at work."),
    ];
    for (name, count, help) in cases {
        family(&mut text, name, None, help);
        sample(&mut text, name, &[("run", run)], count as f64);
    }
    if let Some(left_s) = live.left_s {
        let name = "kvdyno_left_seconds";
        family(&mut text, name, Some("seconds"), "Expected time until the end.");
        sample(&mut text, name, &[("run", run)], left_s);
    }
    if let Some(flight) = &live.in_flight {
        write_flight(&mut text, run, flight);
    }
    text
}

/// Writes the metrics of the case at work.
fn write_flight(text: &mut String, run: &str, flight: &InFlight) {
    let threads = flight.threads.map(|threads| threads.to_string()).unwrap_or_default();
    let labels = |role, op| {
        let phase = flight.phase.as_deref().unwrap_or_default();
        [
            ("run", run),
            ("case", flight.case.as_str()),
            ("engine", &flight.engine),
            ("phase", phase),
            ("role", role),
            ("op", op),
            ("threads", &threads),
        ]
    };
    let name = "kvdyno_phase_elapsed_seconds";
    family(text, name, Some("seconds"), "Time since the phase began.");
    sample(text, name, &labels("", ""), flight.phase_s);
    let name = "kvdyno_current_ops_per_s";
    family(text, name, None, "Operations per second in the last slice.");
    for role in &flight.roles {
        if let Some(rate) = role.ops_per_s.last() {
            sample(text, name, &labels(&role.role, ""), *rate);
        }
    }
    let name = "kvdyno_current_service_max_seconds";
    family(text, name, Some("seconds"), "Longest call that ended in the last slice.");
    for role in &flight.roles {
        if let Some(ns) = role.max_ns.last().copied().flatten() {
            sample(text, name, &labels(&role.role, ""), ns as f64 / 1e9);
        }
    }
    for (part, help, of) in CURRENT_LATENCIES {
        for kind in ["service", "response"] {
            let of_kind = flight.latencies.iter().filter(|latency| latency.kind == kind);
            let values = of_kind.filter_map(|latency| Some((latency, of(latency)?)));
            let name = format!("kvdyno_current_{kind}_{part}_seconds");
            for (position, (latency, ns)) in values.enumerate() {
                if position == 0 {
                    family(text, &name, Some("seconds"), help);
                }
                sample(text, &name, &labels(&latency.role, &latency.op), ns as f64 / 1e9);
            }
        }
    }
}

type FindLatency = fn(&LatencyNow) -> Option<u64>;

/// Percentiles of a case at work: part of the name, help, and where they are found.
const CURRENT_LATENCIES: [(&str, &str, FindLatency); 3] = [
    ("p50", "Median of the last ten seconds.", |latency| latency.p50_ns),
    ("p99", "99th percentile of the last ten seconds.", |latency| latency.p99_ns),
    ("p999", "99.9th percentile of the last ten seconds.", |latency| latency.p999_ns),
];

/// Begins a family of gauges: the one type that all readers of this text know.
fn family(text: &mut String, name: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {name} gauge");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {}", escape(help));
}

/// Writes a line; labels without a value are left out.
fn sample(text: &mut String, name: &str, labels: &[Label<'_>], value: f64) {
    let labels = labels.iter().filter(|(_, value)| !value.is_empty());
    let labels =
        labels.map(|(label, value)| format!("{label}=\"{}\"", escape(&escape_line(value))));
    let labels = labels.collect::<Vec<_>>().join(",");
    let _ = writeln!(text, "{name}{{{labels}}} {value}");
}

/// Escapes a label's value or a help text.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn exposed_metric(definition: &Definition) -> Exposed {
    let (part, unit, factor) = match definition.unit {
        "ns" => ("_ns", Some("seconds"), 1e-9),
        "B" => ("_bytes", Some("bytes"), 1.0),
        "%" => ("_percent", Some("ratio"), 1e-2),
        _ => ("", None, 1.0),
    };
    let name = format!("kvdyno_{}", definition.name.replacen(part, "", 1));
    match unit {
        Some(unit) => Exposed { name: format!("{name}_{unit}"), unit: Some(unit), factor },
        None => Exposed { name, unit: None, factor },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{MachineLine, RoleLine};
    use kvdyno_analysis::fixture::Fixture;
    use std::collections::BTreeSet;

    #[test]
    fn label_values_are_escaped() {
        let mut text = String::new();
        sample(&mut text, "m", &[("a", "x\\y \"z\""), ("empty", "")], 1.5);
        assert_eq!(text, "m{a=\"x\\\\y \\\"z\\\"\"} 1.5\n");
        assert_eq!(escape("a\nb"), "a\\nb");
        text.clear();
        sample(&mut text, "m", &[("a", "two\nlines")], 1.0);
        assert_eq!(text.lines().count(), 1, "{text}");
    }

    #[test]
    fn names_are_unique_and_end_in_their_unit() {
        let names: BTreeSet<String> =
            catalogue::ALL.iter().map(|one| exposed_metric(one).name).collect();
        assert_eq!(names.len(), catalogue::ALL.len());
        for definition in catalogue::ALL {
            let Exposed { name, unit, .. } = exposed_metric(definition);
            assert!(unit.is_none_or(|unit| name.ends_with(&format!("_{unit}"))), "{name}");
            let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!(name.bytes().all(is_plain), "{name}");
            let reserved = ["_total", "_created", "_count", "_sum", "_bucket", "_info"];
            assert!(!reserved.iter().any(|end| name.ends_with(end)), "{name}");
        }
    }

    /// A family is one block, no series occurs twice, and the text has an end.
    #[test]
    fn the_text_has_the_form_of_openmetrics() {
        for fixture in [Fixture::new(), Fixture::with_drive(2), Fixture::with_mixed_role(2)] {
            let text = run(&fixture.summary());
            assert!(text.ends_with("\n# EOF\n"));
            let (mut family, mut families, mut series) =
                (String::new(), BTreeSet::new(), BTreeSet::new());
            for line in text.lines().filter(|line| *line != "# EOF") {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    family = rest.split(' ').next().unwrap().to_owned();
                    assert!(families.insert(family.clone()), "{line}");
                } else if let Some(rest) = line.strip_prefix("# ") {
                    assert_eq!(rest.split(' ').nth(1), Some(family.as_str()), "{line}");
                } else {
                    let (id, value) = line.rsplit_once(' ').unwrap();
                    assert!(id.starts_with(&family) && series.insert(id.to_owned()), "{line}");
                    assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
                }
            }
            assert!(families.contains("kvdyno_service_p99_seconds"));
        }
    }

    #[test]
    fn a_live_run_shows_its_progress_and_no_figures() {
        let dir = kvdyno_analysis::fixture::make_dir();
        let mut fixture = Fixture::new();
        fixture.cases.truncate(4);
        let run = fixture.write_partial(&dir.path().join("run"));
        let evidence = kvdyno_analysis::figures::evidence::Evidence::read(&run).unwrap();
        let live = Live::read(&run, &evidence, State::Running, 90_000_000_000).unwrap();
        let text = format_exposition("a", &live, None);
        for line in [
            "kvdyno_cases_planned{run=\"a\"} 18",
            "kvdyno_cases_recorded{run=\"a\"} 4",
            "kvdyno_running{run=\"a\"} 1",
            "# UNIT kvdyno_left_seconds seconds",
            "kvdyno_left_seconds{run=\"a\"} 90",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("kvdyno_service") && text.ends_with("# EOF\n"));
        let flight = InFlight {
            case: "0004_lmdb_t2_r1".to_owned(),
            engine: "LM\"DB".to_owned(),
            trial: 1,
            threads: Some(2),
            phases: vec!["load".to_owned(), "measure".to_owned()],
            phase: Some("measure".to_owned()),
            phase_s: 2.5,
            end_s: vec![1.0, 2.0],
            roles: vec![RoleLine {
                role: "readers".to_owned(),
                ops_per_s: vec![400.0, 500.0],
                max_ns: vec![None, Some(250_000)],
            }],
            latencies: vec![LatencyNow {
                role: "readers".to_owned(),
                op: "get".to_owned(),
                kind: "service".to_owned(),
                p50_ns: Some(2_000),
                p99_ns: Some(100_000),
                p999_ns: None,
            }],
            machine: MachineLine::default(),
        };
        let text = format_exposition("a", &Live { in_flight: Some(flight), ..live }, None);
        let labels = "run=\"a\",case=\"0004_lmdb_t2_r1\",engine=\"LM\\\"DB\",phase=\"measure\"";
        for line in [
            format!("kvdyno_phase_elapsed_seconds{{{labels},threads=\"2\"}} 2.5"),
            format!("kvdyno_current_ops_per_s{{{labels},role=\"readers\",threads=\"2\"}} 500"),
            format!(
                "kvdyno_current_service_max_seconds{{{labels},role=\"readers\",threads=\"2\"}} \
                 0.00025"
            ),
            format!(
                "kvdyno_current_service_p99_seconds{{{labels},role=\"readers\",op=\"get\",\
                 threads=\"2\"}} 0.0001"
            ),
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
        assert!(!text.contains("p999"), "of too few operations: {text}");
        let partial = Live::read(&run, &evidence, State::Partial, 0).unwrap();
        let both = format_exposition("a", &partial, Some(&fixture.summary()));
        assert!(both.contains("kvdyno_running{run=\"a\"} 0") && both.contains("kvdyno_service"));
        assert_eq!(both.matches("# EOF").count(), 1);
    }
}
