//! A history of the fixture's run, with the figures that each test needs.

use super::entry::{Entry, FORMAT};
use super::*;
use crate::fixture::Fixture;
use crate::judge::versus::gate::GateResult;

/// A run whose `readers` ran at `rate`.
fn run(number: usize, rate: f64) -> Entry {
    let mut entry = Entry::from_summary(&Fixture::new().summary(), None).unwrap();
    entry.run = format!("2026-11-{number:02}T10-15-02Z_fixture_7f3a");
    entry.series.retain(|series| {
        series.role.as_deref() == Some("readers") && series.case.starts_with("LMDB t1")
    });
    assert_eq!(entry.series.len(), 1);
    entry.series[0].figures.retain(|name, _| name == "ops_per_s");
    entry.series[0].figures.insert("ops_per_s".to_owned(), rate);
    entry
}

fn nights(rates: impl IntoIterator<Item = f64>) -> Vec<Entry> {
    (1..).zip(rates).map(|(number, rate)| run(number, rate)).collect()
}

/// Rates that differ by up to 1 %.
fn about(level: f64, count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |index| level * (1.0 + [0.002, -0.005, 0.01, -0.008][index % 4]))
}

fn gated(entries: &[Entry]) -> Gate {
    let question = Question { gate: Some(0.05), ..Question::default() };
    Trend::from_entries(entries, &question).unwrap().gate.unwrap()
}

#[test]
fn a_run_is_a_line_and_comes_back_as_it_was() {
    let entry = Entry::from_summary(&Fixture::new().summary(), Some("abc123".to_owned())).unwrap();
    assert_eq!((entry.format, entry.display_name()), (FORMAT, "abc123"));
    assert!(entry.series.len() > 4 && entry.engines.contains_key("LMDB"));
    let line = serde_json::to_string(&entry).unwrap();
    assert!(!line.contains('\n'));
    // Figures come back to the last digit but one.
    let mut back: Entry = serde_json::from_str(&line).unwrap();
    for (back, exact) in back.series.iter_mut().zip(&entry.series) {
        for (name, figure) in &mut back.figures {
            assert!((*figure - exact.figures[name]).abs() <= 1e-12 * exact.figures[name].abs());
            *figure = exact.figures[name];
        }
    }
    assert!(back == entry);
}

/// As where a trial of the newest run has too few samples for a percentile.
#[test]
fn a_figure_that_the_newest_run_lost_does_not_pass() {
    let mut entries = nights(about(1000.0, 13));
    for entry in &mut entries {
        let mut other = entry.series[0].clone();
        other.role = Some("writer".to_owned());
        entry.series.push(other);
    }
    assert_eq!(gated(&entries).result, GateResult::Passed);
    // One night, and the next.
    for nights in [1, 2] {
        for entry in entries.iter_mut().rev().take(nights) {
            entry.series[1].figures.clear();
        }
        let lost = gated(&entries);
        assert_eq!((lost.result, lost.not_judged.len()), (GateResult::CannotJudge, 1), "{lost:?}");
        assert_eq!(lost.not_judged[0].reason, "the newest run has no value");
    }
}

#[test]
fn the_first_slower_run_is_named() {
    let entries = nights(about(1000.0, 12).chain(about(900.0, 8)));
    let trend = Trend::from_entries(&entries, &Question::default()).unwrap();
    let [series] = &trend.figures[..] else { panic!("{:?}", trend.figures) };
    let [change] = &series.judgement.changes[..] else { panic!("{series:?}") };
    assert_eq!((change.run_index, change.verdict), (12, Verdict::Regressed));
    assert!((change.ratio.unwrap() - 0.9).abs() < 0.01, "{change:?}");
    assert_eq!(trend.changes_by_run().len(), 1);
    assert_eq!(trend.runs[12].label, "2026-11-13T10-15-02Z");
}

