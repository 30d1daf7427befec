//! Checks of a `[drive]` section, by itself and together with the rest of its suite.

use crate::written::drive::{Drive, DriveJob, NAME, Way};
use crate::written::mistake::Mistakes;
use crate::written::read::At;
use crate::written::typed::Typed;
use kvdyno_record::engine::Durability;
use std::collections::HashSet;

/// Records all mistakes.
pub(crate) fn check(drive: &At<Drive>, typed: &Typed, mistakes: &mut Mistakes) {
    if drive.job.is_empty() {
        let mistake = mistakes.at(&drive.span, "[drive] has no job");
        mistake.label("expected `preset` or a [[drive.job]]");
    }
    if let Some(trials) = drive.trials.as_ref().filter(|trials| trials.0 > typed.trials()) {
        let mistake =
            mistakes.at(&trials.span, format!("the suite does not have {} trials", trials.0));
        mistake.label(format!("expected at most {}, as in [run]", typed.trials()));
    }
    if drive.is_read_only() {
        check_read_only(drive, mistakes);
    }
    check_labels(drive, typed, mistakes);
    for job in &drive.job {
        if let Some(depth) =
            job.depth.as_ref().filter(|depth| depth.0 > 1 && job.io() != Way::IoUring)
        {
            let message =
                format!("io = \"{}\" is synchronous and ignores `depth`", job.io().as_str());
            let mistake = mistakes.at(&depth.span, message);
            mistake.label("expected io = \"io_uring\" with this, or more `threads`");
        }
        if let Some(flushes) = &job.flush_every {
            let why = match job.io() {
                Way::Mmap => "stores into a map are not flushed by this",
                _ if job.rw().trims() || job.read_share() >= 1.0 => {
                    "this job writes nothing that could be flushed"
                }
                _ => continue,
            };
            mistakes.at(&flushes.span, why).label("expected no `flush_every`");
        }
        check_pace(job, drive, mistakes);
        if job.rw().trims() {
            check_trims(job, drive, mistakes);
        }
        if let Some(keys) = job.keys.as_ref().filter(|_| drive.is_with_fio()) {
            let mistake = mistakes.at(&keys.span, "`with_fio` does not support `keys`");
            mistake.label("expected no `keys` beside `with_fio`");
        }
        let commits = job.durability.as_ref().filter(|class| class.value == Durability::Commit);
        if let Some(class) = commits.filter(|_| drive.is_with_fio() && job.io() == Way::Mmap) {
            let mistake = mistakes.at(&class.span, "fio does not flush writes to a memory map");
            mistake.label("expected no class commit of io = \"mmap\" beside `with_fio`");
        }
        if let Some(keys) = job.keys.as_ref().filter(|_| !job.rw().is_random()) {
            let mistake = mistakes.at(&keys.span, "`keys` needs random access");
            mistake.label("expected rw = \"randread\", \"randwrite\" or \"randrw\"");
        }
        if let Some(share) = job.read_share.as_ref().filter(|_| !job.rw().is_mixed()) {
            let mistake =
                mistakes.at(&share.span, "`read_share` needs a job that reads and writes");
            mistake.label("expected rw = \"randrw\" or \"rw\"");
        }
    }
}

/// Refuses settings that discards do not support: the kernel answers discards one at a time.
fn check_trims(job: &At<DriveJob>, drive: &Drive, mistakes: &mut Mistakes) {
    let span = job.rw.as_ref().map_or(&job.span, |rw| &rw.span);
    if let Some(depth) = job.depth.as_ref().filter(|depth| depth.0 > 1) {
        let mistake = mistakes.at(&depth.span, "a thread discards one block at a time");
        mistake.label("expected no `depth`, or more `threads`");
    }
    if job.io() == Way::Mmap {
        let mistake = mistakes.at(span, "a map of the file discards nothing");
        mistake.label("expected io = \"psync\" or \"io_uring\" with this");
    }
    if drive.is_with_fio() {
        let mistake = mistakes.at(span, "`with_fio` does not support discards");
        mistake.label("expected no discards beside `with_fio`");
    }
}

/// Refuses a rate or a pause that the job cannot keep.
fn check_pace(job: &DriveJob, drive: &Drive, mistakes: &mut Mistakes) {
    let rate = job.rate.as_ref().map(|rate| ("rate", &rate.span));
    let think_time = job.think_time.as_ref().map(|time| ("think_time", &time.span));
    if drive.is_with_fio() {
        for (key, span) in rate.into_iter().chain(think_time) {
            let mistake = mistakes.at(span, format!("`with_fio` does not support `{key}`"));
            mistake.label(format!("expected no `{key}` beside `with_fio`"));
        }
    }
    if let Some((_, span)) = rate.filter(|_| job.rate.as_ref().is_some_and(|rate| rate.0 <= 0.0)) {
        mistakes.at(span, "the rate is zero").label("expected a rate above 0, or none");
    }
    let Some((_, span)) = think_time else { return };
    if rate.is_some() {
        let mistake = mistakes.at(span, "jobs with a `rate` cannot have a `think_time`");
        mistake.label("expected either `rate` or `think_time`");
    }
    if job.io() == Way::IoUring {
        let mistake = mistakes.at(span, "io = \"io_uring\" has a depth, and no pauses");
        mistake.label("expected io = \"psync\" or \"mmap\" with this");
    }
}

/// Refuses jobs that write.
fn check_read_only(drive: &At<Drive>, mistakes: &mut Mistakes) {
    if let Some(passes) = drive.precondition.as_ref() {
        let mistake = mistakes.at(&passes.span, "this job writes, and the drive is read only");
        mistake.label("expected no `precondition` next to `read_only`");
    }
    for job in drive.job.iter().filter(|job| job.read_share() < 1.0) {
        let span = job.rw.as_ref().map_or(&job.span, |rw| &rw.span);
        let mistake = mistakes.at(span, "this writes, and the drive is read only");
        mistake.label("expected rw = \"randread\" or \"read\"");
    }
}

/// Refuses labels that occur twice: jobs, engines and the case that writes the file share a table.
fn check_labels(drive: &Drive, typed: &Typed, mistakes: &mut Mistakes) {
    let mut labels: HashSet<String> =
        typed.engine.iter().map(|engine| engine.label.0.clone()).collect();
    if !labels.insert(NAME.to_owned()) {
        for engine in typed.engine.iter().filter(|engine| engine.label.0 == NAME) {
            let mistake = mistakes.at(&engine.label.span, "[drive] uses this name too");
            mistake.label("expected another `label`");
        }
    }
    for job in &drive.job {
        let label = job.label();
        if labels.contains(&label) {
            let span = job.name.as_ref().map_or(&job.span, |name| &name.span);
            let mistake = mistakes.at(span, format!("the name `{label}` occurs twice"));
            mistake.label("expected a `name` that no other job and no engine has");
        }
        if drive.is_with_fio() {
            labels.insert(format!("{label}-fio"));
        }
        labels.insert(label);
    }
}
