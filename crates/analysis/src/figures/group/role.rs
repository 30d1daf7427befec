//! A role's figures, together and by operation, and how many threads worked.

use super::{Group, RoleRow, RunRow};
use crate::figures::catalogue as c;
use crate::figures::metric::{Definition, Metrics};

impl Group {
    /// The threads of a phase: the swept number, or those of all its roles where none is swept.
    pub fn threads_at(&self, run: &RunRow) -> u32 {
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
    pub fn place(&self, op: Option<&str>) -> String {
        op.map_or_else(|| self.role.clone(), |op| format!("{} {op}", self.role))
    }

    /// Its figures by operation; for a single kind, its own.
    pub fn by_operation(&self) -> impl Iterator<Item = (&str, &Metrics)> {
        let alone = self.ops.is_empty().then_some((self.mix.as_str(), &self.metrics));
        self.ops.iter().map(|row| (row.op.as_str(), &row.metrics)).chain(alone)
    }
}
