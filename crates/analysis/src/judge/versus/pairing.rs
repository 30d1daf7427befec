//! The pairing of cases, and when a comparison is refused.

use super::Question;
use super::choice::{FigureChoice, FigureScope};
use super::judge::{FigurePair, Repeats, Row, Spot, margins};
use super::refusal::Refusal;
use super::sides::{Chosen, Sides};
use super::work::{self, Difference};
use crate::figures::comparable;
use crate::figures::group::{Group, LoadRow, OpRow, RoleRow, RunRow};
use crate::figures::metric::{Metric, Metrics};
use crate::figures::naming::Naming;
use kvdyno_record::engine::Durability;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use kvdyno_record::work::{Purpose, Work};
use kvdyno_record::workload::Phase;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// Two cases that do equal work, with their figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    /// The case in a few words: `lmdb t4`; of two engines `t4`.
    pub name: String,
    /// The base's label.
    pub base_label: String,
    /// The new side's label.
    pub new_label: String,
    /// The base's case key.
    pub base_key: String,
    /// The new side's case key: equal, unless engine, label or options differ.
    pub new_key: String,
    /// The durability class of its writes.
    pub durability: Durability,
    /// The new side's class, where it differs; the ratios are then what a promise costs.
    pub other_durability: Option<Durability>,
    /// The swept number of threads.
    pub threads: Option<u32>,
    /// The requested RAM limit.
    pub ram_limit_bytes: Option<u64>,
    /// Its figures.
    pub rows: Vec<Row>,
}

/// A case without a counterpart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unpaired {
    /// Whether it is a case of the base; else it is the new side's.
    pub in_base: bool,
    /// The case in a few words.
    pub name: String,
    /// Why it has no counterpart.
    pub reason: String,
}

/// The result of the pairing.
#[derive(Default)]
pub(super) struct Paired {
    pub(super) pairs: Vec<Pair>,
    pub(super) unpaired: Vec<Unpaired>,
    /// Labels that are compared.
    pub(super) labels: Vec<(String, String)>,
    /// Figures that have a value in any pair, whether selected or not.
    pub(super) figures: BTreeSet<&'static str>,
}

impl Paired {
    /// Refuses figures that were selected by name and exist nowhere.
    fn check(&self, figures: &FigureChoice) -> Result<(), Refusal> {
        let FigureChoice::Named(definitions) = figures else { return Ok(()) };
        let absent = definitions.iter().find(|figure| !self.figures.contains(figure.name));
        absent.map_or(Ok(()), |figure| {
            let names = self.figures.iter().copied().collect();
            Err(Refusal::NoFigure { name: figure.name, known: names })
        })
    }
}

/// A case with its figures.
struct Unit<'r> {
    group: &'r Group,
    /// The same case in further runs of its side.
    further: Vec<&'r Group>,
    work: Value,
    /// The first role with a rate that a pilot found, and the rate.
    rate: Option<(&'r str, f64)>,
    name: String,
}

