//! What a measured phase is compared with.

use kvdyno_record::plan::Case;
use kvdyno_record::work::{Purpose, Work};
use serde_json::Value;
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
    pub(super) fn from_case(case: &Case) -> BTreeMap<String, Self> {
        let work = Work::new(case, &[]);
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
        let peers = |case: &Case| PhasePeers::from_case(case);
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
        let counted = PhasePeers::from_case(case);
        case.phases[0] = verify(false);
        assert_eq!(counted, PhasePeers::from_case(case));
    }
}
