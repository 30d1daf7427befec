//! An engine beside the base engine (the suite's first) at the same work and durability class, and
//! beside itself on the first volume.

use super::catalogue as c;
use super::group::Group;
use super::metric::Metric;
use crate::stats::MIN_TRIALS;
use schemars::JsonSchema;
use serde::Serialize;

/// A figure over the base's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// The base: an engine's label, or a volume's name.
    pub base: String,
    /// How many times its figure.
    pub ratio: f64,
    /// Whether the two can be told apart.
    pub verdict: Verdict,
}

/// Whether two figures can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is the base itself.
    Base,
    /// Their intervals (below six trials: their extremes) do not overlap.
    Different,
    /// They overlap.
    NotDistinguishable,
    /// They do not overlap, but one of them has fewer than [`MIN_TRIALS`] trials: equal engines
    /// look like this too often.
    SpreadUnknown,
}

impl Beside {
    fn new(base: &str, base_metric: &Metric, own: &Metric, is_base: bool) -> Option<Self> {
        let (base_value, value) = (base_metric.value?, own.value?);
        if base_value <= 0.0 {
            return None;
        }
        let verdict = if is_base {
            Verdict::Base
        } else if base_metric.n >= 2 && own.n >= 2 && overlap(base_metric.range()?, own.range()?) {
            Verdict::NotDistinguishable
        } else if base_metric.n.min(own.n) < MIN_TRIALS {
            Verdict::SpreadUnknown
        } else {
            Verdict::Different
        };
        Some(Self { base: base.to_owned(), ratio: value / base_value, verdict })
    }

    /// In a table cell: `1.00`, `2.31`, `~1.02`, `1.4?`.
    pub fn cell(&self) -> String {
        match self.verdict {
            Verdict::Base | Verdict::Different => format!("{:.2}", self.ratio),
            Verdict::NotDistinguishable => format!("~{:.2}", self.ratio),
            Verdict::SpreadUnknown => format!("{:.2}?", self.ratio),
        }
    }
}

/// Fills in every row's ratio.
pub(super) fn compare(groups: &mut [Group]) {
    for at in 0..groups.len() {
        if !groups[at].competes() {
            continue;
        }
        let load = BASES.map(|base| beside_load(groups, at, base));
        if let Some(row) = &mut groups[at].load {
            [row.beside, row.beside_volume] = load;
        }
        for run in 0..groups[at].runs.len() {
            for role in 0..groups[at].runs[run].roles.len() {
                let beside = BASES.map(|base| beside_role(groups, (at, run, role), base));
                let row = &mut groups[at].runs[run].roles[role];
                [row.beside, row.beside_volume] = beside;
            }
        }
    }
}

/// What a figure stands beside: the base's name, and what loads and cases must have in common.
#[derive(Clone, Copy)]
struct Base {
    name: fn(&Group) -> Option<&str>,
    loads: fn(&Group) -> &str,
    runs: fn(&Group) -> &str,
}

const BASES: [Base; 2] = [
    // Another engine's on the same volume.
    Base {
        name: |group| Some(&group.label),
        loads: |group| &group.load_peers,
        runs: |group| &group.run_peers,
    },
    // The same engine's on another volume.
    Base {
        name: |group| group.volume.as_deref(),
        loads: |group| &group.load_on_volumes,
        runs: |group| &group.run_on_volumes,
    },
];

fn beside_load(groups: &[Group], at: usize, by: Base) -> Option<Beside> {
    let peer = |group: &Group| (by.loads)(group) == (by.loads)(&groups[at]) && group.load.is_some();
    let base = groups.iter().position(|group| group.competes() && peer(group))?;
    let rate = |group: usize| groups[group].load.as_ref()?.metrics.get(&c::RECORDS_PER_S);
    Beside::new((by.name)(&groups[base])?, rate(base)?, rate(at)?, base == at)
}

fn beside_role(
    groups: &[Group],
    (at, run, role): (usize, usize, usize),
    by: Base,
) -> Option<Beside> {
    let peer = |group: &Group| (by.runs)(group) == (by.runs)(&groups[at]);
    let base = groups.iter().position(|group| group.competes() && peer(group))?;
    let rate =
        |group: usize| groups[group].runs.get(run)?.roles.get(role)?.metrics.get(&c::OPS_PER_S);
    Beside::new((by.name)(&groups[base])?, rate(base)?, rate(at)?, base == at)
}

fn overlap(a: (f64, f64), b: (f64, f64)) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_say_how_sure_they_are() {
        let cell = |verdict| Beside { base: "LMDB".into(), ratio: 1.0234, verdict }.cell();
        assert_eq!(cell(Verdict::Base), "1.02");
        assert_eq!(cell(Verdict::Different), "1.02");
        assert_eq!(cell(Verdict::NotDistinguishable), "~1.02");
        assert_eq!(cell(Verdict::SpreadUnknown), "1.02?");
    }

    #[test]
    fn ranges_that_touch_overlap() {
        assert!(overlap((1.0, 2.0), (2.0, 3.0)));
        assert!(overlap((1.0, 9.0), (2.0, 3.0)));
        assert!(!overlap((1.0, 2.0), (2.1, 3.0)));
    }
}
