//! What may be compared: which parts of two cases must be equal for a comparison.
//!
//! | must be equal | trials | engines | volumes | answer | runs |
//! |---|---|---|---|---|---|
//! | data, durability class, RAM limit and memory tier | yes | yes | yes | yes | yes |
//! | volume | as made | by name | | by name, but for an answer about volumes | by name |
//! | engine, label, options | yes | | the label | an answer about volumes: the label | |
//! | swept threads | yes | yes | yes | | yes |
//! | phases | all | its own | its own after the making | measured, no threads | all |
//! | instructions counted, not times | yes | yes | yes | yes | yes |
//! | database shared or copied | yes | | | | copied |

use crate::plan::{Case, Plan};
use crate::replay::without_trace_path;
use crate::tier::{Memory, Tier};
use crate::units;
use crate::volume::{Format, Medium, Volume};
use crate::workload::{self, Mix, Phase, Size};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The purpose of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Engines of a run, by their loads.
    EnginesLoading,
    /// Engines of a run.
    Engines,
    /// An engine's loads on several volumes.
    VolumesLoading,
    /// An engine on several volumes.
    Volumes,
    /// Engines at all numbers of threads, for one answer.
    Answer,
    /// An engine at all numbers of threads on several volumes, for one answer.
    AnswerOnVolumes,
    /// Two runs, or two engines of one, figure by figure.
    Runs,
}

/// The work of a case, and its environment.
#[derive(Clone, Debug)]
pub struct Work<'c> {
    case: &'c Case,
    /// The phases from the load on, whichever case ran them.
    phases: Vec<&'c Phase>,
}

impl<'c> Work<'c> {
    /// Returns the work of a case; `loaded` are the phases of the case that made its database,
    /// where that is another.
    pub fn new(case: &'c Case, loaded: &'c [Phase]) -> Self {
        Self { case, phases: loaded.iter().chain(&case.phases).collect() }
    }

    /// Returns the work of a case of a plan.
    pub fn from_case(case: &'c Case, plan: &'c Plan) -> Self {
        let loader = plan.cases.iter().find(|loader| loader.id == case.database.loaded_by);
        let loader = loader.filter(|loader| loader.id != case.id);
        Self::new(case, loader.map_or(&[], |loader| &loader.phases))
    }

    /// All that must be equal for a comparison, by name.
    pub fn equal(&self, purpose: Purpose) -> Value {
        use Purpose::{AnswerOnVolumes, Engines, Runs, Volumes, VolumesLoading};
        let case = self.case;
        let mut data = case.data.unpacked();
        if let Some(from) = &mut data.from {
            // Each store, and each build of the worker, has a copy of its own.
            (from.state, from.keys) = Default::default();
        }
        let mut all = json!({
            "data": data,
            "durability": case.options.durability,
            "ram_limit_bytes": case.ram_limit_bytes,
            "tier": case.tier_below().map(TierKey::from_tier),
            "phases": self.phases(purpose),
        });
        if matches!(purpose, Volumes | VolumesLoading | AnswerOnVolumes) {
            all["label"] = json!(case.label);
        } else {
            all["volume"] = json!(case.volume.as_ref().map(|volume| &volume.name));
        }
        if matches!(purpose, Engines | Volumes | Runs) {
            all["threads"] = json!(case.threads);
        }
        if case.ram_limit_from > 0 {
            all["ram_limit_from"] = json!(case.ram_limit_from);
        }
        if case.is_counted() {
            all["count"] = json!(true);
        }
        if purpose == Runs {
            all["database_copy"] = json!(case.copies_state().then_some("state"));
        }
        all
    }

    fn phases(&self, purpose: Purpose) -> Value {
        use workload::Activity::{Load, Measure, Reopen, Settle, Verify};
        let comparable = |phase: &&Phase| {
            let mut phase = without_trace_path(phase);
            // Each run has pilots of its own: the rule is the same work, whatever it came to.
            let piloted = phase.roles_mut().filter(|role| role.pilot.is_some());
            piloted.filter(|_| purpose == Purpose::Runs).for_each(|role| role.rate = None);
            phase
        };
        let all: Vec<Phase> = self.phases.iter().map(comparable).collect();
        let of_case = || all[all.len() - self.case.phases.len()..].iter();
        // Whether a case loaded its database itself, as it must where nothing can be copied, does
        // not count between volumes: what comes after is the same.
        let makes = |phase: &&Phase| {
            matches!(phase.work, Load(_) | Settle { .. } | Verify { .. } | Reopen { .. })
        };
        // Options are an engine's own, wherever it is opened with them; and an engine without scans
        // cannot count its records.
        let of_engine = |phase: &Phase| match &phase.work {
            Reopen { .. } | Verify { .. } => {
                json!({ "name": phase.name, "kind": phase.work.kind() })
            }
            _ => json!(phase),
        };
        match purpose {
            Purpose::Runs => json!(all),
            Purpose::Engines => all.iter().map(of_engine).collect(),
            Purpose::Volumes => json!(of_case().skip_while(makes).collect::<Vec<_>>()),
            Purpose::EnginesLoading | Purpose::VolumesLoading => {
                json!(of_case().filter(|phase| matches!(phase.work, Load(_))).collect::<Vec<_>>())
            }
            Purpose::Answer | Purpose::AnswerOnVolumes => {
                let without_threads = |phase: &Phase| {
                    let Measure(mix) = &phase.work else { return None };
                    let roles = mix.roles.iter().cloned();
                    let roles = roles.map(|role| workload::Role { threads: 0, ..role }).collect();
                    let work = Measure(Mix { roles, ..*mix });
                    Some(Phase::new(&*phase.name, work))
                };
                json!(of_case().filter_map(without_threads).collect::<Vec<_>>())
            }
        }
    }

