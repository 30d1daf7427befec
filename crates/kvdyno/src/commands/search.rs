//! The common part of `size` and `capacity`: adds points to one run, one after the other, until the
//! edge of the target is known.
//!
//! Each point is the suite with one value changed, expanded like any other; its cases are appended
//! to the run's plan. So the record is an ordinary one, with all tables and figures. The next point
//! follows from the record ([`kvdyno_analysis::answers::search::answer`]): to resume a search is to
//! compute it again.

mod points;

use super::judge::target_complaint;
use crate::cli::{LocationArgs, SearchArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::{begun, runs};
use crate::running::prepare::{self, PreparedRun};
use crate::running::runner::{Ended, RunEnvironment};
use crate::running::{finish, start};
use anyhow::Context as _;
use kvdyno_analysis::answers::search::{self, Next, SearchResult, Target, judged_mix, points_most};
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::search::{Axis, Between, Making, Search};
use kvdyno_record::units;
use kvdyno_record::workload::{Activity, Mix};
use kvdyno_render::wrap::wrap;
use kvdyno_suite as suite;
use points::{PointMaker, append, expected_ns, renumber_first};
use serde::Serialize;
use std::time::{Duration, Instant};

/// The least `--within`: no measurement can distinguish closer values.
const WITHIN_LEAST: f64 = 0.001;

/// A search before it starts.
pub(super) struct Query<'a> {
    args: &'a SearchArgs,
    target: Target,
    within: f64,
    budget: Option<Duration>,
    maker: PointMaker,
    /// The unchanged suite, for its data and its roles.
    pub(super) plan: Plan,
    /// The name of the last measured phase.
    phase: String,
}

impl<'a> Query<'a> {
    /// Reads suite and target; changes nothing.
    pub(super) fn new(args: &'a SearchArgs, printer: &Printer) -> anyhow::Result<Self> {
        let target = Target::parse(&args.target).map_err(|error| target_complaint(&error))?;
        let within = units::parse_share(&args.within)
            .map_err(|error| Complaint::usage(format!("--within: {error}")))?;
        if within < WITHIN_LEAST {
            let message = format!("--within {}: no number of trials can resolve this", args.within);
            return Err(Complaint::usage(message)
                .hint("expected at least 0.1 %: --within 0.1%")
                .into());
        }
        let budget = args.budget.as_deref().map(units::parse_duration).transpose();
        let budget = budget.map_err(|error| Complaint::usage(format!("--budget: {error}")))?;
        let (file, text) = prepare::read(&args.suite)?;
        let making = Making {
            engine: args.engine.clone(),
            set: args.set.clone(),
            threads: args.threads,
            duration: args.duration.clone(),
        };
        let mut maker = PointMaker {
            file,
            text,
            making,
            trials: args.trials,
            location: args.location.clone(),
            runs: args.keep.runs.runs.clone(),
        };
        let plan = maker.settle(printer)?;
        let (phase, mix) = last_measured(&plan)?;
        target.check(mix).map_err(|error| target_complaint(&error))?;
        let phase = phase.to_owned();
        let budget = budget.map(Duration::from_nanos);
        Ok(Self { args, target, within, budget, maker, plan, phase })
    }

    pub(super) fn parse_between(
        &self,
        parse: impl Fn(&str) -> Result<u64, units::UnitError>,
    ) -> anyhow::Result<Option<Between>> {
        let Some(text) = &self.args.between else { return Ok(None) };
        let wrong = |why: String| Complaint::usage(format!("--between {text}: {why}"));
        let (low, high) = text
            .split_once("..")
            .ok_or_else(|| wrong("expected two values, as 256MiB..4GiB or 1k..100k".to_owned()))?;
        let parse = |text: &str| parse(text.trim()).map_err(|error| wrong(error.to_string()));
        let (low, high) = (parse(low)?, parse(high)?);
        if low == 0 || low >= high {
            return Err(wrong("expected the lower value first, above 0".to_owned()).into());
        }
        Ok(Some(Between { low, high }))
    }

