//! What a study's file holds (`studies/ID.toml`): rows of figures, each with what it is of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A study's file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Who published what, where and on which machine.
    pub study: StudyHead,
    /// Figures that the catalogue does not have.
    #[serde(default)]
    pub figure: Vec<OwnFigure>,
    /// What was published, table by table.
    pub table: Vec<StudyTable>,
}

/// Who published what, where and on which machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StudyHead {
    /// Its name here.
    pub id: String,
    /// As published.
    pub title: String,
    /// Who.
    pub authors: String,
    /// When: a year, or a year and a month.
    pub published: String,
    /// Where.
    pub url: String,
    /// What it asked, in our words.
    pub question: String,
    /// What to bear in mind of its figures, in our words.
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
    /// Of it, what engines and page cache had.
    pub ram: Option<String>,
    /// What databases lay on.
    pub drives: Vec<String>,
    /// `nvme`, or in words.
    pub drive_kind: String,
    /// The kernel.
    pub kernel: Option<String>,
    /// The system.
    pub os: Option<String>,
    /// The filesystem, where it was one and the same.
    pub filesystem: Option<String>,
    /// What was tested, with versions.
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
    /// So many records stood under one key.
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
    /// What it is.
    pub help: String,
}

/// A table of a study.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyTable {
    /// Its name in the file.
    pub name: String,
    /// What it is, in our words.
    pub title: String,
    /// Among which figures of a run its rows have their like; none: nowhere.
    pub matches: Option<TableKind>,
    /// What all its rows are of.
    #[serde(default)]
    pub selectors: Selectors,
    /// Its rows.
    pub row: Vec<StudyRow>,
}

/// Where published rows have their like in a run.
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

/// What a row is of; what it does not say, the study does not tell apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Selectors {
    /// The engine, as the study's suite labels it.
    pub engine: Option<String>,
    /// What the database lay on.
    pub volume: Option<String>,
    /// The suite's part.
    pub part: Option<String>,
    /// What was below the RAM limit.
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
    /// Of a drive's job: `rand read`.
    pub io: Option<String>,
    /// Of a drive's job: bytes of an I/O.
    pub block: Option<String>,
    /// Of a drive's job: I/Os in flight.
    pub depth: Option<u32>,
    /// Which of the study's drives; a run's rows have their like in each of them.
    pub drive: Option<String>,
    /// A setting that has no counterpart here.
    pub setting: Option<String>,
    /// What else tells it from other rows, in words.
    pub detail: Option<String>,
    /// What was printed where that is not believed.
    pub printed: Option<String>,
}

/// A row as published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyRow {
    /// What it is of, besides what its table says.
    pub selectors: Selectors,
    /// Its figures by name.
    #[serde(default)]
    pub values: BTreeMap<String, Written>,
    /// Of them, those that follow from the others and were not printed.
    #[serde(default)]
    pub derived: Vec<String>,
    /// Why it is to be doubted, in our words.
    pub doubt: Option<String>,
    /// The authors gave up on it: there is no figure.
    #[serde(default)]
    pub gave_up: bool,
}

/// A published figure: a number, or what it lies between.
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
    /// At least this; null: no such end.
    pub least: Option<f64>,
    /// At most this; null: no such end.
    pub most: Option<f64>,
    /// Follows from other figures of its row, and was not printed.
    pub derived: bool,
}

impl Selectors {
    /// These, and where they say nothing the `others`.
    pub(super) fn or(&self, others: &Self) -> Self {
        macro_rules! or {
            ($($field:ident)+) => {
                Self { $($field: self.$field.clone().or_else(|| others.$field.clone())),+ }
            };
        }
        or!(engine volume part tier phase role op threads ram records io block depth drive setting
            detail printed)
    }

    /// What has no counterpart in a run: words that tell rows apart.
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

    /// Through `format`: `2,100,000`, `> 2,100,000`, `760,000-770,000`.
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
