//! Adds trials to a run until its primary figures, its claims, its gate and its target are decided,
//! or its time is over.

use super::resume;
use super::runner::{Ended, RunEnvironment};
use crate::printer::{Printer, Progress};
use crate::records::{begun, runs};
use anyhow::Context as _;
use kvdyno_analysis::answers::search::Target;
use kvdyno_analysis::answers::target::{Meets, TargetRow, judge_target};
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_analysis::figures::lists::unique;
use kvdyno_analysis::judge::claim;
use kvdyno_analysis::judge::rule::next_look;
use kvdyno_analysis::judge::verdicts::Verdicts;
use kvdyno_analysis::judge::versus::{
    FigureChoice, Gate, GateResult, Question, Record, Sides, Versus,
};
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::redact::without_secrets;
use kvdyno_record::units;
use kvdyno_suite::append_trial;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Runs the plan, and then one trial after another of the engines that are not decided. Looks at
/// the figures at the numbers of trials that the rule has, and starts no trial that would end later
/// than `budget` after `begun`.
pub(super) fn run(
    env: &mut RunEnvironment,
    mut plan: Plan,
    begun: Instant,
    budget: Duration,
    progress: &Progress<'_>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    loop {
        let ended = env.cases(&plan, progress)?;
        if ended != Ended::Complete {
            return Ok(ended);
        }
        let record = runs::read_record(&env.dir).context("failed to judge the run so far")?;
        let verdicts = Verdicts::from_figures(&record.figures);
        let claims = claim::judge(&plan.claims, &record.figures);
        verdicts.description().iter().for_each(|words| printer.note(words));
        if let Some(words) = claim::format_decided(&claims) {
            printer.note(&words);
        }
        let figures = verdicts.undecided.iter().filter(|figure| figure.reason.is_none());
        let figures = figures.flat_map(|open| [open.label.as_str(), open.base.as_str()]);
        let mut open: BTreeSet<&str> = figures.chain(claim::open_labels(&claims)).collect();
        let may_regress = figures_at_gate(&plan, &record);
        if !may_regress.is_empty() {
            printer.note(&format!("may be past the gate: {}", may_regress.join("; ")));
            open.extend(plan.cases.iter().map(|case| case.label.as_str()));
        }
        let unmet = undecided_by_target(&plan, &record)?;
        for row in &unmet {
            printer.note(&format!("may meet its target or miss it: {}", row.case));
        }
        open.extend(unmet.iter().map(|row| row.label.as_str()));
        open.retain(|label| {
            plan.cases.iter().any(|case| case.label == *label && !plan.is_beside(case))
        });
        if open.is_empty() {
            return Ok(Ended::Complete);
        }
        // An engine that was decided at an earlier look may have fewer trials.
        let trials = open.iter().map(|label| engine_trials(&plan, label).len()).min().unwrap_or(0);
        let Some(look) = next_look(trials) else {
            printer.warning(&format!("{trials} pairs are the most that a run looks at"));
            return Ok(Ended::Complete);
        };
        let is_open = |label: &str| open.contains(label);
        let first = record.evidence.cases.iter().filter(|case| case.case.trial == 1);
        let like: Vec<&CaseEvidence> = first.filter(|case| is_open(&case.case.label)).collect();
        let trial_time = Duration::from_nanos(resume::expected_ns(&record.evidence, &like));
        let left = budget.saturating_sub(begun.elapsed());
        let fit = left.as_secs_f64() / trial_time.as_secs_f64().max(f64::MIN_POSITIVE);
        let needed = (look - trials) as u32;
        let more = needed.min(fit as u32);
        if more == 0 {
            // Without a space, at which the shell would end it.
            let time = units::duration((trial_time * needed).as_nanos() as u64).replace(' ', "");
            let path = env.dir.path.display();
            printer.warning("stopped by its --budget");
            printer.hint(&format!("`kvdyno resume {path} --budget {time}` goes on"));
            return Ok(Ended::Complete);
        }
        let open: BTreeSet<String> = open.iter().map(ToString::to_string).collect();
        for _ in 0..more {
            append_trial(&mut plan, |case| open.contains(&case.label));
        }
        begun::write_plan(&env.dir, &without_secrets(&plan)?)?;
        progress.expect(plan.cases.len(), begun.elapsed() + trial_time * more);
    }
}

/// Figures of the second engine that may be worse than the plan's gate allows.
fn figures_at_gate(plan: &Plan, record: &Record) -> Vec<String> {
    let is_judged = |case: &&Case| !case.is_pilot() && !plan.is_beside(case);
    let mut cases: Vec<_> = plan.cases.iter().filter(is_judged).collect();
    cases.sort_by_key(|case| case.listed);
    let labels = unique(cases.iter().map(|case| case.label.as_str()));
    let (Some(_), [base, new]) = (plan.gate, &*labels) else { return Vec::new() };
    let question = Question { figures: FigureChoice::Usual, within: plan.within, gate: plan.gate };
    let versus = Versus::compare(&Sides::engines(record, base, new), &question);
    let gate = versus.ok().and_then(|versus| versus.gate);
    let is_open = |gate: &Gate| gate.result == GateResult::Undecided;
    gate.filter(is_open).map_or_else(Vec::new, |gate| gate.may_hide)
}

/// The cases that may meet the plan's target or miss it, where more trials would tell.
fn undecided_by_target(plan: &Plan, record: &Record) -> anyhow::Result<Vec<TargetRow>> {
    let Some(target) = &plan.target else { return Ok(Vec::new()) };
    let target = Target::parse(target).context("the plan's target is invalid")?;
    let mut rows = judge_target(&record.evidence, &record.figures, &target)
        .context("failed to judge the run so far by its target")?;
    rows.retain(|row| row.meets == Meets::Undecided && row.more_trials.is_some());
    Ok(rows)
}

/// The trials of an engine, by their numbers.
fn engine_trials(plan: &Plan, label: &str) -> BTreeSet<u32> {
    let cases = plan.cases.iter().filter(|case| case.label == label && !case.is_pilot());
    cases.map(|case| case.trial).collect()
}
