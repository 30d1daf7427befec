//! Points of a search: the suite changed again, with its cases appended to the plan.

use crate::cli::LocationArgs;
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::running::prepare::{PreparedRun, prepare_text};
use crate::running::workers::{self, Workers};
use kvdyno_analysis::answers::search::{Next, judged_mix};
use kvdyno_record::plan::{Case, Database, Estimate, Plan};
use kvdyno_record::search::{Axis, Making, Search};
use kvdyno_record::units;
use kvdyno_record::workload::Activity;
use kvdyno_suite::{self as suite, Overrides, Suite};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The inputs of every point: the suite and its common changes.
pub(in crate::commands) struct PointMaker {
    /// The suite's name in messages.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) making: Making,
    pub(super) trials: u32,
    pub(super) location: LocationArgs,
    /// The location of databases without a data directory.
    pub(super) runs: PathBuf,
}

impl PointMaker {
    /// Plans the unchanged suite. All points get its data and its threads, whatever their own RAM
    /// limit would select.
    pub(super) fn settle(&mut self, printer: &Printer) -> anyhow::Result<Plan> {
        let plan = self.prepare(Vec::new(), printer)?.plan;
        let measures = |case: &&Case| {
            case.phases.iter().any(|phase| matches!(phase.work, Activity::Measure(_)))
        };
        let measured: Vec<&Case> = plan.cases.iter().filter(measures).collect();
        let threads: BTreeSet<u32> = measured.iter().filter_map(|case| case.threads).collect();
        if threads.len() > 1 {
            self.making.threads = threads.last().copied();
        }
        let labels: BTreeSet<&str> = measured.iter().map(|case| case.label.as_str()).collect();
        if labels.len() > 1 {
            let several = labels.into_iter().collect::<Vec<_>>().join(", ");
            let name = &self.making.engine;
            let message = format!("expected one engine, found {several} for --engine {name}");
            return Err(Complaint::usage(message).hint("use one of these labels").into());
        }
        if let Some(case) = measured.first() {
            self.making.engine.clone_from(&case.label);
            self.making.set.push(format!("data.records={}", case.data.records));
        }
        if self.making.threads.is_none() {
            Ok(plan)
        } else {
            Ok(self.prepare(Vec::new(), printer)?.plan)
        }
    }

    /// Prepares the suite at a point.
    pub(super) fn point(
        &self,
        search: &Search,
        next: Next,
        printer: &Printer,
    ) -> anyhow::Result<PreparedRun> {
        let set = match (&search.axis, next) {
            (Axis::Ram, Next::At(bytes)) => vec![format!("ram.limit={bytes}B")],
            (Axis::Ram, Next::Fastest) => Vec::new(),
            (Axis::Rate { role }, next) => {
                let installed = workers::find_all().into_keys().collect();
                let overrides = Overrides { installed, ..self.overrides(Vec::new()) };
                let suite = Suite::parse(&self.file, &self.text, &overrides)?;
                let index = suite.phase_index(&search.phase).unwrap_or(0);
                let rate = format!("phase.{index}.role.{role}.rate");
                match next {
                    Next::At(per_s) => vec![format!("{rate}.per_second={per_s}")],
                    Next::Fastest => vec![format!("{rate}=")],
                }
            }
        };
        self.prepare(set, printer)
    }

    fn overrides(&self, set: Vec<String>) -> Overrides {
        Overrides {
            set: self.making.set.iter().cloned().chain(set).collect(),
            engines: vec![self.making.engine.clone()],
            trials: Some(self.trials),
            threads: self.making.threads.into_iter().collect(),
            duration: self.making.duration.clone(),
            duration_of_last: true,
            ..Overrides::default()
        }
    }

    fn prepare(&self, set: Vec<String>, printer: &Printer) -> anyhow::Result<PreparedRun> {
        let (text, overrides) = (self.text.clone(), self.overrides(set));
        prepare_text(&self.file, text, overrides, &self.location, &self.runs, printer)
    }
}

/// Renames the cases of the first point.
pub(super) fn renumber_first(plan: &mut Plan, next: Next) {
    let first = Plan { cases: std::mem::take(&mut plan.cases), ..plan.clone() };
    append(plan, &first, next);
}

/// Appends the cases of a point to the plan. With shared databases, all points and trials use the
/// first one.
pub(super) fn append(plan: &mut Plan, more: &Plan, next: Next) {
    let is_loader = |case: &Case, cases: &[Case]| {
        let used = |other: &Case| other.database.loaded_by == case.id && other.id != case.id;
        case.makes_database() && cases.iter().any(used)
    };
    let shared = |cases: &[Case]| {
        cases.iter().find(|case| is_loader(case, cases)).map(|case| case.id.clone())
    };
    let mut loader = shared(&plan.cases);
    for case in &more.cases {
        let loads_for_others = is_loader(case, &more.cases);
        if loads_for_others && loader.is_some() {
            continue;
        }
        let tag = if loads_for_others { None } else { Some(tag(case, next)) };
        let id = renumber_id(case, plan.cases.len() + 1, tag.as_deref());
        if loads_for_others {
            loader = Some(id.clone());
        }
        let is_state = case.database.is_state;
        let database = match &loader {
            Some(loader) if loads_for_others || !case.makes_database() => {
                let id = loader.clone();
                Database { loaded_by: id.clone(), id, last_use: false, is_state }
            }
            _ => Database { id: id.clone(), loaded_by: id.clone(), last_use: true, is_state },
        };
        plan.cases.push(Case { id, database, ..case.clone() });
    }
}

/// The suffix of a point's directories: `512mib`, `50k`, `most`.
fn tag(case: &Case, next: Next) -> String {
    match next {
        Next::At(value) if case.ram_limit_bytes == Some(value) => {
            units::exact_bytes(value).to_lowercase()
        }
        Next::At(value) => format!("{}-s", units::exact_count(value).to_lowercase()),
        Next::Fastest => "most".to_owned(),
    }
}

/// `0003_lmdb_t4_r1` at a later position: `0043_lmdb_512mib_t4_r1`.
fn renumber_id(case: &Case, number: usize, tag: Option<&str>) -> String {
    let (digits, rest) = case.id.split_once('_').unwrap_or(("", &case.id));
    let width = digits.len().max(4);
    let label = suite::slug(&case.label);
    let suffix = rest.strip_prefix(label.as_str()).unwrap_or(rest);
    let tag = tag.map_or(String::new(), |tag| format!("_{tag}"));
    format!("{number:0width$}_{label}{tag}{suffix}")
}

/// The cost of a plan from its engines' descriptions.
pub(super) fn estimate(plan: &Plan, workers: &Workers) -> Estimate {
    suite::estimate(&plan.cases, &workers.descriptions())
}

/// The expected duration of a plan with `further` more points, and of one point, in ns.
pub(super) fn expected_ns(
    plan: &Plan,
    search: &Search,
    further: u32,
    workers: &Workers,
) -> (u64, u64) {
    let judged = |case: &&Case| judged_mix(case, search).is_some();
    let cases: Vec<Case> = plan.cases.iter().filter(judged).cloned().collect();
    let points = (cases.len() as u64 / u64::from(search.trials.max(1))).max(1);
    let point_ns = estimate(&Plan { cases, ..plan.clone() }, workers).wall_ns / points;
    let whole_ns = estimate(plan, workers).wall_ns;
    (whole_ns.saturating_add(point_ns.saturating_mul(u64::from(further))), point_ns)
}
