//! Judges a commit by a run of GOOD's library and the commit's, side by side.

use super::state::{By, Verdict};
use crate::cli::BisectArgs;
use crate::commands::versus::{ComparedBuild, with_builds};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::pair::{self, PairSource};
use crate::running::prepare::PreparedRun;
use kvdyno_analysis::judge::versus::{self, FigureChoice, Sides, Versus};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::counted_part;
use kvdyno_record::workload::{Activity, Phase};
use kvdyno_suite::{Explain, Overrides};
use std::path::{Path, PathBuf};
use toml::Table;

/// The numbers of pairs of trials when the rate decides: if one is too small, the next is used.
const PAIRS: [u32; 3] = [8, 16, 32];

/// A commit beside GOOD.
pub(super) struct Measured {
    /// The ratio of its figure to GOOD's, with the 99 % interval.
    pub(super) ratio: [f64; 3],
    /// Whether it differs from GOOD, by the rule of all comparisons.
    pub(super) differs: bool,
    /// The run's directory.
    pub(super) run: PathBuf,
}

/// Compares libraries in one phase.
pub(super) struct Judge<'a> {
    pub(super) args: &'a BisectArgs,
    /// The directory for the runs.
    pub(super) runs: PathBuf,
    /// The name of the judged phase.
    pub(super) phase: String,
    /// The phases that the judged phase needs before it, and that phase itself.
    phases: Vec<String>,
    pub(super) printer: &'a Printer,
}

impl<'a> Judge<'a> {
    /// Refuses a suite or a phase that cannot be judged. `library` stands for those of the commits.
    pub(super) fn new(
        args: &'a BisectArgs,
        runs: PathBuf,
        library: &Path,
        printer: &'a Printer,
    ) -> anyhow::Result<Self> {
        let mut judge = Self { args, runs, phase: String::new(), phases: Vec::new(), printer };
        let overrides = Overrides { trials: Some(PAIRS[0]), ..Overrides::default() };
        let prepared = judge.prepare([library, library], overrides)?;
        if prepared.plan.cases.iter().any(|case| case.part.is_some()) {
            let what = format!("--suite {}: expected one without parts", args.suite);
            return Err(Complaint::usage(what).hint("copy the part to a suite of its own").into());
        }
        let phases = || prepared.plan.cases.iter().take(1).flat_map(|case| &case.phases);
        let is_measured = |activity: &Activity| matches!(activity, Activity::Measure(_));
        let judged_phase = match &args.phase {
            Some(name) => phases().find(|phase| phase.name == *name),
            None => phases().find(|phase| is_measured(&phase.work)),
        };
        let can_judge = |work: &Activity| is_measured(work) || matches!(work, Activity::Load(_));
        let Some(judged_phase) = judged_phase.filter(|phase| can_judge(&phase.work)) else {
            let typed = args.phase.as_deref().unwrap_or("none");
            let names: Vec<&str> = phases()
                .filter(|phase| can_judge(&phase.work))
                .map(|phase| phase.name.as_str())
                .collect();
            let what = format!("--phase: expected a load or a measured phase, found {typed}");
            return Err(Complaint::usage(what).hint(names.join(", ")).into());
        };
        let before = phases().take_while(|phase| phase.name != judged_phase.name);
        let others = before.filter(|phase| !is_measured(&phase.work));
        // Warmups and settling after a load are added by the plan: the suite does not name them.
        let is_added = |phase: &Phase| {
            let load = phase.name.strip_suffix("-settle");
            matches!(phase.work, Activity::Warmup(_))
                || load.is_some_and(|load| phases().any(|phase| phase.name == load))
        };
        let own = others.filter(|phase| !is_added(phase));
        judge.phases = own.map(|phase| phase.name.clone()).collect();
        judge.phases.push(judged_phase.name.clone());
        judge.phase.clone_from(&judged_phase.name);
        Ok(judge)
    }

    /// Compares two libraries by instructions or by rate; none: it was interrupted.
    pub(super) fn compare(
        &self,
        libraries: [&Path; 2],
        by: By,
        trials: Option<u32>,
    ) -> anyhow::Result<Option<Result<Measured, String>>> {
        let counted = by == By::Instructions;
        let overrides = Overrides {
            explain: counted.then_some(Explain::Alone),
            phases: self.phases.clone(),
            trials,
            ..Overrides::default()
        };
        let prepared = self.prepare(libraries, overrides)?;
        let mut keep = self.args.keep.clone();
        keep.runs.runs.clone_from(&self.runs);
        let (dir, record) = pair::run(&prepared, &keep, None, self.printer)?;
        let Some(record) = record else { return Ok(None) };
        if let Some(trouble) = name_trouble(record.figures.verdict) {
            return Ok(Some(Err(format!("{trouble}: `kvdyno show {}`", dir.path.display()))));
        }
        let part = if counted { format!(" {}", counted_part(None)) } else { String::new() };
        let labels = ["base", "new"].map(|label| format!("{label}{part}"));
        let sides = Sides::engines(&record, &labels[0], &labels[1]);
        let within = record.evidence.plan.within;
        let question = versus::Question { figures: FigureChoice::Usual, within, gate: None };
        let compared = match Versus::compare(&sides, &question) {
            Ok(compared) => compared,
            Err(refusal) => return Ok(Some(Err(refusal.to_string()))),
        };
        let row = choose_row(&compared, &self.phase);
        let interval = row.and_then(|row| Some([row.ratio?, row.ratio_low?, row.ratio_high?]));
        let Some((row, ratio)) = row.zip(interval) else {
            return Ok(Some(Err("the phase has no figure to judge on both sides".to_owned())));
        };
        let differs = matches!(row.verdict, versus::Verdict::Improved | versus::Verdict::Regressed);
        Ok(Some(Ok(Measured { ratio, differs, run: dir.path })))
    }