    /// The role whose rate is searched: the one of this name, or the first of the measured phase.
    /// Refuses a target on its rate.
    pub(super) fn role(&self, typed: Option<&str>) -> Result<String, Complaint> {
        let (phase, mix) = last_measured(&self.plan)?;
        let names: Vec<&str> = mix.roles.iter().map(|role| role.name.as_str()).collect();
        let role = names.iter().find(|name| typed.is_none_or(|typed| typed == **name));
        let role = role.ok_or_else(|| {
            let what = format!("--role {}: unknown role", typed.unwrap_or_default());
            Complaint::usage(what).hint(format!("roles of `{phase}`: {}", names.join(", ")))
        })?;
        self.target.check_offered(mix, role).map_err(|error| target_complaint(&error))?;
        Ok((*role).to_owned())
    }

    pub(super) fn run(
        self,
        axis: Axis,
        between: Option<Between>,
        printer: &Printer,
    ) -> anyhow::Result<Exit> {
        let Self { args, target, within, budget, maker, phase, .. } = self;
        let search = Search {
            axis,
            target: target.text.clone(),
            phase,
            between,
            within,
            trials: args.trials,
            making: maker.making.clone(),
        };
        let first = first_point(&search);
        let mut prepared = maker.point(&search, first, printer)?;
        check_one(&prepared.plan, &search)?;
        prepared.plan.search = Some(search.clone());
        prepared.destroy_allowed.clone_from(&args.destroy_data_on);
        renumber_first(&mut prepared.plan, first);
        prepared.plan.estimate = points::estimate(&prepared.plan, &prepared.workers);
        print_plan(&prepared, &search, printer);
        let checked = prepared.check()?;
        if args.plan {
            return Ok(Exit::Ok);
        }
        let env = start::start(checked, &args.keep, None, printer)?;
        Searching { env, plan: prepared.plan, maker, budget }.finish(args.json, printer)
    }
}

/// Continues the search of a run.
pub(super) fn resume(
    env: RunEnvironment,
    plan: Plan,
    budget: Option<Duration>,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let search = plan.search.clone().context("the run is not a search")?;
    printer.note(&format!("then the search of `{}` continues from its record", search.target));
    let file = env.dir.path.join("suite.toml");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("failed to read {}", file.display()))?;
    let data_dir = env.volumes.data_dir().to_owned();
    let maker = PointMaker {
        file: file.display().to_string(),
        text,
        making: search.making,
        trials: search.trials,
        runs: data_dir.clone(),
        // The directory was created for the run, and is removed when it is empty.
        location: LocationArgs { data_dir: Some(data_dir), create_data_dir: true },
    };
    Searching { env, plan, maker, budget }.finish(json, printer)
}

/// The last measured phase of a plan, and its work.
fn last_measured(plan: &Plan) -> Result<(&str, &Mix), Complaint> {
    let phases = plan.cases.iter().flat_map(|case| &case.phases);
    let mut measured = phases.filter_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some((phase.name.as_str(), mix)),
        _ => None,
    });
    measured.next_back().ok_or_else(|| {
        Complaint::usage("expected a phase of kind `measure` in the suite, found none")
    })
}

/// The most RAM and the lowest rate come first; without bounds, the rate as fast as possible.
fn first_point(search: &Search) -> Next {
    match (&search.axis, search.between) {
        (_, None) => Next::Fastest,
        (Axis::Rate { .. }, Some(between)) => Next::At(between.low),
        (Axis::Ram, Some(between)) => Next::At(between.high),
    }
}

