//! What the page of a comparison shows.

use super::html::Kind;
use super::{definitions, remarks};
use crate::versus::{explanation, footer, header};
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_analysis::judge::versus::Versus;
use kvdyno_analysis::judge::versus::profile::ProfilePair;
use schemars::JsonSchema;
use serde::Serialize;

/// Lines that have a place of their own on the page.
const ELSEWHERE: [&str; 5] = ["answer", "base", "new", "differs", "result"];

/// A comparison of two runs, or of two engines of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VersusData {
    /// The kind of the page.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The comparison; null: it was refused.
    pub versus: Option<Versus>,
    /// Why it was refused.
    pub refused: Option<Refused>,
    /// The terminal's lines above and below its table: a word and its text.
    pub remarks: Vec<(String, String)>,
    /// Why two builds differ, as the terminal's table; null: nothing is to be explained.
    pub explanation: Option<ExplanationTable>,
    /// The functions of both sides, where they were profiled.
    pub profiles: Vec<ProfilePair>,
    /// What each figure is.
    pub definitions: Vec<&'static Definition>,
    /// The runs' names where a server shows them; null: the page is a file.
    pub between: Option<Between>,
}

/// The functions, parts of the time and counters behind the differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExplanationTable {
    /// The titles of its columns: three of words, three of numbers.
    pub head: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// How to read it.
    pub aid: String,
}

/// Why a comparison would mean nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Refused {
    /// Why.
    pub message: String,
    /// What would help.
    pub hint: Option<String>,
}

/// The two runs' names on the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Between {
    /// The run that is compared with.
    pub base: String,
    /// The run that is compared.
    pub new: String,
    /// Whether all figures are shown, not only those that most questions are about.
    pub all: bool,
}

impl VersusData {
    /// The page of a comparison, or of why there is none.
    pub fn new(versus: Result<Versus, Refused>) -> Self {
        let (versus, refused) = match versus {
            Ok(versus) => (Some(versus), None),
            Err(refused) => (None, Some(refused)),
        };
        let rows = versus.iter().flat_map(|versus| &versus.pairs).flat_map(|pair| &pair.rows);
        let lines = versus.as_ref().map(|versus| [header(versus), footer(versus)].concat());
        let explanation = versus.as_ref().and_then(explanation::table);
        let explanation = explanation.map(|(table, aid)| ExplanationTable {
            head: table.columns().iter().map(|(title, _)| title.clone()).collect(),
            rows: table.rows().to_vec(),
            aid: aid.replace('\n', " "),
        });
        Self {
            kind: Kind::Versus,
            program: kvdyno_record::VERSION.to_owned(),
            remarks: remarks(lines.into_iter().flatten(), &ELSEWHERE),
            definitions: definitions(rows.map(|row| row.figure)),
            explanation,
            profiles: Vec::new(),
            versus,
            refused,
            between: None,
        }
    }

    /// Adds profiles.
    #[must_use]
    pub fn with_profiles(mut self, profiles: Vec<ProfilePair>) -> Self {
        self.profiles = profiles;
        self
    }

    /// Adds the runs' names, for a page that a server shows.
    #[must_use]
    pub fn with_runs(mut self, base: &str, new: &str, all: bool) -> Self {
        self.between = Some(Between { base: base.to_owned(), new: new.to_owned(), all });
        self
    }
}
