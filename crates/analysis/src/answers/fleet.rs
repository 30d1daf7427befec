//! One suite on many machines: its figures by host, the outlier hosts, and the facts that only they
//! have.

mod member;
mod namesakes;

use super::series::{FigureSeries, present};
use super::trend::LeftOut;
use super::trend::entry::{Entry, ScopeFigures};
use crate::figures::lists::unique;
use crate::figures::metric::{Definition, Direction};
use crate::judge::versus::FigureChoice;
use crate::judge::versus::least_difference;
use crate::stats::{median, outliers};
pub use member::Member;
use schemars::JsonSchema;
use serde::Serialize;

/// The share of figures in which some host is flagged by chance although all hosts are alike.
pub const CHANCE: f64 = 0.01;

/// With fewer hosts an outlier cannot be distinguished from chance.
pub const HOSTS_MIN: usize = 5;

/// A suite on many machines.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fleet {
    /// The suite.
    pub suite: String,
    /// The hosts, by name.
    pub hosts: Vec<FleetHost>,
    /// Runs that were left out, and why.
    pub left_out: Vec<LeftOut>,
    /// Figures by host.
    pub figures: Vec<HostSeries>,
    /// Facts in which the hosts differ.
    pub facts: Vec<Fact>,
    /// Hosts that are outliers in any figure.
    pub outlier_hosts: Vec<OutlierHost>,
}

/// A host, by its newest run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FleetHost {
    /// Its name; numbered where several machines have the same name: `n1 (2)`.
    pub name: String,
    /// `uname -n`.
    pub hostname: String,
    /// The machine's identity from its record; null: the record has none.
    pub machine_id: Option<String>,
    /// The run's id.
    pub run: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// Processors, memory, filesystem and drive, in words.
    pub machine: String,
    /// The drive's own report of its health; null: it has none, or it is not readable.
    pub drive_health: Option<String>,
}

/// How far a figure's values lie apart over the hosts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Which way is better.
    pub direction: Direction,
    /// The median over the hosts.
    pub median: f64,
    /// Hosts whose value is too far from the others'.
    pub outliers: Vec<Outlier>,
}

/// A figure over the hosts.
pub type HostSeries = FigureSeries<f64, Spread>;

/// A value that is an outlier.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Outlier {
    /// The host's index in `hosts`.
    pub host: usize,
    /// The value over the median; null where that has no meaning.
    pub ratio: Option<f64>,
    /// Whether it deviates in the better direction.
    pub better: bool,
}

/// A fact in which the hosts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fact {
    /// Its name: `kernel`, `governor`, a setting's path.
    pub name: String,
    /// Its value on each host.
    pub values: Vec<String>,
    /// The value that at least half of the hosts have; null: there is none.
    pub most: Option<String>,
}

/// A host that is an outlier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OutlierHost {
    /// Its index in `hosts`.
    pub host: usize,
    /// Figures in which it is worse than the others, as indices in `figures`.
    pub worse: Vec<usize>,
    /// Figures in which it is better.
    pub better: Vec<usize>,
    /// Facts whose value it shares only with other outlier hosts, as indices in `facts`. They are
    /// not proven to be the cause.
    pub only_apart: Vec<usize>,
}

impl Fleet {
    /// Compares runs of many hosts; none without a run. `left_out`: runs whose figures are void.
    pub fn from_members(
        members: Vec<Member>,
        mut left_out: Vec<LeftOut>,
        figures: &FigureChoice,
    ) -> Option<Self> {
        let suite = members.first()?.entry.suite.clone();
        let (members, others): (Vec<Member>, Vec<Member>) =
            members.into_iter().partition(|member| member.entry.suite == suite);
        left_out.extend(others.into_iter().map(|Member { entry, .. }| LeftOut {
            reason: format!("its suite is {}, the first run's {suite}", entry.suite),
            run: entry.run,
        }));
        let hosts = namesakes::hosts(members, &mut left_out);
        let runs: Vec<&Entry> = hosts.iter().map(|member| &member.entry).collect();
        let judge = |definition: &Definition, _: &ScopeFigures, values: &[Option<f64>]| {
            Spread::measure(definition, values)
        };
        let spreads = FigureSeries::collect(&runs, &runs, figures, judge);
        let facts = facts(&hosts);
        let apart = find_outlier_hosts(hosts.len(), &spreads, &facts);
        Some(Self {
            suite,
            hosts: hosts.into_iter().map(FleetHost::from).collect(),
            left_out,
            figures: spreads,
            facts,
            outlier_hosts: apart,
        })
    }

