//! A run in a few lines of Markdown, for a message or an issue: the answer, how far to trust it,
//! one table, and what it was measured on. No path of the host and not its name.

use super::markdown::{escaped, table, title};
use super::table::{Side, Table};
use kvdyno_analysis::answer::answers;
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::comparison::Beside;
use kvdyno_analysis::group::{Group, RoleRow, RunRow};
use kvdyno_analysis::group::{data, several};
use kvdyno_analysis::metric::{Definition, Metrics};
use kvdyno_analysis::summary::Summary;
use kvdyno_record::units;

/// How to read the last column.
const VERSUS: &str = "vs. first: operations per second over those of the first engine of the same \
                      durability class (\\~ no significant difference, ? too few trials to say).";

/// The lines.
pub fn page(summary: &Summary) -> String {
    let mut text = format!("## {}\n\n", escaped(title(summary)));
    for answer in answers(summary) {
        text += &format!("**{}**: {}\n\n", escaped(&answer.workload), escaped(&answer.sentence));
    }
    text += &format!("{}\n\n", escaped(&confidence(summary)));
    let rows = roles(summary);
    let figures = if rows.is_empty() { loads(summary) } else { rows };
    text += &table(&figures);
    format!("{text}\n{VERSUS} {}\n", escaped(&measured_on(summary)))
}

fn confidence(summary: &Summary) -> String {
    let confidence = &summary.confidence;
    let reasons: Vec<&str> = confidence.reasons.iter().map(|reason| reason.text.as_str()).collect();
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    format!("Confidence {}{why}.", confidence.level.word())
}

/// What tells the lines of one table apart beside the engine, where it differs.
#[expect(clippy::struct_excessive_bools, reason = "each is a column that is there or not")]
struct Axes {
    data: bool,
    ram: bool,
    volume: bool,
    phase: bool,
    role: bool,
}

impl Axes {
    fn of(summary: &Summary) -> Self {
        let groups = || summary.groups.iter().filter(|group| group.competes());
        let runs = || groups().flat_map(|group| &group.runs);
        let roles = || runs().flat_map(|run| &run.roles);
        Self {
            data: several(groups().map(data)),
            ram: several(groups().map(Group::ram)),
            volume: several(groups().map(|group| &group.volume)),
            phase: several(runs().map(|run| &run.phase)),
            role: several(roles().map(|role| &role.role)),
        }
    }

    fn columns(&self) -> Vec<(&'static str, Side)> {
        let all = [(self.volume, "volume"), (self.data, "data"), (self.ram, "RAM")].into_iter();
        let columns = all.filter(|(is, _)| *is).map(|(_, title)| (title, Side::Left));
        std::iter::once(("engine", Side::Left)).chain(columns).collect()
    }

    fn cells(&self, group: &Group) -> Vec<String> {
        let mut cells = vec![group.label.clone()];
        if self.volume {
            cells.push(group.volume.clone().unwrap_or_default());
        }
        if self.data {
            cells.push(data(group));
        }
        if self.ram {
            cells.push(group.ram());
        }
        cells
    }
}

/// A line for each role of each engine.
fn roles(summary: &Summary) -> Table {
    use Side::{Left, Right};
    let axes = Axes::of(summary);
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if axes.phase {
        columns.push(("phase", Left));
    }
    if axes.role {
        columns.push(("role", Left));
    }
    columns.extend([
        ("operations", Left),
        ("ops/s", Right),
        ("p50 us", Right),
        ("p99 us", Right),
        ("p99.9 us", Right),
        ("vs. first", Right),
    ]);
    let mut table = Table::new(columns);
    for group in summary.groups.iter().filter(|group| group.competes()) {
        for run in &group.runs {
            for role in &run.roles {
                table.row(&line(&axes, group, run, role));
            }
        }
    }
    table
}