/// Pairs the cases of both sides, with the figures that were asked for.
pub(super) fn pair(sides: &Sides<'_>, question: &Question) -> Result<Paired, Refusal> {
    sides.check()?;
    let [base, new] = sides.compared_groups().map(|chosen| side_units(&chosen, sides));
    if let (Some(_), Some(refusal)) = (question.gate, unlike_promises_refusal(sides, &base, &new)) {
        return Err(refusal);
    }
    let mut free: Vec<&Unit<'_>> = new.iter().collect();
    let mut paired = Paired::default();
    let (mut alone, mut unlike) = (Vec::new(), Vec::new());
    for unit in &base {
        let Some(index) = counterpart(unit, &free, sides) else {
            alone.push(unit);
            continue;
        };
        let other = free.remove(index);
        if let Some(difference) = unit.rate_difference(other) {
            let reason = format!("pilots found unlike rates: {}", difference.description());
            let name = unit.name.clone();
            paired.unpaired.push(Unpaired { in_base: true, name: name.clone(), reason });
            unlike.push((name, difference));
            continue;
        }
        paired.labels.push((unit.group.label.clone(), other.group.label.clone()));
        let pair = compare_units(unit, other, sides, question, &mut paired.figures);
        if let ([], Some(trouble)) = (pair.rows.as_slice(), unit.group.describe_outcomes()) {
            let why = format!("neither side has its figures: {trouble}");
            paired.unpaired.push(Unpaired { in_base: false, name: pair.name.clone(), reason: why });
        }
        paired.pairs.push(pair);
    }
    paired.labels.dedup();
    for unit in alone {
        let is_counterpart = |other: &&&Unit<'_>| {
            sides.may_be_paired(&unit.group.label, &other.group.label)
                && other.group.threads == unit.group.threads
        };
        if let Some(other) = free.iter().find(is_counterpart) {
            let differences = work::differences(&unit.work, &other.work);
            return Err(Refusal::Work { case: unit.name.clone(), differences });
        }
        paired.unpaired.push(unit.to_unpaired(true));
    }
    if let ([], Some((case, difference))) = (&paired.pairs[..], unlike.pop()) {
        return Err(Refusal::Work { case, differences: vec![difference] });
    }
    if paired.pairs.is_empty() {
        let labels = |units: &[Unit<'_>]| {
            let mut labels: Vec<&str> = units.iter().map(|u| u.group.label.as_str()).collect();
            labels.dedup();
            labels.join(", ")
        };
        return Err(Refusal::NoCommonEngine { base: labels(&base), new: labels(&new) });
    }
    paired.check(&question.figures)?;
    // A load has no figures of reads.
    paired.pairs.retain(|pair| !pair.rows.is_empty());
    paired.unpaired.extend(free.iter().map(|unit| unit.to_unpaired(false)));
    Ok(paired)
}

/// Refuses a gate over unlike promises: no side is better or worse for its promise's price.
fn unlike_promises_refusal(
    sides: &Sides<'_>,
    base: &[Unit<'_>],
    new: &[Unit<'_>],
) -> Option<Refusal> {
    let [base, new] = [base.first()?, new.first()?].map(|unit| unit.group.durability);
    let [base, new] = [base, new].map(|class| class.as_str());
    (sides.side_by_side() && base != new).then_some(Refusal::Promises { base, new })
}

/// The case with the same work: by its key, else by its work under the same label, with other
/// options. These are then listed above the table.
fn counterpart(unit: &Unit<'_>, free: &[&Unit<'_>], sides: &Sides<'_>) -> Option<usize> {
    let same_key = |other: &&Unit<'_>| other.group.key == unit.group.key;
    let same_work = |other: &&Unit<'_>| {
        sides.may_be_paired(&unit.group.label, &other.group.label) && other.work == unit.work
    };
    let same_but_class = |other: &&Unit<'_>| {
        sides.may_be_paired(&unit.group.label, &other.group.label)
            && sides.side_by_side()
            && other.group.engine == unit.group.engine
            && without_class(&other.work) == without_class(&unit.work)
    };
    let by_work = || free.iter().position(same_work);
    let by_class = || free.iter().position(same_but_class);
    free.iter().position(same_key).or_else(by_work).or_else(by_class)
}

fn without_class(work: &Value) -> Value {
    let mut work = work.clone();
    work["durability"] = Value::Null;
    work
}

/// The cases of a side, with the same cases of its further runs.
fn side_units<'r>(chosen: &[Chosen<'r>], sides: &Sides<'_>) -> Vec<Unit<'r>> {
    let Some((first, further)) = chosen.split_first() else { return Vec::new() };
    let mut first = units(first, !sides.side_by_side());
    for run in further.iter().map(|run| units(run, true)) {
        for unit in &mut first {
            let is_same = |other: &&Unit<'_>| {
                other.group.label == unit.group.label
                    && other.work == unit.work
                    && unit.rate_difference(other).is_none()
            };
            let same = run.iter().find(is_same);
            unit.further.extend(same.map(|other| other.group));
        }
    }
    first
}