    /// Cases that have figures on some hosts and none on another: that host, and the case.
    pub fn missing(&self) -> Vec<(&FleetHost, &str)> {
        let gaps = self.figures.iter().flat_map(|spread| {
            let gap = |(host, value): (usize, &Option<f64>)| value.is_none().then_some(host);
            let hosts = spread.values.iter().enumerate().filter_map(gap);
            hosts.map(|host| (host, spread.case.as_str()))
        });
        let has_any = |host: usize, case: &str| {
            let of_case = self.figures.iter().filter(|spread| spread.case == case);
            of_case.into_iter().any(|spread| spread.values[host].is_some())
        };
        let gaps = unique(gaps).into_iter().filter(|(host, case)| !has_any(*host, case));
        gaps.map(|(host, case)| (&self.hosts[host], case)).collect()
    }
}

impl From<Member> for FleetHost {
    fn from(member: Member) -> Self {
        let Member { entry, name, machine_id, drive_health, .. } = member;
        Self {
            name,
            hostname: entry.hostname,
            machine_id,
            run: entry.run,
            started_unix_ns: entry.started_unix_ns,
            machine: entry.machine,
            drive_health,
        }
    }
}

impl HostSeries {
    /// The host's value, if it is an outlier.
    pub fn outlier(&self, host: usize) -> Option<&Outlier> {
        self.judgement.outliers.iter().find(|outlier| outlier.host == host)
    }
}

impl Spread {
    fn measure(definition: &Definition, values: &[Option<f64>]) -> Self {
        let (indices, finite): (Vec<usize>, Vec<f64>) = present(values).unzip();
        let median = median(&finite).unwrap_or(f64::NAN);
        let far = |index: &usize| {
            (finite[*index] - median).abs() > least_difference(definition.name) * median.abs()
        };
        let direction = definition.direction;
        let outliers = outlier_hosts(&finite).into_iter().filter(far).map(|index| Outlier {
            host: indices[index],
            ratio: (median > 0.0).then(|| finite[index] / median),
            better: (finite[index] > median) == (direction == Direction::Higher),
        });
        Self { direction, median, outliers: outliers.collect() }
    }
}

/// The outliers. Machines differ by factors: values are compared by their logarithms, where all
/// have one.
fn outlier_hosts(values: &[f64]) -> Vec<usize> {
    if values.len() < HOSTS_MIN {
        return Vec::new();
    }
    if values.iter().all(|value| *value > 0.0) {
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        return outliers(&logarithms, CHANCE);
    }
    outliers(values, CHANCE)
}

fn facts(hosts: &[Member]) -> Vec<Fact> {
    let names = unique(hosts.iter().flat_map(|member| member.facts.iter().map(|(what, _)| what)));
    let differing = names.into_iter().filter_map(|what| {
        let value = |member: &Member| {
            let fact = member.facts.iter().find(|(other, _)| other == what);
            fact.map_or_else(|| "unknown".to_owned(), |(_, value)| value.clone())
        };
        let values: Vec<String> = hosts.iter().map(value).collect();
        let distinct = unique(values.iter().cloned());
        let share = |value: &String| values.iter().filter(|other| *other == value).count();
        let most = distinct.iter().find(|value| 2 * share(value) >= hosts.len()).cloned();
        (distinct.len() > 1).then(|| Fact { name: what.clone(), values, most })
    });
    differing.collect()
}

fn find_outlier_hosts(hosts: usize, spreads: &[HostSeries], facts: &[Fact]) -> Vec<OutlierHost> {
    let outlying = |host: usize, better: bool| {
        let is_outlier = |spread: &HostSeries| {
            spread.outlier(host).is_some_and(|outlier| outlier.better == better)
        };
        let spreads = spreads.iter().enumerate().filter(|(_, spread)| is_outlier(spread));
        spreads.map(|(index, _)| index).collect::<Vec<_>>()
    };
    let is_apart: Vec<bool> =
        (0..hosts).map(|host| spreads.iter().any(|s| s.outlier(host).is_some())).collect();
    let only_apart = |host: usize| {
        let only = |fact: &Fact| {
            let value = &fact.values[host];
            let equal = (0..hosts).filter(|other| fact.values[*other] == *value);
            fact.most.as_ref().is_some_and(|most| most != value)
                && equal.into_iter().all(|h| is_apart[h])
        };
        let facts = facts.iter().enumerate().filter(|(_, fact)| only(fact));
        facts.map(|(index, _)| index).collect()
    };
    (0..hosts)
        .filter(|host| is_apart[*host])
        .map(|host| OutlierHost {
            host,
            worse: outlying(host, false),
            better: outlying(host, true),
            only_apart: only_apart(host),
        })
        .collect()
}

#[cfg(test)]
mod tests;
