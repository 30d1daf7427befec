//! What the page of a comparison shows.

use super::html::Kind;
use kvdyno_analysis::figures::catalogue;
use kvdyno_analysis::figures::metric::Definition;
use kvdyno_analysis::judge::versus::Versus;
use schemars::JsonSchema;
use serde::Serialize;

/// A comparison of two runs, or of two engines of one run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VersusData {
    /// What it shows.
    pub kind: Kind,
    /// The program that made the page.
    pub program: String,
    /// The comparison; null: it was refused.
    pub versus: Option<Versus>,
    /// Why it was refused.
    pub refused: Option<Refused>,
    /// The terminal's lines above and below its table: a word and its text.
    pub remarks: Vec<(String, String)>,
    /// What each figure is.
    pub definitions: Vec<&'static Definition>,
    /// The runs' names where a server shows them; null: the page is a file.
    pub between: Option<Between>,
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
    /// What is compared with.
    pub base: String,
    /// What is compared.
    pub new: String,
    /// All figures are shown, not only those that most questions are about.
    pub all: bool,
}

impl VersusData {
    /// The page of a comparison, or of why there is none.
    pub fn new(versus: Result<Versus, Refused>) -> Self {
        let (versus, refused) = match versus {
            Ok(versus) => (Some(versus), None),
            Err(refused) => (None, Some(refused)),
        };
        let mut shown: Vec<&str> = Vec::new();
        if let Some(versus) = &versus {
            shown = versus.pairs.iter().flat_map(|pair| &pair.rows).map(|row| row.figure).collect();
        }
        let definitions = catalogue::ALL.iter().filter(|figure| shown.contains(&figure.name));
        Self {
            kind: Kind::Versus,
            program: kvdyno_record::VERSION.to_owned(),
            remarks: versus.as_ref().map(remarks).unwrap_or_default(),
            definitions: definitions.copied().collect(),
            versus,
            refused,
            between: None,
        }
    }

    /// The same where a server shows it.
    #[must_use]
    pub fn between(mut self, base: &str, new: &str, all: bool) -> Self {
        self.between = Some(Between { base: base.to_owned(), new: new.to_owned(), all });
        self
    }
}

/// What the page has no other place for.
fn remarks(versus: &Versus) -> Vec<(String, String)> {
    let elsewhere = ["answer", "base", "new", "differs", "result"];
    let lines = crate::versus::header(versus).into_iter().chain(crate::versus::footer(versus));
    lines
        .filter(|(_, word, _)| !elsewhere.contains(word))
        .map(|(_, word, text)| (word.to_owned(), text))
        .collect()
}