/// `labelled`: names include the engine; with two engines it is in the title.
fn units<'r>(chosen: &Chosen<'r>, labelled: bool) -> Vec<Unit<'r>> {
    let naming = Naming::from_groups(&chosen.groups);
    let unit = |group: &&'r Group| {
        let id = &group.trials.first()?.case;
        let case = chosen.record.evidence.plan.cases.iter().find(|case| case.id == *id)?;
        let mut name = naming.without_label(group);
        if labelled {
            name = format!("{} {name}", group.label);
        }
        let work = Work::from_case(case, &chosen.record.evidence.plan).equal(Purpose::Runs);
        Some(Unit { group, further: Vec::new(), work, rate: piloted_rate(case), name })
    };
    chosen.groups.iter().filter_map(unit).collect()
}

fn piloted_rate(case: &Case) -> Option<(&str, f64)> {
    let mut roles = case.phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    let role = roles.find(|role| role.pilot.is_some() && role.rate.is_some())?;
    Some((&role.name, role.rate.as_ref()?.operations_per_s))
}

/// Whether rates of two pilots are alike: then the roles beside them do the same work.
pub(crate) fn are_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.2 * one.max(other)
}

impl Unit<'_> {
    /// The rates that the pilots of both sides found, where they are not alike.
    fn rate_difference(&self, other: &Self) -> Option<Difference> {
        let ((role, base), (_, new)) = (self.rate?, other.rate?);
        (!are_alike(base, new)).then(|| Difference {
            subject: format!("the rate of {role}"),
            base: units::rate(base),
            new: units::rate(new),
        })
    }

    fn to_unpaired(&self, in_base: bool) -> Unpaired {
        let other = if in_base { "NEW" } else { "BASE" };
        Unpaired { in_base, name: self.name.clone(), reason: format!("{other} has no such case") }
    }
}

fn compare_units(
    base: &Unit<'_>,
    new: &Unit<'_>,
    sides: &Sides<'_>,
    question: &Question,
    figures: &mut BTreeSet<&'static str>,
) -> Pair {
    let group = base.group;
    let mut rows = RowBuilder {
        question,
        paired: sides.side_by_side(),
        labels: sides.names(group, new.group),
        sides: [base, new].map(|unit| {
            let further = unit.further.iter().copied();
            std::iter::once(unit.group).chain(further).collect()
        }),
        rows: Vec::new(),
        figures,
    };
    if let (Some(base), Some(new)) = (&group.load, &new.group.load) {
        rows.load(base, new);
    }
    for run in &group.runs {
        if let Some(other) = new.group.runs.iter().find(|other| other.phase == run.phase) {
            rows.run(run, other);
        }
    }
    name_phases(&mut rows.rows);
    if let Some(why) = rows.sides.iter().flatten().find_map(|group| group.describe_void()) {
        rows.rows.iter_mut().for_each(|row| row.clear_verdict(&why));
    }
    Pair {
        name: base.name.clone(),
        base_label: group.label.clone(),
        new_label: new.group.label.clone(),
        base_key: group.key.clone(),
        new_key: new.group.key.clone(),
        durability: group.durability,
        other_durability: Some(new.group.durability).filter(|class| *class != group.durability),
        threads: group.threads,
        ram_limit_bytes: group.ram_limit_bytes,
        rows: rows.rows,
    }
}

/// Adds the phase to the scope where several phases have the role.
fn name_phases(rows: &mut [Row]) {
    let scopes: BTreeSet<(Option<String>, String)> =
        rows.iter().map(|row| (row.role.clone(), row.phase.clone())).collect();
    for row in rows.iter_mut().filter(|row| row.role.is_some()) {
        if scopes.iter().filter(|(role, _)| *role == row.role).count() > 1 {
            row.scope = format!("{} {}", row.phase, row.scope);
        }
    }
}

/// Builds the rows of two cases.
struct RowBuilder<'q> {
    question: &'q Question,
    paired: bool,
    /// The names of the sides where their mixes differ.
    labels: [String; 2],
    /// The case in each run of both sides.
    sides: [Vec<&'q Group>; 2],
    rows: Vec<Row>,
    /// Figures that have a value.
    figures: &'q mut BTreeSet<&'static str>,
}

