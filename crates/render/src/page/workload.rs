//! What a phase does, in the words of a heading: "Random reads while one thread updates". A phase's
//! name says it only where the suite's author chose one.

use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_record::workload::{Activity, Choice, LoadOrder, Mix, MixEntry, Op, Role};
use schemars::JsonSchema;
use serde::Serialize;

/// What a timed phase of a group does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Workload {
    /// Index of the group in the summary.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// A heading, without threads that are swept, rates and sizes.
    pub title: String,
}

/// The timed phases of a case.
pub(super) fn list_workloads(group: usize, case: &CaseEvidence) -> Vec<Workload> {
    let workload = |phase: &kvdyno_record::workload::Phase| {
        let title = match &phase.work {
            Activity::Load(load) => loads(load.order).to_owned(),
            Activity::Measure(mix) => measures(mix, case.case.threads_swept),
            _ => return None,
        };
        Some(Workload { group, phase: phase.name.clone(), title })
    };
    case.case.phases.iter().filter_map(workload).collect()
}

fn loads(order: LoadOrder) -> &'static str {
    match order {
        LoadOrder::Sequential => "Load in key order",
        LoadOrder::Random => "Load in random order",
        LoadOrder::Drawn => "Load of keys drawn at random",
        LoadOrder::FirstRead => "Load of what a trace reads first",
    }
}

fn measures(mix: &Mix, swept: Option<u32>) -> String {
    let [first, others @ ..] = mix.roles.as_slice() else { return String::new() };
    let concurrent: Vec<String> = others.iter().map(|role| clause(role, swept)).collect();
    let title = match &first.replay {
        Some(_) => format!("Replay of {}", subject(&first.mix, |_| String::new())),
        None => capital(&subject(&first.mix, keys)),
    };
    if concurrent.is_empty() {
        title
    } else {
        format!("{title} while {}", concurrent.join(" and "))
    }
}

fn operation_noun(entry: &MixEntry) -> String {
    let [noun, ..] = operation_words(&entry.op);
    if entry.ttl_ns.is_some() { format!("{noun} that expire") } else { noun.to_owned() }
}

/// `random reads`, `95 % reads and 5 % updates, Zipf 0.99 keys`.
fn subject(mix: &[MixEntry], keys: impl Fn(&MixEntry) -> String) -> String {
    match mix {
        // Ten shares are no heading.
        [_, _, ..] if mix.iter().all(|one| one.op.is_of_graph()) => {
            "requests of a graph".to_owned()
        }
        [one] => format!("{}{}", keys(one), operation_noun(one)),
        several => {
            let all: f64 = several.iter().map(|one| one.weight).sum();
            let share = |one: &MixEntry| {
                let percent = 100.0 * one.weight / all.max(f64::MIN_POSITIVE);
                // Three digits at most, and none that say nothing.
                format!("{} % {}", (percent * 10.0).round() / 10.0, operation_noun(one))
            };
            let parts: Vec<String> = several.iter().map(share).collect();
            let mut chosen: Vec<_> = several.iter().map(keys).filter(|k| !k.is_empty()).collect();
            chosen.dedup();
            match chosen.as_slice() {
                [keys] => format!("{}, {keys}keys", parts.join(" and ")),
                _ => parts.join(" and "),
            }
        }
    }
}

/// `one thread updates`, `4 threads scan`.
fn clause(role: &Role, swept: Option<u32>) -> String {
    let [_, one, many] = match role.mix.as_slice() {
        [entry] => operation_words(&entry.op),
        _ => ["work", "works", "work"],
    };
    match role.threads {
        n if swept == Some(n) && n > 1 => format!("threads {many}"),
        1 => format!("one thread {one}"),
        n => format!("{n} threads {many}"),
    }
}