#[test]
fn the_newest_run_is_compared_with_the_last_stable_level() {
    assert_eq!(gated(&nights(about(1000.0, 13))).result, GateResult::Passed);
    let fell = gated(&nights(about(1000.0, 12).chain([900.0])));
    assert_eq!(fell.result, GateResult::Failed);
    assert!(fell.regressed[0].contains("readers: ops_per_s by 9."), "{fell:?}");
    let rose = gated(&nights(about(1000.0, 12).chain([1100.0])));
    assert_eq!(rose.result, GateResult::Passed);
    // Three nights are no level yet; six are.
    let later =
        |nights_after| gated(&nights(about(1000.0, 12).chain(about(900.0, nights_after)))).result;
    assert_eq!(later(3), GateResult::Failed);
    assert_eq!(later(6), GateResult::Passed);
}

#[test]
fn a_difference_within_the_variation_is_no_regression_and_is_reported() {
    let noisy = [1000.0, 1150.0, 900.0, 1080.0, 950.0, 1120.0, 910.0, 930.0];
    let gate = gated(&nights(noisy));
    assert_eq!(gate.result, GateResult::Undecided);
    assert!(gate.may_hide[0].contains("up to"), "{gate:?}");
}

#[test]
fn few_runs_other_machines_and_cases_that_are_gone_cannot_be_judged() {
    let few = gated(&nights(about(1000.0, 3)));
    assert_eq!(few.result, GateResult::CannotJudge);
    assert!(few.not_judged[0].reason.contains("expected 4 earlier runs"), "{few:?}");
    let mut entries = nights(about(1000.0, 8));
    for entry in &mut entries[..6] {
        entry.machine = "1 x another".to_owned();
    }
    assert_eq!(gated(&entries).result, GateResult::CannotJudge);
    let trend = Trend::from_entries(&entries, &Question::default()).unwrap();
    assert_eq!((trend.runs.len(), trend.left_out.len()), (2, 6));
    let any = Question { any_machine: true, ..Question::default() };
    let all = Trend::from_entries(&entries, &any).unwrap();
    assert_eq!(all.runs.len(), 8);
    assert!(all.runs[6].differs[0].starts_with("machine: "), "{:?}", all.runs[6]);
    let mut entries = nights(about(1000.0, 8));
    let mut gone = entries[6].series[0].clone();
    gone.key += " of other data";
    entries[6].series.push(gone);
    let gate = gated(&entries);
    assert_eq!(gate.result, GateResult::CannotJudge);
    assert!(gate.not_judged[0].reason.contains("no such case"), "{gate:?}");
    assert!(Trend::from_entries(&[], &Question::default()).is_none());
}

#[test]
fn the_null_engine_and_other_rates_of_pilots_are_not_judged() {
    let surroundings = |series: &&ScopeFigures| series.surroundings;
    let entry = Entry::from_summary(&Fixture::new().summary(), None).unwrap();
    assert!(entry.series.iter().filter(surroundings).all(|series| series.case.contains("null")));
    assert!(entry.series.iter().any(|series| series.case.contains("null") && series.surroundings));
    let mut fell = nights(about(1000.0, 12).chain([900.0]));
    for entry in &mut fell {
        entry.series[0].surroundings = true;
    }
    assert_eq!(gated(&fell).result, GateResult::CannotJudge);

    // The writer beside the readers became faster, and they slower.
    let mut fell = nights(about(1000.0, 12).chain([900.0]));
    for (entry, rate) in fell.iter_mut().zip((0..13).map(|night| 500.0 + f64::from(night))) {
        entry.series[0].offered_ops_per_s = vec![2000.0, rate];
    }
    assert_eq!(gated(&fell).result, GateResult::Failed);
    fell[12].series[0].offered_ops_per_s = vec![2000.0, 700.0];
    let question = Question { gate: Some(0.05), ..Question::default() };
    let trend = Trend::from_entries(&fell, &question).unwrap();
    assert_eq!(trend.gate.unwrap().result, GateResult::CannotJudge);
    assert_eq!(trend.left_out.len(), 12);
    assert!(trend.left_out[0].reason.contains("its pilots found other rates"));
}
