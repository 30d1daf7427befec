//! What `size` and `capacity` share: points are added to one run, value by value, until the edge of
//! the target is found.
//!
//! Every point is a suite with one value of its own, expanded as any other; its cases are appended
//! to the run's plan. So the record is an ordinary one: every table and figure of it holds.

use super::finish;
use super::prepare::{self, Prepared, prepare_text};
use super::run::{self, Started};
use crate::cli::{SearchArgs, SuiteArgs};
use crate::exit::{Complaint, Exit};
use crate::host::Root;
use crate::printer::Printer;
use crate::redact::without_secrets;
use crate::report::catalogue as figures;
use crate::report::summary::Summary;
use crate::runner::Ended;
use crate::search::{Edge, Judged, Target, Wanted, judge};
use crate::units;
use anyhow::Context as _;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::workload::Work;
use schemars::JsonSchema;
use serde::Serialize;

mod answer;

pub(super) use answer::Answer;

/// What is varied.
pub(super) trait Axis {
    /// Which end is wanted.
    const WANTED: Wanted;

    /// The `--set` that gives a suite this value.
    fn set(&self, value: u64) -> String;

    /// A value in words.
    fn words(&self, value: u64) -> String;

    /// What the values are, for a column's title and JSON.
    fn unit(&self) -> &'static str;
}

/// One point of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(super) struct Point {
    /// Bytes, or operations a second.
    pub(super) value: u64,
    /// What it came to.
    #[serde(flatten)]
    pub(super) judged: Judged,
}

/// A search, before its run.
pub(super) struct Search<'s> {
    args: &'s SearchArgs,
    pub(super) target: Target,
    tolerance: f64,
    file: String,
    text: String,
    /// `--set` of every point: the user's, and what keeps the points alike.
    set: Vec<String>,
    threads: Option<u32>,
}

impl<'s> Search<'s> {
    /// Reads suite and target; nothing is touched.
    pub(super) fn new(args: &'s SearchArgs) -> anyhow::Result<Self> {
        let target = Target::parse(&args.target)
            .map_err(|error| Complaint::usage(format!("--target: {error}")))?;
        let tolerance = units::parse_share(&args.tolerance)
            .map_err(|error| Complaint::usage(format!("--tolerance: {error}")))?;
        let (file, text) = prepare::read(&args.suite)?;
        let set = args.set.clone();
        let tolerance = tolerance.max(0.001);
        Ok(Self { args, target, tolerance, file, text, set, threads: args.threads })
    }

    /// The suite as it stands; the points' data are made the same as these from here on.
    pub(super) fn settle(&mut self) -> anyhow::Result<Plan> {
        let plan = self.prepare(None)?.plan;
        let measured = plan.cases.iter().filter(|case| measures(case));
        let most = measured.max_by_key(|case| case.threads);
        let most = most.context("the suite measures nothing")?.clone();
        self.threads = self.threads.or(most.threads).filter(|_| self.sweeps());
        self.set.push(format!("data.records={}", most.data.records));
        Ok(plan)
    }

    fn sweeps(&self) -> bool {
        self.text.contains("\"sweep\"")
    }

    /// The range as typed.
    pub(super) fn between(
        &self,
        parse: impl Fn(&str) -> Result<u64, units::UnitError>,
    ) -> anyhow::Result<Option<(u64, u64)>> {
        let Some(text) = &self.args.between else { return Ok(None) };
        let wrong = |why: String| Complaint::usage(format!("--between {text}: {why}"));
        let (low, high) = text
            .split_once("..")
            .ok_or_else(|| wrong("has no `..` between its ends".to_owned()))?;
        let parse = |text: &str| parse(text.trim()).map_err(|error| wrong(error.to_string()));
        let (low, high) = (parse(low)?, parse(high)?);
        if low == 0 || low >= high {
            return Err(wrong("expected a smaller number above 0 first".to_owned()).into());
        }
        Ok(Some((low, high)))
    }

    /// The suite with one more `--set`.
    pub(super) fn prepare(&self, set: Option<String>) -> anyhow::Result<Prepared> {
        let args = self.args;
        let suite = SuiteArgs {
            suite: args.suite.clone(),
            set: self.set.iter().cloned().chain(set).collect(),
            scale: args.scale.clone(),
            engines: vec![args.engine.clone()],
            trials: Some(args.trials),
            threads: self.threads.into_iter().collect(),
            place: args.place.clone(),
            no_ram_limit: false,
        };
        prepare_text(&self.file, self.text.clone(), &suite, &args.runs.runs, &Root::system())
    }

    /// How many operations a second a role does as fast as it goes, by a run of its own.
    pub(super) fn fastest(&self, role: &str, printer: &Printer) -> anyhow::Result<u64> {
        let prepared = self.prepare(None)?;
        let (folder, _) = run::keep(&prepared, &self.args.runs.runs, printer)?;
        let summary = Summary::read(&folder)
            .with_context(|| format!("failed to read {}", folder.path.display()))?;
        let last = summary.groups.iter().filter_map(|group| group.runs.last()).next_back();
        let rows = last.map_or(&[][..], |run| run.roles.as_slice());
        let rate = rows.iter().find(|row| row.role == role);
        let rate = rate.and_then(|row| row.metrics.value(&figures::OPS_PER_S));
        Ok(rate.context("it did nothing as fast as it goes")?.ceil() as u64)
    }

