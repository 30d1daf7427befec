//! Checks whether the volume has room for a plan.

use kvdyno_record::plan::Plan;
use kvdyno_record::units;

/// The share of needed space that must stay free: filesystems slow down or fail when full.
const MARGIN_SHARE: f64 = 0.05;

/// The error that the volume has no room for a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the plan needs {} on the volume at one time, with 5 % in reserve, and only {} are free",
    units::bytes(*needed_bytes),
    units::bytes(*free_bytes)
)]
pub struct NoSpace {
    /// Needed bytes, with the margin.
    pub needed_bytes: u64,
    /// Free bytes on the volume.
    pub free_bytes: u64,
}

impl NoSpace {
    /// Returns remedies, each as a sentence.
    pub fn hints(&self) -> Vec<String> {
        let times = self.needed_bytes.div_ceil(self.free_bytes.max(1));
        let mut hints = vec!["put the databases on another volume: --data-dir DIR".to_owned()];
        if self.free_bytes > 0 && times <= 1_000_000 {
            let less = format!("`run --scale 1/{times}`, `quick --size`, `drive --size`");
            hints.push(format!("use less data: {less}"));
        }
        let fewer = "run fewer engines: `run --engine NAME,...`, or fewer names after `quick`";
        hints.push(fewer.to_owned());
        hints
    }
}

/// Refuses a plan for which the volume has no room.
pub fn check_space(plan: &Plan, free_bytes: u64) -> Result<(), NoSpace> {
    let space = plan.estimate.space_bytes;
    let needed_bytes = space.saturating_add((space as f64 * MARGIN_SHARE) as u64);
    if needed_bytes <= free_bytes { Ok(()) } else { Err(NoSpace { needed_bytes, free_bytes }) }
}
