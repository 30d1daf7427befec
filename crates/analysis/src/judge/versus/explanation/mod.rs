//! Why two builds differ: the functions whose instructions changed, the part of the time that
//! changed, and the engine's counters that moved.
//!
//! A phase is explained where its rate or its instructions differ by the rule.

mod counters;
mod ledger;
mod time;

pub use counters::CounterChange;
pub use ledger::{FunctionChange, Ledger};
pub use time::TimeChange;

use super::sides::{Record, Sides};
use super::{Pair, Row, Verdict, Versus};
use crate::figures::catalogue as c;
use crate::figures::evidence::CaseEvidence;
use crate::figures::group::Group;
use kvdyno_record::plan::counted_part;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// Why a phase of two builds differs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The case, as in its pair.
    pub case: String,
    /// The phase.
    pub phase: String,
    /// Instructions by function; null: they were not counted.
    pub instructions: Option<Ledger>,
    /// The parts of an operation's time, of each role.
    pub time: Vec<TimeChange>,
    /// The engine's counters that moved by more than noise, the clearest first.
    pub counters: Vec<CounterChange>,
    /// The number of the engine's counters that were compared.
    pub counters_compared: usize,
}

/// Functions that a sentence names.
const NAMED_MAX: usize = 2;

impl Explanation {
    /// The difference in instructions, if there is one: `reads: 2.1 % more instructions per
    /// operation (+275), most in planted_work (+242)`.
    pub fn sentence(&self) -> Option<String> {
        let ledger = self.instructions.as_ref().filter(|ledger| ledger.differs())?;
        let share = units::percent((ledger.new / ledger.base - 1.0).abs());
        let more = if ledger.change() > 0.0 { "more" } else { "fewer" };
        // Others moved against the sum.
        let along = |it: &&FunctionChange| it.change() * ledger.change() > 0.0;
        let functions = ledger.functions.iter().filter(along).take(NAMED_MAX);
        let functions: Vec<String> =
            functions.map(|it| format!("{} ({:+.0})", it.short_name(), it.change())).collect();
        let from = if functions.is_empty() {
            String::new()
        } else {
            format!(", most in {}", functions.join(", "))
        };
        let change = ledger.change();
        Some(format!(
            "{}: {share} {more} instructions per operation ({change:+.0}){from}",
            self.phase
        ))
    }
}

/// A group of one side, with the trials that are behind it.
pub(super) struct SideGroup<'r> {
    record: &'r Record,
    group: &'r Group,
}

impl<'r> SideGroup<'r> {
    fn find(record: &'r Record, key: &str) -> Option<Self> {
        let mut groups = record.figures.groups.iter();
        groups.find(|group| group.key == key).map(|group| Self { record, group })
    }

    /// The same work of the same engine, counted: itself, or the case that `--why` added.
    fn find_counted(&self) -> Option<Self> {
        if self.group.is_counted() {
            return Some(Self { ..*self });
        }
        let part = counted_part(self.group.part.as_deref());
        let is_twin = |other: &&Group| {
            other.is_counted()
                && other.part.as_deref() == Some(part.as_str())
                && other.engine_label() == self.group.engine_label()
                && other.data_sizes() == self.group.data_sizes()
        };
        let group = self.record.figures.groups.iter().find(is_twin)?;
        Some(Self { record: self.record, group })
    }

    /// Its trials, in order.
    fn cases(&self) -> impl Iterator<Item = (u32, &'r CaseEvidence)> {
        let record = self.record;
        self.group.trials.iter().filter_map(|trial| {
            let mut cases = record.evidence.cases.iter();
            Some((trial.trial, cases.find(|case| case.case.id == trial.case)?))
        })
    }
}

/// The explanations for all differences of a comparison of two builds of one engine.
pub(super) fn explain(sides: &Sides<'_>, versus: &Versus) -> Vec<Explanation> {
    let (base, new) = sides.records();
    let (mut explanations, mut explained_keys) = (Vec::new(), BTreeSet::new());
    for pair in &versus.pairs {
        let both = SideGroup::find(base, &pair.base_key).zip(SideGroup::find(new, &pair.new_key));
        let Some(both) = both.filter(|(base, new)| base.group.engine == new.group.engine) else {
            continue;
        };
        let both = [both.0, both.1];
        let counted =
            both[0].find_counted().zip(both[1].find_counted()).map(|(base, new)| [base, new]);
        // Cases of several thread counts share one counted case, which is reported once.
        let counted = counted.filter(|[base, _]| explained_keys.insert(base.group.key.as_str()));
        explanations.extend(explain_pair(pair, &both, counted.as_ref(), sides.side_by_side()));
    }
    explanations
}

fn explain_pair(
    pair: &Pair,
    sides: &[SideGroup<'_>; 2],
    counted: Option<&[SideGroup<'_>; 2]>,
    side_by_side: bool,
) -> Vec<Explanation> {
    let mut explanations = Vec::new();
    for phase in phases(pair) {
        let instructions = counted.and_then(|counted| Ledger::from_phase(counted, phase));
        let rate_differs = pair.rows.iter().any(|row| row.phase == phase && is_different_rate(row));
        let differs = rate_differs || instructions.as_ref().is_some_and(Ledger::differs);
        if !differs {
            continue;
        }
        // Trials of two runs are no pairs.
        let (counters, counters_compared) =
            if side_by_side { counters::find_changes(sides, phase) } else { (Vec::new(), 0) };
        explanations.push(Explanation {
            case: pair.name.clone(),
            phase: phase.to_owned(),
            instructions,
            time: if rate_differs { time::changes(sides, phase) } else { Vec::new() },
            counters,
            counters_compared,
        });
    }
    explanations
}

/// The compared phases, in their order.
fn phases(pair: &Pair) -> Vec<&str> {
    let mut phases: Vec<&str> = Vec::new();
    for row in &pair.rows {
        if !phases.contains(&row.phase.as_str()) {
            phases.push(&row.phase);
        }
    }
    phases
}

fn is_different_rate(row: &Row) -> bool {
    let rates = [&c::OPS_PER_S, &c::RECORDS_PER_S];
    rates.iter().any(|rate| rate.name == row.figure)
        && matches!(row.verdict, Verdict::Improved | Verdict::Regressed)
}
