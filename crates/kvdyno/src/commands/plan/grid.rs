//! A plan as a grid: an engine of a part on each line, with the swept values and the number of
//! cases. It fits a screen for any number of cases.

use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_record::workload::{Mix, Op, Phase, PhaseWindow, Size};
use kvdyno_render::table::{Side, Table};
use kvdyno_render::wrap::wrap;

/// Up to this many values of an axis are listed.
const NAMED_MAX: usize = 4;

/// A line of the grid: an engine of a part.
struct Line<'p> {
    listed: u32,
    cases: Vec<&'p Case>,
}

/// A column of the grid: a property that the plan may sweep.
struct Axis {
    title: &'static str,
    value: fn(&Case) -> Option<String>,
    /// Whether the column is shown even if all cases have one value.
    always: bool,
}

const AXES: [Axis; 7] = [
    Axis { title: "part", value: |case| case.part.clone(), always: false },
    Axis { title: "engine", value: |case| Some(engine(case)), always: true },
    Axis {
        title: "durability",
        value: |case| Some(case.options.durability.as_str().to_owned()),
        always: false,
    },
    Axis { title: "data", value: |case| Some(data(case)), always: true },
    Axis { title: "RAM limit", value: |case| Some(ram(case)), always: true },
    Axis {
        title: "volume",
        value: |case| case.volume.as_ref().map(|volume| volume.name.clone()),
        always: false,
    },
    Axis {
        title: "threads",
        value: |case| case.threads.map(|threads| threads.to_string()),
        always: true,
    },
];

/// The grid, its sum, and the phases of each part.
pub(super) fn table(plan: &Plan) -> String {
    let lines = lines(plan);
    let axes: Vec<&Axis> = AXES.iter().filter(|axis| is_shown(axis, plan)).collect();
    let columns = axes.iter().map(|axis| (axis.title, Side::Left));
    let mut table = Table::new(columns.chain([("trials", Side::Right), ("cases", Side::Right)]));
    for line in &lines {
        let values = axes.iter().map(|axis| values(axis, &line.cases));
        let trials = line.cases.iter().map(|case| case.trial).max().unwrap_or(0);
        let counts = [trials.to_string(), units::group_digits(line.cases.len() as u64)];
        table.row(&values.chain(counts).collect::<Vec<_>>());
    }
    let pilots = plan.cases.iter().filter(|case| case.is_pilot()).count();
    let pilots = if pilots > 0 { format!(", {pilots} of them pilots") } else { String::new() };
    let sum = format!("{} in all{pilots}", units::pluralize(plan.cases.len(), "case"));
    format!("\n{}\n{sum}\n{}\n{}", table.text(), phases(&lines), format_random_sizes(plan))
}

/// Returns the lines of the grid, in the order of engines in the suite.
fn lines(plan: &Plan) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    let mut positions = std::collections::HashMap::new();
    for case in &plan.cases {
        let index = *positions.entry((&case.part, &case.label)).or_insert(lines.len());
        if index == lines.len() {
            lines.push(Line { listed: case.listed, cases: Vec::new() });
        }
        let line = &mut lines[index];
        line.listed = line.listed.min(case.listed);
        line.cases.push(case);
    }
    lines.sort_by_key(|line| line.listed);
    lines
}

fn is_shown(axis: &Axis, plan: &Plan) -> bool {
    let mut values = plan.cases.iter().map(axis.value);
    let first = values.next().flatten();
    axis.always || values.any(|value| value != first) || (first.is_some() && axis.title == "part")
}

/// The values of an axis: `1, 2, 4, 8`, or `12: 1 to 64`.
fn values(axis: &Axis, cases: &[&Case]) -> String {
    // Cases come in their order of execution.
    let mut cases = cases.to_vec();
    cases.retain(|case| !case.is_pilot());
    cases.sort_by_key(|case| case.listed);
    let mut unique: Vec<String> = Vec::new();
    let mut set = std::collections::HashSet::new();
    for value in cases.into_iter().filter_map(axis.value) {
        if set.insert(value.clone()) {
            unique.push(value);
        }
    }
    match &unique[..] {
        [] => "-".to_owned(),
        [first, .., last] if unique.len() > NAMED_MAX => {
            format!("{}: {first} to {last}", unique.len())
        }
        all => all.join(", "),
    }
}

/// The engine's label without the part, which has a column of its own.
fn engine(case: &Case) -> String {
    let part = case.part.as_ref().map(|part| format!(" {part}"));
    let bare = part.and_then(|part| case.label.strip_suffix(&part));
    bare.unwrap_or(&case.label).to_owned()
}

fn data(case: &Case) -> String {
    let values = match case.data.value.size {
        Size::Fixed { bytes } => bytes.to_string(),
        _ => format!("~{}", case.value_bytes_mean()),
    };
    format!("{} x {}+{values}", units::count(case.data.records), case.data.key.bytes)
}

