//! What stands above the tables: which run, which machine, which engines and what their durability
//! class means; and below them: the findings.

use super::format::ratio;
use super::wrap::wrap;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::engines::EngineInfo;
use kvdyno_analysis::figures::findings::{Finding, Severity};
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::group::data;
use kvdyno_analysis::figures::lists::{group_equal, unique};
use kvdyno_analysis::figures::sweep::format_threads;
use kvdyno_record::host::{Drive, Filesystem, Host};
use kvdyno_record::left_out::sentences;
use kvdyno_record::text::escape_line;
use kvdyno_record::tier::TierRecord;
use kvdyno_record::units;
use kvdyno_record::volume::VolumeRecord;

/// Indent of findings, after the word for their severity.
const FINDING_INDENT: usize = 8;

/// The lines above the tables: a word and its text.
pub fn lines(summary: &Summary) -> Vec<(String, String)> {
    let mut lines = vec![("run".to_owned(), run(summary))];
    lines.extend(summary.verdicts.description().map(|words| ("verdicts".to_owned(), words)));
    if !summary.run.title.is_empty() {
        lines.push(("suite".to_owned(), suite(summary)));
    }
    lines.push(("host".to_owned(), host(&summary.host)));
    lines.push(("storage".to_owned(), storage(summary)));
    lines.extend(
        summary.volumes.iter().map(|volume_record| ("volume".to_owned(), volume(volume_record))),
    );
    lines.extend(summary.tiers.iter().map(|record| ("tier".to_owned(), tier(record))));
    lines.extend(summary.copies.iter().map(|copies| ("copies".to_owned(), copies.description())));
    lines.extend(datasets(summary).into_iter().map(|text| ("data".to_owned(), text)));
    lines.extend(summary.run.sized.iter().map(|text| ("sized".to_owned(), text.clone())));
    let left_out = sentences(&summary.run.left_out).into_iter();
    lines.extend(left_out.map(|text| ("not here".to_owned(), text)));
    let warnings = summary.run.warnings.iter().map(|text| ("warned".to_owned(), text.clone()));
    lines.extend(warnings);
    for engine in summary.engines.iter().filter(|engine| !is_bare_drive(engine)) {
        lines.push(("engine".to_owned(), engine_line(engine, &summary.groups)));
    }
    lines.extend(bare_drives(summary).into_iter().map(|text| ("drive".to_owned(), text)));
    lines.push(("generator".to_owned(), load_generator(summary)));
    lines.extend(summary.disturbance.iter().map(|text| ("disturbed".to_owned(), text.clone())));
    lines.extend(summary.not_measured.iter().map(|text| ("unknown".to_owned(), text.clone())));
    lines.into_iter().map(|(word, text)| (word, escape_line(&text).into_owned())).collect()
}

/// The load generator's cost in words. It stands here once, with how it was measured: the null
/// engine's rows in the tables are of cases like all others, whose threads share the machine.
pub fn load_generator(summary: &Summary) -> String {
    let Some(load_generator) = &summary.load_generator else {
        return "overhead not measured: the null engine was not in this run".to_owned();
    };
    let threads = format_threads(load_generator.threads);
    let has_rows = summary.groups.iter().any(|group| group.stores_nothing);
    let source = match (load_generator.isolated, has_rows) {
        (true, true) => format!(
            "{threads} alone before the run; its rows below share the CPUs with other roles"
        ),
        (true, false) => format!("{threads} alone before the run"),
        (false, _) => format!("{threads} with the other roles of its cases"),
    };
    let max = load_generator.max_ns.map_or_else(String::new, |ns| {
        format!("; slowest operation in its cases {}", units::duration(ns as u64))
    });
    let ns_per_op = load_generator.ns_per_op;
    format!("{ns_per_op:.1} ns/op overhead (null engine, {source}{max}); not subtracted below")
}

/// A finding in words: its evidence, its cases, its advice.
pub fn finding(finding: &Finding) -> String {
    let cases = more_cases(finding);
    let evidence = format!("{}: {}{cases}", finding.id.as_str(), escape_line(&finding.evidence));
    let indent = " ".repeat(FINDING_INDENT);
    let (evidence, advice) = (wrap(&evidence, FINDING_INDENT), escape_line(&finding.advice));
    format!("{evidence}\n{indent}{}", wrap(&advice, FINDING_INDENT))
}

/// How many more cases it has, where its evidence is that of the first of several.
pub fn more_cases(finding: &Finding) -> String {
    match finding.cases.len() {
        0 | 1 => String::new(),
        n => format!(" (and {} more case{})", n - 1, if n == 2 { "" } else { "s" }),
    }
}

