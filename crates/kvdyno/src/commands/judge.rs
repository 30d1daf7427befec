//! `kvdyno judge`: which engines of a finished run meet a target.

use crate::cli::JudgeArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::answers::search::{Target, TargetError};
use kvdyno_analysis::answers::target::{Meets, TargetJudgeError, TargetRow, judge_target};
use kvdyno_analysis::figures::Figures;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::plan::Plan;
use kvdyno_record::workload::Activity;
use kvdyno_render::target;

pub(crate) fn run(args: &JudgeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    let (rows, verdict) = judge_run(&dir, &args.target)?;
    if verdict != Exit::Ok {
        let run = dir.path.display();
        printer.warning(&format!(
            "figures of this run are invalid: `kvdyno show {run} --findings` gives the reasons"
        ));
    }
    if args.json {
        printer.json(&rows)?;
    } else {
        print(&rows, &args.target, printer);
    }
    Ok(exit_code(&rows, verdict))
}

/// Judges a run that was shown.
pub(super) fn judge_shown(
    dir: &RunDir,
    target: &Target,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let (rows, verdict) = judge_run(dir, target)?;
    print(&rows, target, printer);
    Ok(exit_code(&rows, verdict))
}

/// Sets the target of a run's engines. Refuses a target if no measured phase of the plan has the
/// figures for it.
pub(crate) fn set_target(plan: &mut Plan, target: Option<&Target>) -> Result<(), Complaint> {
    let Some(target) = target else { return Ok(()) };
    check_target(plan, target)?;
    plan.target = Some(target.to_string());
    Ok(())
}

fn check_target(plan: &Plan, target: &Target) -> Result<(), Complaint> {
    let mixes = plan.cases.iter().flat_map(|case| &case.phases);
    let mixes = mixes.filter_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    });
    let mut refused = None;
    for mix in mixes {
        match target.check(mix) {
            Ok(()) => return Ok(()),
            Err(error) => refused.get_or_insert(error),
        };
    }
    Err(refused.map_or_else(no_measured_phase_error, |error| target_complaint(&error)))
}

fn no_measured_phase_error() -> Complaint {
    Complaint::usage("--target: expected a measured phase, found none")
        .hint("a target is about figures of a [[phase]] of kind \"measure\"")
}

/// Returns the error for a target that is invalid or does not apply.
pub(crate) fn target_complaint(error: &TargetError) -> Complaint {
    Complaint::usage(format!("--target: {error}")).hint(error.hint.clone())
}

/// Returns the judged rows, and the run's own verdict.
fn judge_run(dir: &RunDir, target: &Target) -> anyhow::Result<(Vec<TargetRow>, Exit)> {
    let evidence = Evidence::read(dir)?;
    let figures = Figures::from_evidence(&evidence)?;
    let rows = judge_target(&evidence, &figures, target).map_err(|error| match error {
        TargetJudgeError::Target(error) => target_complaint(&error).into(),
        TargetJudgeError::NothingMeasured => no_measured_phase_error().into(),
        TargetJudgeError::Record(error) => anyhow::Error::new(error),
    })?;
    Ok((rows, figures.verdict))
}

fn print(rows: &[TargetRow], target: &Target, printer: &Printer) {
    printer.data(&format!("target: {target}"));
    printer.data(&target::table(rows).text());
}

/// Returns the exit code: a miss precedes the run's own verdict, which precedes an undecided row.
fn exit_code(rows: &[TargetRow], verdict: Exit) -> Exit {
    let any = |meets: Meets| rows.iter().any(|row| row.meets == meets);
    if any(Meets::No) {
        Exit::Regression
    } else if verdict != Exit::Ok {
        verdict
    } else if any(Meets::Undecided) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}
