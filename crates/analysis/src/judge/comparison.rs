//! Fills in each engine's ratios: to the base engine (the suite's first) at the same work and
//! durability class, and to itself on the first volume. A bare drive has only the latter.

use crate::figures::catalogue as c;
use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::metric::Metric;
use crate::figures::relative::RelativeTo;
use crate::figures::scatter::Scatter;

/// Fills in every row's ratio.
pub(crate) fn compare(groups: &mut [Group]) {
    for index in 0..groups.len() {
        if !(BASES[1].includes)(&groups[index]) {
            continue;
        }
        let load = BASES.map(|base| compare_load(groups, index, base));
        if let Some(row) = &mut groups[index].load {
            [row.relative, row.relative_volume] = load;
        }
        for run in 0..groups[index].runs.len() {
            for role in 0..groups[index].runs[run].roles.len() {
                let at = [index, run, role];
                let relative = BASES.map(|base| compare_role(groups, at, base, rate));
                let responses = (0..responses(groups, at))
                    .map(|op| compare_role(groups, at, BASES[0], |role| response(role, op)));
                let responses: Vec<Option<RelativeTo>> = responses.collect();
                let scatter = scatter(groups, at);
                let row = &mut groups[index].runs[run].roles[role];
                row.scatter = scatter;
                [row.relative, row.relative_volume] = relative;
                for (op, response) in responses.into_iter().enumerate() {
                    match row.ops.get_mut(op) {
                        Some(row) => row.relative_response = response,
                        None => row.relative_response = response,
                    }
                }
            }
        }
    }
}

/// What a figure is compared with: the base's name, and what loads and cases must have in
/// common.
#[derive(Clone, Copy)]
struct Base {
    includes: fn(&Group) -> bool,
    name: fn(&Group) -> Option<&str>,
    loads: fn(&Group) -> &str,
    runs: fn(&RunRow) -> u64,
}

const BASES: [Base; 2] = [
    // Another engine on the same volume.
    Base {
        includes: Group::competes,
        name: |group| Some(&group.label),
        loads: |group| &group.load_peers,
        runs: |run| run.peers.engines,
    },
    // The same engine, or job of the bare drive, on another volume.
    Base {
        includes: |group| group.competes() || group.bare_drive,
        name: |group| group.volume.as_deref(),
        loads: |group| &group.load_on_volumes,
        runs: |run| run.peers.volumes,
    },
];

fn compare_load(groups: &[Group], index: usize, by: Base) -> Option<RelativeTo> {
    let peer =
        |group: &Group| (by.loads)(group) == (by.loads)(&groups[index]) && group.load.is_some();
    let base = find_base(groups, by, &groups[index], peer)?;
    let rate = |group: usize| groups[group].load.as_ref()?.metrics.get(&c::RECORDS_PER_S);
    relative((by.name)(&groups[base])?, groups, [base, index], rate)
}

fn rate(role: &RoleRow) -> Option<&Metric> {
    role.metrics.get(&c::OPS_PER_S)
}

fn response(role: &RoleRow, op: usize) -> Option<&Metric> {
    role.metrics_by_operation().nth(op)?.1.get(&c::RESPONSE_P99)
}

/// The operations of a role whose response times are judged.
fn responses(groups: &[Group], [index, run, role]: [usize; 3]) -> usize {
    let role = &groups[index].runs[run].roles[role];
    if role.open_loop { role.metrics_by_operation().count() } else { 0 }
}

/// Where the scatter of a role's ratio to the base engine's comes from.
fn scatter(groups: &[Group], [index, run, role]: [usize; 3]) -> Option<Scatter> {
    let run = &groups[index].runs[run];
    let base = base_of_run(groups, index, run, BASES[0]).filter(|base| *base != index)?;
    let base = groups[base].run(&run.phase)?.roles.get(role)?;
    Scatter::between(&base.windows, &run.roles[role].windows)
}

/// The first engine with a phase of the same work.
fn base_of_run(groups: &[Group], index: usize, run: &RunRow, by: Base) -> Option<usize> {
    let equal = |other: &RunRow| (by.runs)(other) == (by.runs)(run);
    let peer = |group: &Group| group.run(&run.phase).is_some_and(equal);
    find_base(groups, by, &groups[index], peer)
}

