//! Adds trials to a run until its primary figures are decided, or its time is over.

use super::runner::{Ended, RunEnvironment};
use crate::printer::{Printer, Progress};
use crate::records::runs;
use anyhow::Context as _;
use kvdyno_analysis::judge::rule::next_look;
use kvdyno_analysis::judge::verdicts::Verdicts;
use kvdyno_record::plan::Plan;
use kvdyno_record::redact::without_secrets;
use kvdyno_record::units;
use kvdyno_suite::append_trial;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Runs the plan, and then one trial after another of the engines that are not decided. Looks at
/// the figures at the numbers of trials that the rule has, and starts no trial that would end after
/// `budget`.
pub(super) fn run(
    env: &mut RunEnvironment,
    plan: &Plan,
    budget: Duration,
    progress: &Progress<'_>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    let begun = Instant::now();
    let mut plan = plan.clone();
    loop {
        let ended = env.cases(&plan, progress)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
        let record = runs::read_record(&env.folder).context("failed to judge the run so far")?;
        let verdicts = Verdicts::from_groups(&record.figures.groups);
        verdicts.words().iter().for_each(|words| printer.note(words));
        let open: BTreeSet<&str> = verdicts
            .undecided
            .iter()
            .flat_map(|open| [open.label.as_str(), open.base.as_str()])
            .collect();
        let trials = plan.cases.iter().map(|case| case.trial).max().unwrap_or(0) as usize;
        let Some(look) = next_look(trials).filter(|_| !open.is_empty()) else {
            return Ok(Ended::Complete);
        };
        let one = trial_time(
            &plan,
            &record
                .evidence
                .recorded()
                .map(|(case, record)| (case.case.id.as_str(), record.wall_ns))
                .collect::<Vec<_>>(),
            &open,
        );
        let left = budget.saturating_sub(begun.elapsed());
        let fit = (left.as_secs_f64() / one.as_secs_f64().max(0.001)) as usize;
        let more = (look - trials).min(fit);
        if more == 0 {
            let seconds = one.as_nanos() as u64 * (look - trials) as u64;
            let path = env.folder.path.display();
            printer.warning("stopped by its --budget");
            let time = units::duration(seconds);
            printer.hint(&format!("`kvdyno resume {path} --budget {time}` goes on"));
            return Ok(Ended::Complete);
        }
        for _ in 0..more {
            append_trial(&mut plan, |case| open.contains(case.label.as_str()));
        }
        env.folder.write_plan(&without_secrets(&plan)?)?;
        progress.expect(plan.cases.len(), one * more as u32);
    }
}

/// The time of one trial of the engines.
fn trial_time(plan: &Plan, walls: &[(&str, u64)], engines: &BTreeSet<&str>) -> Duration {
    let last = plan.cases.iter().map(|case| case.trial).max().unwrap_or(0);
    let of_trial = plan.cases.iter().filter(|case| case.trial == last);
    let of_engines = of_trial.filter(|case| engines.contains(case.label.as_str()));
    let took = |id: &str| walls.iter().filter(|(case, _)| *case == id).map(|(_, wall)| *wall).max();
    Duration::from_nanos(of_engines.filter_map(|case| took(&case.id)).sum())
}
