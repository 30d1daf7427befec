//! The decided and undecided figures of a run: its primary figures, each over the base's. They are
//! operations per second of each role, the p99 of response times of a role on a schedule, and
//! records per second of each load. All other figures only describe.

use crate::figures::Figures;
use crate::figures::engines::title;
use crate::figures::group::Group;
use crate::figures::lists::{has_several, list};
use crate::figures::relative::RelativeTo;
use crate::figures::sweep::threads_in_words;
use crate::judge::rule::more_in_words;
use schemars::JsonSchema;
use serde::Serialize;

/// The most undecided figures that are named; the rest is counted.
const NAMED_MAX: usize = 3;

/// The verdicts of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// Primary figures that are compared with a base's.
    pub figures: usize,
    /// Those that are undecided.
    pub undecided: Vec<OpenFigure>,
}

/// A primary figure that is not decided.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpenFigure {
    /// The engine as people call it.
    pub engine: String,
    /// Its label.
    pub label: String,
    /// The label of its base.
    pub base: String,
    /// The phase and the role, with its threads or those of the swept role:
    /// `readers, 4 threads`, `writer p99, with 4 readers`.
    pub scope: String,
    /// About how many more pairs would decide; null: more than 1,000, or no number would.
    pub more_pairs: Option<usize>,
    /// Why no number of pairs would decide; null: some number would.
    pub reason: Option<String>,
}

impl Verdicts {
    /// The primary figures of a run.
    pub fn from_figures(figures: &Figures) -> Self {
        let mut verdicts = Self::default();
        let runs = figures.groups.iter().flat_map(|group| &group.runs);
        let with_phase = has_several(runs.map(|run| run.phase.as_str()));
        for group in &figures.groups {
            let mut add = |scope: String, relative: &Option<RelativeTo>| {
                verdicts.add((figures, group), scope, relative.as_ref());
            };
            if let Some(load) = &group.load {
                let point = group.threads_swept.map(|threads| format!(" (at {threads})"));
                add(load.phase.clone() + &point.unwrap_or_default(), &load.relative);
            }
            for run in &group.runs {
                for (at, role) in run.roles.iter().enumerate() {
                    let phase = if with_phase { format!("{} ", run.phase) } else { String::new() };
                    let scope = format!("{phase}{}", role.role);
                    let threads = group.threads_swept.map_or_else(String::new, |_| {
                        format!(", {}", threads_in_words(&figures.groups.iter(), group, run, at))
                    });
                    if role.open_loop {
                        add(format!("{scope} p99{threads}"), &role.relative_response);
                        for op in &role.ops {
                            let scope = format!("{scope} {} p99{threads}", op.op);
                            add(scope, &op.relative_response);
                        }
                    } else {
                        add(format!("{scope}{threads}"), &role.relative);
                    }
                }
            }
        }
        verdicts
    }

    /// `8 of 9 figures decided; undecided: RocksDB readers, 4 threads (about 6 more pairs)`; none:
    /// nothing is compared.
    pub fn description(&self) -> Option<String> {
        self.description_with_remedy(None)
    }

    /// The description with a remedy before the list, whose end a screen may cut.
    pub fn description_with_remedy(&self, remedy: Option<&str>) -> Option<String> {
        let decided = self.figures - self.undecided.len();
        if self.undecided.is_empty() {
            return match decided {
                0 => None,
                1 => Some("1 figure decided".to_owned()),
                all => Some(format!("all {all} figures decided")),
            };
        }
        let mut open: Vec<String> =
            self.undecided.iter().take(NAMED_MAX).map(OpenFigure::description).collect();
        let more = self.undecided.len() - open.len();
        open.extend((more > 0).then(|| format!("{more} more")));
        let open = list(&open);
        let remedy = remedy.map_or_else(String::new, |remedy| format!(" ({remedy})"));
        Some(format!("{decided} of {} figures decided{remedy}; undecided: {open}", self.figures))
    }

    fn add(
        &mut self,
        (figures, group): (&Figures, &Group),
        scope: String,
        relative: Option<&RelativeTo>,
    ) {
        let Some(relative) = relative.filter(|relative| relative.base != group.label) else {
            return;
        };
        self.figures += 1;
        if relative.decided {
            return;
        }
        self.undecided.push(OpenFigure {
            engine: title(&figures.engines, group).to_owned(),
            label: group.label.clone(),
            base: relative.base.clone(),
            scope,
            more_pairs: relative.more_pairs,
            reason: relative.reason.clone(),
        });
    }
}

impl OpenFigure {
    fn description(&self) -> String {
        let more = self.reason.clone();
        let more = more.unwrap_or_else(|| more_in_words(self.more_pairs, "pair"));
        format!("{} {} ({more})", self.engine, self.scope)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::Fixture;

    #[test]
    fn four_pairs_that_agree_are_decided_and_two_ask_for_more() {
        let verdicts = |trials| Fixture::with_trials(trials).summary().verdicts;
        let (few, enough) = (verdicts(2), verdicts(4));
        assert_eq!(few.undecided.len(), few.figures);
        assert!(few.undecided.iter().all(|figure| figure.more_pairs == Some(2)), "{few:?}");
        assert!(enough.undecided.is_empty() && enough.figures == few.figures, "{enough:?}");
        assert!(few.description().unwrap().contains("about 2 more pairs"));
        assert_eq!(enough.description(), Some(format!("all {} figures decided", enough.figures)));
    }
}