/// The base of a group, if that is compared at all: engines with engines, and a bare drive with
/// bare drives. It is the first peer of those beside the group, in its part and at its number of
/// threads; where it is alone there, the first of all. A group that repeats its base has none.
fn find_base(
    groups: &[Group],
    by: Base,
    group: &Group,
    is_peer: impl Fn(&Group) -> bool,
) -> Option<usize> {
    if !(by.includes)(group) {
        return None;
    }
    let is_alike = |other: &Group| {
        (by.includes)(other) && other.bare_drive == group.bare_drive && is_peer(other)
    };
    let is_beside = |other: &Group| {
        is_alike(other) && other.part == group.part && other.threads_swept == group.threads_swept
    };
    let is_other = |other: &Group| is_beside(other) && (by.name)(other) != (by.name)(group);
    let base = if groups.iter().any(is_other) {
        groups.iter().position(is_beside)
    } else {
        groups.iter().position(is_alike)
    };
    base.filter(|base| !repeats(&groups[*base], group))
}

fn compare_role(
    groups: &[Group],
    [index, run, role]: [usize; 3],
    by: Base,
    figure: impl Fn(&RoleRow) -> Option<&Metric>,
) -> Option<RelativeTo> {
    let run = &groups[index].runs[run];
    let base = base_of_run(groups, index, run, by)?;
    let figure = |group: usize| figure(groups[group].run(&run.phase)?.roles.get(role)?);
    relative((by.name)(&groups[base])?, groups, [base, index], figure)
}

fn relative<'g>(
    name: &str,
    groups: &'g [Group],
    [base, index]: [usize; 2],
    figure: impl Fn(usize) -> Option<&'g Metric>,
) -> Option<RelativeTo> {
    if base == index {
        return RelativeTo::for_base(name, figure(index)?);
    }
    RelativeTo::between(name, (&groups[base], figure(base)?), (&groups[index], figure(index)?))
}

/// Whether two groups of equal work are the same engine with the same settings, in two parts of
/// the suite. Only chance separates them, and no number of trials would decide.
fn repeats(base: &Group, group: &Group) -> bool {
    base.part != group.part && base.setup == group.setup
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    /// The figures that are compared where another part has the same engine, with this cache.
    fn count_compared(cache: &str) -> usize {
        let mut fixture = Fixture::with_trials(4);
        let mut options = fixture.case("lmdb_load_r1").record.case.options.clone();
        if !cache.is_empty() {
            options.values.insert("cache".to_owned(), cache.into());
        }
        for case in fixture.cases.iter_mut().map(|case| &mut case.record.case) {
            let part = match &*case.engine {
                "lmdb" => "one",
                "rocksdb" => "two",
                _ => continue,
            };
            if part == "two" {
                (case.engine, case.options) = ("lmdb".to_owned(), options.clone());
            }
            (case.label, case.part) = (format!("lmdb {part}"), Some(part.to_owned()));
        }
        fixture.replan();
        fixture.summary().verdicts.figures
    }

    #[test]
    fn parts_are_compared_where_the_settings_differ() {
        assert_eq!(count_compared(""), 0);
        assert!(count_compared("1GiB") > 0);
    }

    /// Two engines in each of two parts with other options.
    #[test]
    fn the_base_is_of_the_same_part() {
        let mut fixture = Fixture::with_trials(4);
        let mut both = Vec::new();
        for part in ["one", "two"] {
            for mut copy in fixture.cases.clone() {
                let case = &mut copy.record.case;
                let name = |name: &str| format!("{name}_{part}");
                (case.id, case.key) = (name(&case.id), name(&case.key));
                case.database.id = name(&case.database.id);
                case.database.loaded_by = name(&case.database.loaded_by);
                (case.label, case.part) = (format!("{} {part}", case.label), Some(part.to_owned()));
                both.push(copy);
            }
        }
        fixture.cases = both;
        fixture.replan();
        let groups = fixture.summary().figures.groups;
        let base = |engine: &str, part: &str| {
            let mut groups = groups.iter().filter(|group| group.engine == engine);
            let group = groups.find(|group| group.part.as_deref() == Some(part)).unwrap();
            let roles = group.runs.iter().flat_map(|run| &run.roles);
            let relatives = roles.map(|role| &role.relative);
            let load = group.load.iter().map(|load| &load.relative);
            relatives.chain(load).next().unwrap().clone().unwrap().base
        };
        assert_eq!([base("rocksdb", "one"), base("rocksdb", "two")], ["LMDB one", "LMDB two"]);
    }
}
