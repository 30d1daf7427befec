//! Settings that a crew does not support.

use crate::written::crew::{CrewTable, parse_host};
use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::phase::{ExpectedHitsKey, Measure, Phase, Role};
use crate::written::scalar::SEVERAL_MAX;
use crate::written::typed::Typed;
use kvdyno_record::crew::{CrewHost, RankId};
use kvdyno_record::engine::Description;
use kvdyno_record::operations::Ability;
use kvdyno_record::workload::{Activity, LoadOrder, Op, Phase as Planned};
use std::collections::HashSet;

/// Names of the machine on which kvdyno runs.
const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// Checks settings that no crew supports, whatever the engine.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(crew) = &typed.crew else { return };
    check_table(crew, mistakes);
    let alone = "expected no [crew] with this";
    if let Some(drive) = &typed.drive {
        let what = "a drive belongs to this machine: a crew cannot share it";
        mistakes.at(&drive.span, what).label(alone);
    }
    if let Some(graph) = &typed.data.linkbench {
        let what = "a crew supports only key-value operations, no graph yet";
        mistakes.at(&graph.span, what).label(alone);
    }
    let inserts = typed.roles().any(|role| role_has_op(role, |op| *op == Op::Insert));
    for phase in &typed.phase {
        match &phase.value {
            Phase::Evict(_) | Phase::Reopen(_) => {
                let what = "a crew cannot close and open its engine between phases yet";
                mistakes
                    .at(&phase.span, what)
                    .label("expected no `evict` or `reopen`, or no [crew]");
            }
            Phase::Load(load) if inserts => {
                let order = load.order.as_ref();
                if let Some(order) = order.filter(|order| order.value == LoadOrder::Drawn) {
                    let what = "a crew that inserts cannot know which drawn keys exist";
                    mistakes.at(&order.span, what).label("expected \"random\", or no insert");
                }
            }
            Phase::Measure(measure) => check_measure(measure, inserts, mistakes),
            _ => {}
        }
    }
}

/// Checks `[crew]` by itself.
fn check_table(crew: &CrewTable, mistakes: &mut Mistakes) {
    let mut names = HashSet::new();
    for host in crew.hosts.iter() {
        match parse_host(host) {
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
    let ranks = crew.hosts.iter().filter_map(|host| parse_host(host));
    let ranks = ranks.fold(0_u32, |sum, host| sum.saturating_add(host.ranks));
    if !(2..=SEVERAL_MAX).contains(&ranks) {
        let what = format!("a crew of {ranks} ranks");
        let label = format!("expected 2 to {SEVERAL_MAX} ranks in all: \"localhost:4\"");
        mistakes.at(&crew.hosts.span, what).label(label);
    }
    let Some(launch) = &crew.launch else { return };
    if launch.contains(['"', '\'', '\\']) {
        let what = "`launch` is not a shell command: it is only split at spaces";
        mistakes.at(&launch.span, what).label("expected words without quotes");
    } else if !launch.contains("{hosts}") || !launch.contains("{ranks}") {
        let what = "`launch` lacks the hosts or the number of ranks";
        mistakes.at(&launch.span, what).label("expected {hosts} and {ranks} among its words");
    }
}

fn role_has_op(role: &Role, is_one: impl Fn(&Op) -> bool) -> bool {
    role.entries().iter().any(|entry| is_one(&entry.op))
}

/// Checks a measured phase of a crew; `inserts`: some role of the suite inserts.
fn check_measure(measure: &Measure, inserts: bool, mistakes: &mut Mistakes) {
    if let Some(operations) = measure.operations.as_ref().filter(|_| measure.role.len() > 1) {
        let what = "each rank counts its own operations: ranks would end the other roles at \
                    different times";
        let label = "expected a `duration`, or a single role";
        mistakes.at(&operations.span, what).label(label);
    }
    for role in measure.role.iter().filter(|_| inserts) {
        // The end of a scan is unknown: inserts of other ranks lie in between.
        if role_has_op(role, |op| op.info().needs == Some(Ability::Scan)) {
            let what = "a crew that inserts cannot verify scans";
            mistakes.at(&role.span, what).label("expected either scans or inserts, or no [crew]");
        }
        if let Some(hits) =
            role.expected_hits.as_ref().filter(|hits| hits.value != ExpectedHitsKey::All)
        {
            let what = "with inserts, a crew cannot know which keys stay missing";
            mistakes.at(&hits.span, what).label("expected \"all\", or no insert");
        }
    }
}

/// Checks settings that a crew does not support with this engine.
pub(crate) fn check_engine(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    mistakes: &mut Mistakes,
) {
    let Some(crew) = &typed.crew else { return };
    let (label, abilities) = (&engine.label.0, &description.capabilities);
    let attached = engine.attached_server().is_some();
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
        .find(|host| parse_host(host).is_some_and(|host| !HERE.contains(&host.name.as_str())));
    // An engine that stores nothing exists wherever its worker runs.
    if let Some(host) = elsewhere.filter(|_| !attached && !abilities.stores_nothing) {
        let what = format!("{label} is started on this machine and serves only local clients");
        let help = "use server = { attach = \"env:NAME\" } for a server that all hosts of the crew \
                    can reach";
        mistakes.at(&host.span, what).label("expected \"localhost:N\"").help(help);
    }
}

/// Refuses a measured phase in which a rank has no thread.
pub(crate) fn check_threads(typed: &Typed, phases: &[Planned], mistakes: &mut Mistakes) {
    let Some(crew) = &typed.crew else { return };
    let ranks = crew.to_crew().ranks();
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
