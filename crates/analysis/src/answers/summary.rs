//! A run's summary: its figures, and all that is answered from them.

use super::answer;
use super::history::{self, History};
use super::search::{self, SearchResult};
use super::study::StudyComparison;
use crate::figures::Figures;
use crate::figures::evidence::Evidence;
use crate::judge::claim::{self, Claimed};
use crate::judge::comparison;
use crate::judge::ranking::{self, Ranking};
use crate::judge::verdicts::Verdicts;
use kvdyno_record::files::{RecordError, RunDir};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::{Deref, DerefMut};

/// A run's figures and answers, for tables, pages, spreadsheets and comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// The result of its search; null: the run is no search.
    pub search: Option<SearchResult>,
    /// The answer in sentences: the headline first, then one for each workload.
    pub answer: Vec<String>,
    /// Engines in order, question by question.
    pub rankings: Vec<Ranking>,
    /// Which of its figures are decided.
    pub verdicts: Verdicts,
    /// Engines over their versions, where the suite has several of one.
    pub history: Vec<History>,
    /// The suite's assertions, with their results.
    pub claims: Vec<Claimed>,
    /// A study's published figures, compared with these; null: none was chosen.
    pub study: Option<StudyComparison>,
}

impl Summary {
    /// Reads a run and computes its summary.
    pub fn read(dir: &RunDir) -> Result<Self, RecordError> {
        Self::from_evidence(&Evidence::read(dir)?)
    }

    /// Computes the summary of a record.
    pub fn from_evidence(evidence: &Evidence) -> Result<Self, RecordError> {
        let mut figures = Figures::from_evidence(evidence)?;
        comparison::compare(&mut figures.groups);
        let search = search::answer(evidence)?;
        let study = evidence.plan.study.as_deref();
        let claims = claim::judge(&evidence.plan.claims, &figures);
        Ok(Self {
            answer: answer::sentences(&figures, search.as_ref(), &claims),
            rankings: ranking::list_rankings(evidence, &figures),
            history: history::read::list_histories(evidence, &figures),
            claims,
            study: study.and_then(|id| StudyComparison::from_figures(id, &figures)),
            search,
            verdicts: Verdicts::from_figures(&figures),
            figures,
        })
    }

    /// Compares with a study, in place of the suite's own; none: no study.
    pub fn match_study(&mut self, study: Option<&str>) {
        self.study = study.and_then(|id| StudyComparison::from_figures(id, &self.figures));
    }
}

impl Deref for Summary {
    type Target = Figures;

    fn deref(&self) -> &Figures {
        &self.figures
    }
}

impl DerefMut for Summary {
    fn deref_mut(&mut self) -> &mut Figures {
        &mut self.figures
    }
}
