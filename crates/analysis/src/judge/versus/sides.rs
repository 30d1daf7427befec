//! The sides of a comparison: runs of two builds, or two engines of one run.

use super::differs::{ceilings, engines, methods, protocol, surroundings};
use super::refusal::Refusal;
use super::work::Difference;
use crate::figures::Figures;
use crate::figures::evidence::Evidence;
use crate::figures::findings::{Finding, Severity};
use crate::figures::group::Group;
use crate::figures::lists::unique;
use crate::judge::comparison;
use kvdyno_record::files::{RecordError, RunDir};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A run's record and its figures.
#[derive(Clone, Debug)]
pub struct Record {
    /// The record on disk.
    pub evidence: Evidence,
    /// Its figures.
    pub figures: Figures,
}

impl Record {
    /// Reads a run and computes its figures.
    pub fn read(dir: &RunDir) -> Result<Self, RecordError> {
        Self::from_evidence(Evidence::read(dir)?)
    }

    /// Computes a record's figures.
    pub fn from_evidence(evidence: Evidence) -> Result<Self, RecordError> {
        let mut figures = Figures::from_evidence(&evidence)?;
        comparison::compare(&mut figures.groups);
        Ok(Self { evidence, figures })
    }

    fn labels(&self) -> Vec<String> {
        unique(self.figures.groups.iter().map(|group| group.label.clone()))
    }
}

/// The sides of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Sides<'r> {
    /// Runs of different times, so never pairs. Each side has one or more of the same build, and
    /// the first describes it.
    Runs {
        /// The base.
        base: &'r [Record],
        /// The side that is compared with it.
        new: &'r [Record],
    },
    /// Two engines of a run, by their labels: equal trials ran close to each other.
    Engines {
        /// The run.
        run: &'r Record,
        /// The base.
        base: &'r str,
        /// The side that is compared with it.
        new: &'r str,
    },
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Side {
    /// The run's id.
    pub run: String,
    /// The ids of the side's further runs.
    pub further_runs: Vec<String>,
    /// The engine's label; null: all of the run.
    pub label: Option<String>,
    /// The suite.
    pub suite: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// The host's name.
    pub host: String,
    /// The program's version.
    pub program: String,
    /// Trials of each case, at most.
    pub trials: usize,
    /// Findings that make its figures invalid, by name.
    pub invalid: Vec<String>,
}

/// A record and the groups of it that are compared.
pub(super) struct Chosen<'r> {
    pub(super) record: &'r Record,
    pub(super) groups: Vec<&'r Group>,
}

impl<'r> Sides<'r> {
    /// Two engines of a run, each by its label or its name.
    pub fn engines(run: &'r Record, base: &'r str, new: &'r str) -> Self {
        let label = |typed: &'r str| {
            let engines = || run.figures.engines.iter();
            let by_label = engines().find(|engine| engine.label == typed);
            let engine = by_label.or_else(|| engines().find(|engine| engine.engine == typed));
            engine.map_or(typed, |engine| engine.label.as_str())
        };
        Self::Engines { run, base: label(base), new: label(new) }
    }

    /// Each side's record, and its label where it is one engine of it.
    fn first_records(&self) -> [(&'r Record, Option<&'r str>); 2] {
        match *self {
            Self::Runs { base, new } => [(&base[0], None), (&new[0], None)],
            Self::Engines { run, base, new } => [(run, Some(base)), (run, Some(new))],
        }
    }

    /// The further runs of each side.
    fn further_records(&self) -> [&'r [Record]; 2] {
        match *self {
            Self::Runs { base, new } => [&base[1..], &new[1..]],
            Self::Engines { .. } => [&[], &[]],
        }
    }

    /// The records of each side.
    pub(super) fn records_of_each(&self) -> [Vec<&'r Record>; 2] {
        let ([(base, _), (new, _)], [further_base, further_new]) =
            (self.first_records(), self.further_records());
        [(base, further_base), (new, further_new)]
            .map(|(first, further)| std::iter::once(first).chain(further).collect())
    }

    /// Describes the base and the new side.
    pub fn describe_sides(&self) -> [Side; 2] {
        let [base, new] = self.first_records();
        let [further_base, further_new] = self.further_records();
        [(base, further_base), (new, further_new)]
            .map(|((record, label), further)| Side::from_records(record, label, further))
    }

    /// The names of two groups: by their engines, or for two runs by their sides.
    pub(super) fn names(&self, base: &Group, new: &Group) -> [String; 2] {
        match self {
            Self::Runs { .. } => ["BASE".to_owned(), "NEW".to_owned()],
            Self::Engines { .. } => [base.label.clone(), new.label.clone()],
        }
    }

    pub(super) fn records(&self) -> (&'r Record, &'r Record) {
        let [(base, _), (new, _)] = self.first_records();
        (base, new)
    }

    /// Whether equal trials were taken close to each other, in a random order.
    pub(super) fn side_by_side(&self) -> bool {
        matches!(self, Self::Engines { .. })
    }

    /// Whether cases of these labels may be a pair.
    pub(super) fn may_be_paired(&self, base_label: &str, new_label: &str) -> bool {
        match self {
            Self::Runs { .. } => base_label == new_label,
            Self::Engines { base, new, .. } => (base_label, new_label) == (*base, *new),
        }
    }

    /// The compared groups of the base, and of the new side, run by run.
    pub(super) fn compared_groups(&self) -> [Vec<Chosen<'r>>; 2] {
        let [base, new] = self.first_records();
        let [further_base, further_new] = self.further_records();
        [(base, further_base), (new, further_new)].map(|((record, label), further)| {
            let runs = std::iter::once(record).chain(further);
            runs.map(|record| choose_groups(record, label)).collect()
        })
    }

    /// Refuses sides that cannot be compared as a whole.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let (base, new) = self.records();
        match *self {
            Self::Engines { run, base, new } => {
                for label in [base, new] {
                    let labels = run.labels();
                    if !labels.iter().any(|other| other == label) {
                        let id = run.figures.run.id.clone();
                        return Err(Refusal::NoEngine {
                            label: label.to_owned(),
                            run: id,
                            known: labels,
                        });
                    }
                }
                if base == new {
                    return Err(Refusal::Same(format!("engine `{base}`")));
                }
            }
            Self::Runs { base, new } => {
                let mut ids = BTreeSet::new();
                let all = base.iter().chain(new).map(|record| &record.figures.run.id);
                if let Some(twice) = all.into_iter().find(|id| !ids.insert(*id)) {
                    return Err(Refusal::Same(format!("run {twice}")));
                }
            }
        }
        refuse_different_methods(base, new)?;
        for (first, further) in [base, new].into_iter().zip(self.further_records()) {
            for record in further {
                refuse_different_methods(first, record)?;
                refuse_different_builds(first, record)?;
            }
        }
        Ok(())
    }

    /// Differences other than the work, for the labels that are compared.
    pub(super) fn differences(&self, labels: &[(String, String)]) -> Vec<Difference> {
        let (base, new) = self.records();
        let mut differences = Vec::new();
        if let Self::Runs { .. } = self {
            // Differences that no engine causes come first: they may explain the others.
            differences.extend(ceilings(base, new));
            differences.extend(surroundings(base, new));
            let programs = (&base.figures.run.program, &new.figures.run.program);
            differences.extend(Difference::between(
                "kvdyno",
                programs.0.clone(),
                programs.1.clone(),
            ));
            differences.extend(methods(base, new));
        }
        let mut compared: BTreeSet<&(String, String)> = BTreeSet::new();
        for both in labels {
            if compared.insert(both) {
                engines(base, new, both, &mut differences);
            }
        }
        differences
    }
}

