//! Whether the bare drive really limits the engines.

use super::finding::Finding;
use super::kinds::Id;
use crate::figures::catalogue as c;
use crate::figures::efficiency::ONE_IO_BYTES;
use crate::figures::group::Group;
use crate::figures::rates::window_rate;
use kvdyno_record::units::si;

/// A bare drive counts its own I/Os: a larger share of others at the device is reported.
const OTHERS: f64 = 0.1;

pub(super) fn findings(groups: &[Group]) -> Vec<Finding> {
    [exceeded_ceiling(groups), shared_drive(groups)].into_iter().flatten().collect()
}

/// Other processes' I/Os at the device while a bare drive was measured.
fn shared_drive(groups: &[Group]) -> Option<Finding> {
    let runs = groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let shared = runs.filter_map(|(group, run)| {
        run.job.as_ref().filter(|job| job.block_bytes <= ONE_IO_BYTES)?;
        // The filesystem's own I/Os for a flush are not known.
        let mut operations = run.roles.iter().flat_map(|role| role.mix.split('+'));
        if operations.any(|op| op == "flush") {
            return None;
        }
        let rate = |definition| run.metrics.value(definition);
        let device_per_s = rate(&c::DEVICE_READS_PER_S)? + rate(&c::DEVICE_WRITES_PER_S)?;
        let own_per_s: f64 = run.roles.iter().filter_map(|r| window_rate(&r.metrics)?.value).sum();
        let many = own_per_s > 0.0 && device_per_s > own_per_s * (1.0 + OTHERS);
        let (label, own, device) = (&group.label, si(own_per_s), si(device_per_s));
        let words =
            format!("expected {own} I/Os per second of {label}, found {device} at the device");
        many.then_some((group.trials.first()?.case.clone(), words))
    });
    Finding::from_cases(Id::DriveShared, shared)
}

fn exceeded_ceiling(groups: &[Group]) -> Option<Finding> {
    let above = groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let above = above.filter_map(|(group, run)| {
        let standing = run.efficiency.as_ref().filter(|standing| !standing.cached)?;
        let ceiling = standing.ceiling.as_ref()?;
        let times = standing.above_percent? / 100.0;
        let words = format!(
            "{} made {} I/Os per second at the device, {:.2} times the raw-device ceiling with {} \
             in flight ({}, {})",
            group.label,
            si(times * ceiling.ios_per_s),
            times,
            ceiling.in_flight,
            ceiling.job,
            si(ceiling.ios_per_s)
        );
        Some((group.trials.first()?.case.clone(), words))
    });
    Finding::from_cases(Id::AboveCeiling, above)
}
