//! Which role the number of threads of a point belongs to.

use super::group::{Group, RunRow};
use kvdyno_record::units;

/// The threads of a role: `4 threads`. Where its own are fixed and those of another are
/// swept, the other's: `with 4 readers`. `at` is its index in `run`, a phase of `group`.
pub fn threads_in_words<'g>(
    groups: &(impl Iterator<Item = &'g Group> + Clone),
    group: &Group,
    run: &RunRow,
    at: usize,
) -> String {
    let threads = run.roles[at].threads;
    let own = format_threads(threads);
    let Some(swept) = group.threads_swept else { return own };
    // Whether another point has a role of the same name with as many threads.
    let is_fixed = |at: usize| {
        let role = &run.roles[at];
        let mut others = groups.clone().filter(|other| {
            other.part == group.part && other.threads_swept.is_some_and(|n| n != swept)
        });
        others.any(|other| {
            let run = other.runs.iter().find(|other| other.phase == run.phase);
            let same = run.and_then(|run| run.roles.iter().find(|other| other.role == role.role));
            same.is_some_and(|same| same.threads == role.threads)
        })
    };
    if threads == swept && !is_fixed(at) {
        return own;
    }
    let is_swept =
        |other: &usize| *other != at && run.roles[*other].threads == swept && !is_fixed(*other);
    match (0..run.roles.len()).find(is_swept).map(|other| &run.roles[other].role) {
        Some(role) if swept == 1 => format!("with 1 {}", role.strip_suffix('s').unwrap_or(role)),
        Some(role) => format!("with {swept} {role}"),
        None => format!("{own} (at {swept})"),
    }
}

/// `1 thread`, `2 threads`.
pub fn format_threads(number: u32) -> String {
    units::pluralize(number as usize, "thread")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Two points of one phase: readers that are swept, a writer with one thread.
    fn points(threads: [u32; 2]) -> Vec<Group> {
        let summary = Fixture::with_trials(4).summary();
        let with_run = |group: &&Group| group.runs.iter().any(|run| run.roles.len() == 2);
        let point = summary.groups.iter().find(with_run).unwrap();
        let with = |n: u32| {
            let mut group = point.clone();
            group.threads_swept = Some(n);
            for run in &mut group.runs {
                (run.roles[0].threads, run.roles[1].threads) = (n, 1);
            }
            group
        };
        threads.map(with).to_vec()
    }

    fn words(groups: &[Group], point: usize) -> [String; 2] {
        let group = &groups[point];
        [0, 1].map(|at| threads_in_words(&groups.iter(), group, &group.runs[0], at))
    }

    #[test]
    fn a_fixed_group_is_named_by_the_swept_one() {
        let mut groups = points([1, 4]);
        assert_eq!(words(&groups, 0), ["1 thread", "with 1 reader"]);
        assert_eq!(words(&groups, 1), ["4 threads", "with 4 readers"]);
        // For a single point, the roles are told apart by their different thread counts.
        assert_eq!(words(&groups[1..], 0), ["4 threads", "with 4 readers"]);
        assert_eq!(words(&groups[..1], 0), ["1 thread", "1 thread"]);
        for group in &mut groups {
            group.runs[0].roles[0].threads = 2;
        }
        assert_eq!(words(&groups, 1), ["2 threads (at 4)", "1 thread (at 4)"]);
        groups[1].threads_swept = None;
        assert_eq!(words(&groups, 1), ["2 threads", "1 thread"]);
    }
}