/// Refuses a plan with several settings: a point is one, and a target judges one.
fn check_one(plan: &Plan, search: &Search) -> Result<(), Complaint> {
    if plan.cases.iter().any(Case::lacks_rate) {
        let message = "a search has no pilot, and a role of the suite has a rate `of` a phase";
        let hint = "give the role a number, such as --set phase.measure.role.writer.rate=5000";
        return Err(Complaint::usage(message).hint(hint));
    }
    let judged = plan.cases.iter().filter(|case| judged_mix(case, search).is_some());
    let mut settings: Vec<(&str, String)> = Vec::new();
    for case in judged {
        if settings.iter().all(|(key, _)| *key != case.key) {
            let volume = case.volume.as_ref().map(|volume| format!(" on {}", volume.name));
            let ram = case.ram_limit_bytes.map(|bytes| format!(", RAM {}", units::bytes(bytes)));
            let words = format!(
                "{} {} x {} B{}{}",
                case.label,
                units::count(case.data.records),
                case.value_bytes_mean(),
                volume.unwrap_or_default(),
                ram.unwrap_or_default()
            );
            settings.push((&case.key, words));
        }
    }
    if settings.len() < 2 {
        return Ok(());
    }
    let settings: Vec<String> = settings.into_iter().map(|(_, words)| words).collect();
    let message = format!("expected one setting in the suite, found: {}", settings.join("; "));
    Err(Complaint::usage(message).hint(
        "select a label with --engine, one RAM limit with --set ram.limit=2GiB, or leave one of \
         several [[volume]] in the suite",
    ))
}

/// Prints a description of the search before it starts.
fn print_plan(prepared: &PreparedRun, search: &Search, printer: &Printer) {
    let plan = &prepared.plan;
    let engine = &search.making.engine;
    let what = match (&search.axis, search.between) {
        (Axis::Ram, Some(Between { low, high })) => format!(
            "searching {} to {} of RAM for the least with which {engine} meets `{}`",
            units::bytes_in_words(low),
            units::bytes_in_words(high),
            search.target
        ),
        (Axis::Rate { role }, Some(Between { low, high })) => format!(
            "searching {} to {} for the highest rate of {role} at which {engine} meets `{}`",
            units::rate(low as f64),
            units::rate(high as f64),
            search.target
        ),
        (Axis::Rate { role }, None) => format!(
            "searching for the highest rate of {role} at which {engine} meets `{}`: first as fast \
             as possible, then from a 64th of that up to it",
            search.target
        ),
        (Axis::Ram, None) => String::new(),
    };
    let points = points_most(search);
    let loads = plan.cases.iter().filter(|case| judged_mix(case, search).is_none()).count();
    let least = suite::write_bytes_least(plan);
    printer.note(&wrap(&format!("{}: {what}", plan.suite), 2));
    let lines = [
        format!(
            "up to {points} points of {} (up to twice as many if trials disagree), within {}: {}, \
             about {}",
            units::pluralize(search.trials as usize, "trial"),
            units::percent(search.within),
            units::pluralize(loads + (plan.cases.len() - loads) * points as usize, "case"),
            units::duration(expected_ns(plan, search, points - 1, &prepared.workers).0),
        ),
        format!(
            "{}; writes {} or more, needs up to {} on the volume",
            match loads {
                0 => "every case loads its own database",
                _ => "one database is loaded, once, for all points and trials",
            },
            units::bytes(least),
            units::bytes(plan.estimate.space_bytes)
        ),
    ];
    for line in lines.iter().chain(&plan.sized) {
        printer.note(&format!("  {}", wrap(line, 2)));
    }
    printer.note(&format!("  data directory {}", prepared.storage));
    prepare::warn_of_plan(prepared, printer);
    let is_loaded_by = |case: &Case| {
        let evicts = case.phases.iter().any(|phase| phase.work == Activity::Evict);
        search.axis == Axis::Ram && !case.makes_database() && !evicts
    };
    if plan.cases.iter().any(is_loaded_by) {
        printer.warning(
            "the suite has no `evict` phase before it measures: data read by one point stays in \
             memory, outside of the next point's limit",
        );
    }
}

struct Searching {
    env: RunEnvironment,
    plan: Plan,
    maker: PointMaker,
    /// No further point starts that would end after this time; none: no limit.
    budget: Option<Duration>,
}

impl Searching {
    /// Searches as far as possible, and shows the result.
    fn finish(mut self, json: bool, printer: &Printer) -> anyhow::Result<Exit> {
        finish::begin(printer);
        let ended = self.points(printer);
        let (dir, ended) = finish::close(self.env, ended, printer)?;
        show(&dir, ended, json, printer)
    }

