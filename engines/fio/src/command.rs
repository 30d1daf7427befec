//! The translation of a job's phase into fio's command line.

use kvdyno_engine::{Durability, Error, Location, Result};
use kvdyno_record::protocol::Job;
use kvdyno_record::workload::{Choice, Mix, MixEntry, Op, Role};
use std::path::{Path, PathBuf};

/// The file that engine `drive` creates in its directory.
const FILE: &str = "drive";

/// Returns fio's arguments for a phase of one role, which reads and writes whole blocks.
pub(crate) fn arguments(job: &Job, drive: &Mix, seed: u64) -> Result<Vec<String>> {
    let [role] = drive.roles.as_slice() else {
        return Err(Error::invalid("fio runs phases of one role"));
    };
    let mut arguments = vec![
        "--name=kvdyno".to_owned(),
        format!("--filename={}", escape_path(&path(&job.location)?)),
        format!("--rw={}", pattern(role)?),
        format!("--bs={}", job.shape.value_bytes_max),
        format!("--numjobs={}", role.threads),
        // The page cache stays as it is: a warmup has filled it, or an evict has emptied it.
        "--invalidate=0".to_owned(),
        // Blocks are drawn as by engine `drive`: each as often as any other, and repeatedly.
        "--norandommap=1".to_owned(),
        "--random_generator=tausworthe64".to_owned(),
        format!("--randseed={seed}"),
        // Threads of one process, which start together and are reported as one.
        "--thread=1".to_owned(),
        "--group_reporting=1".to_owned(),
        "--lat_percentiles=1".to_owned(),
        "--slat_percentiles=1".to_owned(),
        "--clat_percentiles=1".to_owned(),
        // The file stays as another case has left it: fio lays out nothing.
        "--allow_file_create=0".to_owned(),
        "--output-format=json+".to_owned(),
    ];
    let nanoseconds = drive.ends.duration_ns.filter(|_| drive.ends.operations.is_none());
    let nanoseconds = nanoseconds
        .ok_or_else(|| Error::invalid("fio needs a `duration` and takes no `operations`"))?;
    arguments.push("--time_based=1".to_owned());
    arguments.push(format!("--runtime={}us", nanoseconds / 1_000));
    arguments.extend(span(job, role)?);
    arguments.extend(read_share_option(role));
    arguments.extend(options(job, role)?);
    Ok(arguments)
}

/// Returns the path of the blocks.
pub(crate) fn path(location: &Location) -> Result<PathBuf> {
    location.blocks(FILE)
}

/// Returns a path as one name: fio takes a `:` for the end of a file's name and the beginning of
/// the next.
fn escape_path(path: &Path) -> String {
    path.display().to_string().replace(':', "\\:")
}

fn weight(role: &Role, is: impl Fn(&MixEntry) -> bool) -> f64 {
    role.mix.iter().filter(|entry| is(entry)).map(|entry| entry.weight).sum()
}

fn blocks(role: &Role) -> impl Iterator<Item = &MixEntry> {
    role.mix.iter().filter(|entry| entry.op != Op::Flush)
}

fn is_ordered(role: &Role) -> bool {
    blocks(role).all(|entry| entry.keys == Choice::Sequential { step: 1 })
}

fn pattern(role: &Role) -> Result<&'static str> {
    let random = blocks(role).all(|entry| entry.keys == Choice::Uniform);
    let ordered = is_ordered(role);
    let supported =
        role.mix.iter().all(|entry| matches!(entry.op, Op::Get | Op::Update | Op::Flush));
    if !supported || role.rate.is_some() || !(random || ordered) {
        return Err(Error::invalid("fio reads and writes blocks, all at random or all in order"));
    }
    let reads = weight(role, |entry| entry.op == Op::Get) > 0.0;
    let writes = weight(role, |entry| entry.op == Op::Update) > 0.0;
    Ok(match (random, reads, writes) {
        (true, true, false) => "randread",
        (true, false, _) => "randwrite",
        (true, true, true) => "randrw",
        (false, true, false) => "read",
        (false, false, _) => "write",
        (false, true, true) => "rw",
    })
}

/// Returns the options for the blocks of each thread. At random these are all blocks; in order they
/// are a part for each thread, because threads of engine `drive` begin evenly apart.
fn span(job: &Job, role: &Role) -> Result<Vec<String>> {
    let in_parts = role.threads > 1 && is_ordered(role);
    let parts = if in_parts { u64::from(role.threads) } else { 1 };
    let blocks = job.data.records / parts;
    if blocks == 0 {
        return Err(Error::invalid("fio needs a block for each thread that works in order"));
    }
    let bytes = blocks.saturating_mul(job.shape.value_bytes_max);
    let mut arguments = vec![format!("--size={bytes}")];
    if in_parts {
        arguments.push(format!("--offset_increment={bytes}"));
    }
    Ok(arguments)
}

/// Returns the option for the share of reads, of which fio takes whole percents.
fn read_share_option(role: &Role) -> Option<String> {
    let reads = weight(role, |entry| entry.op == Op::Get);
    let share = 100.0 * reads / weight(role, |_| true);
    (share > 0.0 && share < 100.0).then(|| format!("--rwmixread={}", share.round() as u32))
}

fn options(job: &Job, role: &Role) -> Result<Vec<String>> {
    let io = job.options.text("io")?;
    let on = |name: &str| job.options.boolean(name);
    let mut arguments = vec![format!("--ioengine={io}")];
    arguments.push(format!("--direct={}", u8::from(on("direct")? && io != "mmap")));
    arguments.push(format!("--iodepth={}", role.depth.unwrap_or(1)));
    if io == "io_uring" {
        if on("registered")? {
            arguments.extend(["--fixedbufs=1".to_owned(), "--registerfiles=1".to_owned()]);
        }
        if on("sqpoll")? {
            arguments.push("--sqthread_poll=1".to_owned());
        }
        if on("iopoll")? {
            arguments.push("--hipri=1".to_owned());
        }
    }
    arguments.extend(role.flush_every.map(|writes| format!("--fdatasync={writes}")));
    if on("read_only")? {
        arguments.push("--readonly".to_owned());
    }
    // Engine `drive` asks for no readahead: a map faults page by page, calls have the kernel's own
    // readahead.
    arguments.push(format!("--fadvise_hint={}", if io == "mmap" { "random" } else { "0" }));
    if job.options.durability == Durability::Commit {
        if io == "mmap" {
            return Err(Error::invalid("fio does not sync stores into a map"));
        }
        arguments.push("--sync=dsync".to_owned());
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_colons_is_one_file() {
        let device = Path::new("/dev/disk/by-path/pci-0000:00:1f.2-ata-1");
        assert_eq!(escape_path(device), "/dev/disk/by-path/pci-0000\\:00\\:1f.2-ata-1");
        assert_eq!(escape_path(Path::new("/mnt/nvme/drive")), "/mnt/nvme/drive");
    }
}
