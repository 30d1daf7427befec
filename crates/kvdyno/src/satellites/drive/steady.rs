//! Checks whether the drive was in steady state, by SNIA's rule: over rounds if the suite has them,
//! otherwise over fifths of each case.

use crate::printer::Printer;
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_record::files::{RecordError, RunDir};
use kvdyno_record::plan::Case;
use kvdyno_record::series::Slice;
use kvdyno_record::steady::{ROUNDS_MAX, Steadiness, WINDOW, first_steady_round, steadiness};
use kvdyno_record::units::percent;
use kvdyno_render::table::{Side, Table};
use kvdyno_render::wrap::wrap;
use std::collections::BTreeMap;

/// The jobs whose figures must be steady together to end SNIA's IOPS test.
const TRACKED: [&str; 3] = ["rw0-4k", "rw65-64k", "rw100-1m"];

/// The engine whose cases have no slices.
const FIO: &str = "fio";

/// Prints the result of the check below the tables.
pub(super) fn print_steady(dir: &RunDir, rounds: bool, printer: &Printer) -> anyhow::Result<()> {
    let evidence = Evidence::read(dir)?;
    printer.data("");
    if rounds {
        printer.heading("Steady state: rounds");
        for sentence in describe_rounds(&evidence)? {
            printer.data(&wrap(&sentence, 0));
        }
    } else {
        let table = tabulate_jobs(&evidence)?;
        printer.heading("Steady state: fifths of each case");
        printer.data(&table.text());
        printer.data(
            "SNIA PTS 2.0.2 over five equal parts of the measured time: the range of operations \
             per second at\nmost 20 % of their mean, the fitted line rising or falling by at most \
             10 %. Its rounds take minutes;\nshorter parts say less about the drive's state.",
        );
    }
    Ok(())
}

/// Operations that completed in a case's measured phase, in five parts of equal length.
fn ops_by_fifth(
    slices: impl IntoIterator<Item = Result<Slice, RecordError>>,
) -> Result<Option<[f64; WINDOW]>, RecordError> {
    // For each slice: start, length, and its operations.
    let mut measured = Vec::new();
    for slice in slices {
        let slice = slice?;
        if slice.phase == "measure" {
            let ops = slice.roles.values().flat_map(BTreeMap::values);
            let count = ops.map(|op| op.count).sum::<u64>() as f64;
            measured.push((slice.start_ns as f64, slice.length_ns.max(1) as f64, count));
        }
    }
    let end = measured.iter().map(|(start, length, _)| start + length).fold(0.0, f64::max);
    // A part that is shorter than a slice would get only a share of the slice.
    if measured.len() < WINDOW {
        return Ok(None);
    }
    let mut parts = [0.0; WINDOW];
    let part_ns = end / WINDOW as f64;
    for (start, length, count) in measured {
        for (index, part) in parts.iter_mut().enumerate() {
            let begin = start.max(index as f64 * part_ns);
            let stop = (start + length).min((index + 1) as f64 * part_ns);
            *part += count * ((stop - begin).max(0.0) / length);
        }
    }
    Ok(Some(parts))
}

/// The measured cases of the drive; fio does not report its slices.
fn measured_cases(evidence: &Evidence) -> impl Iterator<Item = &CaseEvidence> {
    let measured = |case: &&CaseEvidence| case.is_done() && case.case.threads.is_some();
    evidence.cases.iter().filter(measured).filter(|case| case.case.engine != FIO)
}

/// A row for each job, over its trials.
fn tabulate_jobs(evidence: &Evidence) -> Result<Table, RecordError> {
    use Side::{Left, Right};
    let several = measured_cases(evidence).any(|case| case.case.volume.is_some());
    let mut columns = vec![("job", Left)];
    columns.extend(several.then_some(("volume", Left)));
    columns.extend([("threads", Right), ("steady", Left), ("at most", Left)]);
    let mut jobs: Vec<(Vec<String>, Vec<Option<Steadiness>>)> = Vec::new();
    for case in measured_cases(evidence) {
        let verdict = ops_by_fifth(case.series()?)?.and_then(|parts| steadiness(&parts));
        let Case { label, volume, threads, .. } = &case.case;
        let mut job = vec![label.clone()];
        job.extend(volume.as_ref().map(|volume| volume.name.clone()));
        job.push(threads.unwrap_or(0).to_string());
        match jobs.iter_mut().find(|(other, _)| *other == job) {
            Some((_, verdicts)) => verdicts.push(verdict),
            None => jobs.push((job, vec![verdict])),
        }
    }
    let mut table = Table::new(columns);
    for (mut cells, verdicts) in jobs {
        let steady = verdicts.iter().flatten().filter(|verdict| verdict.is_steady()).count();
        cells.push(format!("{steady} of {} trials", verdicts.len()));
        cells.push(format_worst(&verdicts));
        table.row(&cells);
    }
    Ok(table)
}

