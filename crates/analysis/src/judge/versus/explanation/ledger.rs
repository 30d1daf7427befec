//! The functions whose own instructions changed: their changes and the rest add up to the
//! difference of the two builds.

use super::SideGroup;
use crate::figures::catalogue as c;
use crate::figures::metric::Metric;
use crate::figures::spent::Spent;
use crate::judge::versus::judge::{Verdict, side_by_side};
use crate::stats::mean;
use kvdyno_record::functions::FunctionCount;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most functions that are listed; the changes of all others are one sum.
const LISTED_MAX: usize = 12;

/// Characters of a short name: names of C++ templates fill screens.
const NAME_MAX: usize = 60;

/// The share of all instructions below which the change of a function is not listed.
const CHANGE_LEAST: f64 = 1e-4;

/// Instructions per operation of a load's records, or of a phase's operations, by function.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ledger {
    /// All instructions per operation of the base: the mean of its trials.
    pub base: f64,
    /// The same on the new side.
    pub new: f64,
    /// Whether they differ, by the rule.
    pub verdict: Verdict,
    /// Functions that changed by more than from trial to trial, and by more than 0.01 % of all
    /// instructions: the largest change first.
    pub functions: Vec<FunctionChange>,
    /// The sum of the changes of all other functions.
    pub others: f64,
}

/// A function on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FunctionChange {
    /// Its name, without what a compiler appends to it.
    pub function: String,
    /// The program or library that it is in.
    pub object: String,
    /// Its own instructions per operation on the base; 0: it was not called.
    pub base: f64,
    /// The same on the new side.
    pub new: f64,
}

impl FunctionChange {
    /// Instructions per operation that the new side takes beyond the base; negative: fewer.
    pub fn change(&self) -> f64 {
        self.new - self.base
    }

    /// Its name, the middle left out where it is long.
    pub fn short_name(&self) -> String {
        let characters: Vec<char> = self.function.chars().collect();
        if characters.len() <= NAME_MAX {
            return self.function.clone();
        }
        let half = NAME_MAX / 2 - 1;
        let end: String = characters[characters.len() - half..].iter().collect();
        characters[..half].iter().collect::<String>() + ".." + &end
    }
}

/// A function's instructions per operation, trial by trial.
#[derive(Default)]
struct Function {
    object: String,
    trials: Vec<f64>,
}

/// The functions of one side by name.
struct Side {
    functions: BTreeMap<String, Function>,
    totals: Vec<f64>,
}

impl Ledger {
    /// The ledger of a phase; none where a side has no count of functions.
    pub(super) fn from_phase(sides: &[SideGroup<'_>; 2], phase: &str) -> Option<Self> {
        let trials = [read_trials(&sides[0], phase), read_trials(&sides[1], phase)];
        let [base, new] = trials.each_ref().map(|trials| objects(trials));
        let common = base.intersection(&new).copied().collect();
        let [base, new] = trials.each_ref().map(|trials| Side::from_trials(trials, &common));
        if base.totals.is_empty() || new.totals.is_empty() {
            return None;
        }
        let metrics = [metric(&sides[0], phase), metric(&sides[1], phase)];
        let row = metrics[0]
            .zip(metrics[1])
            .and_then(|(base, new)| side_by_side((sides[0].group, base), (sides[1].group, new)));
        let least = CHANGE_LEAST * mean(&base.totals);
        let (mut listed, mut others) = (Vec::new(), 0.0);
        let names: BTreeSet<&String> = base.functions.keys().chain(new.functions.keys()).collect();
        for name in names {
            let both = [&base, &new].map(|side| side.functions.get(name));
            let trials = [&base, &new].map(|side| side.trials(name));
            let object = both.iter().flatten().map(|function| function.object.as_str()).next();
            let change = FunctionChange {
                function: name.clone(),
                object: object.unwrap_or_default().to_owned(),
                base: mean(&trials[0]),
                new: mean(&trials[1]),
            };
            // A function of one build may change by as much from trial to trial.
            let noise = trials.iter().map(|trials| range(trials)).fold(least, f64::max);
            if change.change().abs() > noise {
                listed.push(change);
            } else {
                others += change.change();
            }
        }
        listed.sort_by(|one, other| other.change().abs().total_cmp(&one.change().abs()));
        others += listed.drain(LISTED_MAX.min(listed.len())..).map(|it| it.change()).sum::<f64>();
        Some(Self {
            base: mean(&base.totals),
            new: mean(&new.totals),
            verdict: row.map_or(Verdict::NotComparable, |row| row.verdict),
            functions: listed,
            others,
        })
    }

    /// Whether the two differ in their instructions.
    pub fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Improved | Verdict::Regressed)
    }

    /// Instructions per operation that the new side takes beyond the base; negative: fewer.
    pub fn change(&self) -> f64 {
        self.new - self.base
    }
}

/// A trial's functions, and how many operations, or records of a load, they did.
struct Trial {
    done: f64,
    functions: Vec<FunctionCount>,
}

fn read_trials(side: &SideGroup<'_>, phase: &str) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (_, case) in side.cases() {
        let Ok(record) = case.phase(phase) else { continue };
        let counted = case.functions().and_then(|mut file| file.phases.remove(phase));
        let spent = Spent::from_phase(record);
        let done = spent.done(&case.case.data);
        if let Some(functions) = counted.filter(|_| done > 0.0) {
            trials.push(Trial { done, functions });
        }
    }
    trials
}

