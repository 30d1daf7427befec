//! fio's job files: sections of options become jobs of the suite that `kvdyno drive` writes. An
//! option without a counterpart is refused, with its name and line.

mod options;
#[cfg(test)]
mod tests;

use super::text::JobTable;
use crate::cli::DriveWay;
use crate::exit::{Complaint, did_you_mean};
use options::{BUILT_IN, HARMLESS, canonical, refusal};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The note for a job with libaio.
const BY_IO_URING: &str = "asynchronous I/O is done by io_uring, by fio beside it too: times of \
                           flushes differ from libaio's";

/// The jobs of a file.
#[derive(Debug, Default)]
pub(super) struct JobFile {
    pub(super) jobs: Vec<JobTable>,
    /// The size of the file that the jobs work on; none: no section has one.
    pub(super) size: Option<String>,
    /// Notes about differences from fio, and about options that were left out.
    pub(super) notes: Vec<String>,
}

/// An option with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    value: String,
    line: usize,
}

/// A section with its settings and those of the `[global]` sections before it.
#[derive(Clone, Debug)]
struct Section {
    name: String,
    line: usize,
    settings: BTreeMap<String, Setting>,
}

/// A mistake at a line.
struct Mistake {
    line: usize,
    what: String,
    remedy: String,
}

impl Mistake {
    fn new(line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line, what: what.into(), remedy: remedy.into() }
    }
}

/// Reads a job file. `has_duration`: the command line sets the time of each job.
pub(super) fn read(path: &Path, has_duration: bool) -> Result<JobFile, Complaint> {
    let file = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Complaint::usage(format!("cannot read {file}: {error}"))
            .hint("expected the path of a fio job file")
    })?;
    parse(&text, has_duration).map_err(|Mistake { line, what, remedy }| {
        Complaint::usage(format!("{file}, line {line}: {what}")).hint(remedy)
    })
}

fn parse(text: &str, has_duration: bool) -> Result<JobFile, Mistake> {
    if text.trim_start().starts_with('{') {
        let remedy = "`--import-fio FILE` reads a report of fio";
        return Err(Mistake::new(1, "expected a job file, found JSON", remedy));
    }
    let sections = sections(text)?;
    if sections.is_empty() {
        let what = "expected a section such as [randread], found none";
        return Err(Mistake::new(1, what, "`[global]` alone is no job"));
    }
    check_order(&sections)?;
    let mut file = JobFile::default();
    let mut left_out = BTreeSet::new();
    let mut sizes: Vec<(u64, usize)> = Vec::new();
    for section in &sections {
        for (name, setting) in &section.settings {
            match name.as_str() {
                name if BUILT_IN.contains(&name) => {}
                name if HARMLESS.contains(&name) => {
                    left_out.insert(name.to_owned());
                }
                _ => return Err(refuse(name, setting)),
            }
        }
        note_differences(section, &mut file.notes);
        if let Some(size) = section.get("size") {
            sizes.push((section.bytes("size", size)?, size.line));
        }
        let job = job(section, has_duration, &mut file.notes)?;
        file.jobs.push(job);
    }
    let first = sizes.first().copied();
    let unlike = |(size, _): &&(u64, usize)| Some(*size) != first.map(|(first, _)| first);
    if let (Some((one, line)), Some((other, later))) = (first, sizes.iter().find(unlike)) {
        let what = format!("jobs work on {one} and on {other} bytes");
        return Err(Mistake::new(line.max(*later), what, "give all jobs one `size`"));
    }
    file.size = first.map(|(size, _)| format!("{size}B"));
    make_names_unique(&mut file.jobs);
    let is_drawn = |section: &Section| {
        let rw = section.get("rw").map_or("", |rw| rw.value.as_str());
        rw.starts_with("rand") && !section.is_on("norandommap")
    };
    if sections.iter().any(is_drawn) {
        file.notes.push("random blocks are drawn as with norandommap=1".to_owned());
    }
    if !left_out.is_empty() {
        let names: Vec<String> = left_out.into_iter().collect();
        file.notes.push(format!("left out, as they change no work: {}", names.join(", ")));
    }
    let mut unique = BTreeSet::new();
    file.notes.retain(|note| unique.insert(note.clone()));
    Ok(file)
}

/// Adds notes about what fio would do differently.
fn note_differences(section: &Section, notes: &mut Vec<String>) {
    let more_files = section.number("numjobs", 1).is_ok_and(|jobs| jobs > 1);
    if more_files && section.get("filename").is_none() {
        notes.push("all threads of a job work on one file; fio makes one for each".to_owned());
    }
    if section.get("runtime").is_some() && !section.is_on("time_based") {
        notes.push("jobs run for their whole `runtime`, as with time_based".to_owned());
    }
}

