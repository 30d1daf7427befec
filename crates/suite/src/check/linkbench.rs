//! Checks of `linkbench` in `[data]`, by itself and with each engine.

use crate::written::engine::Engine;
use crate::written::linkbench::NODE_BYTES_MAX;
use crate::written::mistake::Mistakes;
use crate::written::phase::Phase;
use crate::written::read::{OptionalSpan as _, Or as _};
use crate::written::source::Span;
use crate::written::typed::Typed;
use kvdyno_record::engine::graph::Isolation;
use kvdyno_record::engine::{BatchKind, Description, Options, Transactions};
use kvdyno_record::graph::{Consistency, Graph};

/// Refuses requests outside of a graph, and other operations on a graph.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let entries = || typed.roles().flat_map(|role| role.entries());
    if typed.data.linkbench.is_none() {
        for entry in entries().filter(|entry| entry.op.is_of_graph()) {
            let message = format!("{} is a request of a graph", entry.op.name());
            let mistake = mistakes.at(&entry.span, message);
            mistake.label("expected `linkbench = {}` in [data] with it");
        }
        return;
    }
    for entry in entries().filter(|entry| !entry.op.is_of_graph()) {
        let message = format!("a graph does not support {}", entry.op.name());
        let mistake = mistakes.at(&entry.span, message);
        mistake.label("expected requests such as get_node, or no `mix` for the published requests");
    }
    for span in conflicting_keys(typed) {
        let mistake = mistakes.at(&span, "`linkbench` already determines this");
        mistake.label("expected no value here next to `linkbench`");
    }
    let least = Graph::IDS_MIN;
    let records = typed.data.records.iter().flat_map(|list| &list.0);
    for few in records.filter(|records| records.0 < least) {
        let message = format!("a graph of {} ids is too small", few.0);
        mistakes.at(&few.span, message).label(format!("expected at least {least}"));
    }
}

/// Returns the positions of keys that a graph already determines.
fn conflicting_keys(typed: &Typed) -> Vec<Span> {
    let data = &typed.data;
    let mut spans = vec![
        data.size.span(),
        data.key_bytes.span(),
        data.key_format.span(),
        data.key_order.span(),
        data.value_bytes.span(),
        data.compress_to.span(),
        data.verify.span(),
    ];
    for phase in &typed.phase {
        match &phase.value {
            Phase::Load(load) => {
                spans.extend([load.order.span(), load.batch.span()]);
            }
            Phase::Verify(verify) => {
                spans.extend([verify.samples.span(), verify.count.span()]);
            }
            Phase::Measure(measure) => {
                for role in measure.role.iter() {
                    spans.extend([role.keys.span(), role.expected_hits.span()]);
                    spans.extend(role.entries().iter().map(|entry| entry.keys.span()));
                }
            }
            _ => {}
        }
    }
    spans.into_iter().flatten().collect()
}

/// Records what an engine with these options lacks for a graph.
pub(crate) fn check_engine(
    typed: &Typed,
    engine: &Engine,
    description: &Description,
    options: &Options,
    mistakes: &mut Mistakes,
) {
    let Some(linkbench) = &typed.data.linkbench else { return };
    if let Some(pack) = &engine.pack {
        let mistake = mistakes.at(&pack.span, "`pack` does not support graphs");
        mistake.label("expected no `pack` next to `linkbench`");
    }
    let (abilities, name) = (&description.capabilities, &description.name);
    let consistency = linkbench.consistency.value_or(Consistency::Transaction);
    if abilities.graph.contains(&consistency.isolation()) {
        return refuse_warming(typed, name, mistakes);
    }
    let alone = abilities.batch != BatchKind::Atomic;
    let short = |most: Option<u64>, needed: u64| most.is_some_and(|most| most < needed);
    let missing = match abilities {
        _ if consistency == Consistency::TwoPhase => "two-phase consistency",
        _ if !abilities.scan_forward => "scan, needed for lists of links",
        _ if !abilities.delete => "delete, needed for links",
        _ if abilities.numbered_keys_only => "arbitrary keys, needed for a graph",
        _ if short(abilities.key_bytes_max, Graph::KEY_BYTES.into()) => "keys of 33 bytes",
        _ if short(abilities.value_bytes_max, NODE_BYTES_MAX + Graph::NODE_BYTES) => {
            "values of 1 MiB, needed for nodes"
        }
        _ if alone && description.transactions(options) == Transactions::None => {
            "atomic batches or transactions with these options, needed for a link and its count"
        }
        _ => return,
    };
    let instead = if abilities.graph.contains(&Isolation::TwoPhase) {
        format!("use `consistency = \"two_phase\"`, which {name} supports")
    } else {
        format!("leave {name} out with --engine, or remove the requirement")
    };
    mistakes.at(&linkbench.span, format!("{name} has no {missing}")).help(instead);
}

/// Refuses phases that read every record by its key: the engine keeps a graph in its own tables.
fn refuse_warming(typed: &Typed, engine: &str, mistakes: &mut Mistakes) {
    let phases = typed.phase.iter().filter(|phase| matches!(phase.value, Phase::Warm(_)));
    for phase in phases {
        let message = format!("{engine} keeps a graph in tables that a `warm` phase does not read");
        mistakes.at(&phase.span, message).label("expected a `warmup` in the measured phase");
    }
}