    /// Measures point after point until the result is known.
    fn points(&mut self, printer: &Printer) -> anyhow::Result<Ended> {
        let search = self.plan.search.clone().context("the run is not a search")?;
        let (start, mut longest, mut previous) = (Instant::now(), Duration::ZERO, None);
        let progress = printer.progress(self.plan.cases.len(), Duration::ZERO);
        let (mut points_left, trials) =
            (points_most(&search).saturating_sub(1), search.trials as usize);
        loop {
            let cases = self.plan.cases.len() + trials * points_left as usize;
            let (whole_ns, point_ns) =
                expected_ns(&self.plan, &search, points_left, &self.env.workers);
            progress.expect(cases, Duration::from_nanos(whole_ns));
            let point_begun = Instant::now();
            let ended = self.env.cases(&self.plan, &progress)?;
            if previous.is_some() {
                longest = longest.max(point_begun.elapsed());
            }
            let answer = search::answer(&Evidence::read(&self.env.dir)?)?;
            let answer = answer.context("invalid target in plan.json")?;
            report_newest_point(&answer, &self.plan, printer);
            let Some(next) = answer.next.filter(|_| ended == Ended::Complete) else {
                return Ok(ended);
            };
            if self.env.interrupt.is_requested() {
                return Ok(Ended::Interrupted);
            }
            if previous == Some(next) {
                anyhow::bail!("measured another point than requested: {next:?}");
            }
            previous = Some(next);
            // The longest of the other points counts: the first point's time includes the load.
            let later = start.elapsed() + longest.max(Duration::from_nanos(point_ns));
            if self.budget.is_some_and(|budget| later > budget) {
                printer.warning("stopped by its --budget: the next point would end after it");
                printer.hint("for more points use a longer --budget, or fewer --trials");
                return Ok(Ended::Complete);
            }
            let point = self.maker.point(&search, next, printer)?;
            append(&mut self.plan, &point.plan, next);
            points_left = answer.left.saturating_sub(1);
            self.plan.estimate = points::estimate(&self.plan, &self.env.workers);
            let plan = kvdyno_record::redact::without_secrets(&self.plan)?;
            begun::write_plan(&self.env.dir, &plan)?;
        }
    }
}

/// Prints the result of the newest point.
fn report_newest_point(answer: &SearchResult, plan: &Plan, printer: &Printer) {
    let Some(last) = plan.cases.last() else { return };
    let mut points = answer.points.iter().chain(&answer.fastest);
    let newest = points.find(|point| point.cases.contains(&last.id) && point.complete);
    if let Some(point) = newest.filter(|point| point.value.is_some()) {
        printer.note(&answer.describe_point(point));
    }
}

/// The result as JSON, with the directory of its run.
#[derive(Serialize)]
struct Output<'a> {
    run: String,
    #[serde(flatten)]
    answer: &'a SearchResult,
}

/// Prints the result, and returns the exit code of `size` and `capacity`.
fn show(dir: &RunDir, ended: Ended, json: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let summary = runs::read_summary(dir)?;
    let answer = summary.search.as_ref().context("the run is not a search")?;
    runs::warn_of_findings(&summary, printer);
    if json {
        printer.json(&Output { run: dir.path.display().to_string(), answer })?;
    } else {
        for (index, sentence) in answer.sentences.iter().enumerate() {
            let lines = wrap(sentence, 0);
            if index == 0 { printer.heading(&lines) } else { printer.data(&lines) }
        }
        printer.data("");
        printer.data(&kvdyno_render::search::curve(answer).text());
        printer.data(&kvdyno_render::search::reading_aid(answer));
        let path = dir.path.display();
        printer.note(&format!("all figures: kvdyno show {path}; as a page: kvdyno report {path}"));
    }
    let stopped = answer.void_point().is_some() || answer.result == search::Outcome::Open;
    Ok(match (ended, summary.verdict) {
        (Ended::Interrupted, _) => Exit::Interrupted,
        (_, Exit::Ok) if stopped => Exit::Invalid,
        (_, verdict) => verdict,
    })
}