/// The widest range and the steepest slope of some trials.
fn format_worst(verdicts: &[Option<Steadiness>]) -> String {
    let judged = || verdicts.iter().flatten();
    if judged().next().is_none() {
        return "too short: fewer than five slices".to_owned();
    }
    let most = |figure: fn(&Steadiness) -> f64| judged().map(figure).fold(0.0, f64::max);
    format_steadiness(&Steadiness { range: most(|one| one.range), slope: most(|one| one.slope) })
}

/// `range 12 %, slope 3 %`.
fn format_steadiness(verdict: &Steadiness) -> String {
    format!("range {}, slope {}", percent(verdict.range), percent(verdict.slope))
}

/// A tracked job in one round.
struct Round<'v> {
    volume: Option<&'v str>,
    /// Its index in [`TRACKED`].
    job: usize,
    number: u32,
    /// The operations that completed.
    ops: f64,
}

/// Describes the rounds, which are trials: whether the tracked figures became steady, and when. A
/// sentence for each volume.
fn describe_rounds(evidence: &Evidence) -> Result<Vec<String>, RecordError> {
    let planned = evidence.cases.iter().filter(|case| tracked_job(&case.case).is_some());
    let planned = planned.map(|case| volume_name(&case.case));
    let mut rounds = Vec::new();
    for case in measured_cases(evidence) {
        let Some(job) = tracked_job(&case.case) else { continue };
        if let Some(parts) = ops_by_fifth(case.series()?)? {
            let ops = parts.iter().sum();
            rounds.push(Round {
                volume: volume_name(&case.case),
                job,
                number: case.case.trial,
                ops,
            });
        }
    }
    Ok(describe_volumes(planned, rounds))
}

/// Returns the index of a case's job in [`TRACKED`].
fn tracked_job(case: &Case) -> Option<usize> {
    TRACKED.iter().position(|job| *job == case.label).filter(|_| case.engine != FIO)
}

fn volume_name(case: &Case) -> Option<&str> {
    case.volume.as_ref().map(|volume| volume.name.as_str())
}

/// Describes the rounds of each planned volume, also where none was finished.
fn describe_volumes<'v>(
    planned: impl Iterator<Item = Option<&'v str>>,
    rounds: Vec<Round<'v>>,
) -> Vec<String> {
    let mut volumes: BTreeMap<_, [BTreeMap<u32, f64>; TRACKED.len()]> =
        planned.map(|volume| (volume, Default::default())).collect();
    for Round { volume, job, number, ops } in rounds {
        volumes.entry(volume).or_default()[job].insert(number, ops);
    }
    let describe = |(volume, figures): (Option<&str>, [BTreeMap<u32, f64>; TRACKED.len()])| {
        let name = volume.map(|volume| format!("{volume}: ")).unwrap_or_default();
        name + &sentence(&complete(&figures))
    };
    volumes.into_iter().map(describe).collect()
}

/// The figures of the first complete rounds: a window has consecutive rounds, so rounds after a
/// failed job do not count.
fn complete(figures: &[BTreeMap<u32, f64>]) -> Vec<Vec<f64>> {
    let whole = |round: &u32| figures.iter().all(|figure| figure.contains_key(round));
    let rounds = (1..=u32::MAX).take_while(whole).count();
    figures.iter().map(|figure| figure.values().take(rounds).copied().collect()).collect()
}