/// Makes the jobs' names unique: they become names of cases, directories and rows of tables.
fn make_names_unique(jobs: &mut [JobTable]) {
    let mut names = BTreeSet::new();
    for job in jobs {
        let base = job.name.clone();
        let mut number = 1;
        while !names.insert(job.name.clone()) {
            number += 1;
            job.name = format!("{base}-{number}");
        }
    }
}

fn refuse(name: &str, setting: &Setting) -> Mistake {
    let Setting { value, line } = setting;
    match refusal(name) {
        Some((why, remedy)) => Mistake::new(*line, format!("{name}={value}: {why}"), remedy),
        None => {
            let names: Vec<&str> = BUILT_IN.iter().chain(HARMLESS).copied().collect();
            let meant = did_you_mean(name, &names);
            let remedy = format!("{meant}remove the line if it does not change what the job does");
            Mistake::new(*line, format!("unknown option `{name}`"), remedy)
        }
    }
}

/// Parses the sections except `[global]`, each with all of its options.
fn sections(text: &str) -> Result<Vec<Section>, Mistake> {
    let mut global: BTreeMap<String, Setting> = BTreeMap::new();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = None;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let row = without_remark(raw.trim());
        if row.is_empty() || row.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = row.strip_prefix('[') {
            let Some((name, _)) = name.split_once(']') else {
                let what = format!("expected `]` after {row}");
                return Err(Mistake::new(line, what, "a section is a line such as [randread]"));
            };
            in_global = Some(name == "global");
            if name != "global" {
                let settings = global.clone();
                sections.push(Section { name: name.to_owned(), line, settings });
            }
            continue;
        }
        let (name, value) = row.split_once('=').unwrap_or((row, "1"));
        let (name, value) = canonical(name.trim(), &expand_variables(value.trim(), line)?);
        let setting = Setting { value, line };
        match (in_global, sections.last_mut()) {
            (Some(true), _) => _ = global.insert(name, setting),
            (Some(false), Some(section)) => _ = section.settings.insert(name, setting),
            _ => {
                let what = format!("expected a section before `{row}`");
                return Err(Mistake::new(line, what, "begin the file with [global] or a job"));
            }
        }
    }
    Ok(sections)
}

/// Returns the line without a remark at its end.
fn without_remark(row: &str) -> &str {
    let remark = [" ;", " #", "\t;", "\t#"].into_iter().filter_map(|mark| row.find(mark)).min();
    row[..remark.unwrap_or(row.len())].trim_end()
}

/// Expands the environment variables in a value, as fio does.
fn expand_variables(value: &str, line: usize) -> Result<String, Mistake> {
    let Some((before, rest)) = value.split_once("${") else { return Ok(value.to_owned()) };
    let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
    let variable = std::env::var(name).map_err(|_| {
        let what = format!("the variable {name} of the environment is not set");
        Mistake::new(line, what, format!("`{name}=VALUE kvdyno drive ...`"))
    })?;
    Ok(format!("{before}{variable}{}", expand_variables(after, line)?))
}

/// Refuses sections that fio would run side by side: those that do not wait for the ones before.
fn check_order(sections: &[Section]) -> Result<(), Mistake> {
    let together = sections.iter().skip(1).find(|section| !section.is_on("stonewall"));
    let Some(section) = together else { return Ok(()) };
    let what = format!(
        "[{}] runs beside the section before it, and kvdyno measures each job alone",
        section.name
    );
    let remedy = "add `stonewall` to it, or to [global], if one after the other is meant";
    Err(Mistake::new(section.line, what, remedy))
}

