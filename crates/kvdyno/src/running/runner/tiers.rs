//! The memory tiers of a run's suite, and the process that removes what would outlive the run. Swap
//! is enabled for one case at a time.

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

/// The memory tiers of a run.
pub(crate) struct Tiers {
    reaper: Option<Reaper>,
    /// The locks of the suite's devices for swap, by their paths.
    devices: BTreeMap<PathBuf, DataDirLock>,
}

/// Fails if this machine lacks a memory tier of the plan. Changes nothing.
pub(crate) fn check(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    check_each_tier(plan, |memory| match memory {
        Memory::Node { node } => node::check(root, *node),
        memory => swap::check(root, memory),
    })
}

fn check_each_tier(
    plan: &Plan,
    check: impl Fn(&Memory) -> Result<(), Unavailable>,
) -> Result<(), Complaint> {
    plan.cases.iter().filter_map(|case| case.tier.as_ref()).try_for_each(|tier| {
        let complain = |why| Complaint::usage(format!("memory tier `{}`: {why}", tier.name));
        check(&tier.memory).map_err(complain)
    })
}

impl Tiers {
    /// Locks the plan's devices for swap, for this run; images go into `images`. Must be called
    /// before any volume is mounted: the process started here must not keep it mounted.
    pub(crate) fn acquire(
        root: &Root,
        plan: &Plan,
        images: &Path,
        destroy_allowed: &[PathBuf],
    ) -> Result<Self, Complaint> {
        check_each_tier(plan, |memory| swap::check_dir(root, memory, images))?;
        // Swap that a killed run left may be on one of the devices.
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
        // Without it, a killed run would leave swap on.
        let reaper = reaper.map_err(|error| {
            let what = "failed to start the process that cleans up after this one";
            Complaint::usage(format!("{what}: {error}"))
        })?;
        Ok(Self { reaper, devices })
    }

    /// Enables the swap of a case, with an image of it in `dir`; `None` if its tier has none. A
    /// device that is also used for volumes is free at this time.
    pub(super) fn swap(
        &self,
        root: &Root,
        memory: &Memory,
        dir: &Path,
        volumes: &Volumes,
    ) -> Result<Option<ActiveSwap<'_>>, String> {
        if memory.swap().is_none() {
            return Ok(None);
        }
        let reaper = self.reaper.as_ref().ok_or("no process to disable swap after a kill")?;
        let mut memory = memory.clone();
        if let Memory::Swap { path: Some(path), .. } = &mut memory {
            let claim = self.devices.get(path).or_else(|| volumes.device(path));
            let claim =
                claim.ok_or_else(|| format!("{} is not locked for this run", path.display()))?;
            claim.check(root).map_err(|error| error.to_string())?;
            // The kernel's name of the device, as when it was locked.
            claim.path().clone_into(path);
        }
        let spec = SwapSpec { memory, dir: dir.to_owned(), owner: std::process::id() };
        let record = reaper.swap_on(spec)?;
        Ok(record.map(|record| {
            let device = Device::from_name(root, &record.device);
            ActiveSwap { reaper, device, record }
        }))
    }
}

fn device(case: &Case) -> Option<&PathBuf> {
    case.tier.as_ref()?.memory.device()
}

/// Whether volumes use a device at other times of the run: then it is locked once, with them.
fn has_volumes(plan: &Plan, device: &Path) -> bool {
    let volumes = plan.cases.iter().filter_map(|case| case.volume.as_ref());
    let mut media = volumes.map(|volume| &volume.medium);
    media.any(|medium| matches!(medium, Medium::Device { path, .. } if path == device))
}

/// Enabled swap of a case. Dropping it disables the swap.
pub(super) struct ActiveSwap<'t> {
    reaper: &'t Reaper,
    /// The swap device, whose counters show the traffic.
    pub(super) device: Option<Device>,
    pub(super) record: SwapRecord,
}

impl ActiveSwap<'_> {
    pub(super) fn turn_off(self) -> Result<SwapRecord, String> {
        let reaper = self.reaper;
        let record = self.record.clone();
        std::mem::forget(self);
        Ok(reaper.swap_off()?.unwrap_or(record))
    }
}

impl Drop for ActiveSwap<'_> {
    fn drop(&mut self) {
        // If it does not reply, the swap is disabled at the end of the run.
        let _ = self.reaper.swap_off();
    }
}
