//! A study's machine and data against a run's, and why each difference matters.

use super::published::StudyHead;
use crate::lists::unique;
use crate::summary::Summary;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What: `CPU threads`.
    pub what: String,
    /// In the study.
    pub there: String,
    /// In this run.
    pub here: String,
    /// Why it matters for the figures; null: it is as good as equal.
    pub matters: Option<String>,
}

/// Data from half to twice as much is of the same size.
const ALIKE: f64 = 2.0;

/// All that the study tells of.
pub(super) fn list_differences(study: &StudyHead, summary: &Summary) -> Vec<Difference> {
    let all = [
        cpus(study, summary),
        records(study, summary),
        ram(study, summary),
        drive(study, summary),
        filesystem(study, summary),
        kernel(study, summary),
        engines(study, summary),
    ];
    all.into_iter().flatten().collect()
}

fn difference(what: &str, there: String, here: String, matters: Option<String>) -> Difference {
    Difference { what: what.to_owned(), there, here, matters }
}

fn cpus(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let (there, here) = (study.host.cpus?, summary.host.machine.cpus);
    let matters = match there.cmp(&here) {
        std::cmp::Ordering::Greater => Some(format!(
            "past {here} busy threads these take turns: throughput by threads ends sooner here"
        )),
        std::cmp::Ordering::Less => {
            Some("more threads run side by side here: throughput by threads ends later".to_owned())
        }
        std::cmp::Ordering::Equal => None,
    };
    let cpu = study.host.cpu.as_ref().map_or_else(String::new, |cpu| format!(" ({cpu})"));
    let here = format!("{here} ({})", summary.host.machine.cpu_model);
    Some(difference("CPU threads", format!("{there}{cpu}"), here, matters))
}

fn records(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let groups = || summary.groups.iter().filter(|group| group.competes());
    let own = unique(groups().map(|group| group.records));
    let most = *own.iter().max()?;
    let ratio = study.data.records as f64 / most as f64;
    let matters = if ratio >= ALIKE {
        Some(format!(
            "{} times fewer records: wall times, counts and sizes are smaller by that; rates and \
             figures per record can be held against each other where data:RAM is alike",
            units::si(ratio)
        ))
    } else if ratio <= 1.0 / ALIKE {
        Some(format!("{} times as many records", units::si(1.0 / ratio)))
    } else {
        None
    };
    let shape = |key: Option<u32>, value: Option<u32>| match (key, value) {
        (Some(key), Some(value)) => format!(" of {key} + {value} bytes"),
        _ => String::new(),
    };
    let there = shape(study.data.key_bytes, study.data.value_bytes);
    let there = format!("{}{there}", units::count(study.data.records));
    let values = unique(groups().map(|group| (group.key_bytes, group.value_bytes_mean)));
    let here = match values[..] {
        [(key, value)] => format!(" of {key} + {value} bytes"),
        _ => String::new(),
    };
    let counts: Vec<String> = own.iter().map(|records| units::count(*records)).collect();
    Some(difference("records", there, format!("{}{here}", counts.join(", ")), matters))
}

fn ram(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let there = study.host.ram.clone().or_else(|| study.host.memory.clone())?;
    let groups = summary.groups.iter().filter(|group| group.competes());
    let own = unique(groups.map(|group| (group.ram_limit_bytes, group.ram(), group.user_bytes)));
    let machine = units::bytes(summary.host.machine.memory_bytes);
    let one = |(limit, ram, data): &(Option<u64>, String, u64)| {
        let bytes = limit.unwrap_or(summary.host.machine.memory_bytes) as f64;
        let ram = if limit.is_some() { ram.clone() } else { machine.clone() };
        format!("{ram} (data:RAM {:.1})", *data as f64 / bytes)
    };
    let here = unique(own.iter().map(one)).join(", ");
    let matters = "what fits into memory decides how many reads reach the drive: hold data:RAM \
                   against each other, not bytes";
    Some(difference("RAM for engine and page cache", there, here, Some(matters.to_owned())))
}

fn drive(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let drive = summary.host.drive.as_ref()?;
    let kind = match (drive.name.starts_with("nvme"), drive.rotational) {
        (true, _) => "nvme",
        (false, Some(true)) => "rotating, or says so",
        (false, _) => "virtual or SATA",
    };
    let model = drive.model.clone().unwrap_or_else(|| drive.name.clone());
    let mut here = format!("{model} ({kind}, {})", units::bytes(drive.bytes));
    let volumes: Vec<String> = summary.volumes.iter().map(|volume| volume.name.clone()).collect();
    if !volumes.is_empty() {
        here += &format!("; volumes {}", volumes.join(", "));
    }
    let matters = "latency and I/Os a second of the drive bound whatever misses memory: the bare \
                   drive's own figures say by how much";
    Some(difference("drive", study.host.drives.join("; "), here, Some(matters.to_owned())))
}

fn filesystem(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let there = study.host.filesystem.clone()?;
    let here = summary.host.filesystem.as_ref()?.kind.clone();
    let matters = (there != here).then(|| "it has its own price for each write".to_owned());
    Some(difference("filesystem", there, here, matters))
}

fn kernel(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let there = study.host.kernel.clone().or_else(|| study.host.os.clone())?;
    let here = summary.host.kernel.clone();
    let matters = "years of block layer, page cache and mitigations lie between the two";
    let matters = (there != here).then(|| matters.to_owned());
    Some(difference("kernel", there, here, matters))
}

fn engines(study: &StudyHead, summary: &Summary) -> Option<Difference> {
    let of = summary.engines.iter().filter_map(|engine| engine.worker.as_ref());
    let of = of.filter(|worker| !worker.stores_nothing && !worker.bare_drive);
    let here = unique(of.map(|worker| format!("{} {}", worker.title, worker.version)));
    if here.is_empty() {
        return None;
    }
    let matters = "other versions: compare the shape before the numbers";
    let same = here == study.host.engines;
    let matters = (!same).then(|| matters.to_owned());
    Some(difference("engines", study.host.engines.join(", "), here.join(", "), matters))
}
