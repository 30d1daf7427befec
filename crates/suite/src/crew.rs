//! `[crew]`: several processes, on one machine or many, that drive one server together. Settings
//! that a crew does not support are refused.

use super::engine::Engine;
use super::mistake::Mistakes;
use super::phase::{ExpectedHitsKey, Measure, Phase, Role};
use super::read::{At, table};
use super::scalar::SEVERAL_MAX;
use super::typed::Typed;
use kvdyno_record::crew::{Crew, CrewHost, RankId};
use kvdyno_record::engine::Description;
use kvdyno_record::workload::{Activity, LoadOrder, Op, Phase as Planned};
use schemars::JsonSchema;
use std::collections::HashSet;

/// The default command that starts the ranks. Ranks are not bound to processors, because workers
/// would inherit the binding. They yield while they wait, and use no shared memory, because its
/// files would outlive killed ranks.
const LAUNCH: &str = "mpirun --host {hosts} -n {ranks} --stdin 0 --bind-to none \
                      --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self \
                      --allow-run-as-root";

/// Names of the machine on which kvdyno runs.
const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// Processes that drive one server together. Each is a rank with its share of all threads.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Crew")]
pub(super) struct CrewTable {
    /// The hosts with their numbers of ranks: `["localhost:4"]`, `["a", "b:2"]`. The first host is
    /// this machine. At least 2 ranks.
    #[schemars(length(min = 1))]
    pub(super) hosts: At<Vec<At<String>>>,
    /// The command that starts the ranks. kvdyno replaces `{hosts}` and `{ranks}` and splits it at
    /// spaces. Default: `mpirun` of `OpenMPI`, unbound, over TCP.
    launch: Option<At<String>>,
}

table!(CrewTable, "[crew]": hosts launch);

impl CrewTable {
    /// The crew for the plan; invalid hosts, already reported, are left out.
    pub(super) fn planned(&self) -> Crew {
        let hosts: Vec<CrewHost> = self.hosts.iter().filter_map(|host| read(host)).collect();
        let each = hosts.iter().map(|host| format!("{}:{}", host.name, host.ranks));
        let (list, launch) = (each.collect::<Vec<_>>().join(","), self.launch());
        let mut crew = Crew { hosts, launch: Vec::new() };
        let ranks = crew.ranks().to_string();
        let words = launch.split_whitespace();
        let filled = words.map(|word| word.replace("{hosts}", &list).replace("{ranks}", &ranks));
        crew.launch = filled.collect();
        crew
    }

    fn launch(&self) -> &str {
        self.launch.as_ref().map_or(LAUNCH, |launch| launch.as_str())
    }

    /// Checks the crew by itself.
    fn check(&self, mistakes: &mut Mistakes) {
        let mut names = HashSet::new();
        for host in self.hosts.iter() {
            match read(host) {
                None => {
                    let what = format!("`{}` is not a crew host", host.value);
                    let label = "expected a name or an address, and a number of ranks: \"node7:4\"";
                    mistakes.at(&host.span, what).label(label);
                }
                Some(CrewHost { name, .. }) if !names.insert(name.clone()) => {
                    let what = format!("host `{name}` occurs twice");
                    mistakes.at(&host.span, what).label(format!("expected \"{name}:2\" once"));
                }
                Some(_) => {}
            }
        }
        let ranks = self.hosts.iter().filter_map(|host| read(host));
        let ranks = ranks.fold(0_u32, |sum, host| sum.saturating_add(host.ranks));
        if !(2..=SEVERAL_MAX).contains(&ranks) {
            let what = format!("a crew of {ranks} ranks");
            let label = format!("expected 2 to {SEVERAL_MAX} ranks in all: \"localhost:4\"");
            mistakes.at(&self.hosts.span, what).label(label);
        }
        let Some(launch) = &self.launch else { return };
        if launch.contains(['"', '\'', '\\']) {
            let what = "`launch` is not a shell command: it is only split at spaces";
            mistakes.at(&launch.span, what).label("expected words without quotes");
        } else if !launch.contains("{hosts}") || !launch.contains("{ranks}") {
            let what = "`launch` lacks the hosts or the number of ranks";
            mistakes.at(&launch.span, what).label("expected {hosts} and {ranks} among its words");
        }
    }
}

/// `node7`, `node7:4`, `10.0.0.7:4`.
fn read(text: &str) -> Option<CrewHost> {
    let (name, ranks) = match text.split_once(':') {
        Some((name, ranks)) => (name, ranks.parse().ok().filter(|ranks| *ranks > 0)?),
        None => (text, 1),
    };
    let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let is_name = name.chars().all(letter) && name.starts_with(|c| letter(c) && c != '-');
    is_name.then(|| CrewHost { name: name.to_owned(), ranks })
}

