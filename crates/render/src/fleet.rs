//! A fleet on a terminal: the hosts, how they differ, each figure over them, and the hosts that
//! stand apart.

use crate::figure_series::{TITLES, left_out_lines, name_cells, value_cell};
use crate::format::format_change;
use crate::header::moment;
use crate::table::{Side as Column, Table};
use crate::tone::Tone;
use crate::versus::{Line, escape_lines, figure, join_first};
use kvdyno_analysis::answers::fleet::{CHANCE, Fact, Fleet, HOSTS_MIN, HostSeries, OutlierHost};
use kvdyno_analysis::answers::series::present;
use kvdyno_analysis::figures::lists::unique;
use kvdyno_record::units;

/// More hosts of one value than this are only counted.
const NAMED_MAX: usize = 4;

/// The lines above the table.
pub fn header(fleet: &Fleet) -> Vec<Line> {
    let began = || fleet.hosts.iter().map(|host| host.started_unix_ns);
    let span = began().min().zip(began().max()).map_or_else(String::new, |(from, to)| {
        format!(", begun {} to {}", moment(from), moment(to))
    });
    let hosts =
        format!("{} ran {}{span}", units::pluralize(fleet.hosts.len(), "host"), fleet.suite);
    let mut lines = vec![(Tone::Strong, "fleet", hosts)];
    let machines = unique(fleet.hosts.iter().map(|host| host.machine.as_str()));
    if let [machine] = machines[..] {
        lines.push((Tone::Strong, "machine", format!("all: {machine}")));
    }
    lines.extend(namesakes(fleet));
    lines.extend(fleet.facts.iter().map(|fact| (Tone::Strong, "differs", differs(fleet, fact))));
    for host in &fleet.hosts {
        if let Some(health) = &host.drive_health {
            lines.push((Tone::Strong, "drive", format!("{}: {health}", host.name)));
        }
    }
    lines.extend(left_out_lines(&fleet.left_out));
    escape_lines(lines)
}

/// Machines of one name, with the runs by which they can be found again.
fn namesakes(fleet: &Fleet) -> Vec<Line> {
    let names = unique(fleet.hosts.iter().map(|host| host.hostname.as_str()));
    let line = |name: &str| {
        let of_name = fleet.hosts.iter().filter(|host| host.hostname == name);
        let hosts: Vec<String> =
            of_name.map(|host| format!("{} ran {}", host.name, host.run)).collect();
        (hosts.len() > 1).then(|| {
            let text = format!(
                "{} machines are called {name}, distinguished by their machine ids: {}",
                hosts.len(),
                join_first(&hosts)
            );
            (Tone::Warning, "namesakes", text)
        })
    };
    names.into_iter().filter_map(line).collect()
}

/// `kernel: 6.1.0-11 on 18 hosts; 6.1.0-9 on n03, n07`.
fn differs(fleet: &Fleet, fact: &Fact) -> String {
    let with = |value: &str| {
        let hosts = fleet.hosts.iter().zip(&fact.values);
        let hosts = hosts.filter(|(_, other)| *other == value).map(|(host, _)| host.name.as_str());
        let hosts: Vec<&str> = hosts.collect();
        if hosts.len() > NAMED_MAX {
            units::pluralize(hosts.len(), "host")
        } else {
            hosts.join(", ")
        }
    };
    let mut values = unique(fact.values.iter().map(String::as_str));
    values.sort_by_key(|value| Some(*value) != fact.most.as_deref());
    let values: Vec<String> =
        values.into_iter().map(|value| format!("{value} on {}", with(value))).collect();
    format!("{}: {}", fact.name, join_first(&values))
}

/// A line for each figure: the lowest host, the median, the highest, and the hosts that stand
/// apart; with `by_host` all hosts.
pub fn table(fleet: &Fleet, by_host: bool) -> Table {
    let mut titles = Vec::from(TITLES);
    if by_host {
        titles.push(("median", Column::Right));
        titles.extend(fleet.hosts.iter().map(|host| (host.name.as_str(), Column::Right)));
    } else {
        let ends = ["hosts", "lowest", "median", "highest", "highest / lowest"];
        titles.extend(ends.map(|end| (end, Column::Right)));
        titles.push(("apart", Column::Left));
    }
    let mut table = Table::new(titles);
    table.lead = by_host.then_some(TITLES.len());
    for series in &fleet.figures {
        let mut row = Vec::from(name_cells(series));
        row.extend(if by_host { host_cells(series) } else { ends(fleet, series) });
        table.row(&row);
    }
    table
}

/// The value of each host; `*`: it stands apart.
fn host_cells(series: &HostSeries) -> Vec<String> {
    let cell = |(host, value): (usize, &Option<f64>)| {
        let mark = series.outlier(host).map_or("", |_| "*");
        value_cell(series, *value) + mark
    };
    let median = figure(series.unit, series.judgement.median);
    std::iter::once(median).chain(series.values.iter().enumerate().map(cell)).collect()
}

