//! The charts, each beside the small table that it draws: threads down, engines across, every cell
//! a reference to the sheet that the number is from.

use super::latency::P99;
use super::sheet::{Heading, Sheet, heading};
use super::trial_table::{Placed, RowKey};
use crate::cell::Cell;
use crate::format;
use crate::format::Show::{Plain, Ratio};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::data;
use kvdyno_analysis::figures::group::{Group, RoleRow};
use kvdyno_analysis::figures::lists::unique;
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_record::units;
use rust_xlsxwriter::{
    Chart, ChartFormat, ChartLine, ChartMarker, ChartSolidFill, ChartType, Color,
};
use std::collections::BTreeMap;

const NAME: &str = "Charts";

/// Colours that stay apart for people who see fewer of them (Okabe and Ito, 2008).
const COLORS: [&str; 8] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"];

/// Rows that a chart covers.
const CHART_ROWS: u32 = 18;

/// What a chart shows.
struct Panel<'s> {
    title: String,
    axis: &'static str,
    kind: ChartType,
    /// A row for each number of threads, by series: where the number is, and what it is.
    cells: BTreeMap<u32, BTreeMap<usize, (String, f64)>>,
    series: &'s [String],
}

/// A figure and where it is drawn from.
struct Drawn<'p> {
    what: &'static str,
    axis: &'static str,
    kind: ChartType,
    definition: &'static Definition,
    from: &'p Placed,
    column: &'static str,
}

/// The sheet.
pub(super) fn sheet(
    summary: &Summary,
    tables: &[Placed],
    latency: &Placed,
) -> anyhow::Result<Sheet> {
    let (of_group, series) = series(&summary.groups);
    let lines = ChartType::ScatterStraightWithMarkers;
    let bars = ChartType::Column;
    let placed = |name: &str| tables.iter().find(|placed| placed.sheet.name() == name);
    let (Some(run), Some(cost)) = (placed("Run"), placed("Cost")) else {
        return draw(&BTreeMap::new(), &series);
    };
    let roles = [
        new_chart("Throughput", "ops/s", lines, &c::OPS_PER_S, run, "ops/s"),
        new_chart("p99 service time", "us", bars, &c::SERVICE_P99, latency, P99),
    ];
    let phases = [
        new_chart("CPU time", "us/op", bars, &c::CPU_PER_OP, cost, "CPU, us/op"),
        new_chart(
            "Write amplification",
            "B/B",
            bars,
            &c::WRITE_AMPLIFICATION,
            cost,
            "write amplification, B/B",
        ),
        new_chart(
            "Device writes",
            "KB/op",
            bars,
            &c::DEVICE_WRITE_BYTES_PER_OP,
            cost,
            "device written, KB/op",
        ),
    ];
    let mut panels: BTreeMap<(usize, String), Panel<'_>> = BTreeMap::new();
    for (at, group) in summary.groups.iter().enumerate() {
        let Some(series_at) = of_group[at] else { continue };
        for (run_at, run) in group.runs.iter().enumerate() {
            for (role_at, role) in run.roles.iter().enumerate() {
                let point = |op: usize, owner: String| Point {
                    place: (at, run_at, role_at, op),
                    series: series_at,
                    threads: group.threads.unwrap_or(role.threads),
                    owner: format!("{owner}, {}", run.phase),
                };
                let [rate, p99] = &roles;
                let whole = point(0, role.role.clone());
                whole.add(&mut panels, 0, rate, &role.metrics, &series);
                for (op, name, metrics) in charted_operations(role) {
                    point(op, name).add(&mut panels, 1, p99, metrics, &series);
                }
            }
            let own = run.roles.iter().map(|role| role.threads).sum();
            let point = Point {
                place: (at, run_at, 0, 0),
                series: series_at,
                threads: group.threads_swept.unwrap_or(own),
                owner: format!("all roles, {}", run.phase),
            };
            for (order, drawn) in phases.iter().enumerate() {
                point.add(&mut panels, roles.len() + order, drawn, &run.metrics, &series);
            }
        }
    }
    draw(&panels, &series)
}

/// Returns the operations of a role that have a chart each: number from 1, name and figures. A
/// single operation has number 0, and the role's name.
fn charted_operations(role: &RoleRow) -> Vec<(usize, String, &Metrics)> {
    let each = role.metrics_by_operation().enumerate();
    let operations = each.map(|(at, (op, metrics))| {
        if role.is_mix() {
            (at + 1, role.operation_label(Some(op)), metrics)
        } else {
            (0, role.role.clone(), metrics)
        }
    });
    operations.collect()
}

fn new_chart<'p>(
    what: &'static str,
    axis: &'static str,
    kind: ChartType,
    definition: &'static Definition,
    from: &'p Placed,
    column: &'static str,
) -> Drawn<'p> {
    Drawn { what, axis, kind, definition, from, column }
}

/// Where a group's number stands in a panel.
struct Point {
    place: RowKey,
    series: usize,
    threads: u32,
    owner: String,
}

