//! Which databases are there, and what has worked on them since their load.

use kvdyno_record::plan::Case;
use std::collections::BTreeMap;

/// The databases of a run, as this process knows them.
#[derive(Debug, Default)]
pub struct Databases {
    /// By id: the cases that have worked on it.
    loaded: BTreeMap<String, Vec<String>>,
}

impl Databases {
    /// It was loaded, and nothing has spoiled it.
    pub(super) fn is_loaded(&self, id: &str) -> bool {
        self.loaded.contains_key(id)
    }

    /// The cases that have worked on it, in order.
    pub(super) fn used_by(&self, id: &str) -> Vec<String> {
        self.loaded.get(id).cloned().unwrap_or_default()
    }

    /// A case has worked on its database. One that ended badly leaves a database in a state that no
    /// other case should start from.
    pub(super) fn used(&mut self, case: &Case, well: bool) {
        if well {
            self.loaded.entry(case.database.id.clone()).or_default().push(case.id.clone());
        } else {
            self.forget(&case.database.id);
        }
    }

    /// It is gone, or must not be used any more.
    pub(super) fn forget(&mut self, id: &str) {
        self.loaded.remove(id);
    }
}
