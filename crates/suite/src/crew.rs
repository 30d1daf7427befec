//! `[crew]`: several processes, on one machine or many, that drive one server together. What they
//! cannot do together is refused.

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

/// How ranks are started where the suite does not say. They are not bound to processors, which the
/// workers below them would inherit, give theirs away while they wait, and share no memory, whose
/// files would outlive ranks that are killed.
const LAUNCH: &str = "mpirun --host {hosts} -n {ranks} --stdin 0 --bind-to none \
                      --mca mpi_yield_when_idle 1 --mca pml ob1 --mca btl tcp,self \
                      --allow-run-as-root";

/// Names of the machine that kvdyno runs on.
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
    /// As it is planned; hosts that cannot be read are left out, and were told of.
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

    /// What it must be in itself.
    fn check(&self, mistakes: &mut Mistakes) {
        let mut names = HashSet::new();
        for host in self.hosts.iter() {
            match read(host) {
                None => {
                    let what = format!("`{}` is no host of a crew", host.value);
                    let label = "expected a name or a number, and how many ranks: \"node7:4\"";
                    mistakes.at(&host.span, what).label(label);
                }
                Some(CrewHost { name, .. }) if !names.insert(name.clone()) => {
                    let what = format!("`{name}` is there twice");
                    mistakes.at(&host.span, what).label(format!("expected \"{name}:2\" once"));
                }
                Some(_) => {}
            }
        }
        let ranks = self.hosts.iter().filter_map(|host| read(host));
        let ranks = ranks.fold(0_u32, |sum, host| sum.saturating_add(host.ranks));
        if !(2..=SEVERAL_MAX).contains(&ranks) {
            let what = format!("a crew of {ranks}");
            let label = format!("expected 2 to {SEVERAL_MAX} ranks in all: \"localhost:4\"");
            mistakes.at(&self.hosts.span, what).label(label);
        }
        let Some(launch) = &self.launch else { return };
        if launch.contains(['"', '\'', '\\']) {
            let what = "`launch` is no shell: it is split at spaces and nothing else";
            mistakes.at(&launch.span, what).label("expected words without quotes");
        } else if !launch.contains("{hosts}") || !launch.contains("{ranks}") {
            let what = "`launch` does not say where to start how many";
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

/// What the suite asks of a crew and no crew can do, whatever the engines are.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(crew) = &typed.crew else { return };
    crew.check(mistakes);
    let alone = "expected it without [crew]";
    if let Some(drive) = &typed.drive {
        let what = "a drive is this machine's: a crew cannot share it";
        mistakes.at(&drive.span, what).label(alone);
    }
    if let Some(graph) = &typed.data.linkbench {
        let what = "a crew does key-value work alone, and no graph yet";
        mistakes.at(&graph.span, what).label(alone);
    }
    let inserts = measures(typed)
        .flat_map(|measure| measure.role.iter())
        .find_map(|role| entries(role).find(|op| **op == Op::Insert).map(|_| role.span.clone()));
    for phase in &typed.phase {
        match &phase.value {
            Phase::Evict(_) | Phase::Reopen(_) => {
                let what = "a crew does not close and open its engine between phases yet";
                mistakes
                    .at(&phase.span, what)
                    .label("expected no `evict` or `reopen`, or no [crew]");
            }
            Phase::Load(load) if inserts.is_some() => {
                let drawn = load.order.as_ref().filter(|order| order.value == LoadOrder::Drawn);
                if let Some(order) = drawn {
                    let what = "a crew that inserts cannot tell which drawn keys are there";
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

/// `inserts`: somebody of the suite does.
fn check_measure(measure: &Measure, inserts: bool, mistakes: &mut Mistakes) {
    if let Some(operations) = measure.operations.as_ref().filter(|_| measure.role.len() > 1) {
        let what = "ranks of a crew count their own operations: they would end the other roles at \
                    different times";
        let label = "expected a `duration`, or a single role";
        mistakes.at(&operations.span, what).label(label);
    }
    for role in measure.role.iter().filter(|_| inserts) {
        // Where a scan ends nobody knows: what the other ranks insert lies between.
        if entries(role).any(|op| matches!(op, Op::Scan { .. } | Op::Walk { .. })) {
            let what = "a crew cannot check what a scan shows while it inserts";
            mistakes.at(&role.span, what).label("expected scans or inserts, or no [crew]");
        }
        if let Some(found) = role.found.as_ref().filter(|found| found.value != ExpectedHitsKey::All)
        {
            let what = "a crew that inserts has no keys that are never there";
            mistakes.at(&found.span, what).label("expected \"all\", or no insert");
        }
    }
}

/// What a crew cannot do with this engine.
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
        let what = format!("{label} is part of its worker: each rank would open the same database");
        let label = "expected an engine that is a server, or no [crew]";
        mistakes.at(&engine.name.span, what).label(label);
        return;
    }
    let elsewhere = crew
        .hosts
        .iter()
        .find(|host| read(host).is_some_and(|host| !HERE.contains(&host.name.as_str())));
    // One that stores nothing is wherever its worker is.
    if let Some(host) = elsewhere.filter(|_| !attached && !abilities.stores_nothing) {
        let what = format!("{label} is started here and answers this machine alone");
        let help = "server = { attach = \"env:NAME\" } is a server that hosts of a crew can reach";
        mistakes.at(&host.span, what).label("expected \"localhost:N\"").help(help);
    }
}

/// Each rank has something to do in all that is measured.
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
        let label = "expected fewer ranks, or more threads: each role's are dealt out evenly";
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
