//! The resolution of a machine: how much its figures vary when nothing differs.
//!
//! A calibration is a run of one engine under two labels, interleaved like any two engines. The
//! difference of its halves is noise; a smaller difference of two other runs is not reported.

use super::choice::{FigureChoice, FigureScope};
use super::sides::{Record, Sides};
use crate::figures::catalogue as c;
use crate::figures::group::Group;
use crate::figures::metric::{Direction, Metric, Metrics};
use crate::stats::MIN_TRIALS;
use crate::stats::chance_ratio;
use kvdyno_record::host::Host;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::work::{Purpose, Work};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Without a calibration differences below this share are not claimed.
pub const DEFAULT_NOISE: f64 = 0.02;
/// The least noise, however quiet a machine was during its calibration: smaller differences between
/// two runs of one program (its memory layout, its environment) are no changes.
pub const LEAST_NOISE: f64 = 0.01;

/// The noise of instructions that valgrind counted: runs of one program differ by less.
pub const COUNTED_NOISE: f64 = 0.001;

/// The noise that a comparison assumes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// For figures that were not calibrated: a share.
    pub default: f64,
    /// For calibrated figures: at least this share.
    pub least: f64,
    /// The newest calibration of the host; null: there is none.
    pub calibration: Option<Calibration>,
}

/// The resolution of a machine, from a run of one engine against itself.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Calibration {
    /// The run.
    pub run: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// The host's name.
    pub host: String,
    /// The drive under the databases, where one is known.
    pub drive: Option<String>,
    /// The engine with its version.
    pub engine: String,
    /// The engine's name, as in suites.
    #[serde(skip)]
    pub engine_name: String,
    /// The kind of the filesystem under the databases, where one is known.
    #[serde(skip)]
    pub filesystem: Option<String>,
    /// Volumes with their kinds of filesystem, and memory tiers, of its cases.
    #[serde(skip)]
    pub below: BTreeSet<[Option<String>; 3]>,
    /// Trials under each label.
    pub trials: [usize; 2],
    /// Its resolution, by figure and scope.
    pub resolves: Vec<Resolution>,
}

/// The resolution of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Resolution {
    /// The case: `t2`, or `load`.
    pub case: String,
    /// The phase or the role.
    pub scope: String,
    /// The figure.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// A comparison shows it by default.
    pub usual: bool,
    /// The median of the first label's trials.
    pub first: f64,
    /// The median of the second's.
    pub second: f64,
    /// Differences below this share are noise.
    pub share: f64,
}

impl Default for Noise {
    fn default() -> Self {
        Self { default: DEFAULT_NOISE, least: LEAST_NOISE, calibration: None }
    }
}

impl Noise {
    /// The noise from a calibration, or without one. A calibration of another engine or machine can
    /// raise the noise, but never lowers it.
    pub fn by(calibration: Option<Calibration>, sides: &Sides<'_>) -> Self {
        let matches = calibration.as_ref().is_some_and(|calibration| calibration.is_of(sides));
        let least = if matches { LEAST_NOISE } else { DEFAULT_NOISE };
        Self { least, calibration, ..Self::default() }
    }

    /// The share below which a difference of a figure is not reported.
    pub fn share(&self, figure: &str) -> f64 {
        if is_counted(figure) {
            return COUNTED_NOISE;
        }
        let calibrated =
            self.calibration.as_ref().and_then(|calibration| calibration.share(figure));
        calibrated.map_or(self.default, |share| share.max(self.least))
    }
}

/// The share below which two levels of a figure are equal, on any machine.
pub fn least(figure: &str) -> f64 {
    if is_counted(figure) { COUNTED_NOISE } else { LEAST_NOISE }
}

pub(super) fn is_counted(figure: &str) -> bool {
    [&c::INSTRUCTIONS_PER_OP, &c::ENGINE_INSTRUCTIONS_PER_OP].iter().any(|c| c.name == figure)
}

impl Calibration {
    /// Reads a run as a calibration; none where it is not one, or has too few trials.
    pub fn from_record(record: &Record) -> Option<Self> {
        let figures = &record.figures;
        let (first, second) = twins(&record.evidence.plan)?;
        let of_label = |label: &str| {
            let label = label.to_owned();
            figures.groups.iter().filter(move |group| group.label == label)
        };
        let mut resolves = Vec::new();
        for group in of_label(&first) {
            let twin = |other: &&Group| {
                (&other.load_peers, &other.run_peers, other.threads)
                    == (&group.load_peers, &group.run_peers, group.threads)
            };
            if let Some(other) = of_label(&second).find(twin) {
                compare(group, other, &mut resolves);
            }
        }
        let info = figures.engines.iter().find(|engine| engine.label == first)?;
        let engine = info.worker.as_ref().map_or_else(
            || info.engine.clone(),
            |worker| format!("{} {}", worker.title, worker.version),
        );
        let trials = |label: &str| of_label(label).map(|group| group.trials.len()).max();
        let drive = figures.host.drive.as_ref().map(|drive| drive.name.clone());
        (!resolves.is_empty()).then_some(Self {
            run: figures.run.id.clone(),
            started_unix_ns: figures.run.started_unix_ns,
            host: figures.host.hostname.clone(),
            drive,
            engine,
            engine_name: info.engine.clone(),
            filesystem: filesystem(&figures.host).map(str::to_owned),
            below: below(record, of_label(&first)),
            trials: [trials(&first)?, trials(&second)?],
            resolves,
        })
    }

