//! A study's machine and data compared with a run's, and the effect of each difference.

use super::published::StudyHead;
use crate::figures::Figures;
use crate::figures::lists::unique;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// Its name: `CPU threads`.
    pub subject: String,
    /// The study's value.
    pub study_value: String,
    /// The run's value.
    pub run_value: String,
    /// Its effect on the figures; null: practically equal.
    pub consequence: Option<String>,
}

/// Data of up to this factor more or less counts as the same size.
const ALIKE: f64 = 2.0;

/// All known differences.
pub(super) fn list_differences(study: &StudyHead, figures: &Figures) -> Vec<Difference> {
    let all = [
        cpus(study, figures),
        records(study, figures),
        ram(study, figures),
        drive(study, figures),
        filesystem(study, figures),
        kernel(study, figures),
        engines(study, figures),
    ];
    all.into_iter().flatten().collect()
}

fn difference(what: &str, there: String, here: String, matters: Option<String>) -> Difference {
    Difference {
        subject: what.to_owned(),
        study_value: there,
        run_value: here,
        consequence: matters,
    }
}

fn cpus(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let (there, here) = (study.host.cpus?, figures.host.machine.cpus);
    let matters = match there.cmp(&here) {
        std::cmp::Ordering::Greater => Some(format!(
            "above {here} busy threads, threads share CPUs here: throughput stops growing earlier"
        )),
        std::cmp::Ordering::Less => {
            Some("more threads run in parallel here: throughput grows further".to_owned())
        }
        std::cmp::Ordering::Equal => None,
    };
    let cpu = study.host.cpu.as_ref().map_or_else(String::new, |cpu| format!(" ({cpu})"));
    let here = format!("{here} ({})", figures.host.machine.cpu_model);
    Some(difference("CPU threads", format!("{there}{cpu}"), here, matters))
}

fn records(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let groups = || figures.groups.iter().filter(|group| group.competes());
    let record_counts = unique(groups().map(|group| group.records));
    let most = *record_counts.iter().max()?;
    let ratio = study.data.records as f64 / most as f64;
    let matters = if ratio >= ALIKE {
        Some(format!(
            "{} times fewer records: wall times, counts and sizes are smaller by that factor; \
             compare rates and figures per record where data:RAM is similar",
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
    let counts: Vec<String> = record_counts.iter().map(|records| units::count(*records)).collect();
    Some(difference("records", there, format!("{}{here}", counts.join(", ")), matters))
}

fn ram(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let there = study.host.ram.clone().or_else(|| study.host.memory.clone())?;
    let groups = figures.groups.iter().filter(|group| group.competes());
    let memory = unique(groups.map(|group| (group.ram_limit_bytes, group.ram(), group.user_bytes)));
    let machine = units::bytes(figures.host.machine.memory_bytes);
    let memory_text = |(limit, ram, data): &(Option<u64>, String, u64)| {
        let bytes = limit.unwrap_or(figures.host.machine.memory_bytes) as f64;
        let ram = if limit.is_some() { ram.clone() } else { machine.clone() };
        format!("{ram} (data:RAM {:.1})", *data as f64 / bytes)
    };
    let here = unique(memory.iter().map(memory_text)).join(", ");
    let matters = "the share of data in memory decides how many reads reach the drive: compare \
                   data:RAM, not bytes";
    Some(difference("RAM for engine and page cache", there, here, Some(matters.to_owned())))
}

fn drive(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let drive = figures.host.drive.as_ref()?;
    let kind = match (drive.name.starts_with("nvme"), drive.rotational) {
        (true, _) => "nvme",
        (false, Some(true)) => "reports itself as rotational",
        (false, _) => "virtual or SATA",
    };
    let model = drive.model.clone().unwrap_or_else(|| drive.name.clone());
    let mut here = format!("{model} ({kind}, {})", units::bytes(drive.bytes));
    let volumes: Vec<String> = figures.volumes.iter().map(|volume| volume.name.clone()).collect();
    if !volumes.is_empty() {
        here += &format!("; volumes {}", volumes.join(", "));
    }
    let matters = "the drive's latency and I/Os per second limit all that misses memory: see the \
                   bare drive's own figures";
    Some(difference("drive", study.host.drives.join("; "), here, Some(matters.to_owned())))
}

fn filesystem(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let there = study.host.filesystem.clone()?;
    let here = figures.host.filesystem.as_ref()?.kind.clone();
    let matters = (there != here).then(|| "each write has another cost".to_owned());
    Some(difference("filesystem", there, here, matters))
}

fn kernel(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let there = study.host.kernel.clone().or_else(|| study.host.os.clone())?;
    let here = figures.host.kernel.clone();
    let matters = "block layer, page cache and mitigations differ between the two";
    let matters = (there != here).then(|| matters.to_owned());
    Some(difference("kernel", there, here, matters))
}

fn engines(study: &StudyHead, figures: &Figures) -> Option<Difference> {
    let workers = figures.engines.iter().filter_map(|engine| engine.worker.as_ref());
    let workers = workers.filter(|worker| !worker.stores_nothing && !worker.bare_drive);
    let here = unique(workers.map(|worker| format!("{} {}", worker.title, worker.version)));
    if here.is_empty() {
        return None;
    }
    let matters = "other versions: compare the shape rather than the numbers";
    let same = here.iter().all(|engine| study.host.engines.contains(engine));
    let matters = (!same).then(|| matters.to_owned());
    Some(difference("engines", study.host.engines.join(", "), here.join(", "), matters))
}
