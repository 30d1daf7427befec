//! The memory of one case: the group of its RAM limit, the tier below it, and a worker started in
//! it.

use super::environment::CaseEnvironment;
use super::tiers::ActiveSwap;
use super::worker::Worker;
use kvdyno_host::device::Device;
use kvdyno_host::group::Group;
use kvdyno_host::node;
use kvdyno_record::case::{RamLimit, WorkerIdentity};
use kvdyno_record::tier::{self, SwapRecord, TierRecord};
use std::fs::File;
use std::io;

/// The memory of a case. Dropping it releases everything.
pub(super) struct CaseMemory<'r> {
    // Dropped in this order: memory that nobody uses need not be swapped in again.
    group: Option<Group>,
    swap: Option<ActiveSwap<'r>>,
    node: Option<u32>,
    limit: RamLimit,
}

impl<'r> CaseMemory<'r> {
    /// Creates the memory of a case. The record contains a limit that cannot be held. `Err`: the
    /// tier below it cannot be set up, for example because it is missing since the run started.
    pub(super) fn create(environment: &CaseEnvironment<'r>) -> Result<Self, String> {
        let (group, mut limit) = create_limit(environment);
        let mut memory = Self { group, swap: None, node: None, limit: RamLimit::default() };
        if let Some(tier) = &environment.case.tier {
            let record = memory.below(environment, tier);
            limit.tier = Some(record.map_err(|why| format!("memory tier `{}`: {why}", tier.name))?);
        }
        Ok(Self { limit, ..memory })
    }

    /// Sets up the tier below the limit; returns its record.
    fn below(
        &mut self,
        environment: &CaseEnvironment<'r>,
        tier: &tier::Tier,
    ) -> Result<TierRecord, String> {
        let mut record = TierRecord { name: tier.name.clone(), ..TierRecord::default() };
        if let tier::Memory::Node { node } = tier.memory {
            self.node = Some(node);
            record.node = Some(node);
        }
        let Some((bytes, swappiness)) = tier.memory.swap() else { return Ok(record) };
        let Some(group) = &self.group else {
            record.not_enforced.push("no swap: the RAM limit above it is not held".into());
            return Ok(record);
        };
        self.swap = environment.run.tiers.swap(
            &environment.run.root,
            &tier.memory,
            environment.run.images(),
            &environment.run.volumes,
        )?;
        let allowed = group.allow_swap(bytes, swappiness).map_err(|error| error.to_string())?;
        record.swap = self.swap.as_ref().map(|swap| swap.record.clone());
        record.swappiness = allowed.swappiness;
        record.not_enforced = allowed.not_enforced;
        record.not_enforced.extend(record.swap.as_ref().and_then(double_caching));
        Ok(record)
    }

    /// Starts a worker in this memory, with the command `word`.
    pub(super) fn start(
        &self,
        worker: &WorkerIdentity,
        word: &str,
        log: File,
    ) -> io::Result<Worker> {
        let start = || Worker::start(worker, word, self.group(), log);
        match self.node {
            Some(node) => node::run_bound(node, start)?,
            None => start(),
        }
    }

    /// The group with the RAM limit.
    pub(super) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Puts the limit in force, where it did not hold from the start.
    pub(super) fn enforce_limit(&self) -> io::Result<()> {
        self.group.as_ref().map_or(Ok(()), Group::enforce_limit)
    }

    /// The swap device.
    pub(super) fn swap(&self) -> Option<&Device> {
        self.swap.as_ref()?.device.as_ref()
    }

    /// Returns the limit with the current usage of its group.
    pub(super) fn snapshot(&self) -> RamLimit {
        let group = self.group.as_ref().and_then(|group| group.usage().ok());
        RamLimit { group, ..self.limit.clone() }
    }

    /// Reads the result, and releases the memory.
    pub(super) fn end(mut self, not_measured: &mut Vec<String>) -> RamLimit {
        if let Some(group) = self.group.take() {
            self.limit.group = group.usage().ok();
            if let Err(error) = group.check_limit() {
                not_measured.push(format!("RAM limit: {error}"));
            }
            if let Err(error) = group.remove() {
                not_measured.push(format!("cannot remove the RAM group: {error}"));
            }
        }
        let off = self.swap.take().map(ActiveSwap::turn_off).transpose();
        match (off, &mut self.limit.tier) {
            (Ok(off @ Some(_)), Some(tier)) => tier.swap = off,
            (Ok(_), _) => {}
            (Err(error), _) => not_measured.push(format!("cannot remove swap: {error}")),
        }
        self.limit
    }
}

/// Returns a sentence about swap to an image in the page cache: swapped data need not reach the
/// drive.
fn double_caching(swap: &SwapRecord) -> Option<String> {
    let image = swap.image.as_ref().filter(|image| !image.direct_io)?;
    let storage = &image.storage;
    Some(format!("swapped data is cached once more: {storage} does not support direct I/O"))
}

/// The RAM limit, or the reason why there is none.
fn create_limit(environment: &CaseEnvironment<'_>) -> (Option<Group>, RamLimit) {
    let Some(bytes) = environment.case.ram_limit_bytes else {
        return (None, RamLimit::default());
    };
    let limit = RamLimit { requested_bytes: Some(bytes), ..RamLimit::default() };
    let create =
        if environment.case.ram_limit_from == 0 { Group::create } else { Group::create_open };
    match create(&environment.run.root, &environment.case.id, bytes) {
        Ok(group) => {
            let enforced_by = Some(group.enforcer());
            (Some(group), RamLimit { enforced_by, ..limit })
        }
        Err(unavailable) => {
            let reason = Some(format!("{}; {}", unavailable.reason, unavailable.remedy));
            (None, RamLimit { reason, ..limit })
        }
    }
}