impl<'q> RowBuilder<'q> {
    fn load(&mut self, base: &LoadRow, new: &LoadRow) {
        let spot = Spot { phase: &base.phase, role: None, op: None };
        let before = self.rows.len();
        self.add(spot, FigureScope::Load, &base.metrics, &new.metrics);
        if let Some(why) = comparable::describe_load_difference(self.sides[0][0], self.sides[1][0])
        {
            let rows = self.rows[before..].iter_mut();
            rows.filter(|row| !comparable::is_size(row.figure)).for_each(|row| row.part(&why));
        }
    }

    fn run(&mut self, base: &RunRow, new: &RunRow) {
        for role in &base.roles {
            if let Some(other) = new.roles.iter().find(|other| other.role == role.role) {
                self.role(&base.phase, role, other);
            }
        }
        let spot = Spot { phase: &base.phase, role: None, op: None };
        let labels = &self.labels;
        let different =
            comparable::describe_mix_difference(&[(&labels[0], base), (&labels[1], new)]);
        let before = self.rows.len();
        self.add(spot, FigureScope::Phase, &base.metrics, &new.metrics);
        if let Some(why) = different {
            let rows = self.rows[before..].iter_mut();
            rows.filter(|row| comparable::is_per_operation(row.figure))
                .for_each(|row| row.part(&why));
        }
    }

    fn role(&mut self, phase: &str, base: &RoleRow, new: &RoleRow) {
        let spot = Spot { phase, role: Some(&base.role), op: None };
        let open_loop = base.open_loop;
        let scope = FigureScope::Role { open_loop, mix: base.is_mix() };
        let before = self.rows.len();
        self.add(spot, scope, &base.metrics, &new.metrics);
        for OpRow { op, metrics, .. } in &base.ops {
            if let Some(other) = new.ops.iter().find(|other| other.op == *op) {
                self.add(
                    Spot { op: Some(op), ..spot },
                    FigureScope::Op { open_loop },
                    metrics,
                    &other.metrics,
                );
            }
        }
        for row in &mut self.rows[before..] {
            let ops = row.op.as_deref().unwrap_or(&base.mix);
            row.gets = ops.split('+').any(|op| op == "get");
        }
    }

    fn add(&mut self, spot: Spot<'_>, scope: FigureScope, base: &Metrics, new: &Metrics) {
        if !matches!(scope, FigureScope::Op { .. }) {
            let has_any = |metric: &&Metric| metric.per_trial.iter().any(Option::is_some);
            let figures = base.0.iter().chain(&new.0).filter(has_any);
            self.figures.extend(figures.map(|metric| metric.name));
        }
        let choice = &self.question.figures;
        let is_chosen = |metric: &&Metric| choice.includes(metric.name, metric.direction, scope);
        for metric in base.0.iter().filter(is_chosen) {
            let other = new.0.iter().find(|other| other.name == metric.name);
            let repeats = [(0, Some(metric)), (1, other)].map(|(side, metric)| {
                let runs = &self.sides[side];
                match metric {
                    Some(metric) if !self.paired => {
                        let at = |run: &'q Group| metrics_at(run, spot)?.get_by_name(metric.name);
                        Repeats::runs(&runs.iter().copied().filter_map(at).collect::<Vec<_>>())
                    }
                    metric => Repeats::trials(metric, &runs[0].trial_numbers()),
                }
            });
            let [base, new] = repeats;
            let (paired, primary) = (self.paired, choice.judges(metric.name, scope));
            let margins =
                margins(metric.name, self.question.within, [self.sides[0][0], self.sides[1][0]]);
            self.rows.extend(FigurePair { spot, base, new, paired, primary, margins }.row());
        }
    }
}

/// The figures of a spot in one run.
fn metrics_at<'g>(group: &'g Group, spot: Spot<'_>) -> Option<&'g Metrics> {
    let Some(role) = spot.role else {
        let load = group.load.as_ref().filter(|load| load.phase == spot.phase);
        let run = group.runs.iter().find(|run| run.phase == spot.phase);
        return load.map(|load| &load.metrics).or(run.map(|run| &run.metrics));
    };
    let run = group.runs.iter().find(|run| run.phase == spot.phase)?;
    let role = run.roles.iter().find(|other| other.role == role)?;
    match spot.op {
        Some(op) => role.ops.iter().find(|row| row.op == op).map(|row| &row.metrics),
        None => Some(&role.metrics),
    }
}