fn ends(fleet: &Fleet, series: &HostSeries) -> Vec<String> {
    let mut finite: Vec<(usize, f64)> = present(&series.values).collect();
    finite.sort_by(|a, b| a.1.total_cmp(&b.1));
    let with_name = |(host, value): &(usize, f64)| {
        format!("{} {}", figure(series.unit, *value), fleet.hosts[*host].name)
    };
    let (first, last) = (finite.first(), finite.last());
    let ratio = first.zip(last).filter(|(first, _)| first.1 > 0.0);
    let apart: Vec<String> = series
        .judgement
        .outliers
        .iter()
        .map(|apart| format!("{} {}", fleet.hosts[apart.host].name, format_change(apart.ratio)))
        .collect();
    vec![
        finite.len().to_string(),
        first.map(with_name).unwrap_or_default(),
        figure(series.unit, series.judgement.median),
        last.map(with_name).unwrap_or_default(),
        ratio.map_or_else(|| "-".to_owned(), |(first, last)| format!("{:.2}", last.1 / first.1)),
        apart.join(", "),
    ]
}

/// How to read the table.
pub fn reading_aid(fleet: &Fleet) -> String {
    let rule = format!(
        "A host's figure is its run's median over trials. A host stands apart where its figure is \
         farther from the others' than in {} of fleets of equal hosts (generalized ESD of the \
         logarithms), and by more than two runs of one program differ.",
        units::percent(CHANCE)
    );
    if fleet.hosts.len() >= HOSTS_MIN {
        return rule;
    }
    format!("{rule} Fewer than {HOSTS_MIN} hosts are too few to flag one.")
}

/// The lines below the table: hosts that stand apart, and what only they have.
pub fn footer(fleet: &Fleet) -> Vec<Line> {
    let mut lines: Vec<Line> =
        fleet.outlier_hosts.iter().map(|host| host_apart(fleet, host)).collect();
    if lines.is_empty() && fleet.hosts.len() >= HOSTS_MIN {
        lines.push((Tone::Good, "apart", "no host stands apart from the others".to_owned()));
    }
    for (host, case) in fleet.missing() {
        let text = format!("{} has no figures of {case}, and others have", host.name);
        lines.push((Tone::Warning, "missing", text));
    }
    escape_lines(lines)
}

fn host_apart(fleet: &Fleet, host: &OutlierHost) -> Line {
    let list_figures = |places: &[usize], word: &str| {
        let figures = places.iter().map(|index| {
            let series = &fleet.figures[*index];
            let ratio = series.outlier(host.host).map(|outlier| format_change(outlier.ratio));
            format!("{} {}", series.name(), ratio.unwrap_or_default())
        });
        let figures: Vec<String> = figures.collect();
        let (outlier, all) = (figures.len(), fleet.figures.len());
        (outlier > 0)
            .then(|| format!("{word} in {outlier} of {all} figures: {}", join_first(&figures)))
    };
    let only = host.only_apart.iter().map(|index| {
        let fact = &fleet.facts[*index];
        format!("{} {}", fact.name, fact.values[host.host])
    });
    let only: Vec<String> = only.collect();
    let only = (!only.is_empty())
        .then(|| format!("only outliers have (which proves nothing): {}", join_first(&only)));
    let parts = [list_figures(&host.worse, "worse"), list_figures(&host.better, "better"), only];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let tone = if host.worse.is_empty() { Tone::Good } else { Tone::Bad };
    (tone, "apart", format!("{}: {}", fleet.hosts[host.host].name, parts.join(". ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::answers::fleet::Member;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_analysis::judge::versus::FigureChoice;

    fn render(machines: [&str; 2]) -> Vec<Line> {
        let summary = Fixture::new().summary();
        let member = |id: &str| {
            let mut member = Member::from_summary(&summary).unwrap();
            member.machine_id = Some(id.to_owned());
            member.entry.run = format!("run-{id}");
            member
        };
        let members = machines.map(member).to_vec();
        header(&Fleet::from_members(members, Vec::new(), &FigureChoice::Usual).unwrap())
    }

    #[test]
    fn machines_of_one_name_are_said_to_be() {
        let lines = render(["b", "a"]);
        let (_, _, text) = lines.iter().find(|(_, word, _)| *word == "namesakes").unwrap();
        let expected = "2 machines are called bench-1, distinguished by their machine ids: \
                        bench-1 (1) ran run-a; bench-1 (2) ran run-b";
        assert_eq!(text, expected);
        assert!(render(["a", "a"]).iter().all(|(_, word, _)| *word != "namesakes"));
    }
}