/// Returns the word for the keys that an operation takes, with a blank behind; none for a new
/// record, which has a key of its own.
fn keys(entry: &MixEntry) -> String {
    if entry.op == Op::Insert || entry.op.is_of_graph() {
        return String::new();
    }
    let kind = match entry.keys {
        Choice::Uniform => "random ",
        Choice::Zipf { theta, .. } => return format!("Zipf {theta} "),
        Choice::YcsbZipfian => "YCSB zipfian ",
        Choice::GrayZipf { .. } => "Gray's Zipf ",
        Choice::Latest { .. } => "latest ",
        Choice::Hotspot { .. } => "hotspot ",
        Choice::Exponential { .. } => "exponential ",
        Choice::Sequential { .. } => "sequential ",
        Choice::Ranges { .. } => "hot-range ",
        Choice::Absent => "missing ",
    };
    kind.to_owned()
}

/// Returns the words for an operation: its noun, and its verb for one thread and for several.
fn operation_words(op: &Op) -> [&'static str; 3] {
    match op {
        Op::Get => ["reads", "reads", "read"],
        Op::Insert => ["inserts", "inserts", "insert"],
        Op::Update => ["updates", "updates", "update"],
        Op::Delete => ["deletes", "deletes", "delete"],
        Op::Scan { .. } => ["range scans", "scans ranges", "scan ranges"],
        Op::Multiget { .. } => ["multigets", "reads keys in groups", "read keys in groups"],
        Op::ReadModifyWrite => ["read-modify-writes", "reads and rewrites", "read and rewrite"],
        Op::Batch { .. } => ["batched updates", "updates in batches", "update in batches"],
        Op::Walk { .. } => ["reads in key order", "reads in key order", "read in key order"],
        Op::Open { .. } => ["openings after a close", "opens the database", "open the database"],
        Op::Recover { .. } => {
            ["openings after a kill", "opens a killed database", "open a killed database"]
        }
        Op::Flush => ["flushes", "flushes", "flush"],
        Op::AddNode => ["new nodes", "writes nodes", "write nodes"],
        Op::GetNode => ["reads of nodes", "reads nodes", "read nodes"],
        Op::UpdateNode => ["updates of nodes", "writes nodes", "write nodes"],
        Op::DeleteNode => ["deletes of nodes", "writes nodes", "write nodes"],
        Op::AddLink => ["new links", "writes links", "write links"],
        Op::UpdateLink => ["updates of links", "writes links", "write links"],
        Op::DeleteLink => ["deletes of links", "writes links", "write links"],
        Op::CountLink => ["counts of links", "reads links", "read links"],
        Op::MultigetLink => ["reads of several links", "reads links", "read links"],
        Op::GetLinksList => ["lists of links", "reads links", "read links"],
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::{Domain, Ends};

    fn role(name: &str, threads: u32, mix: Vec<(Op, f64, Choice)>) -> Role {
        let mix =
            mix.into_iter().map(|(op, weight, keys)| MixEntry::new(op, weight, keys)).collect();
        Role::new(name, threads, mix)
    }

    fn title(roles: Vec<Role>, swept: Option<u32>) -> String {
        measures(&Mix { roles, ends: Ends::after_ns(1) }, swept)
    }

    #[test]
    fn a_heading_says_the_workload() {
        let readers = || role("readers", 4, vec![(Op::Get, 1.0, Choice::Uniform)]);
        let writer = |threads| role("writer", threads, vec![(Op::Update, 1.0, Choice::Uniform)]);
        assert_eq!(title(vec![readers()], Some(4)), "Random reads");
        let both = title(vec![readers(), writer(1)], Some(4));
        assert_eq!(both, "Random reads while one thread updates");
        let more = title(vec![writer(1), readers(), writer(2)], Some(4));
        assert_eq!(more, "Random updates while threads read and 2 threads update");
        let zipf = || Choice::Zipf { theta: 0.99, domain: Domain::Loaded };
        let mixed = role("clients", 1, vec![(Op::Get, 95.0, zipf()), (Op::Update, 5.0, zipf())]);
        assert_eq!(title(vec![mixed], None), "95 % reads and 5 % updates, Zipf 0.99 keys");
        let inserts = role("clients", 1, vec![(Op::Insert, 1.0, Choice::Uniform)]);
        assert_eq!(title(vec![inserts], None), "Inserts");
    }
}
