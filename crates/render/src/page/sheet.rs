//! Tables that the page shows as they stand: a study's, and the claims.

use crate::study;
use crate::table::{Side, Titled};
use kvdyno_analysis::answers::summary::Summary;
use schemars::JsonSchema;
use serde::Serialize;

/// A table of words, as a terminal has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sheet {
    /// `study`, `claims`, `published`.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Its columns.
    pub head: Vec<String>,
    /// Whether each column holds words.
    pub left: Vec<bool>,
    /// Its rows.
    pub rows: Vec<Vec<String>>,
    /// Its footnotes, with their numbers.
    pub notes: Vec<String>,
    /// How to read it, or what belongs to it: a paragraph each.
    pub aid: Vec<String>,
}

impl Sheet {
    /// Returns the tables that the page begins with, in their order.
    pub(super) fn list_sheets(summary: &Summary) -> Vec<Self> {
        let first = study::machines(summary).into_iter();
        let all = first.chain(study::tables(summary)).chain(study::claims(summary));
        all.map(Self::new).collect()
    }

    fn new(titled: Titled) -> Self {
        let table = &titled.table;
        // A paragraph's later lines are indented.
        let aid = titled.aid.replace("\n  ", " ");
        let aid: Vec<String> = match titled.name {
            "study" => aid.lines().map(str::to_owned).collect(),
            _ => vec![aid.replace('\n', " ")],
        };
        Self {
            name: titled.name.to_owned(),
            title: titled.title.into_owned(),
            head: table.columns().iter().map(|(title, _)| title.replace('\n', " ")).collect(),
            left: table.columns().iter().map(|(_, side)| *side == Side::Left).collect(),
            rows: table.rows().to_vec(),
            notes: table.footnotes.lines(),
            aid,
        }
    }
}