fn ram(case: &Case) -> String {
    let limit = case.ram_limit_bytes.map_or_else(|| "none".to_owned(), units::bytes);
    match &case.tier {
        Some(tier) => format!("{limit} with {}", tier.name),
        None => limit,
    }
}

/// The phases of each part, in order: `load, settle, verify, evict, measure`.
fn phases(lines: &[Line<'_>]) -> String {
    let mut parts: Vec<(Option<&String>, Vec<&Phase>)> = Vec::new();
    for line in lines {
        let Some(first) = line.cases.first() else { continue };
        let part = first.part.as_ref();
        if parts.iter().all(|(name, _)| *name != part) {
            parts.push((part, Vec::new()));
        }
        let Some((_, phases)) = parts.iter_mut().find(|(name, _)| *name == part) else { continue };
        let of_trial = line.cases.iter().filter(|case| case.trial == 1);
        for phase in of_trial.flat_map(|case| &case.phases) {
            if phases.iter().all(|other| other.name != phase.name) {
                phases.push(phase);
            }
        }
    }
    let words = parts.into_iter().map(|(part, phases)| {
        let suffix = part.map_or_else(String::new, |part| format!(" of {part}"));
        wrap(&format!("phases{suffix}: {}", shorten_windows(&phases).join(", ")), 2)
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Operations with random key or record counts: `drawn: multiget of measure ~3.62 keys (2 to 128)`.
fn format_random_sizes(plan: &Plan) -> String {
    let mut operations: Vec<(&str, &str, &Size, &str)> = Vec::new();
    for phase in plan.cases.iter().flat_map(|case| &case.phases) {
        for entry in phase.mix().into_iter().flat_map(Mix::entries) {
            let (size, what) = match &entry.op {
                Op::Multiget { keys: size } | Op::Batch { writes: size } => (size, "keys"),
                Op::Scan { length, .. } | Op::Walk { length, .. } => (length, "records"),
                _ => continue,
            };
            let operation = (phase.name.as_str(), entry.op.name(), size, what);
            if size.min() < size.max() && !operations.contains(&operation) {
                operations.push(operation);
            }
        }
    }
    if operations.is_empty() {
        return String::new();
    }
    let words = operations.into_iter().map(|(phase, op, size, what)| {
        let (min, max) = (size.min(), size.max());
        format!("{op} of {phase} ~{:.2} {what} ({min} to {max})", size.mean())
    });
    let words: Vec<String> = words.collect();
    wrap(&format!("drawn: {}", words.join(", ")), 2) + "\n"
}

/// The name of the phase of which this phase is a window; none: it is not a window.
fn parent_phase(phase: &Phase) -> Option<&str> {
    phase.window.as_ref().map(|window| window.phase.as_str())
}

/// The names of phases, with the windows of one phase as one entry: `hours-w01 to w24`.
fn shorten_windows(phases: &[&Phase]) -> Vec<String> {
    let mut short: Vec<String> = Vec::new();
    let mut rest = phases;
    while let [first, others @ ..] = rest {
        let is_next = |phase: &&&Phase| {
            parent_phase(phase).is_some() && parent_phase(phase) == parent_phase(first)
        };
        let more = others.iter().take_while(is_next).count();
        let last = others[..more].last().and_then(|phase| phase.window.as_ref());
        short.push(match last {
            Some(PhaseWindow { number, .. }) => format!("{} to w{number}", first.name),
            None => first.name.clone(),
        });
        rest = &others[more..];
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_record::workload::Activity;

    #[test]
    fn an_engine_is_a_line_and_its_values_are_named_or_counted() {
        let mut plan = Fixture::new().plan;
        for part in ["flash", "disk"] {
            let of_part = plan.cases.iter().filter(|case| case.part.is_none());
            let of_part: Vec<Case> = of_part.cloned().collect();
            let rename = |mut case: Case| {
                case.part = Some(part.to_owned());
                case.label += &format!(" {part}");
                case.listed += if part == "flash" { 1_000 } else { 2_000 };
                case
            };
            plan.cases.extend(of_part.into_iter().map(rename));
        }
        plan.cases.retain(|case| case.part.is_some());
        insta::assert_snapshot!(table(&plan));
    }

    #[test]
    fn windows_are_told_as_one() {
        let names = ["load", "hours-w1", "hours-w2", "hours-w3", "measure", "b-wide"];
        let mut phases = names.map(|name| Phase::new(name, Activity::Evict));
        for (phase, number) in phases[1..4].iter_mut().zip(1..) {
            phase.window = Some(PhaseWindow { phase: "hours".to_owned(), number });
        }
        let short = ["load", "hours-w1 to w3", "measure", "b-wide"];
        assert_eq!(shorten_windows(&phases.each_ref()), short);
    }
}
