//! Pairs of cases that run side by side ([`kvdyno_record::turns`]).

use crate::written::part::Part;
use kvdyno_record::plan::Case;
use kvdyno_record::turns::no_turns_reason;
use kvdyno_record::units;
use kvdyno_record::workload::{Activity, Phase};

/// Sets the length of the turns of each phase that can be measured in turns.
pub(crate) fn set_turns(part: &Part, phases: &mut [Phase]) {
    let Some(turns) = &part.typed.run.turns else { return };
    for phase in phases {
        if no_turns_reason(phase).is_some() {
            continue;
        }
        if let Activity::Measure(mix) = &mut phase.work {
            mix.ends.turn_ns = Some(turns.0);
        }
    }
}

/// Returns notes on the phases that are measured in turns, and on the reasons that others are not.
pub(crate) fn notes<'p>(part: &Part, phases: impl Iterator<Item = &'p Phase>) -> Vec<String> {
    let Some(turns) = &part.typed.run.turns else { return Vec::new() };
    let mut notes = Vec::new();
    for phase in phases.filter(|phase| matches!(phase.work, Activity::Measure(_))) {
        let note = match no_turns_reason(phase) {
            None => format!("{}: in turns of {}", phase.name, units::duration(turns.0)),
            Some(why) => format!("{}: one engine after the other, not in turns: {why}", phase.name),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Moves each item next to the item that it is a pair with.
pub(crate) fn move_pairs_together<T>(items: &mut Vec<T>, are_pair: impl Fn(&T, &T) -> bool) {
    let mut next = 0;
    while next < items.len() {
        let mut later = next + 1..items.len();
        let Some(other) = later.find(|&other| are_pair(&items[next], &items[other])) else {
            next += 1;
            continue;
        };
        let other = items.remove(other);
        items.insert(next + 1, other);
        next += 2;
    }
}

/// Makes the last two cases a pair, if each is alone on its database and some phase has turns.
pub(crate) fn pair_last(cases: &mut [Case]) {
    let Some([first, second]) = cases.last_chunk_mut::<2>() else { return };
    if first.label != second.label && has_turns(first) && has_turns(second) {
        first.turns_with = Some(second.id.clone());
        second.turns_with = Some(first.id.clone());
    }
}

fn has_turns(case: &Case) -> bool {
    let mut mixes = case.phases.iter().filter_map(Phase::mix);
    case.makes_database() && mixes.any(|mix| mix.ends.turn_ns.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_stand_together_in_the_order_of_their_first() {
        let mut items = vec![("b", 2), ("a", 1), ("a", 2), ("c", 9), ("b", 1)];
        move_pairs_together(&mut items, |a, b| a.1 == b.1 && a.0 != b.0);
        assert_eq!(items, [("b", 2), ("a", 2), ("a", 1), ("b", 1), ("c", 9)]);
    }
}