impl Point {
    fn add<'s>(
        &self,
        panels: &mut BTreeMap<(usize, String), Panel<'s>>,
        order: usize,
        drawn: &Drawn<'_>,
        metrics: &Metrics,
        series: &'s [String],
    ) {
        let value = metrics
            .value(drawn.definition)
            .map(|value| value * format::figure_format(drawn.definition).times);
        let (Some(value), Some(reference)) =
            (value, drawn.from.reference(self.place, drawn.column))
        else {
            return;
        };
        let panel = panels.entry((order, self.owner.clone())).or_insert_with(|| Panel {
            title: format!("{}: {}", drawn.what, self.owner),
            axis: drawn.axis,
            kind: drawn.kind,
            cells: BTreeMap::new(),
            series,
        });
        let row = panel.cells.entry(self.threads).or_default();
        row.insert(self.series, (format!("={reference}"), value));
    }
}

/// Returns the number of each group's series, and the series' names: the engine, and what else
/// tells them apart. The load generator is not drawn.
fn series(groups: &[Group]) -> (Vec<Option<usize>>, Vec<String>) {
    let drawn = || groups.iter().filter(|group| group.competes());
    let parts: [fn(&Group) -> String; 5] = [
        |group| group.durability.as_str().to_owned(),
        data,
        |group| format!("{} RAM", group.ram()),
        |group| group.volume.clone().unwrap_or_default(),
        // Points of a search for a rate differ in nothing else.
        |group| {
            let roles = group.runs.iter().flat_map(|run| &run.roles);
            let rates = roles.filter_map(RoleRow::offered_rate);
            unique(rates.map(|rate| format!("{} offered", units::rate(rate)))).join(" and ")
        },
    ];
    let differ = parts.map(|part| {
        let mut all = drawn().map(part);
        let first = all.next();
        all.any(|other| Some(other) != first)
    });
    let name = |group: &Group| {
        let apart = parts.iter().zip(differ).filter(|(_, differ)| *differ);
        let apart = apart.map(|(part, _)| part(group)).filter(|text| !text.is_empty());
        std::iter::once(group.label.clone()).chain(apart).collect::<Vec<_>>().join(", ")
    };
    let mut names: Vec<String> = Vec::new();
    let mut of_group = Vec::new();
    for group in groups {
        if !group.competes() {
            of_group.push(None);
            continue;
        }
        let name = name(group);
        let place = names.iter().position(|other| *other == name);
        of_group.push(Some(place.unwrap_or(names.len())));
        if place.is_none() {
            names.push(name);
        }
    }
    (of_group, names)
}

fn draw(panels: &BTreeMap<(usize, String), Panel<'_>>, series: &[String]) -> anyhow::Result<Sheet> {
    let mut columns: Vec<Heading> = vec![heading("", 12, Plain)];
    columns.extend(series.iter().map(|_| heading("", 16, Ratio)));
    let mut sheet = Sheet::new(NAME, &columns)?;
    if panels.is_empty() {
        sheet.row(&[Cell::text("Nothing was measured that could be drawn.")])?;
    }
    for panel in panels.values() {
        let begin = sheet.next_row();
        panel.write(&mut sheet)?;
        let used = sheet.next_row() - begin;
        sheet.skip(CHART_ROWS.saturating_sub(used) + 2);
    }
    Ok(sheet)
}

impl Panel<'_> {
    fn write(&self, sheet: &mut Sheet) -> anyhow::Result<()> {
        let title = sheet.strong_row(&[Cell::text(format!("{}, {}", self.title, self.axis))])?;
        let mut head = vec![Cell::text("threads swept")];
        head.extend(self.series.iter().map(Cell::text));
        let head = sheet.strong_row(&head)?;
        for (threads, row) in &self.cells {
            let mut cells = vec![Cell::count(Some((*threads).into()))];
            cells.extend((0..self.series.len()).map(|at| match row.get(&at) {
                Some((formula, result)) => {
                    Cell::Formula { formula: formula.clone(), result: *result }
                }
                None => Cell::Empty,
            }));
            sheet.row(&cells)?;
        }
        let column = u16::try_from(self.series.len())? + 2;
        sheet.chart(title, column, &self.chart(head))?;
        Ok(())
    }

    /// Returns the chart of the numbers below the row `head`.
    fn chart(&self, head: u32) -> Chart {
        let (first, last) = (head + 1, head + self.cells.len() as u32);
        let mut chart = Chart::new(self.kind);
        chart.title().set_name(&self.title);
        chart.x_axis().set_name("threads swept");
        chart.y_axis().set_name(self.axis).set_min(0.0);
        if self.axis == "ops/s" {
            chart.y_axis().set_num_format("#,##0");
        }
        chart.set_width(720).set_height(CHART_ROWS * 20);
        let present =
            (0..self.series.len()).filter(|at| self.cells.values().any(|row| row.contains_key(at)));
        for at in present {
            let column = at as u16 + 1;
            let color = Color::from(COLORS[at % COLORS.len()]);
            let series = chart.add_series();
            series.set_name((NAME, head, column));
            series.set_categories((NAME, first, 0, last, 0));
            series.set_values((NAME, first, column, last, column));
            let mut format = ChartFormat::new();
            if self.kind == ChartType::Column {
                format.set_solid_fill(ChartSolidFill::new().set_color(color));
            } else {
                format.set_line(ChartLine::new().set_color(color));
                let mut marker = ChartMarker::new();
                let mut fill = ChartFormat::new();
                fill.set_solid_fill(ChartSolidFill::new().set_color(color));
                marker.set_automatic().set_format(&mut fill);
                series.set_marker(&marker);
            }
            series.set_format(&mut format);
        }
        chart
    }
}