    /// Adds points to a run until the edge lies between two of them, or an end settles it.
    pub(super) fn run<A: Axis>(
        &self,
        axis: &A,
        range: (u64, u64),
        printer: &Printer,
    ) -> anyhow::Result<Exit> {
        let mut edge = Edge::new(A::WANTED, range, self.tolerance);
        let mut at_work = None;
        let mut curve = Vec::new();
        let mut ended = Ok(Ended::Complete);
        while let Some(value) = edge.next() {
            let prepared = self.prepare(Some(axis.set(value)))?;
            let work = match &mut at_work {
                None => at_work.insert(AtWork::start(prepared, &self.args.runs.runs, printer)?),
                Some(work) => {
                    work.add(prepared.plan);
                    work
                }
            };
            ended = work.run(printer);
            if !matches!(ended, Ok(Ended::Complete)) {
                break;
            }
            let judged = work.judge(&self.target)?;
            printer.note(&format!(
                "{}: {} in {} of {} trials",
                axis.words(value),
                if judged.is_met() { "met" } else { "NOT met" },
                if judged.is_met() { judged.met } else { judged.trials - judged.met },
                judged.trials
            ));
            edge.tell(value, judged.is_met());
            curve.push(Point { value, judged });
        }
        let Some(AtWork { started, .. }) = at_work else { return Ok(Exit::Ok) };
        let Started { folder, claim, alone, .. } = started;
        let ended = finish::close(&folder, claim, ended, printer)?;
        drop(alone);
        curve.sort_by_key(|point| point.value);
        let answer = Answer {
            target: self.target.to_string(),
            engine: self.args.engine.clone(),
            unit: axis.unit().to_owned(),
            found: edge.found(),
            contradictions: edge.contradictions(),
            trials: self.args.trials,
            curve,
            run: folder.path.display().to_string(),
        };
        if self.args.json {
            printer.json(&answer)?;
        } else {
            answer.print(&self.target, axis, printer);
        }
        Ok(if ended == Ended::Interrupted { Exit::Interrupted } else { Exit::Ok })
    }
}

/// The run that the points are added to.
struct AtWork {
    started: Started,
    prepared: Prepared,
    /// The first case of the newest point.
    newest: usize,
}

impl AtWork {
    fn start(
        prepared: Prepared,
        runs: &std::path::Path,
        printer: &Printer,
    ) -> anyhow::Result<Self> {
        let started = run::start(&prepared, runs, printer)?;
        Ok(Self { started, prepared, newest: 0 })
    }

    /// Appends a plan's cases, numbered on.
    fn add(&mut self, more: Plan) {
        let plan = &mut self.prepared.plan;
        self.newest = plan.cases.len();
        let offset = self.newest;
        plan.cases.extend(more.cases.into_iter().map(|case| renumbered(case, offset)));
        let estimate = &mut plan.estimate;
        estimate.wall_ns += more.estimate.wall_ns;
        estimate.write_bytes += more.estimate.write_bytes;
        estimate.space_bytes = estimate.space_bytes.max(more.estimate.space_bytes);
        let databases = more.estimate.databases.into_iter();
        let databases = databases.map(|(id, bytes)| (renumber(&id, offset), bytes));
        estimate.databases.extend(databases);
    }

    fn run(&mut self, printer: &Printer) -> anyhow::Result<Ended> {
        let Self { started, prepared, .. } = self;
        let Started { folder, claim, interrupt, .. } = started;
        let Prepared { plan, workers, .. } = prepared;
        folder.write_plan(&without_secrets(plan)?)?;
        finish::cases(folder, plan, claim, workers, interrupt, printer)
    }

    fn judge(&self, target: &Target) -> anyhow::Result<Judged> {
        let folder = &self.started.folder;
        let summary = Summary::read(folder)
            .with_context(|| format!("failed to read {}", folder.path.display()))?;
        let case = self.prepared.plan.cases[self.newest..].iter().find(|case| measures(case));
        let key = &case.context("the point measures nothing")?.key;
        let group = summary.groups.iter().find(|group| group.key == *key);
        Ok(judge(target, group.context("the point left no record")?))
    }
}

fn measures(case: &Case) -> bool {
    case.phases.iter().any(|phase| matches!(phase.work, Work::Measure(_)))
}

fn renumbered(mut case: Case, offset: usize) -> Case {
    case.id = renumber(&case.id, offset);
    case.database.id = renumber(&case.database.id, offset);
    case.database.made_by = renumber(&case.database.made_by, offset);
    case
}

/// `0003_lmdb_t4_r1` further on: as many digits.
fn renumber(id: &str, offset: usize) -> String {
    let (number, rest) = id.split_once('_').unwrap_or((id, ""));
    let width = number.len();
    let number = number.parse().unwrap_or(0) + offset;
    format!("{number:0width$}_{rest}")
}

/// A role's place in the suite's last measured phase.
pub(super) fn last_role(plan: &Plan, asked: Option<&str>) -> anyhow::Result<(String, String)> {
    let phases = plan.cases.iter().flat_map(|case| &case.phases);
    let measured = phases.filter_map(|phase| match &phase.work {
        Work::Measure(drive) => Some((&phase.name, drive)),
        _ => None,
    });
    let (phase, drive) = measured.last().context("the suite measures nothing")?;
    let names: Vec<&str> = drive.roles.iter().map(|role| role.name.as_str()).collect();
    let role = match asked {
        None => names.first().copied(),
        Some(name) => names.iter().copied().find(|known| *known == name),
    };
    let role = role.ok_or_else(|| {
        Complaint::usage(format!("--role {}: no such role", asked.unwrap_or_default()))
            .hint(format!("roles of `{phase}`: {}", names.join(", ")))
    })?;
    Ok((phase.clone(), role.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_on_where_the_plan_ended() {
        assert_eq!(renumber("0003_lmdb_t4_r1", 40), "0043_lmdb_t4_r1");
        assert_eq!(renumber("0999_lmdb_load_r1", 9500), "10499_lmdb_load_r1");
    }
}
