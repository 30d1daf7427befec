//! What a run has of memory beside its RAM limits: the memory tiers that its suite names, and the
//! process that takes away what would outlive us. Swap is made for one case at a time.

use super::consent::consent;
use super::volumes::Volumes;
use crate::exit::Complaint;
use kvdyno_host::device::Device;
use kvdyno_host::swap::{self, SwapSpec};
use kvdyno_host::{DataDirLock, Reaper, Root, Unavailable, leftovers, node};
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::tier::{Memory, SwapRecord};
use kvdyno_record::volume::Medium;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a run has of memory tiers.
pub(crate) struct Tiers {
    reaper: Option<Reaper>,
    /// Devices that the suite names, by their paths.
    devices: BTreeMap<PathBuf, DataDirLock>,
}

/// Fails where a memory tier of the plan could not be had on this machine. Touches nothing.
pub(crate) fn check(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    each_tier(plan, |memory| match memory {
        Memory::Node { node } => node::check(root, *node),
        memory => swap::check(root, memory),
    })
}

fn each_tier(
    plan: &Plan,
    check: impl Fn(&Memory) -> Result<(), Unavailable>,
) -> Result<(), Complaint> {
    plan.cases.iter().filter_map(|case| case.tier.as_ref()).try_for_each(|tier| {
        let named = |why| Complaint::usage(format!("memory tier `{}`: {why}", tier.name));
        check(&tier.memory).map_err(named)
    })
}

impl Tiers {
    /// Takes the devices that a plan names for swap, for this run; images will lie in `images`. To
    /// be called before any volume is mounted: who is started here is not to keep it.
    pub(crate) fn acquire(
        root: &Root,
        plan: &Plan,
        images: &Path,
        destroy_allowed: &[PathBuf],
    ) -> Result<Self, Complaint> {
        each_tier(plan, |memory| swap::check_folder(root, memory, images))?;
        // What a killed run could not take away itself: it may be on one of the devices.
        leftovers::sweep(root);
        let mut devices = BTreeMap::new();
        for path in plan.cases.iter().filter_map(device) {
            if !devices.contains_key(path) && !has_volumes(plan, path) {
                let consent = consent(destroy_allowed, path);
                devices.insert(path.clone(), DataDirLock::device(root, path, &consent, None)?);
            }
        }
        let outlives = |case: &Case| case.ram_limit_bytes.is_some() || case.tier.is_some();
        let reaper = plan.cases.iter().any(outlives).then(Reaper::start).transpose();
        // Nobody would take away what a kill leaves.
        let reaper = reaper.map_err(|error| {
            let what = "failed to start the process that cleans up behind this one";
            Complaint::usage(format!("{what}: {error}"))
        })?;
        Ok(Self { reaper, devices })
    }

    /// Switches on the swap of a case, an image of it in `folder`; `None` where its tier has none.
    /// On a device that is among the `volumes`, too, nothing lies at the time.
    pub(super) fn swap(
        &self,
        root: &Root,
        memory: &Memory,
        folder: &Path,
        volumes: &Volumes,
    ) -> Result<Option<Swapped<'_>>, String> {
        if memory.swap().is_none() {
            return Ok(None);
        }
        let reaper = self.reaper.as_ref().ok_or("no process to switch swap off after a kill")?;
        let mut memory = memory.clone();
        if let Memory::Swap { path: Some(path), .. } = &mut memory {
            let claim = self.devices.get(path).or_else(|| volumes.device(path));
            let claim = claim.ok_or_else(|| format!("{} was not taken", path.display()))?;
            claim.check(root).map_err(|error| error.to_string())?;
            // As it was taken: by the kernel's name of it.
            claim.path().clone_into(path);
        }
        let wanted = SwapSpec { memory, folder: folder.to_owned(), owner: std::process::id() };
        let record = reaper.swap_on(wanted)?;
        Ok(record.map(|record| {
            let device = Device::named(root, &record.device);
            Swapped { reaper, device, record }
        }))
    }
}

fn device(case: &Case) -> Option<&PathBuf> {
    case.tier.as_ref()?.memory.device()
}

/// Whether volumes lie on a device at other times of the run: then it is taken once, with those.
fn has_volumes(plan: &Plan, device: &Path) -> bool {
    let volumes = plan.cases.iter().filter_map(|case| case.volume.as_ref());
    let mut media = volumes.map(|volume| &volume.medium);
    media.any(|medium| matches!(medium, Medium::Device { path, .. } if path == device))
}

/// Swap that is on for a case. Dropped, it is off.
pub(super) struct Swapped<'t> {
    reaper: &'t Reaper,
    /// Whose counters are the traffic.
    pub(super) device: Option<Device>,
    pub(super) record: SwapRecord,
}

impl Swapped<'_> {
    pub(super) fn off(self) -> Result<SwapRecord, String> {
        let reaper = self.reaper;
        let known = self.record.clone();
        std::mem::forget(self);
        Ok(reaper.swap_off()?.unwrap_or(known))
    }
}

impl Drop for Swapped<'_> {
    fn drop(&mut self) {
        // Where it does not answer any more, the end of the run takes the swap away.
        let _ = self.reaper.swap_off();
    }
}
