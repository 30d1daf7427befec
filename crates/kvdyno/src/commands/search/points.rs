//! Points of a search: a suite bent once more, its cases behind those of the plan.

use crate::cli::LocationArgs;
use crate::commands::prepare::{Prepared, prepare_text};
use crate::exit::Complaint;
use crate::workers::Workers;
use kvdyno_analysis::search::{Next, judged_mix};
use kvdyno_record::plan::{Case, Database, Estimate, Plan};
use kvdyno_record::search::{Axis, Making, Search};
use kvdyno_record::units;
use kvdyno_record::workload::Activity;
use kvdyno_suite::{self as suite, Overrides};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What makes every point: the suite, and how it is bent for all of them.
pub(in crate::commands) struct Maker {
    /// What mistakes call the suite.
    pub(super) file: String,
    pub(super) text: String,
    pub(super) making: Making,
    pub(super) trials: u32,
    pub(super) at: LocationArgs,
    /// Where databases would lie without a place.
    pub(super) runs: PathBuf,
}

impl Maker {
    /// The suite as it stands. From here on every point has the same data and the same threads as
    /// it, whatever its own RAM limit would come to.
    pub(super) fn settle(&mut self) -> anyhow::Result<Plan> {
        let plan = self.prepare(Vec::new())?.plan;
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
            let message = format!("--engine {name}: a search is of one engine, not of {several}");
            return Err(Complaint::usage(message).hint("take one of these labels").into());
        }
        if let Some(case) = measured.first() {
            self.making.engine.clone_from(&case.label);
            self.making.set.push(format!("data.records={}", case.data.records));
        }
        if self.making.threads.is_none() { Ok(plan) } else { Ok(self.prepare(Vec::new())?.plan) }
    }

    /// The suite at a point; `plan` is what it comes to without, or at another one.
    pub(super) fn point(
        &self,
        search: &Search,
        plan: &Plan,
        next: Next,
    ) -> anyhow::Result<Prepared> {
        let set = match (&search.axis, next) {
            (Axis::Ram, Next::At(bytes)) => vec![format!("ram.limit={bytes}B")],
            (Axis::Ram, Next::Fastest) => Vec::new(),
            (Axis::Rate { role }, next) => {
                let rate = format!("phase.{}.role.{role}.rate", place(plan, &search.phase));
                match next {
                    Next::At(per_s) => vec![format!("{rate}.per_second={per_s}")],
                    Next::Fastest => vec![format!("{rate}=")],
                }
            }
        };
        self.prepare(set)
    }

    fn prepare(&self, set: Vec<String>) -> anyhow::Result<Prepared> {
        let overrides = Overrides {
            set: self.making.set.iter().cloned().chain(set).collect(),
            engines: vec![self.making.engine.clone()],
            trials: Some(self.trials),
            threads: self.making.threads.into_iter().collect(),
            ..Overrides::default()
        };
        prepare_text(&self.file, self.text.clone(), overrides, &self.at, &self.runs)
    }
}

/// Which of the suite's phases one is, from 0: several may have no name of their own there. A
/// warmup is a part of the phase behind it.
fn place(plan: &Plan, phase: &str) -> usize {
    let has = |case: &&Case| case.phases.iter().any(|known| known.name == phase);
    let Some(case) = plan.cases.iter().find(has) else { return 0 };
    let loader = plan.cases.iter().find(|load| load.id == case.database.made_by);
    let loader = loader.filter(|load| load.id != case.id);
    let all = loader.into_iter().flat_map(|load| &load.phases).chain(&case.phases);
    let before = all.take_while(|known| known.name != phase);
    before.filter(|known| !matches!(known.work, Activity::Warmup(_))).count()
}

/// Gives the first point's cases their names.
pub(super) fn renumber_first(plan: &mut Plan, next: Next) {
    let first = Plan { cases: std::mem::take(&mut plan.cases), ..plan.clone() };
    append(plan, &first, next);
}

/// Puts the cases of a point behind those of the plan. Of databases that are shared, all points and
/// trials work on the first.
pub(super) fn append(plan: &mut Plan, more: &Plan, next: Next) {
    let is_loader = |case: &Case, cases: &[Case]| {
        let used = |other: &Case| other.database.made_by == case.id && other.id != case.id;
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
        let id = numbered(case, plan.cases.len() + 1, tag.as_deref());
        if loads_for_others {
            loader = Some(id.clone());
        }
        let copy = case.database.copy;
        let database = match &loader {
            Some(loader) if loads_for_others || !case.makes_database() => {
                let id = loader.clone();
                Database { made_by: id.clone(), id, last_use: false, copy }
            }
            _ => Database { id: id.clone(), made_by: id.clone(), last_use: true, copy },
        };
        plan.cases.push(Case { id, database, ..case.clone() });
    }
}

/// What a point's folders are called for: `512mib`, `50k`, `most`.
fn tag(case: &Case, next: Next) -> String {
    match next {
        Next::At(value) if case.ram_limit_bytes == Some(value) => {
            units::exact_bytes(value).to_lowercase()
        }
        Next::At(value) => format!("{}-s", units::exact_count(value).to_lowercase()),
        Next::Fastest => "most".to_owned(),
    }
}

/// `0003_lmdb_t4_r1` further on: `0043_lmdb_512mib_t4_r1`.
fn numbered(case: &Case, number: usize, tag: Option<&str>) -> String {
    let (digits, rest) = case.id.split_once('_').unwrap_or(("", &case.id));
    let width = digits.len().max(4);
    let label = suite::slug(&case.label);
    let behind = rest.strip_prefix(label.as_str()).unwrap_or(rest);
    let tag = tag.map_or(String::new(), |tag| format!("_{tag}"));
    format!("{number:0width$}_{label}{tag}{behind}")
}

/// What a plan costs by what its engines say of themselves.
pub(super) fn estimate(plan: &Plan, workers: &Workers) -> Estimate {
    suite::estimate(&plan.cases, &workers.descriptions())
}

/// How long a plan and so many further points take, and how long one of them.
pub(super) fn expected_ns(
    plan: &Plan,
    search: &Search,
    further: u32,
    workers: &Workers,
) -> (u64, u64) {
    let judged = |case: &&Case| judged_mix(case, search).is_some();
    let cases: Vec<Case> = plan.cases.iter().filter(judged).cloned().collect();
    let here = (cases.len() as u64 / u64::from(search.trials.max(1))).max(1);
    let one = estimate(&Plan { cases, ..plan.clone() }, workers).wall_ns / here;
    let whole = estimate(plan, workers).wall_ns;
    (whole.saturating_add(one.saturating_mul(u64::from(further))), one)
}
