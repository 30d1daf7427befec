//! A run as a line of a history's file.

use crate::answers::summary::Summary;
use crate::figures::catalogue as c;
use crate::figures::engines::EngineInfo;
use crate::figures::findings::Severity;
use crate::figures::group::{Group, RunRow};
use crate::figures::metric::{Combine, Direction, Metrics};
use crate::figures::naming::Naming;
use crate::judge::versus::{FigureScope, are_alike, is_judged};
use kvdyno_record::host::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of a line.
pub const FORMAT: u32 = 1;

/// A run, as a history stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The version of the line: [`FORMAT`].
    pub format: u32,
    /// Its id.
    pub run: String,
    /// The suite.
    pub suite: String,
    /// Its label: a commit, a version; null: none.
    pub label: Option<String>,
    /// When it began.
    pub started_unix_ns: u64,
    /// The program that made it.
    pub program: String,
    /// The machine: processors, memory, filesystem, drive. Runs of others are not compared.
    pub machine: String,
    /// `uname -n`.
    pub hostname: String,
    /// `uname -r`.
    pub kernel: String,
    /// Engines by label: version and program.
    pub engines: BTreeMap<String, String>,
    /// Its figures, by case, phase and role.
    pub series: Vec<ScopeFigures>,
}

/// The figures of one load, phase or role of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeFigures {
    /// The case's key: equal keys, equal work.
    pub key: String,
    /// The case in a few words.
    pub case: String,
    /// The phase.
    pub phase: String,
    /// The role, and the operation where it has several; null: figures of the whole process.
    pub role: Option<String>,
    /// Whether they are the figures of a load.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub load: bool,
    /// Whether the role works on a schedule: then response times count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open_loop: bool,
    /// Whether it is the null engine, or the drive beside engines: shown and not judged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub surroundings: bool,
    /// Operations per second that each schedule of its phase asked for: a pilot may find another
    /// rate in each run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offered_ops_per_s: Vec<f64>,
    /// Figures by their names in the catalogue, over the trials.
    pub figures: BTreeMap<String, f64>,
}

impl Entry {
    /// A run's line, labelled by `label` or its name; or the findings that void its figures.
    ///
    /// # Errors
    /// The names of those findings.
    pub fn from_summary(summary: &Summary, label: Option<String>) -> Result<Self, Vec<String>> {
        let invalid = summary.findings.iter().filter(|f| f.severity == Severity::Invalid);
        let invalid: Vec<String> = invalid.map(|f| f.id.as_str()).collect();
        if !invalid.is_empty() {
            return Err(invalid);
        }
        let engine = |engine: &EngineInfo| {
            let worker = engine.worker.as_ref()?;
            let program: String = worker.sha256.chars().take(12).collect();
            Some((engine.label.clone(), format!("{} ({program})", worker.version)))
        };
        let naming = Naming::from_groups(&summary.groups.iter().collect::<Vec<_>>());
        let is_judged = is_judged(&summary.groups);
        let series = |group| series(group, &naming, !is_judged(group));
        Ok(Self {
            format: FORMAT,
            run: summary.run.id.clone(),
            suite: summary.run.suite.clone(),
            label: label.or_else(|| summary.run.name.clone()),
            started_unix_ns: summary.run.started_unix_ns,
            program: summary.run.program.clone(),
            machine: machine(&summary.host),
            hostname: summary.host.hostname.clone(),
            kernel: summary.host.kernel.clone(),
            engines: summary.engines.iter().filter_map(engine).collect(),
            series: summary.groups.iter().flat_map(series).collect(),
        })
    }

    /// Its name in tables.
    pub fn display_name(&self) -> &str {
        self.label.as_deref().unwrap_or_else(|| self.run.split('_').next().unwrap_or(&self.run))
    }