impl Section {
    fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.get(name)
    }

    /// Whether a switch is on.
    fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|setting| setting.value != "0")
    }

    /// Returns a mistake in an option: at the option's line, otherwise at the section's.
    fn option_error(&self, name: &str, expected: &str) -> Mistake {
        match self.get(name) {
            Some(Setting { value, line }) => Mistake::new(
                *line,
                format!("expected {expected}, found {name}={value}"),
                option_hint(name),
            ),
            None => Mistake::new(
                self.line,
                format!("[{}] has no `{name}`: expected {expected}", self.name),
                option_hint(name),
            ),
        }
    }

    fn number(&self, name: &str, default: u32) -> Result<u32, Mistake> {
        let Some(setting) = self.get(name) else { return Ok(default) };
        let number = setting.value.parse::<u32>();
        number.map_err(|_| self.option_error(name, "a whole number"))
    }

    /// Parses a size in fio's units: `k` is 1,024 unless `kb_base` is 1000, and `kib` is the other
    /// of these two.
    fn bytes(&self, name: &str, setting: &Setting) -> Result<u64, Mistake> {
        let base: u64 =
            if self.get("kb_base").is_some_and(|b| b.value == "1000") { 1000 } else { 1024 };
        let text = setting.value.to_ascii_lowercase();
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let power = match unit {
            "" | "b" => Some(0),
            "k" | "kb" | "kib" | "ki" => Some(1),
            "m" | "mb" | "mib" | "mi" => Some(2),
            "g" | "gb" | "gib" | "gi" => Some(3),
            "t" | "tb" | "tib" | "ti" => Some(4),
            _ => None,
        };
        let base = if unit.ends_with("ib") { 2024 - base } else { base };
        let bytes =
            power.and_then(|power| number.parse::<u64>().ok()?.checked_mul(base.pow(power)));
        bytes.filter(|bytes| *bytes > 0).ok_or_else(|| self.option_error(name, "one size, as 4k"))
    }

    /// Parses a time in fio's units; a number alone is in `default_unit`. Returns it as the suite
    /// writes it; none: not set, or 0.
    fn time(&self, name: &str, default_unit: &str) -> Result<Option<String>, Mistake> {
        let Some(setting) = self.get(name) else { return Ok(None) };
        let text = setting.value.to_ascii_lowercase();
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number =
            number.parse::<u64>().map_err(|_| self.option_error(name, "a time, as 60s"))?;
        let unit = match unit {
            "" => default_unit,
            "s" => "s",
            "ms" | "msec" => "ms",
            "us" | "usec" => "us",
            "m" => "m",
            "h" => "h",
            "d" => return Ok(Some(format!("{}h", number.saturating_mul(24)))),
            _ => return Err(self.option_error(name, "a time, as 60s")),
        };
        Ok((number > 0).then(|| format!("{number}{unit}")))
    }
}

/// Returns the hint for a mistake in an option.
fn option_hint(name: &str) -> &'static str {
    match name {
        "runtime" => "add `runtime=60` (with `time_based`), or use `--duration 60s`",
        "bs" => "kvdyno has one block size for each job: make a section for each size",
        "rw" => "kvdyno has randread, randwrite, randrw, read, write, rw, randtrim and trim",
        "ioengine" => "kvdyno has io_uring (for libaio too), psync (for sync too) and mmap",
        "size" => "give a size in bytes, as 16g; the file is made in PATH",
        "rate" | "rate_iops" => "make a section of reads, and one of writes: each has its rate",
        "thinktime" => "use `ioengine=psync`, or remove it",
        "thinktime_blocks" => "remove it",
        "random_distribution" => "kvdyno has random and zipf:THETA",
        _ => "correct the line",
    }
}

fn job(
    section: &Section,
    has_duration: bool,
    notes: &mut Vec<String>,
) -> Result<JobTable, Mistake> {
    let rw = section.get("rw").map_or("read", |rw| rw.value.as_str());
    let rw = match rw {
        "readwrite" => "rw",
        "randread" | "randwrite" | "randrw" | "read" | "write" | "rw" | "randtrim" | "trim" => rw,
        _ => {
            return Err(section.option_error("rw", "reads, writes or trims, at random or in order"));
        }
    };
    let trims = matches!(rw, "randtrim" | "trim");
    let way = parse_way(section, trims)?;
    let depth = section.number("iodepth", 1)?.max(1);
    if trims {
        let text = "a job that trims has a file of its own and no warmup, and makes one trim at a \
                    time per thread, as fio does; randtrim draws each block anew, and fio visits \
                    each once";
        notes.push(text.to_owned());
    }
    if section.get("ioengine").is_some_and(|engine| engine.value.ends_with("aio")) {
        notes.push(BY_IO_URING.to_owned());
    }
    let block = match section.get("bs") {
        Some(setting) => section.bytes("bs", setting)?,
        None => 4096,
    };
    let duration = section.time("runtime", "s")?;
    if duration.is_none() && !has_duration {
        return Err(section.option_error("runtime", "a time, as kvdyno's jobs end by time"));
    }
    let writes = rw.contains('w');
    let every = [section.number("fdatasync", 0)?, section.number("fsync", 0)?];
    let flush_every = every.into_iter().filter(|every| *every > 0 && writes).min();
    if flush_every.is_some() && section.is_on("fsync") {
        notes.push("fsync is done as fdatasync: the file keeps its length".to_owned());
    }
    let threads = section.number("numjobs", 1)?.max(1);
    let durable = section.get("sync").is_some_and(|sync| sync.value != "0" && sync.value != "none");
    Ok(JobTable {
        name: job_name(&section.name),
        way,
        rw: rw.to_owned(),
        read_share: read_share(section, rw)?,
        block: format!("{block}B"),
        depth: if trims { 1 } else { depth },
        threads: Some(threads),
        flush_every,
        rate: rate(section, rw, block)?.map(|rate| rate * f64::from(threads)),
        think_time: think_time(section, way)?,
        buffered: way != DriveWay::Mmap && !section.is_on("direct"),
        duration,
        warmup: section.time("ramp_time", "s")?,
        durable: durable && writes,
        keys: keys(section, rw)?,
        polled: [("sqpoll", "sqthread_poll"), ("iopoll", "hipri")]
            .into_iter()
            .filter(|(_, fio)| way == DriveWay::IoUring && section.is_on(fio))
            .map(|(own, _)| own)
            .collect(),
    })
}