    /// Compares with each number of pairs in turn until `is_enough`; none: it was interrupted.
    pub(super) fn compare_until(
        &self,
        libraries: [&Path; 2],
        by: By,
        is_enough: impl Fn(&Measured) -> bool,
    ) -> anyhow::Result<Option<Result<Measured, String>>> {
        // Counts hardly vary: more of them would not decide more.
        let pairs: &[Option<u32>] = if by == By::Instructions { &[None] } else { &PAIRS.map(Some) };
        let mut last = None;
        for trials in pairs {
            let Some(measured) = self.compare(libraries, by, *trials)? else { return Ok(None) };
            let is_done = measured.as_ref().map_or(true, &is_enough);
            last = Some(measured);
            if is_done {
                break;
            }
        }
        Ok(last)
    }

    fn prepare(&self, libraries: [&Path; 2], overrides: Overrides) -> anyhow::Result<PreparedRun> {
        let builds = [(libraries[0], "base"), (libraries[1], "new")]
            .map(|(library, label)| ComparedBuild::library(library, label));
        let changes = self.args.bend.overrides()?;
        let source = PairSource {
            suite: &self.args.suite,
            overrides: Overrides {
                set: changes.set,
                scale: changes.scale,
                no_ram_limit: changes.no_ram_limit,
                media: changes.media,
                ..overrides
            },
            location: &self.args.bend.location,
            runs: &self.runs,
        };
        let what = format!("two commits of {}", self.args.engine);
        let pair = |engines: &[Table]| with_builds(engines, &self.args.engine, &builds);
        pair::prepare_pair(source, &what, pair, self.printer)
    }
}

/// Returns why a run cannot judge a commit; none: it can.
fn name_trouble(verdict: Exit) -> Option<&'static str> {
    match verdict {
        Exit::EngineFailed => Some("a case failed"),
        Exit::Invalid => Some("a finding makes its figures void"),
        _ => None,
    }
}

/// Returns the row by which a phase is judged.
fn choose_row<'v>(compared: &'v Versus, phase: &str) -> Option<&'v versus::Row> {
    let figures = ["instructions_per_op", "ops_per_s", "records_per_s"];
    let mut rows = compared.pairs.iter().flat_map(|pair| &pair.rows);
    // A role on a schedule has the schedule's rate: that is not primary.
    rows.find(|row| row.phase == phase && row.primary && figures.contains(&row.figure))
}

/// Whether a commit is on GOOD's or on BAD's side of the middle between them; none: its interval
/// contains the middle.
pub(super) fn side_of_middle([_, low, high]: [f64; 3], bad: f64) -> Option<Verdict> {
    let middle = bad.sqrt();
    let (above, below) = (low > middle, high < middle);
    match (bad > 1.0, above, below) {
        (true, true, _) | (false, _, true) => Some(Verdict::Bad),
        (true, _, true) | (false, true, _) => Some(Verdict::Good),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::{Fixture, make_dir};
    use kvdyno_analysis::judge::versus::Record;
    use kvdyno_record::workload::{Rate, Schedule};

    fn record(fixture: &Fixture) -> Record {
        let dir = make_dir();
        Record::read(&fixture.write(&dir.path().join("run"))).unwrap()
    }

    #[test]
    fn a_phase_is_judged_by_a_rate_that_no_schedule_sets() {
        let chosen = |scheduled: bool| {
            let mut fixture = Fixture::with_trials(4);
            let cases = fixture.plan.cases.iter_mut();
            for phase in cases.flat_map(|case| &mut case.phases).filter(|_| scheduled) {
                if let Activity::Measure(mix) = &mut phase.work {
                    mix.roles[0].rate = Some(Rate::new(2_000.0, Schedule::Poisson));
                }
            }
            let record = record(&fixture);
            let sides = Sides::engines(&record, "LMDB", "RocksDB");
            let figures = FigureChoice::Usual;
            let question = versus::Question { figures, within: 0.0, gate: None };
            let compared = Versus::compare(&sides, &question).unwrap();
            assert!(choose_row(&compared, "no such phase").is_none());
            let row = choose_row(&compared, "measure").unwrap();
            (row.role.clone().unwrap(), row.figure)
        };
        assert_eq!(chosen(false), ("readers".to_owned(), "ops_per_s"));
        assert_eq!(chosen(true), ("writer".to_owned(), "ops_per_s"));
    }

    #[test]
    fn a_run_that_is_void_judges_no_commit() {
        let mut fixture = Fixture::new();
        assert_eq!(name_trouble(record(&fixture).figures.verdict), None);
        fixture.make_void("rocksdb_t1_r1");
        let void = name_trouble(record(&fixture).figures.verdict);
        assert_eq!(void, Some("a finding makes its figures void"));
        assert_eq!(name_trouble(Exit::EngineFailed), Some("a case failed"));
    }

    #[test]
    fn a_commit_is_of_the_side_on_which_its_whole_interval_lies() {
        let slower = |low, high| side_of_middle([1.0, low, high], 0.9);
        assert_eq!(slower(0.97, 1.02), Some(Verdict::Good));
        assert_eq!(slower(0.88, 0.92), Some(Verdict::Bad));
        assert_eq!(slower(0.92, 0.97), None);
        let more = |low, high| side_of_middle([1.0, low, high], 1.02);
        assert_eq!(more(0.999, 1.001), Some(Verdict::Good));
        assert_eq!(more(1.015, 1.021), Some(Verdict::Bad));
        assert_eq!(more(1.0, 1.02), None);
    }
}