fn sentence(figures: &[Vec<f64>]) -> String {
    let rounds = figures.iter().map(Vec::len).min().unwrap_or(0);
    if rounds < WINDOW {
        return format!("{rounds} complete rounds in a row, and at least {WINDOW} are needed");
    }
    let end = first_steady_round(figures);
    let last = end.map_or(rounds, |end| end + 1);
    let window = format!("rounds {} to {last}", last + 1 - WINDOW);
    let each = TRACKED.iter().zip(figures).map(|(label, figure)| {
        let verdict = steadiness(&figure[last - WINDOW..last]);
        let words =
            verdict.map_or("no operations".to_owned(), |verdict| format_steadiness(&verdict));
        format!("{label}: {words}")
    });
    let each = each.collect::<Vec<_>>().join("; ");
    match end {
        Some(_) => format!("steady: yes, in {window} ({each})"),
        None => format!(
            "steady: no, not within {rounds} rounds; {window}: {each}. Use more rounds, --rounds \
             up to {ROUNDS_MAX}; the tables above include all rounds"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::series::SliceCounts;

    fn slice(index: u64, count: u64) -> Slice {
        let counts = SliceCounts { count, ..SliceCounts::default() };
        let ops = BTreeMap::from([("get".to_owned(), counts)]);
        let (start_ns, length_ns) = (index * 1_000, 1_000);
        let roles = BTreeMap::from([("reads".to_owned(), ops)]);
        Slice { phase: "measure".to_owned(), slice: index, start_ns, length_ns, roles }
    }

    #[test]
    fn a_job_has_the_worst_of_its_trials() {
        let trial = |range, slope| Some(Steadiness { range, slope });
        let trials = [trial(0.034, 0.02), None, trial(0.011, 0.001)];
        assert_eq!(format_worst(&trials), "range 3.40 %, slope 2.00 %");
        assert_eq!(format_worst(&[None]), "too short: fewer than five slices");
    }

    #[test]
    fn slices_become_fifths_and_nothing_is_lost() {
        let fifths = |n: u64| ops_by_fifth((0..n).map(|index| Ok(slice(index, 100)))).unwrap();
        let parts = fifths(8).unwrap();
        assert!(parts.iter().all(|part| (part - 160.0).abs() < 1e-6), "{parts:?}");
        assert_eq!(fifths(4), None);
        assert_eq!(fifths(0), None);
    }

    #[test]
    fn a_failed_job_ends_the_rounds_and_shifts_none() {
        let rounds = |all: &[u32]| -> BTreeMap<u32, f64> {
            all.iter().map(|round| (*round, f64::from(*round))).collect()
        };
        let all = [rounds(&[1, 2, 3, 4, 5, 6, 7]), rounds(&[1, 2, 3, 4, 5, 7])];
        assert_eq!(complete(&all), vec![vec![1.0, 2.0, 3.0, 4.0, 5.0]; 2]);
        let none = vec![Vec::<f64>::new(); 2];
        assert_eq!(complete(&[rounds(&[2, 3]), rounds(&[1, 2, 3])]), none);
    }

    #[test]
    fn a_volume_without_a_finished_round_is_named() {
        let finished = |number| {
            (0..TRACKED.len()).map(move |job| Round { volume: Some("a"), job, number, ops: 1.0 })
        };
        let rounds = (1..=5).flat_map(finished).collect();
        let sentences = describe_volumes([Some("b"), Some("a")].into_iter(), rounds);
        let [a, b] = &sentences[..] else { panic!("{sentences:?}") };
        assert!(a.starts_with("a: steady: yes"), "{a}");
        let none = "0 complete rounds in a row, and at least 5 are needed";
        assert_eq!(*b, format!("b: {none}"));
        assert_eq!(describe_volumes([None].into_iter(), Vec::new()), [none]);
    }

    #[test]
    fn rounds_are_judged_in_words() {
        let flat = vec![100.0; 6];
        let falls = vec![500.0, 400.0, 300.0, 200.0, 100.0, 50.0];
        let yes = sentence(&[flat.clone(), flat.clone(), flat.clone()]);
        assert!(yes.starts_with("steady: yes, in rounds 1 to 5 (rw0-4k: "), "{yes}");
        let no = sentence(&[flat.clone(), falls, flat]);
        assert!(no.starts_with("steady: no, ") && no.contains("rounds 2 to 6: rw0-4k"), "{no}");
        assert_eq!(
            sentence(&[vec![1.0; 4]]),
            "4 complete rounds in a row, and at least 5 are needed"
        );
    }
}
