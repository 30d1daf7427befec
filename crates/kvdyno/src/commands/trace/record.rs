//! `kvdyno trace record`: one case of a suite is run as any other, and what its engine is asked for
//! becomes a trace.

use super::super::{finish, prepare, run, runs};
use super::{check_free, complaint, conclude, warn};
use crate::cli::{RecordTraceArgs, SuiteArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::runner::{Ended, recorded_files};
use crate::workers::Workers;
use anyhow::Context as _;
use kvdyno_analysis::summary::verdict;
use kvdyno_analysis::versus::Record;
use kvdyno_record::case::Outcome;
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::{Case, Counting, Plan};
use kvdyno_record::protocol::NO_LOAD_GENERATOR;
use kvdyno_record::replay::replays;
use kvdyno_record::workload::Activity;
use kvdyno_trace::TraceReader;
use std::path::Path;

/// Cases that a refusal names.
const NAMED: usize = 12;

pub(super) fn run(args: &RecordTraceArgs, printer: &Printer) -> anyhow::Result<Exit> {
    // What would be recorded twice is the same.
    let suite = SuiteArgs { trials: args.suite.trials.or(Some(1)), ..args.suite.clone() };
    let mut prepared = prepare::prepare(&suite, &args.keep.runs.runs)?;
    prepared.destroy_allowed.clone_from(&args.destroy_data_on);
    prepared.load_allowed.clone_from(&args.yes_load);
    let case = only_case(&prepared.plan)?;
    check_case(case, &prepared.workers)?;
    let to = std::path::absolute(&args.output)?;
    let files = recorded_files(&to, case);
    files.iter().try_for_each(|(_, file)| check_free(file, args.force))?;
    check_folder(&to)?;
    let checked = prepared.check()?;
    prepare::report_plan(&prepared, |text| printer.note(text), |text| printer.warning(text));
    let environment = run::start_traced(checked, &args.keep, Some(to), printer)?;
    let (folder, ended) = finish::run(environment, &prepared.plan, printer)?;
    if ended == Ended::Interrupted {
        return Ok(Exit::Interrupted);
    }
    let record = Record::read(&folder).with_context(runs::unread(&folder))?;
    runs::warn_of_findings(&record.summary, printer);
    let is_done = folder
        .case_records()?
        .iter()
        .any(|(_, done)| done.case.id == case.id && matches!(done.outcome, Outcome::Done));
    for (_, file) in files.iter().filter(|_| is_done) {
        let reader = TraceReader::open(file).map_err(complaint)?;
        warn(reader.header(), printer);
        conclude(reader.header(), file, printer);
    }
    if !is_done {
        printer.warning(&format!("{} did not come to its end: there is no trace of it", case.id));
        printer.hint(&format!("`kvdyno show {}` says why", folder.path.display()));
    }
    Ok(verdict(&record.summary))
}

/// The one case that measures.
fn only_case(plan: &Plan) -> Result<&Case, Complaint> {
    let measures =
        |case: &&Case| case.phases.iter().any(|phase| matches!(phase.work, Activity::Measure(_)));
    let cases: Vec<&Case> = plan.cases.iter().filter(measures).collect();
    if let [case] = cases[..] {
        return Ok(case);
    }
    if cases.is_empty() {
        let what = "no case of this suite measures: there is nothing to record";
        return Err(Complaint::usage(what).hint("a phase of kind \"measure\" is recorded"));
    }
    let mut named: Vec<&str> = cases.iter().take(NAMED).map(|case| case.id.as_str()).collect();
    if cases.len() > NAMED {
        named.push("...");
    }
    let what = format!(
        "this suite comes to {} cases that measure, and a trace is of one: {}",
        cases.len(),
        named.join(", ")
    );
    Err(Complaint::usage(what).hint(
        "--engine, --part, --threads 4, --phases, --trials 1 or --set PATH=VALUE leave one; \
         `kvdyno plan SUITE --cases` tells them apart",
    ))
}

/// What has no keys, or nobody who could record it.
fn check_case(case: &Case, workers: &Workers) -> Result<(), Complaint> {
    let id = &case.id;
    let refuse = |what: &str, hint: &str| Err(Complaint::usage(format!("{id}: {what}")).hint(hint));
    if case.data.graph.is_some() {
        return refuse("requests of a graph are not recorded", "record a suite of keys and values");
    }
    if case.crew.is_some() {
        return refuse("what a crew does is not recorded", "record it without [crew]");
    }
    if replays(&case.phases).any(|replay| replay.drive.is_some()) {
        return refuse("requests of a trace of a drive are recorded already", "record another one");
    }
    if case.count == Some(Counting::Valgrind) {
        return refuse("under valgrind, times mean nothing", "record it without --count");
    }
    let own = workers.identity(case).map(|worker| worker.description.load_generator.as_str());
    if own == Some(NO_LOAD_GENERATOR) {
        return refuse(
            "another program does its work, and is not recorded",
            "`kvdyno run --io-log` keeps the requests to a drive, `kvdyno trace import --format \
             kvdyno` reads them",
        );
    }
    Ok(())
}

/// A trace is made in its folder: that it cannot be is said beforehand.
fn check_folder(to: &Path) -> Result<(), Complaint> {
    let folder = to.parent().unwrap_or(Path::new("/"));
    tempfile::tempfile_in(folder).map(drop).map_err(|error| {
        let what = format!("cannot make a file in {}: {error}", folder.display());
        Complaint::usage(what).hint("--output names a file in a folder that is there")
    })
}