/// Refuses records that were measured or computed by different methods.
fn refuse_different_methods(base: &Record, new: &Record) -> Result<(), Refusal> {
    let methods = [
        ("method version", base.figures.method_version, new.figures.method_version),
        ("protocol of the workers", protocol(base), protocol(new)),
    ];
    let differs = |(what, base, new): (&str, u32, u32)| {
        Difference::between(what, base.to_string(), new.to_string())
    };
    let difference = methods.into_iter().find_map(differs);
    difference.map_or(Ok(()), |difference| Err(Refusal::Method(difference)))
}

/// Refuses runs of one side that are of different builds, options or machines.
fn refuse_different_builds(first: &Record, other: &Record) -> Result<(), Refusal> {
    let mut differences = surroundings(first, other);
    for label in first.labels() {
        engines(first, other, &(label.clone(), label), &mut differences);
    }
    match differences.into_iter().next() {
        None => Ok(()),
        Some(difference) => {
            let [first, other] = [first, other].map(|record| record.figures.run.id.clone());
            Err(Refusal::Build { first, other, difference })
        }
    }
}

impl Side {
    fn from_records(record: &Record, label: Option<&str>, further: &[Record]) -> Self {
        let figures = &record.figures;
        let records = std::iter::once(record).chain(further);
        let invalid = records.flat_map(|record| invalid_findings(record, label));
        Self {
            run: figures.run.id.clone(),
            further_runs: further.iter().map(|record| record.figures.run.id.clone()).collect(),
            label: label.map(str::to_owned),
            suite: figures.run.suite.clone(),
            started_unix_ns: figures.run.started_unix_ns,
            host: figures.host.hostname.clone(),
            program: figures.run.program.clone(),
            trials: figures.trials(),
            invalid: unique(invalid),
        }
    }
}

/// Findings that make figures of a run, or of one of its engines, invalid.
fn invalid_findings(record: &Record, label: Option<&str>) -> Vec<String> {
    let concerns = |finding: &&Finding| {
        label.is_none_or(|label| {
            let mut groups = record.figures.groups.iter().filter(|group| group.label == label);
            groups.any(|group| finding.concerns(group))
        })
    };
    let invalid = record.figures.findings.iter().filter(|f| f.severity == Severity::Invalid);
    invalid.filter(concerns).map(|finding| finding.id.as_str()).collect()
}

/// The compared groups: those of an engine, or all that are judged.
fn choose_groups<'r>(record: &'r Record, label: Option<&str>) -> Chosen<'r> {
    let groups = &record.figures.groups;
    let is_judged = is_judged(groups);
    let takes_part = |group: &&Group| match label {
        Some(label) => group.label == label,
        None => is_judged(group),
    };
    Chosen { record, groups: groups.iter().filter(takes_part).collect() }
}

/// Whether a group of a run is judged where nobody names it. The null engine counts only where
/// nothing stores anything. Beside engines the drive is part of the machine, except for its jobs
/// that limit no engine.
pub(crate) fn is_judged(groups: &[Group]) -> impl Fn(&Group) -> bool {
    let stores = groups.iter().any(|group| !group.stores_nothing);
    let competes = groups.iter().any(Group::competes);
    let surroundings = |group: &Group| group.ceiling || (group.bare_drive && group.runs.is_empty());
    move |group| {
        let without_data = stores && group.stores_nothing;
        !(without_data || group.explains || competes && surroundings(group))
    }
}