    /// Returns the case key: equal keys mean equal work by an equal engine, and trials of one case
    /// share one. It is a readable beginning and a checksum:
    /// `rocksdb/async/80Mx16+4000/ram64GiB/t4/3fa9c1d2e0b1`; with a volume
    /// `rocksdb/async/on-xfs/...`. Left out are the trial, the data directory, the host, the
    /// engine's version, and what only watches: budget, slices, error limit.
    ///
    /// `shared`: whether other thread counts worked on the database before.
    pub fn key(&self, shared: bool) -> String {
        let case = self.case;
        let values = match case.data.value.size {
            Size::Fixed { bytes } => bytes.to_string(),
            _ => format!("~{}", case.value_bytes_mean()),
        };
        let ram = case.ram_limit_bytes.map_or("all".to_owned(), units::exact_bytes);
        let tier = case.tier.as_ref().map_or(String::new(), |tier| format!("+{}", tier.name));
        let volume = case.volume.as_ref();
        let volume = volume.map_or(String::new(), |volume| format!("on-{}/", volume.name));
        let part = case.threads.map_or("load".to_owned(), |threads| format!("t{threads}"));
        format!(
            "{}/{}/{volume}{}x{}+{values}/ram-{ram}{tier}/{part}/{}",
            case.label,
            case.options.durability.as_str(),
            units::exact_count(case.data.records),
            case.data.key.bytes,
            self.checksum(shared)
        )
    }

    fn checksum(&self, shared: bool) -> String {
        let case = self.case;
        let mut key = json!({
            "engine": case.engine,
            "label": case.label,
            "options": case.options,
            "volume": case.volume.as_ref().map(VolumeKey::from_volume),
            "shared": shared,
            "work": self.equal(Purpose::Runs),
        });
        if let Some(crew) = &case.crew {
            key["ranks"] = json!(crew.ranks());
        }
        if let Some(packed) = case.data.packed {
            key["packed"] = json!(packed);
        }
        short_digest(&key, 6)
    }
}

/// The first bytes of a value's SHA-256, as hexadecimal digits.
pub fn short_digest(value: &Value, bytes: usize) -> String {
    let digest = Sha256::digest(value.to_string());
    digest.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

/// What makes two volumes alike. The path of a directory, the device and the size of an image
/// belong to the host.
#[derive(Serialize)]
struct VolumeKey<'a> {
    name: &'a str,
    kind: &'static str,
    discard: bool,
    format: Option<&'a Format>,
}

impl<'a> VolumeKey<'a> {
    fn from_volume(volume: &'a Volume) -> Self {
        let (kind, discard, format) = match &volume.medium {
            Medium::Directory { .. } => ("directory", false, None),
            Medium::Loop { format, .. } => ("loop", false, Some(format)),
            Medium::Device { discard, format, .. } => ("device", *discard, Some(format)),
        };
        Self { name: &volume.name, kind, discard, format }
    }
}

/// What makes two memory tiers alike. The device of a tier belongs to the host.
#[derive(Serialize)]
struct TierKey<'a> {
    name: &'a str,
    kind: &'static str,
    /// Bytes and swappiness.
    swap: Option<(u64, u32)>,
    node: Option<u32>,
}

impl<'a> TierKey<'a> {
    fn from_tier(tier: &'a Tier) -> Self {
        let (kind, node) = match &tier.memory {
            Memory::Dram => ("dram", None),
            Memory::Swap { .. } => ("swap", None),
            Memory::Zram { .. } => ("zram", None),
            Memory::Node { node } => ("node", Some(*node)),
        };
        Self { name: &tier.name, kind, swap: tier.memory.swap(), node }
    }
}
