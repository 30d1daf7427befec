//! `kvdyno trace record`: runs one case of a suite, and writes its engine's requests as a trace.

use super::{check_free, complaint, conclude, warn};
use crate::cli::{RecordTraceArgs, SuiteArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use crate::running::runner::{Ended, recorded_files};
use crate::running::workers::Workers;
use crate::running::{finish, prepare, start};
use kvdyno_record::case::Outcome;
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::{Case, Counting, Plan};
use kvdyno_record::protocol::NO_LOAD_GENERATOR;
use kvdyno_record::replay::replays;
use kvdyno_record::workload::Activity;
use kvdyno_trace::TraceReader;
use std::path::Path;

/// The most cases in an error message.
const NAMED: usize = 12;

pub(super) fn run(args: &RecordTraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    // Repeated trials would record the same.
    let suite = SuiteArgs { trials: args.suite.trials.or(Some(1)), ..args.suite.clone() };
    let mut prepared = prepare::prepare(&suite, &args.keep.runs.runs, printer)?;
    prepared.destroy_allowed.clone_from(&args.destroy_data_on);
    prepared.load_allowed.clone_from(&args.yes_load);
    let case = only_measured_case(&prepared.plan)?;
    check_case(case, &prepared.workers)?;
    let output = std::path::absolute(&args.output)?;
    let files = recorded_files(&output, case);
    files.iter().try_for_each(|(_, file)| check_free(file, args.force))?;
    check_dir(&output)?;
    let checked = prepared.check()?;
    prepare::report_plan(&prepared, |text| printer.note(text), printer);
    let environment = start::start(checked, &args.keep, Some(output), printer)?;
    let (dir, ended) = finish::run(environment, &prepared.plan, None, printer)?;
    if ended == Ended::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let record = runs::read_record(&dir)?;
    runs::warn_of_findings(&record.figures, printer);
    let is_done = dir
        .case_records()?
        .iter()
        .any(|(_, done)| done.case.id == case.id && matches!(done.outcome, Outcome::Done));
    for (_, file) in files.iter().filter(|_| is_done) {
        let reader = TraceReader::open(file).map_err(complaint)?;
        warn(reader.header(), printer);
        conclude(reader.header(), file, printer);
    }
    if !is_done {
        printer.warning(&format!("{} did not complete: there is no trace of it", case.id));
        printer.hint(&format!("`kvdyno show {}` shows the reason", dir.path.display()));
    }
    Ok(record.figures.verdict)
}

/// Returns the one measured case; refuses a suite with none or several.
fn only_measured_case(plan: &Plan) -> Result<&Case, Complaint> {
    // Cases that load for others, and pilots, come before the measured case.
    let is_loader = |case: &Case| {
        let mut others = plan.cases.iter().filter(|other| other.id != case.id);
        others.any(|other| other.database.loaded_by == case.id)
    };
    let measures = |case: &&Case| {
        let measures = case.phases.iter().any(|phase| matches!(phase.work, Activity::Measure(_)));
        measures && !case.is_pilot() && !is_loader(case)
    };
    let cases: Vec<&Case> = plan.cases.iter().filter(measures).collect();
    if let [case] = cases[..] {
        return Ok(case);
    }
    if cases.is_empty() {
        let what = "this suite has no measured case";
        return Err(Complaint::usage(what).hint("expected a phase of kind \"measure\""));
    }
    let mut ids: Vec<&str> = cases.iter().take(NAMED).map(|case| case.id.as_str()).collect();
    if cases.len() > NAMED {
        ids.push("...");
    }
    let what = format!("expected one measured case, found {}: {}", cases.len(), ids.join(", "));
    Err(Complaint::usage(what).hint(
        "select one with --engine, --part, --threads 4, --phases, --trials 1 or --set PATH=VALUE; \
         `kvdyno plan SUITE --cases` lists them",
    ))
}

/// Refuses cases without keys, or without a load generator that can record.
fn check_case(case: &Case, workers: &Workers) -> Result<(), Complaint> {
    let id = &case.id;
    let refuse = |what: &str, hint: &str| Err(Complaint::usage(format!("{id}: {what}")).hint(hint));
    if case.data.graph.is_some() {
        return refuse("requests of a graph cannot be recorded", "use a suite of keys and values");
    }
    if case.crew.is_some() {
        return refuse("requests of a crew cannot be recorded", "use a suite without [crew]");
    }
    if replays(&case.phases).any(|replay| replay.drive.is_some()) {
        return refuse("a replayed trace of a drive is already recorded", "use another suite");
    }
    if case.count == Some(Counting::Valgrind) {
        return refuse("under valgrind, times have no meaning", "leave --count out");
    }
    let load_generator =
        workers.identity(case).map(|worker| worker.description.load_generator.as_str());
    if load_generator == Some(NO_LOAD_GENERATOR) {
        return refuse(
            "another program does the work, and cannot be recorded",
            "`kvdyno run --io-log` stores the requests to a drive, and `kvdyno trace import \
             --format kvdyno` imports them",
        );
    }
    Ok(())
}

/// A trace is created in its directory: check in advance that this is possible.
fn check_dir(file: &Path) -> Result<(), Complaint> {
    let dir = file.parent().unwrap_or(Path::new("/"));
    tempfile::tempfile_in(dir).map(drop).map_err(|error| {
        let what = format!("cannot create a file in {}: {error}", dir.display());
        Complaint::usage(what).hint("--output: expected a file in an existing directory")
    })
}
