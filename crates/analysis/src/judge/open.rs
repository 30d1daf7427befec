//! The primary figures of a run that are not decided yet: operations per second of each client
//! group without a schedule, and records per second of each load, over those of the base.

use crate::figures::group::Group;
use crate::figures::relative::RelativeTo;
use schemars::JsonSchema;
use serde::Serialize;

/// The primary figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Primaries {
    /// Figures that are compared with a base's.
    pub all: usize,
    /// Those that more pairs could decide.
    pub open: Vec<OpenFigure>,
}

/// A primary figure that is not decided.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OpenFigure {
    /// The engine's label.
    pub label: String,
    /// The label of its base.
    pub base: String,
    /// The phase or the client group, with the number of threads: `readers, 4 threads`.
    pub scope: String,
    /// About how many more pairs would decide; null: more than 1,000.
    pub more_pairs: Option<usize>,
}

impl Primaries {
    /// The primary figures of all groups.
    pub fn from_groups(groups: &[Group]) -> Self {
        let mut primaries = Self::default();
        for group in groups {
            let load = group.load.iter().map(|load| (&load.phase, &load.relative));
            let roles = group.runs.iter().flat_map(|run| &run.roles).filter(|role| !role.open_loop);
            let roles = roles.map(|role| (&role.role, &role.relative));
            for (scope, relative) in load.chain(roles) {
                primaries.add(group, scope, relative.as_ref());
            }
        }
        primaries
    }

    /// How many are decided.
    pub fn decided(&self) -> usize {
        self.all - self.open.len()
    }

    fn add(&mut self, group: &Group, scope: &str, relative: Option<&RelativeTo>) {
        let Some(relative) = relative.filter(|relative| relative.base != group.label) else {
            return;
        };
        self.all += 1;
        if relative.decided {
            return;
        }
        let scope = match group.threads_swept {
            Some(1) => format!("{scope}, 1 thread"),
            Some(threads) => format!("{scope}, {threads} threads"),
            None => scope.to_owned(),
        };
        let (label, base) = (group.label.clone(), relative.base.clone());
        self.open.push(OpenFigure { label, base, scope, more_pairs: relative.more_pairs });
    }
}
