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
use kvdyno_record::files::RunFolder;
use kvdyno_record::plan::Plan;
use kvdyno_record::workload::Activity;
use kvdyno_render::target;

pub(crate) fn run(args: &JudgeArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let folder = runs::find(&args.name.run, &args.name.runs.runs)?;
    let rows = rows(&folder, &args.target)?;
    if args.json {
        printer.json(&rows)?;
    } else {
        print(&rows, &args.target, printer);
    }
    Ok(exit(&rows))
}

/// Judges a run that was shown.
pub(super) fn judge_shown(
    folder: &RunFolder,
    target: &Target,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let rows = rows(folder, target)?;
    print(&rows, target, printer);
    Ok(exit(&rows))
}

/// Refuses a target that no measured phase of a plan has the figures for.
pub(crate) fn check(plan: &Plan, target: &Target) -> Result<(), Complaint> {
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
    refused.map_or(Ok(()), |error| Err(wrong_target(&error)))
}

/// A target that is invalid, or does not apply.
pub(crate) fn wrong_target(error: &TargetError) -> Complaint {
    Complaint::usage(format!("--target: {error}")).hint(error.hint.clone())
}

fn rows(folder: &RunFolder, target: &Target) -> anyhow::Result<Vec<TargetRow>> {
    let evidence = Evidence::read(folder)?;
    let figures = Figures::from_evidence(&evidence)?;
    judge_target(&evidence, &figures, target).map_err(|error| match error {
        TargetJudgeError::Target(error) => wrong_target(&error).into(),
        TargetJudgeError::Record(error) => error.into(),
    })
}

fn print(rows: &[TargetRow], target: &Target, printer: &Printer) {
    printer.data(&format!("target: {target}"));
    printer.data(&target::table(rows).text());
}

fn exit(rows: &[TargetRow]) -> Exit {
    let any = |meets: Meets| rows.iter().any(|row| row.meets == meets);
    if any(Meets::No) {
        Exit::Regression
    } else if any(Meets::Undecided) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}
