//! `kvdyno rerun`: repeats the work of a recorded run on this host.
//!
//! It runs the recorded plan and does not size the suite again: equal work has equal case keys, and
//! only equal work can be compared. A plan may come from a stranger's bundle: it never determines
//! where databases are, and its names are only used as directory names.

mod differences;
mod libraries;

use super::{compare, plan, show};
use crate::cli::{CompareArgs, KeepArgs, RerunArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::{runs, traces};
use crate::running::prepare::{PreparedRun, prepare_run};
use crate::running::{recorded_plan, start};
use anyhow::Context as _;
use differences::{Side, differences};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Description, OptionSpec};
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::run::RunRecord;
use kvdyno_record::volume::{Medium, Volume};
use libraries::{NamedLibraries, use_local_libraries};
use std::collections::BTreeMap;
use std::path::Path;

pub(crate) fn run(args: &RerunArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    let old = dir.display_path().to_owned();
    let runs = &args.name.runs.runs;
    let (prepared, block_io) = {
        let mut recorded = RecordedRun::read(&dir).with_context(runs::read_failure(&dir))?;
        let bundle_dir = dir.display_path().parent().filter(|_| dir.is_bundle());
        traces::locate(&mut recorded.plan, &args.traces, bundle_dir)?;
        // Do not keep an unpacked bundle during the measurement.
        drop(dir);
        let prepared = recorded.prepare(args, runs)?;
        recorded.print_differences(&prepared, printer);
        (prepared, recorded.run.block_io)
    };
    if args.plan {
        return plan::show_plan(&prepared, args.view.json, printer);
    }
    let (runs, io) = (args.name.runs.clone(), block_io.into());
    let keep = KeepArgs { runs, io, ..KeepArgs::default() };
    let (dir, ended) = start::run_prepared(&prepared, &keep, None, printer)?;
    let exit = show::show_ended(dir.clone(), ended, &args.view, printer)?;
    compare(&old, &dir, args, printer);
    Ok(exit)
}

/// Compares both runs. If the comparison is refused, for example for a case without figures, it
/// prints the reason, and the run stays valid.
fn compare(old: &Path, new: &RunDir, args: &RerunArgs, printer: &Printer) {
    let (old, new) = (old.display().to_string(), new.path.display().to_string());
    printer.note(&format!("kvdyno compare {old} {new}"));
    if !args.view.json {
        let question = CompareArgs {
            base: old,
            new: Some(new),
            runs: args.name.runs.clone(),
            ..CompareArgs::default()
        };
        printer.data("");
        if let Err(error) = compare::run(&question, printer) {
            printer.error(&error);
        }
    }
}

/// The parts of a run that a rerun needs.
struct RecordedRun {
    run: RunRecord,
    plan: Plan,
    text: String,
    /// The workers by label, as in the cases.
    workers: BTreeMap<String, WorkerIdentity>,
}

impl RecordedRun {
    fn read(dir: &RunDir) -> anyhow::Result<Self> {
        let (run, plan) = (dir.run()?, dir.plan()?);
        recorded_plan::check(&plan)?;
        let text = std::fs::read_to_string(dir.path.join("suite.toml"))?;
        let records = dir.case_records()?.into_iter();
        let workers =
            records.filter_map(|(_, record)| Some((record.case.label, record.worker?))).collect();
        Ok(Self { run, plan, text, workers })
    }

    /// Prepares the same work with the workers of this machine.
    fn prepare(&self, args: &RerunArgs, default_data_dir: &Path) -> anyhow::Result<PreparedRun> {
        check_volumes(&self.plan)?;
        check_crews(&self.plan)?;
        let libraries = NamedLibraries::parse(&args.libraries, &self.plan)?;
        let (local, workers) = use_local_libraries(&self.plan, &libraries)?;
        for case in &local.cases {
            let Some(worker) = workers.identity(case) else { continue };
            let engine = &worker.description.engine;
            check_paths(case, engine)?;
            // A worker would refuse it too, but only when its case starts.
            case.options.clone().resolve(engine).map_err(|error| {
                Complaint::usage(format!("{} cannot be repeated: {error}", case.id)).hint(format!(
                    "the run used another version of {0}; `kvdyno engines {0}` shows the installed \
                     one",
                    case.engine
                ))
            })?;
        }
        let id = &self.run.id;
        let mut sized = vec![format!("work, records and limits are those of {id}")];
        sized.extend(self.plan.sized.iter().map(|note| format!("sized there: {note}")));
        let format = kvdyno_record::FORMAT.to_owned();
        // The needed space is estimated here: a stranger's plan may contain anything.
        let estimate = kvdyno_suite::estimate(&local.cases, &workers.descriptions());
        let mut plan = Plan { format, sized, estimate, ..local };
        if !plan.cases.iter().any(Case::lacks_rate) {
            // The rates are those of the record.
            plan.cases.retain(|case| !case.is_pilot());
        }
        let (text, location) = (self.text.clone(), args.location.clone());
        prepare_run(text, workers, location, default_data_dir, |_, _, _| Ok(plan))
    }

    /// Lists the differences of this machine before anything starts.
    fn print_differences(&self, prepared: &PreparedRun, printer: &Printer) {
        let host = &prepared.host;
        let recorded = Side {
            host: &self.run.host_before,
            program: &self.run.program,
            workers: &self.workers,
        };
        let by_label =
            |case: &Case| Some((case.label.clone(), prepared.workers.identity(case)?.clone()));
        let workers = prepared.plan.cases.iter().filter_map(by_label).collect();
        let local = Side { host, program: kvdyno_record::VERSION, workers: &workers };
        let differences = differences(&recorded, &local, &self.plan);
        if differences.is_empty() {
            printer.note(&format!("no recorded property differs from {}", self.run.id));
        }
        for difference in differences {
            printer.note(&format!("differs: {difference}"));
        }
        let limits = self.plan.cases.iter().filter_map(|case| case.ram_limit_bytes);
        if limits.max().is_some_and(|limit| limit > host.machine.memory_bytes) {
            printer.warning("this machine has less memory than the RAM limit of some cases");
        }
    }
}

