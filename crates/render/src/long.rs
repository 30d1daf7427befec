//! Every figure of every trial as one long list, for programs: one row per case, phase, role,
//! operation and figure. Numbers are not rounded; what is missing is empty and says why. Text that
//! would be a formula in a spreadsheet is made inert.

use super::inert::Inert;
use kvdyno_analysis::group::Group;
use kvdyno_analysis::metric::{Metric, Metrics};
use kvdyno_analysis::summary::{METHOD_VERSION, Summary};
use serde::Serialize;

/// One figure of one trial.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row<'s> {
    /// The run.
    pub run: Inert<'s>,
    /// How it was computed.
    pub method_version: u32,
    /// The case's id.
    pub case: Inert<'s>,
    /// The case's key: equal over trials.
    pub key: Inert<'s>,
    /// The engine.
    pub engine: Inert<'s>,
    /// What tables call it.
    pub label: Inert<'s>,
    /// The durability class.
    pub durability: &'static str,
    /// The swept number of threads.
    pub threads: Option<u32>,
    /// Which repeat.
    pub trial: u32,
    /// How the case ended.
    pub outcome: Inert<'s>,
    /// The phase.
    pub phase: Inert<'s>,
    /// The role; empty for figures of the whole process.
    pub role: Inert<'s>,
    /// The operation; empty for all together.
    pub op: Inert<'s>,
    /// The figure.
    pub metric: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: kvdyno_analysis::metric::Direction,
    /// Whom it is from.
    pub source: kvdyno_analysis::metric::Source,
    /// In this trial; empty: missing.
    pub value: Option<f64>,
    /// Over all trials: the median, maximum or sum, or of the merged histograms.
    pub value_all_trials: Option<f64>,
    /// Trials that have a value.
    pub n: usize,
    /// Why it is missing, in one trial at least.
    pub missing: Option<Inert<'s>>,
}

/// All rows, in the order of the groups.
pub fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (at, group) in summary.groups.iter().enumerate() {
        let mut list = List { run: &summary.run.id, group, rows: &mut rows };
        if let Some(load) = &group.load {
            list.add(&load.phase, "", "", &load.metrics);
        }
        for run in &group.runs {
            list.add(&run.phase, "", "", &run.metrics);
            for role in &run.roles {
                list.add(&run.phase, &role.role, "", &role.metrics);
                for op in &role.ops {
                    list.add(&run.phase, &role.role, &op.op, &op.metrics);
                }
            }
        }
        for one in summary.explained.iter().filter(|one| one.group == at) {
            let role = one.role.as_deref().filter(|_| !one.load).unwrap_or_default();
            list.add(&one.phase, role, "", &one.metrics);
        }
    }
    rows
}

struct List<'s, 'r> {
    run: &'s str,
    group: &'s Group,
    rows: &'r mut Vec<Row<'s>>,
}

impl<'s> List<'s, '_> {
    fn add(&mut self, phase: &'s str, role: &'s str, op: &'s str, metrics: &'s Metrics) {
        for metric in &metrics.0 {
            for trial in 0..self.group.trials.len() {
                let row = self.row([phase, role, op], metric, trial);
                self.rows.push(row);
            }
        }
    }

    fn row(&self, [phase, role, op]: [&'s str; 3], metric: &'s Metric, trial: usize) -> Row<'s> {
        let group = self.group;
        Row {
            run: Inert(self.run),
            method_version: METHOD_VERSION,
            case: Inert(&group.trials[trial].case),
            key: Inert(&group.key),
            engine: Inert(&group.engine),
            label: Inert(&group.label),
            durability: group.durability.as_str(),
            threads: group.threads,
            trial: group.trials[trial].trial,
            outcome: Inert(&group.trials[trial].outcome),
            phase: Inert(phase),
            role: Inert(role),
            op: Inert(op),
            metric: metric.name,
            unit: metric.unit,
            direction: metric.direction,
            source: metric.source,
            value: metric.per_trial.get(trial).copied().flatten(),
            value_all_trials: metric.value,
            n: metric.n,
            missing: metric.missing.as_deref().map(Inert),
        }
    }
}

/// The long list as CSV.
pub fn csv(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows(summary) {
        writer.serialize(row)?;
    }
    Ok(writer.into_inner()?)
}
