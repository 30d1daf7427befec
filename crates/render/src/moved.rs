//! Functions whose share of the CPU time moved, on a terminal.

use crate::columns::short;
use crate::format::ratio;
use crate::table::{Side, Table};
use kvdyno_analysis::figures::profile::ThreadsSamples;
use kvdyno_analysis::judge::versus::profile::{MovedFunction, ProfilePair};
use kvdyno_record::text::escape_line;

/// The heading of the table.
pub const TITLE: &str = "Functions whose share of the CPU time moved";

/// How to read the table.
pub const AID: &str = "\
self: the share of samples in the function itself, of those of its threads. Listed are functions
whose share moved by more than chance does (99 % for all functions of a kind of threads together,
samples taken as independent), of those with 20 samples or more. A share also moves if other
functions got faster or slower; ns/op does not. Waiting is not sampled.";

/// Functions of a kind of threads that are shown.
const SHOWN: usize = 8;

/// A line for each function.
pub fn table(profiles: &[ProfilePair]) -> Table {
    let columns = [
        ("case", Side::Left),
        ("phase", Side::Left),
        ("of", Side::Left),
        ("base\nself %", Side::Right),
        ("new\nself %", Side::Right),
        ("base\nns/op", Side::Right),
        ("new\nns/op", Side::Right),
        ("function", Side::Left),
    ];
    let mut table = Table::new(columns.map(|(title, side)| (title.to_owned(), side)));
    for pair in profiles {
        for moved in pair.moved.iter().take(SHOWN) {
            table.row(&row(pair, moved));
        }
        if pair.moved.is_empty() {
            table.row(&row_without_moves(pair));
        }
    }
    table
}

fn pair_columns(pair: &ProfilePair) -> [String; 3] {
    [&pair.pair, &pair.phase, &pair.threads].map(|word| escape_line(word).into_owned())
}

/// The time of all functions, where one side alone has such threads.
fn row_without_moves(pair: &ProfilePair) -> [String; 8] {
    let [case, phase, threads] = pair_columns(pair);
    let [base, new] = [&pair.base.sampled, &pair.new.sampled];
    let all_ns = |side: &ThreadsSamples| ns(side.ns_per_op(side.samples));
    let none = || "-".to_owned();
    let (of_base, of_new, words) = match (base.samples, new.samples) {
        (0, _) => (none(), all_ns(new), "threads of new alone: all their functions"),
        (_, 0) => (all_ns(base), none(), "threads of base alone: all their functions"),
        _ => (none(), none(), "none moved"),
    };
    [case, phase, threads, none(), none(), of_base, of_new, words.to_owned()]
}

fn ns(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), ratio)
}

fn row(pair: &ProfilePair, moved: &MovedFunction) -> [String; 8] {
    let [case, phase, threads] = pair_columns(pair);
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    [
        case,
        phase,
        threads,
        percent(moved.base_share),
        percent(moved.new_share),
        ns(moved.base_ns_per_op),
        ns(moved.new_ns_per_op),
        short(&moved.name),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_analysis::judge::versus::profile::list_profiles;
    use kvdyno_analysis::judge::versus::{FigureChoice, Question, Record, Sides, Versus};

    #[test]
    fn what_moved_stands_beside_what_it_was() {
        let dir = kvdyno_analysis::fixture::make_dir();
        let record = |name: &str, more: u64| {
            let mut fixture = Fixture::with_profile();
            fixture.run.id = name.to_owned();
            for profile in fixture.cases.iter_mut().filter_map(|case| case.profile.as_mut()) {
                let threads = &mut profile.phases[0].threads[0];
                threads.samples += more;
                threads.stacks[4].1 += more;
            }
            [Record::read(&fixture.write(&dir.path().join(name))).unwrap()]
        };
        let (base, new) = (record("base", 0), record("new", 300));
        let sides = Sides::Runs { base: &base, new: &new };
        let question = Question { figures: FigureChoice::Usual, within: 0.03, gate: None };
        let versus = Versus::compare(&sides, &question).unwrap();
        insta::assert_snapshot!(table(&list_profiles(&sides, &versus)).text());
    }
}