/// The word a finding begins with.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Invalid => "INVALID",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// A moment in UTC, to the second.
pub fn moment(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| "?".to_owned(), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

fn run(summary: &Summary) -> String {
    let run = &summary.run;
    let ended = match run.took_ns {
        Some(ns) => format!("took {}", units::duration(ns)),
        None => "did not end".to_owned(),
    };
    format!(
        "{}, {}, {ended}, {} of {} cases done, kvdyno {}",
        run.id,
        moment(run.started_unix_ns),
        run.cases_done,
        run.cases_planned,
        run.program
    )
}

/// The suite's name and title, and what of it does not hold here: a title that promises data larger
/// than RAM is no longer true where no limit was held.
fn suite(summary: &Summary) -> String {
    let run = &summary.run;
    let open = summary.groups.iter().any(|group| group.ram_limit_held == Some(false));
    let not_held = if open { " (its RAM limit was NOT HELD)" } else { "" };
    format!("{}: {}{not_held}", run.suite, run.title)
}

fn host(host: &Host) -> String {
    let machine = &host.machine;
    let kind = match machine.virtual_machine {
        Some(true) => ", virtual machine",
        Some(false) => ", bare metal",
        None => "",
    };
    let swap = match machine.swap_bytes {
        0 => "no swap".to_owned(),
        bytes => format!("{} of swap", units::bytes(bytes)),
    };
    format!(
        "{}: {} x {}, {} RAM, {swap}, Linux {} ({}){kind}",
        host.hostname,
        machine.cpus,
        machine.cpu_model,
        units::bytes(machine.memory_bytes),
        host.kernel,
        host.os
    )
}

fn storage(summary: &Summary) -> String {
    let host = &summary.host;
    let filesystem = host.filesystem.as_ref().map(filesystem).unwrap_or_default();
    let drive = host.drive.as_ref().map_or_else(|| ", no drive known".to_owned(), drive);
    format!("{}{filesystem}{drive}", summary.run.data_dir)
}

/// `xfs: loop0 on an image of 512 MiB (ext4 on vda), xfs (rw,noatime), readahead 128KiB, mkfs.xfs
/// -q -f -K`.
fn volume(volume: &VolumeRecord) -> String {
    let device = volume.device.as_deref().unwrap_or("no device known");
    let mut text = format!("{}: {device}", volume.name);
    if let Some(image) = &volume.image {
        let through = if image.direct_io { "" } else { " through the page cache" };
        let bytes = units::bytes(image.bytes);
        text += &format!(" on an image of {bytes} ({}{through})", image.storage);
    }
    text += &match &volume.filesystem {
        Some(mounted) => format!(", {} ({})", mounted.kind, mounted.options),
        None => ", raw".to_owned(),
    };
    if let Some(ahead) = volume.drive.as_ref().and_then(|drive| drive.read_ahead_bytes) {
        text += &format!(", readahead {}", units::exact_bytes(ahead));
    }
    for command in &volume.commands {
        text += &format!(", {command}");
    }
    text
}

/// `zram: 256 MiB of swap on zram1 (lzo-rle), swappiness 60`.
fn tier(tier: &TierRecord) -> String {
    let mut text = format!("{}: ", tier.name);
    match (&tier.swap, tier.node) {
        (Some(swap), _) => {
            text += &format!("{} of swap on {}", units::bytes(swap.bytes), swap.device);
            if let Some(image) = &swap.image {
                let through = if image.direct_io { "" } else { " through the page cache" };
                text += &format!(", an image ({}{through})", image.storage);
            }
            if let Some(compression) = &swap.compression {
                text += &format!(" ({compression}), memory of the machine's outside of the limit");
            }
        }
        (None, Some(node)) => text += &format!("all memory from NUMA node {node}"),
        (None, None) => text += "nothing below the RAM limit",
    }
    if let Some(swappiness) = tier.swappiness {
        text += &format!(", swappiness {swappiness}");
    }
    for sentence in &tier.not_enforced {
        text += &format!("; NOT HELD: {sentence}");
    }
    text
}

fn filesystem(filesystem: &Filesystem) -> String {
    format!(" on {} ({})", filesystem.kind, filesystem.options)
}

fn drive(drive: &Drive) -> String {
    let mut text = format!(", {}", drive.name);
    if let Some(model) = &drive.model {
        text += &format!(" {model}");
    }
    text += &format!(", {}", units::bytes(drive.bytes));
    if let Some(scheduler) = &drive.scheduler {
        text += &format!(", scheduler {scheduler}");
    }
    if let Some(ahead) = drive.read_ahead_bytes {
        text += &format!(", readahead {}", units::exact_bytes(ahead));
    }
    if let Some(cache) = &drive.write_cache {
        text += &format!(", cache {cache}");
    }
    text
}

/// A line for each data set and RAM limit.
fn datasets(summary: &Summary) -> Vec<String> {
    let memory = summary.host.machine.memory_bytes;
    let line = |group: &Group| {
        let (bytes, ram) = (units::bytes(group.user_bytes), ram(group, memory));
        format!("{} bytes a record = {bytes}, {ram}", data(group))
    };
    unique(summary.groups.iter().filter(|group| group.competes()).map(line))
}

/// The RAM that the data was read through: the limit where it was held, else the machine's own.
fn ram(group: &Group, memory_bytes: u64) -> String {
    let times = |bytes: u64| ratio(group.user_bytes as f64 / bytes.max(1) as f64);
    let machine = || {
        format!("data is {} x this machine's {}", times(memory_bytes), units::bytes(memory_bytes))
    };
    match (group.ram_limit_bytes, group.ram_limit_held) {
        (Some(limit), Some(false)) => {
            format!("RAM limit {}, NOT HELD: {}", units::bytes(limit), machine())
        }
        // Where no case of an engine came as far as the limit, it is all the others' data.
        (Some(limit), Some(true) | None) => {
            format!("RAM limit {}: data is {} x the limit", units::bytes(limit), times(limit))
        }
        (None, _) => format!("no RAM limit: {}", machine()),
    }
}

/// Why nothing is known of an engine's worker: it has not run yet, or it could not be started.
fn without_worker(engine: &EngineInfo, groups: &[Group]) -> String {
    let of_engine =
        groups.iter().filter(|g| g.label == engine.label && g.durability == engine.durability);
    let mut messages =
        of_engine.flat_map(|group| &group.trials).filter_map(|trial| trial.message.clone());
    messages.next().unwrap_or_else(|| "has not run yet".to_owned())
}

fn is_bare_drive(engine: &EngineInfo) -> bool {
    engine.worker.as_ref().is_some_and(|worker| worker.bare_drive)
}

/// A line for each worker of a bare drive, however many jobs it has: kvdyno's own, and fio.
fn bare_drives(summary: &Summary) -> Vec<String> {
    let drives = summary.engines.iter().filter(|info| is_bare_drive(info));
    let line = |engines: Vec<&EngineInfo>| {
        let info = engines[0];
        let worker = info.worker.as_ref()?;
        let groups = || summary.groups.iter().filter(|group| group.engine == info.engine);
        let jobs = || groups().flat_map(|group| &group.runs).filter_map(|run| run.job.as_ref());
        let bytes = groups().map(|group| group.records * group.value_bytes_mean).max();
        let written = jobs().find_map(|job| job.written.clone());
        let written = written.map_or_else(String::new, |how| format!("; written in full: {how}"));
        let (title, version, count) = (&worker.title, &worker.version, jobs().count());
        let memory = units::bytes(bytes.unwrap_or(0));
        Some(format!("{title} {version}: {count} jobs on {memory}{written}"))
    };
    group_equal(drives, |a, b| a.engine == b.engine).into_iter().filter_map(line).collect()
}

fn engine_line(engine: &EngineInfo, groups: &[Group]) -> String {
    let Some(worker) = &engine.worker else {
        return format!("{}: {}", engine.label, without_worker(engine, groups));
    };
    let durability = engine.durability.as_str();
    let settings = worker.durability_settings.as_deref().unwrap_or("not described");
    let group = groups.iter().find(|group| group.label == engine.label);
    let power_loss = group
        .and_then(|group| group.power_loss)
        .map_or_else(String::new, |lost| format!("; in a power loss it {}", lost.as_str()));
    let name = if engine.label == worker.title {
        worker.title.clone()
    } else {
        format!("{} = {}", engine.label, worker.title)
    };
    let changed = match engine.changed.as_slice() {
        [] => String::new(),
        changed => format!("; {}", changed.join(", ")),
    };
    let library = match &worker.library {
        Some(library) => {
            format!(
                " ({} library {}, {})",
                library.build,
                library.path.display(),
                library.checksum()
            )
        }
        None => String::new(),
    };
    let lost = engine
        .lost
        .map_or_else(String::new, |lost| format!("; power loss: {}", lost.description()));
    format!(
        "{name} {}{library}; durability {durability}: {settings}{power_loss}{lost}{changed}",
        worker.version
    )
}