/// A recorded plan's directories and devices belong to its author's machine: nothing is written to
/// a path that the user did not type. Images in the run's own data directory can be created again.
fn check_volumes(plan: &Plan) -> Result<(), Complaint> {
    let volumes = plan.cases.iter().filter_map(|case| {
        let Volume { name, medium } = case.volume.as_ref()?;
        match medium {
            Medium::Loop { directory: None, .. } => None,
            Medium::Directory { path } | Medium::Loop { directory: Some(path), .. } => {
                Some(("volume", name, "directory", path))
            }
            Medium::Device { path, .. } => Some(("volume", name, "device", path)),
        }
    });
    let tiers = plan.cases.iter().filter_map(|case| {
        let tier = case.tier.as_ref()?;
        Some(("memory tier", &tier.name, "device", tier.memory.device()?))
    });
    let Some((kind, name, what, path)) = volumes.chain(tiers).next() else { return Ok(()) };
    Err(Complaint::usage(format!(
        "{kind} `{name}` of the recorded run is the {what} {}, but a rerun never uses \
         a path of a record",
        path.display()
    ))
    .hint("copy its suite.toml, set paths of this machine, and use `kvdyno run`"))
}

/// Refuses an option that is a path of the author's machine.
fn check_paths(case: &Case, engine: &Description) -> Result<(), Complaint> {
    let set_value = |option: &OptionSpec| {
        let value = case.options.values.get(&option.name).filter(|value| **value != option.default);
        Some((option.name.clone(), value?.to_string()))
    };
    let mut paths = engine.options.iter().filter(|option| option.is_path).filter_map(set_value);
    let Some((option, path)) = paths.next() else { return Ok(()) };
    Err(Complaint::usage(format!(
        "option `{option}` of {} in the recorded run is {path}, but a rerun never uses a path of a \
         record",
        case.label
    ))
    .hint("copy its suite.toml, set paths of this machine, and use `kvdyno run`"))
}

/// Refuses a crew: the command that starts it is the author's, and would run on this machine.
fn check_crews(plan: &Plan) -> Result<(), Complaint> {
    let Some(crew) = plan.cases.iter().find_map(|case| case.crew.as_ref()) else { return Ok(()) };
    Err(Complaint::usage(format!(
        "the recorded run starts a crew by `{}`, but a rerun never runs a command of a record",
        crew.launch.join(" ")
    ))
    .hint("copy its suite.toml, check `launch`, and use `kvdyno run`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_record::crew::Crew;
    use kvdyno_record::tier::{Memory, Tier};
    use kvdyno_record::volume::Format;

    #[test]
    fn a_records_paths_are_not_written_to() {
        let with = |medium| {
            let mut plan = Fixture::new().plan;
            plan.cases[1].volume = Some(Volume { name: "disk".to_owned(), medium });
            check_volumes(&plan).map_err(|error| error.to_string())
        };
        check_volumes(&Fixture::new().plan).unwrap();
        let mut plan = Fixture::new().plan;
        let path = Some("/dev/sdx".into());
        let memory = Memory::Swap { path, bytes: 1 << 30, swappiness: 60 };
        plan.cases[1].tier = Some(Tier { name: "slow".to_owned(), memory });
        let refused = check_volumes(&plan).unwrap_err().to_string();
        assert!(
            refused.contains("memory tier `slow`") && refused.contains("/dev/sdx"),
            "{refused}"
        );
        with(Medium::Loop { directory: None, bytes: 1 << 30, format: Format::Raw }).unwrap();
        let text = with(Medium::Directory { path: "/home/me".into() }).unwrap_err();
        assert!(text.contains("`disk`") && text.contains("/home/me"), "{text}");
        let path = "/dev/sda".into();
        let device = Medium::Device { path, discard: true, format: Format::Raw };
        let text = with(device).unwrap_err();
        assert!(text.contains("/dev/sda"), "{text}");
    }

    #[test]
    fn a_records_option_that_is_a_path_is_refused() {
        let fixture = Fixture::new();
        let mut case = fixture.plan.cases[1].clone();
        let worker = fixture.cases[1].record.worker.clone().unwrap();
        let mut engine = worker.description.engine;
        engine.options.push(OptionSpec::path("mirror", "A second directory."));
        engine.options.push(OptionSpec::text("table", "", "A table."));
        let set = |case: &mut Case, name: &str, value: &str| {
            case.options.values.insert(name.to_owned(), value.into());
        };
        set(&mut case, "table", "/a/b");
        set(&mut case, "mirror", "");
        check_paths(&case, &engine).unwrap();
        set(&mut case, "mirror", "/home/me");
        let refused = check_paths(&case, &engine).unwrap_err().to_string();
        assert!(refused.contains("`mirror`") && refused.contains("/home/me"), "{refused}");
    }

    #[test]
    fn a_records_command_is_not_run() {
        let mut plan = Fixture::new().plan;
        check_crews(&plan).unwrap();
        let launch = vec!["touch".to_owned(), "/tmp/owned".to_owned()];
        plan.cases[1].crew = Some(Crew { hosts: Vec::new(), launch });
        let refused = check_crews(&plan).unwrap_err().to_string();
        assert!(refused.contains("`touch /tmp/owned`"), "{refused}");
    }
}
