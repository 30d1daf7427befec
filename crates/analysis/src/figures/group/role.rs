//! A role's figures, together and by operation, and how many threads worked.

use super::{Does, Group, OpRow, RoleRow, RunRow};
use crate::figures::catalogue as c;
use crate::figures::lists::unique;
use crate::figures::metric::{Definition, Metrics, Reading};
use crate::figures::rates;
use crate::figures::trials::{At, Trials};
use kvdyno_record::case::BEHIND;
use kvdyno_record::workload::{Op, Role};

/// The figures of a role. `deferred`: how long its phase was still at work after it, by trial.
pub(super) fn row(trials: &Trials<'_>, phase: &str, role: &Role, deferred: &[Reading]) -> RoleRow {
    let open_loop = role.rate.is_some();
    let names = unique(role.mix.iter().map(|entry| entry.op.name()));
    // More than two names are too long; they have rows of their own.
    let requests = names.len() > 2 && role.mix.iter().all(|entry| entry.op.is_of_graph());
    let mix = if requests { "requests".to_owned() } else { names.join("+") };
    let scope = At { phase, role: &role.name, op: None };
    // Writes before an opening are no part of it.
    let writes = role.mix.iter().any(|entry| entry.op.writes() && !entry.op.opens());
    // A schedule sets the rate: what it leaves behind does not lower it.
    let deferred = (writes && !open_loop).then_some(deferred);
    let clocks = rates::Clocks { open_loop, in_flight: role.depth.is_some() };
    let metrics = rates::role_metrics(trials, &scope, clocks, deferred);
    let op_row = |op: &&str| {
        let metrics = rates::role_metrics(trials, &At { op: Some(op), ..scope }, clocks, deferred);
        OpRow { op: (*op).to_owned(), metrics, relative_response: None }
    };
    RoleRow {
        role: role.name.clone(),
        threads: role.threads,
        depth: role.depth,
        open_loop,
        paced: open_loop || role.think_ns.is_some(),
        mix,
        metrics,
        validity: None,
        relative: None,
        relative_volume: None,
        relative_response: None,
        scatter: None,
        windows: Vec::new(),
        ops: if names.len() > 1 { names.iter().map(op_row).collect() } else { Vec::new() },
        does: Does { reads: role.mix.iter().any(|entry| reads(&entry.op)), writes },
    }
}

fn reads(op: &Op) -> bool {
    matches!(op, Op::ReadModifyWrite) || !op.writes()
}

impl Group {
    /// The threads of a phase: the swept number, or those of all its roles where none is swept.
    pub fn phase_threads(&self, run: &RunRow) -> u32 {
        self.threads_swept.unwrap_or_else(|| run.threads())
    }
}

impl RunRow {
    /// The threads of all its roles.
    pub fn threads(&self) -> u32 {
        self.roles.iter().map(|role| role.threads).sum()
    }
}

impl RoleRow {
    /// Operations that all its threads have in flight at one time.
    pub fn in_flight(&self) -> u32 {
        self.threads.saturating_mul(self.depth.unwrap_or(1))
    }

    /// Whether it has several kinds of operations: then their common latencies have no meaning.
    pub fn is_mix(&self) -> bool {
        !self.ops.is_empty()
    }

    /// Its rate where it fell behind its schedule, by the rule of [`RoleResult::is_behind`].
    ///
    /// [`RoleResult::is_behind`]: kvdyno_record::case::RoleResult::is_behind
    pub fn rate_behind(&self) -> Option<f64> {
        let backlog = self.metrics.value(&c::BACKLOG).filter(|_| self.open_loop)?;
        let rate = self.metrics.get(&c::OPS_PER_S)?;
        let due = self.metrics.value(&c::OPERATIONS)? + backlog;
        let few = f64::from(self.threads) * rate.n.max(1) as f64;
        (backlog > few && backlog > due * BEHIND).then_some(rate.value).flatten()
    }

    /// The rate of its schedule, per second; none: it works as fast as it can.
    pub fn offered_rate(&self) -> Option<f64> {
        self.metrics.value(&c::OFFERED_OPS_PER_S).filter(|_| self.open_loop)
    }

    /// The percentile that stands for its latencies: of response times where it has a schedule.
    pub fn p99(&self) -> &'static Definition {
        if self.open_loop { &c::RESPONSE_P99 } else { &c::SERVICE_P99 }
    }

    /// Its figures in comparable sets: those of all operations together, without latencies where
    /// there are several kinds; then the latencies of each kind.
    pub fn comparable(&self) -> Vec<(Option<&str>, Metrics)> {
        if !self.is_mix() {
            return vec![(None, self.metrics.clone())];
        }
        let only = |metrics: &Metrics, latencies: bool| {
            let selected = metrics.0.iter().filter(|one| c::is_latency(one.name) == latencies);
            Metrics(selected.cloned().collect())
        };
        let each = self.ops.iter().map(|row| (Some(row.op.as_str()), only(&row.metrics, true)));
        std::iter::once((None, only(&self.metrics, false))).chain(each).collect()
    }

    /// `clients`; for one of its operations `clients update`.
    pub fn operation_label(&self, op: Option<&str>) -> String {
        op.map_or_else(|| self.role.clone(), |op| format!("{} {op}", self.role))
    }

    /// Its figures by operation; for a single kind, its own.
    pub fn metrics_by_operation(&self) -> impl Iterator<Item = (&str, &Metrics)> {
        let alone = self.ops.is_empty().then_some((self.mix.as_str(), &self.metrics));
        self.ops.iter().map(|row| (row.op.as_str(), &row.metrics)).chain(alone)
    }
}