    /// Whether both sides are of its engine only, on its drive and kind of filesystem, and on none
    /// but its volumes and memory tiers.
    fn is_of(&self, sides: &Sides<'_>) -> bool {
        sides.chosen().iter().all(|side| {
            let host = &side.record.figures.host;
            let drive = host.drive.as_ref().map(|drive| &drive.name);
            (drive, filesystem(host)) == (self.drive.as_ref(), self.filesystem.as_deref())
                && side.groups.iter().all(|group| group.engine == self.engine_name)
                && below(side.record, side.groups.iter().copied()).is_subset(&self.below)
        })
    }

    /// The resolution of a figure: the worst of all scopes.
    fn share(&self, figure: &str) -> Option<f64> {
        let of_figure = self.resolves.iter().filter(|resolution| resolution.figure == figure);
        of_figure.map(|resolution| resolution.share).reduce(f64::max)
    }
}

fn below<'g>(
    record: &Record,
    groups: impl Iterator<Item = &'g Group>,
) -> BTreeSet<[Option<String>; 3]> {
    let kind = |name: &String| {
        let volume = record.figures.volumes.iter().find(|volume| volume.name == *name)?;
        volume.filesystem.as_ref().map(|filesystem| filesystem.kind.clone())
    };
    let storage = |group: &Group| {
        [group.volume.clone(), group.volume.as_ref().and_then(kind), group.tier.clone()]
    };
    groups.map(storage).collect()
}

fn filesystem(host: &Host) -> Option<&str> {
    host.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str())
}

/// A case with its work.
type Twin<'c> = (&'c Case, String);

/// The two labels of a plan in which one engine runs against itself: `lmdb-a` and `lmdb-b`, equal
/// except for the label.
pub fn twins(plan: &Plan) -> Option<(String, String)> {
    let mut labels: Vec<&str> = plan.cases.iter().map(|case| case.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let [first, second] = labels[..] else { return None };
    if first.strip_suffix("-a")? != second.strip_suffix("-b")? {
        return None;
    }
    let cases = |label: &str| {
        let cases_of_label = plan.cases.iter().filter(|case| case.label == label);
        let mut cases: Vec<(&Case, String)> = cases_of_label
            .map(|case| (case, Work::from_case(case, plan).equal(Purpose::Runs).to_string()))
            .collect();
        // The order within each trial is random.
        cases.sort_by(|a, b| (a.0.trial, &a.1).cmp(&(b.0.trial, &b.1)));
        cases
    };
    let (one, other) = (cases(first), cases(second));
    let equal = |((a, work), (b, other)): (&Twin<'_>, &Twin<'_>)| {
        a.engine == b.engine && a.options == b.options && work == other
    };
    (one.len() == other.len() && one.iter().zip(&other).all(equal))
        .then(|| (first.to_owned(), second.to_owned()))
}

fn compare(first: &Group, second: &Group, resolves: &mut Vec<Resolution>) {
    let case = first.threads.map_or_else(|| "load".to_owned(), |threads| format!("t{threads}"));
    let mut add = |place: &str, scope: FigureScope, one: &Metrics, other: &Metrics| {
        for metric in one.0.iter().filter(|metric| metric.direction != Direction::Neither) {
            let twin = other.0.iter().find(|other| other.name == metric.name);
            let usual = FigureChoice::Usual.wants(metric.name, metric.direction, scope);
            resolves.extend(twin.and_then(|twin| resolution(&case, place, usual, metric, twin)));
        }
    };
    if let (Some(one), Some(other)) = (&first.load, &second.load) {
        add(&one.phase, FigureScope::Load, &one.metrics, &other.metrics);
    }
    for (one, other) in first.runs.iter().zip(&second.runs) {
        for (role, twin) in one.roles.iter().zip(&other.roles) {
            let scope = FigureScope::Role { open_loop: role.open_loop, mix: false };
            for ((op, one), (_, other)) in role.comparable().iter().zip(twin.comparable()) {
                add(&role.place(*op), scope, one, &other);
            }
        }
        add(&one.phase, FigureScope::Phase, &one.metrics, &other.metrics);
    }
}

fn resolution(
    case: &str,
    place: &str,
    usual: bool,
    first: &Metric,
    second: &Metric,
) -> Option<Resolution> {
    let values = |metric: &Metric| metric.per_trial.iter().flatten().copied().collect();
    let (one, other): (Vec<f64>, Vec<f64>) = (values(first), values(second));
    if one.len().min(other.len()) < MIN_TRIALS {
        return None;
    }
    Some(Resolution {
        case: case.to_owned(),
        scope: place.to_owned(),
        figure: first.name,
        unit: first.unit,
        usual,
        first: crate::stats::median(&one)?,
        second: crate::stats::median(&other)?,
        share: chance_ratio(&one, &other)?,
    })
}