/// Checks settings that no crew supports, whatever the engine.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(crew) = &typed.crew else { return };
    crew.check(mistakes);
    let alone = "expected a suite without it, or no [crew]";
    if let Some(drive) = &typed.drive {
        let what = "a drive belongs to this machine: a crew cannot share it";
        mistakes.at(&drive.span, what).label(alone);
    }
    if let Some(graph) = &typed.data.linkbench {
        let what = "a crew supports only key-value operations, no graph yet";
        mistakes.at(&graph.span, what).label(alone);
    }
    let inserts = measures(typed)
        .flat_map(|measure| measure.role.iter())
        .find_map(|role| entries(role).find(|op| **op == Op::Insert).map(|_| role.span.clone()));
    for phase in &typed.phase {
        match &phase.value {
            Phase::Evict(_) | Phase::Reopen(_) => {
                let what = "a crew cannot close and open its engine between phases yet";
                mistakes
                    .at(&phase.span, what)
                    .label("expected no `evict` or `reopen`, or no [crew]");
            }
            Phase::Load(load) if inserts.is_some() => {
                let drawn = load.order.as_ref().filter(|order| order.value == LoadOrder::Drawn);
                if let Some(order) = drawn {
                    let what = "a crew that inserts cannot know which drawn keys exist";
                    mistakes.at(&order.span, what).label("expected \"random\", or no insert");
                }
            }
            Phase::Measure(measure) => check_measure(measure, inserts.is_some(), mistakes),
            _ => {}
        }
    }
}

fn measures(typed: &Typed) -> impl Iterator<Item = &Measure> {
    typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Measure(measure) => Some(measure),
        _ => None,
    })
}

fn entries(role: &Role) -> impl Iterator<Item = &Op> {
    role.mix.iter().flat_map(|mix| mix.iter()).map(|entry| &entry.op)
}

/// `inserts`: some role of the suite inserts.
fn check_measure(measure: &Measure, inserts: bool, mistakes: &mut Mistakes) {
    if let Some(operations) = measure.operations.as_ref().filter(|_| measure.role.len() > 1) {
        let what = "each rank counts its own operations: ranks would end the other roles at \
                    different times";
        let label = "expected a `duration`, or a single role";
        mistakes.at(&operations.span, what).label(label);
    }
    for role in measure.role.iter().filter(|_| inserts) {
        // The end of a scan is unknown: inserts of other ranks lie in between.
        if entries(role).any(|op| matches!(op, Op::Scan { .. } | Op::Walk { .. })) {
            let what = "a crew that inserts cannot verify scans";
            mistakes.at(&role.span, what).label("expected scans or inserts, or no [crew]");
        }
        if let Some(hits) =
            role.expected_hits.as_ref().filter(|hits| hits.value != ExpectedHitsKey::All)
        {
            let what = "a crew that inserts has no keys that never exist";
            mistakes.at(&hits.span, what).label("expected \"all\", or no insert");
        }
    }
}

/// Checks settings that a crew does not support with this engine.
pub(super) fn check_engine(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    mistakes: &mut Mistakes,
) {
    let Some(crew) = &typed.crew else { return };
    let (label, abilities) = (&engine.label.0, &description.capabilities);
    let attached = engine.attached().is_some();
    if !attached && !abilities.external_processes && !abilities.stores_nothing {
        let what =
            format!("{label} is embedded in its worker: each rank would open the same database");
        let label = "expected an engine that is a server, or no [crew]";
        mistakes.at(&engine.name.span, what).label(label);
        return;
    }
    let elsewhere = crew
        .hosts
        .iter()
        .find(|host| read(host).is_some_and(|host| !HERE.contains(&host.name.as_str())));
    // An engine that stores nothing exists wherever its worker runs.
    if let Some(host) = elsewhere.filter(|_| !attached && !abilities.stores_nothing) {
        let what = format!("{label} is started on this machine and serves only local clients");
        let help = "use server = { attach = \"env:NAME\" } for a server that all hosts of the crew \
                    can reach";
        mistakes.at(&host.span, what).label("expected \"localhost:N\"").help(help);
    }
}

/// Each rank must have work in every measured phase.
pub(super) fn check_threads(typed: &Typed, phases: &[Planned], mistakes: &mut Mistakes) {
    let Some(crew) = &typed.crew else { return };
    let ranks = crew.planned().ranks();
    for phase in phases {
        let Activity::Measure(mix) = &phase.work else { continue };
        let threads = |rank| {
            let seat = RankId { rank, ranks };
            mix.roles.iter().map(|role| seat.threads(role.threads).len()).sum::<usize>()
        };
        let Some(idle) = (0..ranks).find(|rank| threads(*rank) == 0) else { continue };
        let what = format!("rank {idle} of {ranks} has no thread in `{}`", phase.name);
        let label =
            "expected fewer ranks, or more threads: ranks get equal shares of each role's threads";
        mistakes.at(&crew.hosts.span, what).label(label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_with_a_number() {
        let host = |name: &str, ranks| Some(CrewHost { name: name.to_owned(), ranks });
        assert_eq!(read("node7"), host("node7", 1));
        assert_eq!(read("10.77.0.1:16"), host("10.77.0.1", 16));
        for wrong in ["", ":4", "a:0", "a:x", "a b", "-n", "a,b", "a;b", "fe80::1", "a:1:2"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
