//! What a measured phase is compared with.

use super::without_part;
use kvdyno_record::crew::Crew;
use kvdyno_record::plan::Case;
use kvdyno_record::work::{Purpose, Work};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// What a measured phase and all phases before it have in common with their peers: equal numbers,
/// equal work. An engine that lacks the operations of a later phase is compared up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhasePeers {
    /// Equal for phases of any engine.
    pub engines: u64,
    /// Equal for phases of the same engine on any volume.
    pub(crate) volumes: u64,
    /// Equal for phases with a common answer, of any engine and number of threads.
    pub(crate) answer: u64,
    /// Equal for phases with a common answer, of one engine on any volume.
    pub(crate) answer_on_volumes: u64,
}

impl PhasePeers {
    /// Computes the numbers of each measured phase of a case, by the phase's name.
    pub(super) fn from_work(work: &Work<'_>) -> BTreeMap<String, Self> {
        let by = |purpose| prefixes(work.equal(purpose));
        let (engines, volumes) = (by(Purpose::Engines), by(Purpose::Volumes));
        let (answer, on_volumes) = (by(Purpose::Answer), by(Purpose::AnswerOnVolumes));
        let peers = answer.into_iter().map(|(phase, answer)| {
            let prefix = |all: &BTreeMap<String, u64>| all.get(&phase).copied().unwrap_or(0);
            let (engines, volumes) = (prefix(&engines), prefix(&volumes));
            let answer_on_volumes = prefix(&on_volumes);
            (phase, Self { engines, volumes, answer, answer_on_volumes })
        });
        peers.collect()
    }
}

/// Returns the key of a case's engine and settings. Cases of two parts with equal keys and equal
/// work differ in nothing.
pub(super) fn setup(case: &Case) -> String {
    let all = json!({
        "engine": case.engine,
        "label": without_part(&case.label, case.part.as_deref()),
        "library": case.library,
        "server": case.server,
        "ranks": case.crew.as_ref().map(Crew::ranks),
        "options": case.options,
        "volume": case.volume.as_ref().map(|volume| &volume.name),
        "packed": case.data.packed,
        "turns": case.turns_with.is_some(),
        "watched": [case.io_latency, case.profile],
        "count": case.count,
    });
    all.to_string()
}

/// Returns for each phase a hash of the work up to and including it.
fn prefixes(mut work: Value) -> BTreeMap<String, u64> {
    let phases = work["phases"].take();
    let mut hasher = DefaultHasher::new();
    work.to_string().hash(&mut hasher);
    let phases = phases.as_array().into_iter().flatten().map(|phase| {
        phase.to_string().hash(&mut hasher);
        (phase["name"].as_str().unwrap_or_default().to_owned(), hasher.finish())
    });
    phases.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use kvdyno_record::tier::{Memory, Tier};
    use kvdyno_record::workload::{Activity, Phase};

    /// One engine does one more phase at the end, another one does one more in between.
    #[test]
    fn phases_have_peers_up_to_the_first_that_differs() {
        let case = Fixture::new().plan.cases.into_iter().find(|case| case.threads.is_some());
        let mut case = case.unwrap();
        let is_measured = |phase: &Phase| matches!(phase.work, Activity::Measure(_));
        let at = case.phases.iter().position(is_measured).unwrap();
        let measured = case.phases[at].clone();
        let first = measured.name.clone();
        let again = |name: &str| Phase { name: name.to_owned(), ..measured.clone() };
        let peers = |case: &Case| PhasePeers::from_work(&Work::new(case, &[]));
        let before = peers(&case);
        case.phases.push(again("again"));
        let longer = peers(&case);
        assert_eq!(before[&first], longer[&first]);
        assert!(longer.contains_key("again") && !before.contains_key("again"));
        case.phases.insert(at, again("between"));
        let between = peers(&case);
        assert_ne!(between["again"].engines, longer["again"].engines);
        assert_ne!(between[&first].answer, longer[&first].answer);
    }

    /// An engine without scans cannot count its records.
    #[test]
    fn a_count_of_all_records_is_no_other_work() {
        let mut case = Fixture::new().plan.cases.into_iter().find(|case| case.threads.is_some());
        let case = case.as_mut().unwrap();
        let verify = |count| Phase::new("verify", Activity::Verify { samples: 10, count });
        case.phases.insert(0, verify(true));
        let peers = |case: &Case| PhasePeers::from_work(&Work::new(case, &[]));
        let counted = peers(case);
        case.phases[0] = verify(false);
        assert_eq!(counted, peers(case));
    }

    /// A load in another order leaves another tree, also where another case made it.
    #[test]
    fn what_was_loaded_belongs_to_the_work() {
        let cases = Fixture::new().plan.cases;
        let case = cases.iter().find(|case| case.threads.is_some()).unwrap();
        let loader = cases.iter().find(|loader| loader.id == case.database.loaded_by).unwrap();
        let mut other = loader.phases.clone();
        let load = other.iter_mut().find_map(|phase| match &mut phase.work {
            Activity::Load(load) => Some(load),
            _ => None,
        });
        let load = load.unwrap();
        load.threads += 1;
        let peers = |loaded: &[Phase]| PhasePeers::from_work(&Work::new(case, loaded));
        let (one, two) = (peers(&loader.phases), peers(&other));
        let name = one.keys().next().unwrap();
        assert_ne!(one[name].engines, two[name].engines);
        assert_eq!(one[name].answer, two[name].answer);
    }

    #[test]
    fn other_memory_below_the_limit_is_not_compared() {
        let bare = Fixture::new().plan.cases[0].clone();
        let memory = Memory::Zram { bytes: 1 << 30, swappiness: 60 };
        let tier = Some(Tier { name: "z".to_owned(), memory });
        let swaps = Case { tier, ..bare.clone() };
        let dram = Some(Tier { name: "d".to_owned(), memory: Memory::Dram });
        let dram = Case { tier: dram, ..bare.clone() };
        for purpose in [Purpose::Answer, Purpose::Engines, Purpose::Runs, Purpose::Volumes] {
            let work = |case: &Case| Work::new(case, &[]).equal(purpose);
            assert_ne!(work(&bare), work(&swaps));
            assert_eq!(work(&bare), work(&dram), "there is no tier below");
        }
    }
}