    /// What changed since the run before.
    pub(super) fn list_differences(&self, before: &Self) -> Vec<String> {
        let mut differs = Vec::new();
        let mut compare = |what: &str, old: &str, new: &str| {
            if old != new {
                differs.push(format!("{what}: {old} before, now {new}"));
            }
        };
        for (label, new) in &self.engines {
            if let Some(old) = before.engines.get(label) {
                compare(label, old, new);
            }
        }
        compare("kernel", &before.kernel, &self.kernel);
        compare("kvdyno", &before.program, &self.program);
        compare("machine", &before.machine, &self.machine);
        differs
    }
}

impl ScopeFigures {
    /// Whether both are of the same work.
    pub(in crate::answers) fn is_same_work(&self, other: &Self) -> bool {
        (&self.key, &self.phase, &self.role) == (&other.key, &other.phase, &other.role)
    }

    /// Whether the schedules of both phases asked for about the same rates.
    pub(super) fn is_rate_alike(&self, other: &Self) -> bool {
        let mut rates = self.offered_ops_per_s.iter().zip(&other.offered_ops_per_s);
        rates.all(|(one, other)| are_alike(*one, *other))
    }

    /// The scope of its figures.
    pub(in crate::answers) fn scope(&self) -> FigureScope {
        match (self.load, &self.role) {
            (true, _) => FigureScope::Load,
            (false, None) => FigureScope::Phase,
            // Latencies of several kinds of operations together are not stored.
            (false, Some(_)) => FigureScope::Role { open_loop: self.open_loop, mix: false },
        }
    }
}

fn series(group: &Group, naming: &Naming, surroundings: bool) -> Vec<ScopeFigures> {
    let scope_figures = |phase: &str, role: Option<&str>, metrics: &Metrics| {
        let figures = metrics.0.iter().filter(|metric| metric.direction != Direction::Neither);
        // Merged trials are no median of trials, as the other runs have.
        let figures = figures.filter(|metric| metric.combine != Combine::MergedHistograms);
        let figures = figures.filter_map(|metric| Some((metric.name.to_owned(), metric.value?)));
        ScopeFigures {
            key: group.key.clone(),
            case: naming.name(group),
            phase: phase.to_owned(),
            role: role.map(str::to_owned),
            load: false,
            open_loop: false,
            surroundings,
            offered_ops_per_s: group.run(phase).map(offered_rates).unwrap_or_default(),
            figures: figures.collect(),
        }
    };
    let load = group
        .load
        .iter()
        .map(|row| ScopeFigures { load: true, ..scope_figures(&row.phase, None, &row.metrics) });
    let runs = group.runs.iter().flat_map(|run| {
        let roles = run.roles.iter().flat_map(|role| {
            let each = role.comparable().into_iter();
            each.map(|(op, metrics)| ScopeFigures {
                open_loop: role.open_loop,
                ..scope_figures(&run.phase, Some(&role.operation_label(op)), &metrics)
            })
        });
        std::iter::once(scope_figures(&run.phase, None, &run.metrics)).chain(roles)
    });
    load.chain(runs).filter(|series| !series.figures.is_empty()).collect()
}

/// The rates that the schedules of a phase ask for, by role.
fn offered_rates(run: &RunRow) -> Vec<f64> {
    run.roles.iter().filter_map(|role| role.metrics.value(&c::OFFERED_OPS_PER_S)).collect()
}

/// The machine's properties that affect figures.
fn machine(host: &Host) -> String {
    let machine = &host.machine;
    // Rounded, since kernels reserve a little more or less of it.
    let gibibytes = (machine.memory_bytes as f64 / f64::from(1 << 30)).round();
    let filesystem = host.filesystem.as_ref().map_or("unknown filesystem", |f| f.kind.as_str());
    let drive = host.drive.as_ref().and_then(|drive| drive.model.as_deref());
    let drive = drive.or_else(|| host.drive.as_ref().map(|drive| drive.name.as_str()));
    format!(
        "{} x {}, {gibibytes} GiB, {filesystem} on {}",
        machine.cpus,
        machine.cpu_model,
        drive.unwrap_or("unknown drive")
    )
}