fn line(axes: &Axes, group: &Group, run: &RunRow, role: &RoleRow) -> Vec<String> {
    let mut cells = axes.cells(group);
    cells.push(match group.threads {
        // The swept number is another role's, and tells this line from the next.
        Some(swept) if swept != role.threads => format!("{} (beside {swept})", role.threads),
        _ => role.threads.to_string(),
    });
    if axes.phase {
        cells.push(run.phase.clone());
    }
    if axes.role {
        cells.push(role.role.clone());
    }
    let times = if role.open_loop {
        [&c::RESPONSE_P50, &c::RESPONSE_P99, &c::RESPONSE_P999]
    } else {
        [&c::SERVICE_P50, &c::SERVICE_P99, &c::SERVICE_P999]
    };
    let rate = figure(&role.metrics, &c::OPS_PER_S, |rate| units::grouped(rate.round() as u64));
    cells.extend([role.mix.clone(), group.trouble().filter(|_| rate == "-").unwrap_or(rate)]);
    let us = |ns: f64| format!("{:.1}", ns / 1e3);
    cells.extend(times.map(|definition| figure(&role.metrics, definition, us)));
    cells.push(role.beside.as_ref().map_or_else(|| "-".to_owned(), Beside::cell));
    cells
}

/// Where nothing is measured but the loads.
fn loads(summary: &Summary) -> Table {
    let axes = Axes::of(summary);
    let mut columns = axes.columns();
    columns.extend([("records/s", Side::Right), ("vs. first", Side::Right)]);
    let mut table = Table::new(columns);
    for group in summary.groups.iter().filter(|group| group.competes()) {
        let Some(load) = &group.load else { continue };
        let mut cells = axes.cells(group);
        let records = |rate: f64| units::grouped(rate.round() as u64);
        cells.push(figure(&load.metrics, &c::RECORDS_PER_S, records));
        cells.push(load.beside.as_ref().map_or_else(|| "-".to_owned(), Beside::cell));
        table.row(&cells);
    }
    table
}

fn figure(metrics: &Metrics, definition: &Definition, words: impl Fn(f64) -> String) -> String {
    metrics.value(definition).map_or_else(|| "-".to_owned(), words)
}

/// `2 x AMD EPYC, 23.5 GiB of RAM, virtual machine, Linux 6.18.0, ext4 on vda; LMDB 0.9.70, async;
/// kvdyno 0.1.0, 2 trials`.
fn measured_on(summary: &Summary) -> String {
    let (host, machine) = (&summary.host, &summary.host.machine);
    let mut parts = vec![
        format!("{} x {}", machine.cpus, machine.cpu_model),
        format!("{} of RAM", units::bytes(machine.memory_bytes)),
    ];
    if machine.virtual_machine == Some(true) {
        parts.push("virtual machine".to_owned());
    }
    parts.push(format!("Linux {}", host.kernel));
    let drive = host
        .drive
        .as_ref()
        .map(|drive| drive.model.as_ref().map_or_else(|| drive.name.clone(), Clone::clone));
    let place = [host.filesystem.as_ref().map(|filesystem| filesystem.kind.clone()), drive];
    let place: Vec<String> = place.into_iter().flatten().collect();
    if !place.is_empty() {
        parts.push(place.join(" on "));
    }
    let engines: Vec<String> = summary.engines.iter().filter_map(engine).collect();
    let trials = summary.groups.iter().map(|group| group.trials.len()).max().unwrap_or(0);
    let data: Vec<String> = datasets(summary);
    format!(
        "Measured on {}; data {}; {}; {trials} trial{}, kvdyno {}.",
        parts.join(", "),
        data.join(" and "),
        engines.join(", "),
        if trials == 1 { "" } else { "s" },
        summary.run.program
    )
}

fn engine(engine: &kvdyno_analysis::summary::EngineInfo) -> Option<String> {
    let worker = engine.worker.as_ref()?;
    let durability = engine.durability.as_str();
    let title = if engine.label == engine.engine { &worker.title } else { &engine.label };
    (!worker.bare_drive && !worker.measures_the_harness)
        .then(|| format!("{title} {} ({durability})", worker.version))
}

fn datasets(summary: &Summary) -> Vec<String> {
    let mut sets: Vec<String> = Vec::new();
    for group in summary.groups.iter().filter(|group| group.competes()) {
        let ram = group
            .ram_limit_bytes
            .map_or_else(|| "no RAM limit".to_owned(), |_| format!("RAM limit {}", group.ram()));
        let set = format!("{} B ({}, {ram})", data(group), units::bytes(group.user_bytes));
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn a_run_in_a_few_lines_without_a_path() {
        let summary = Fixture::new().summary();
        let text = page(&summary);
        assert!(!text.contains("/mnt/") && !text.contains(&summary.host.hostname), "{text}");
        assert!(text.lines().count() < 40, "{text}");
        insta::assert_snapshot!("brief", text);
    }
}