fn objects(trials: &[Trial]) -> BTreeSet<&str> {
    trials.iter().flat_map(|trial| &trial.functions).map(|it| it.object.as_str()).collect()
}

impl Side {
    /// `common`: the programs and libraries that both sides have.
    fn from_trials(trials: &[Trial], common: &BTreeSet<&str>) -> Self {
        let mut side = Self { functions: BTreeMap::new(), totals: Vec::new() };
        for (index, trial) in trials.iter().enumerate() {
            for count in &trial.functions {
                let name = plain_name(&count.function);
                let name = match (name.starts_with('('), common.contains(count.object.as_str())) {
                    // Functions without a name count as one for each library.
                    (true, true) => format!("{name} in {}", count.object),
                    // The library under test: its file has another name in each build.
                    (true, false) => format!("{name} in the library"),
                    (false, _) => name,
                };
                let function = side.functions.entry(name).or_default();
                function.object.clone_from(&count.object);
                function.trials.resize(index + 1, 0.0);
                function.trials[index] += count.instructions as f64 / trial.done;
            }
            let all: u64 = trial.functions.iter().map(|count| count.instructions).sum();
            side.totals.push(all as f64 / trial.done);
        }
        side
    }

    /// A function's instructions in every trial; 0 where it was not called.
    fn trials(&self, name: &str) -> Vec<f64> {
        let mut trials = self.functions.get(name).map_or_else(Vec::new, |it| it.trials.clone());
        trials.resize(self.totals.len(), 0.0);
        trials
    }
}

fn metric<'g>(side: &SideGroup<'g>, phase: &str) -> Option<&'g Metric> {
    let load = side.group.load.as_ref().filter(|load| load.phase == phase);
    let metrics = load.map(|load| &load.metrics);
    let metrics = metrics.or_else(|| side.group.run(phase).map(|run| &run.metrics))?;
    metrics.get(&c::INSTRUCTIONS_PER_OP)
}

fn range(trials: &[f64]) -> f64 {
    let low = trials.iter().copied().fold(f64::MAX, f64::min);
    let high = trials.iter().copied().fold(f64::MIN, f64::max);
    high - low
}

/// The name without what differs from build to build: the types of a C++ function, the hash of a
/// Rust function, the suffixes of clones that compilers make of a function.
fn plain_name(name: &str) -> String {
    strip_types(strip_suffixes(name)).unwrap_or_else(|| strip_suffixes(name).to_owned())
}

/// A C++ function without its result, parameters and template arguments: these change with every
/// parameter that is added, and the function stays what it is. None: it has no types, or is an
/// operator.
fn strip_types(name: &str) -> Option<String> {
    if name.contains("operator") || name.starts_with(['<', '(']) {
        return None;
    }
    let name = name.replace("(anonymous namespace)", "{anonymous}");
    let (mut depth, mut plain) = (0_u32, String::new());
    for c in name.chars() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.checked_sub(1)?,
            '(' if depth == 0 => {
                let function = plain.rsplit(' ').next().unwrap_or_default();
                return (!function.is_empty()).then(|| function.to_owned());
            }
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    None
}

fn strip_suffixes(name: &str) -> &str {
    let mut plain = name;
    while let Some((front, last)) = plain.rsplit_once('.') {
        let number = last.bytes().all(|byte| byte.is_ascii_digit());
        let is_clone = ["constprop", "isra", "part", "cold", "llvm", "lto_priv"].contains(&last);
        if !(number || is_clone) {
            break;
        }
        plain = front;
    }
    if let Some((front, hash)) = plain.rsplit_once("::h")
        && hash.len() == 16
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    {
        plain = front;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_appends_is_no_part_of_a_name() {
        let plain = plain_name;
        assert_eq!(plain("mdb_page_search.part.0.isra.3"), "mdb_page_search");
        assert_eq!(plain("redb::get::h0123456789abcdef"), "redb::get");
        assert_eq!(plain("redb::get.llvm.1234567"), "redb::get");
        assert_eq!(plain("operator.new"), "operator.new");
    }

    #[test]
    fn a_function_that_gets_a_parameter_is_the_same_function() {
        let plain = plain_name;
        assert_eq!(plain("rocksdb::DB::Get(Slice const&, bool) const"), "rocksdb::DB::Get");
        let iterator = "rocksdb::DataBlockIter* rocksdb::BlockBasedTable::NewIterator<int, T<(A)1> \
                        >(rocksdb::ReadOptions const&) const";
        assert_eq!(plain(iterator), "rocksdb::BlockBasedTable::NewIterator");
        assert_eq!(
            plain("BlockIter<Index>::Seek(Slice)"),
            plain("BlockIter<Slice>::Seek(Slice, int)")
        );
        assert_eq!(
            plain("(anonymous namespace)::Hash(char const*)"),
            "(anonymous namespace)::Hash(char const*)"
        );
        assert_eq!(
            plain("leveldb::(anonymous namespace)::Hash(int)"),
            "leveldb::{anonymous}::Hash"
        );
        for name in
            ["A::operator()(int) const", "<T as Trait>::get", "redb::get<K>", "(below main)"]
        {
            assert_eq!(plain(name), name);
        }
    }
}
