//! The format of a study's file (`studies/ID.toml`): rows of figures, each with its selectors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A study's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// The study's authors, source, machine and data.
    pub study: StudyHead,
    /// Figures that the catalogue does not have.
    #[serde(default)]
    pub figure: Vec<OwnFigure>,
    /// What was published, table by table.
    pub table: Vec<StudyTable>,
}

/// A study's authors, source, machine and data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyHead {
    /// Its id, which is also the name of its file.
    pub id: String,
    /// Its title, as published.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// Its date: a year, or a year and a month.
    pub published: String,
    /// The address at which it was published.
    pub url: String,
    /// Its question, in our words.
    pub question: String,
    /// Reservations about its figures, in our words.
    pub doubts: Vec<String>,
    /// Its machine.
    pub host: StudyHost,
    /// Its data.
    pub data: StudyData,
}

/// A study's machine, as far as it tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyHost {
    /// The processors.
    pub cpu: Option<String>,
    /// Hardware threads.
    pub cpus: Option<u32>,
    /// Memory of the machine.
    pub memory: Option<String>,
    /// The part of that memory that engines and page cache had.
    pub ram: Option<String>,
    /// The drives that held the databases.
    pub drives: Vec<String>,
    /// The kind of drive: `nvme`, or in words.
    pub drive_kind: String,
    /// The kernel.
    pub kernel: Option<String>,
    /// The operating system.
    pub os: Option<String>,
    /// The filesystem, where all databases were on the same kind.
    pub filesystem: Option<String>,
    /// The engines that were tested, with versions.
    pub engines: Vec<String>,
}

/// A study's data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyData {
    /// Records after the load.
    pub records: u64,
    /// Length of a key.
    pub key_bytes: Option<u32>,
    /// Length of a value.
    pub value_bytes: Option<u32>,
    /// The number of records under one key.
    pub pack: Option<u32>,
}

/// A figure that the catalogue does not have.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnFigure {
    /// Its name, unit last.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Its description.
    pub help: String,
}

/// A table of a study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTable {
    /// Its name in the file.
    pub name: String,
    /// Its title, in our words.
    pub title: String,
    /// The kind of a run's rows that its rows are compared with; none: they are compared with none.
    pub matches: Option<TableKind>,
    /// The selectors that all its rows share.
    #[serde(default)]
    pub selectors: Selectors,
    /// Its rows.
    pub row: Vec<StudyRow>,
}

/// The kind of a run's rows that published rows are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableKind {
    /// A load: a row of the load table.
    Load,
    /// A role of a measured phase: a row of the run table.
    Run,
    /// A job of the bare drive: a row of the drive table.
    Drive,
    /// A load or a measured phase as a whole: a row of the study's own tables alone.
    Phase,
}

/// The properties of a published row; null: the study does not distinguish by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Selectors {
    /// The engine, as the study's suite labels it.
    pub engine: Option<String>,
    /// The volume that held the database.
    pub volume: Option<String>,
    /// The suite's part.
    pub part: Option<String>,
    /// The memory tier below the RAM limit.
    pub tier: Option<String>,
    /// The phase.
    pub phase: Option<String>,
    /// The role.
    pub role: Option<String>,
    /// The operation.
    pub op: Option<String>,
    /// The number of threads.
    pub threads: Option<u32>,
    /// The RAM limit: `64GB`.
    pub ram: Option<String>,
    /// Records: `80M`.
    pub records: Option<String>,
    /// The I/O of a drive's job: `rand read`.
    pub io: Option<String>,
    /// The bytes of an I/O of a drive's job.
    pub block: Option<String>,
    /// The I/Os in flight of a drive's job.
    pub depth: Option<u32>,
    /// One of the study's drives; a run's row may match a row of each.
    pub drive: Option<String>,
    /// A setting that has no counterpart here.
    pub setting: Option<String>,
    /// Any other property that distinguishes the row, in words.
    pub detail: Option<String>,
    /// The printed value, where it is not believed.
    pub printed: Option<String>,
}

/// A row as published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRow {
    /// Its selectors, besides those of its table.
    pub selectors: Selectors,
    /// Its figures by name.
    #[serde(default)]
    pub values: BTreeMap<String, Written>,
    /// The names of figures that follow from the others and were not printed.
    #[serde(default)]
    pub derived: Vec<String>,
    /// Why it is doubtful, in our words.
    pub doubt: Option<String>,
    /// Whether the authors gave up on it: then there is no figure.
    #[serde(default)]
    pub gave_up: bool,
}

/// A published figure: a number, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Written {
    /// A number.
    Is(f64),
    /// "Almost", "over", "from .. to".
    Within {
        /// It is at least this.
        least: Option<f64>,
        /// It is at most this.
        most: Option<f64>,
    },
}

/// A published figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PublishedValue {
    /// Its name: the catalogue's, or the study's own.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// The number; null: it was published as a range.
    pub value: Option<f64>,
    /// The lower end of the range; null: there is none.
    pub least: Option<f64>,
    /// The upper end of the range; null: there is none.
    pub most: Option<f64>,
    /// Whether it follows from other figures of its row, and was not printed.
    pub derived: bool,
}

impl Selectors {
    /// These selectors, completed by the `others`.
    pub(super) fn or(&self, others: &Self) -> Self {
        macro_rules! or {
            ($($field:ident)+) => {
                Self { $($field: self.$field.clone().or_else(|| others.$field.clone())),+ }
            };
        }
        or!(engine volume part tier phase role op threads ram records io block depth drive setting
            detail printed)
    }

    /// The selectors that have no counterpart in a run: words that tell rows apart.
    pub fn details(&self) -> Vec<&str> {
        let all = [&self.detail, &self.drive, &self.setting, &self.printed];
        all.into_iter().flatten().map(String::as_str).collect()
    }
}

impl PublishedValue {
    pub(super) fn new(figure: &str, unit: &str, written: Written, derived: bool) -> Self {
        let (value, least, most) = match written {
            Written::Is(value) => (Some(value), None, None),
            Written::Within { least, most } => (None, least, most),
        };
        Self { figure: figure.to_owned(), unit: unit.to_owned(), value, least, most, derived }
    }

    /// The value, formatted by `format`: `2,100,000`, `> 2,100,000`, `760,000-770,000`.
    pub fn text(&self, format: impl Fn(f64) -> String) -> String {
        match (self.value, self.least, self.most) {
            (Some(value), ..) => format(value),
            (None, Some(least), Some(most)) => format!("{}-{}", format(least), format(most)),
            (None, Some(least), None) => format!("> {}", format(least)),
            (None, None, Some(most)) => format!("< {}", format(most)),
            (None, None, None) => String::new(),
        }
    }
}