/// Returns the system calls for a job's I/O.
fn parse_way(section: &Section, trims: bool) -> Result<DriveWay, Mistake> {
    let refuse = |expected| Err(section.option_error("ioengine", expected));
    match section.get("ioengine").map_or("psync", |engine| engine.value.as_str()) {
        "io_uring" | "libaio" | "posixaio" => Ok(DriveWay::IoUring),
        "psync" | "sync" | "vsync" | "pvsync" | "pvsync2" => Ok(DriveWay::Psync),
        "mmap" if trims => refuse("no map of the file in a job that trims"),
        "mmap" => Ok(DriveWay::Mmap),
        _ => refuse("asynchronous, synchronous or mapped I/O"),
    }
}

/// Operations per second of one thread; none: no limit. fio limits reads and writes separately, so
/// a rate of both is refused.
fn rate(section: &Section, rw: &str, block: u64) -> Result<Option<f64>, Mistake> {
    let (name, per_s) = match (section.get("rate_iops"), section.get("rate")) {
        (Some(_), _) => ("rate_iops", f64::from(section.number("rate_iops", 0)?)),
        (None, Some(setting)) => ("rate", section.bytes("rate", setting)? as f64 / block as f64),
        (None, None) => return Ok(None),
    };
    if matches!(rw, "rw" | "randrw") {
        return Err(section.option_error(name, "no rate in a job that reads and writes"));
    }
    Ok((per_s > 0.0).then_some(per_s))
}

/// The pause after each operation. It is refused with asynchronous I/O: fio's is one of the whole
/// job.
fn think_time(section: &Section, way: DriveWay) -> Result<Option<String>, Mistake> {
    let pause = section.time("thinktime", "us")?;
    if pause.is_some() && section.number("thinktime_blocks", 1)? != 1 {
        return Err(section.option_error("thinktime_blocks", "a pause after each block"));
    }
    if pause.is_some() && way == DriveWay::IoUring {
        return Err(section.option_error("thinktime", "no pause with asynchronous I/O"));
    }
    Ok(pause)
}

/// A job's name: the section's, with only the letters that names of jobs may have.
fn job_name(section: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = section.chars().map(letter).take(48).collect();
    if name.trim_matches('-').is_empty() { "job".to_owned() } else { name }
}

fn read_share(section: &Section, rw: &str) -> Result<Option<String>, Mistake> {
    if !matches!(rw, "rw" | "randrw") {
        return Ok(None);
    }
    match section.number("rwmixread", 50)? {
        share @ 0..=100 => Ok(Some(format!("{share}%"))),
        _ => Err(section.option_error("rwmixread", "a share from 0 to 100")),
    }
}

/// The distribution of random blocks, as the suite writes it.
fn keys(section: &Section, rw: &str) -> Result<Option<String>, Mistake> {
    let Some(setting) = section.get("random_distribution").filter(|_| rw.starts_with("rand"))
    else {
        return Ok(None);
    };
    let (kind, parameter) = setting.value.split_once(':').unwrap_or((&setting.value, ""));
    let theta = if parameter.is_empty() { "1.1" } else { parameter };
    match (kind, theta.parse::<f64>()) {
        ("random", _) => Ok(None),
        ("zipf", Ok(theta)) if theta > 0.0 => {
            Ok(Some(format!("{{ distribution = \"zipf\", theta = {theta:?} }}")))
        }
        _ => Err(section.option_error("random_distribution", "random or zipf:THETA")),
    }
}
