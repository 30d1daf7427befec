//! The user's own databases. Their contents are known once a copy has been examined.

use crate::plan::options::{self, Measures};
use crate::written::mistake::{Mistakes, SuiteError};
use crate::written::suite::Suite;
use crate::written::worker::{Engines, InstalledWorker};
use kvdyno_record::engine::Options;
use kvdyno_record::origin::Origin;
use kvdyno_record::units;
use std::path::{Path, PathBuf};

/// The default number of keys that requests use.
const KEYS_MAX: u64 = 1_000_000;

/// The user's own database, and how the suite opens it.
#[derive(Clone, Debug)]
pub struct OwnDatabase<'s> {
    /// The directory of the database.
    pub path: PathBuf,
    /// The engine's name.
    pub engine: &'s str,
    /// The engine's worker.
    pub worker: &'s InstalledWorker,
    /// The engine's options.
    pub options: Options,
    /// The most keys to list.
    pub keys_max: u64,
    /// The file with the keys to request; none: they are drawn from the database.
    pub keys_file: Option<PathBuf>,
}

impl Suite {
    /// Returns whether it measures the user's own database. Then the caller must use
    /// [`Self::read_databases`].
    pub fn has_own_database(&self) -> bool {
        self.parts.iter().any(|part| part.typed.data.from.is_some())
    }

    /// Calls `look` on each database that the suite names; its `Err` is the reason that the
    /// database cannot be measured.
    pub fn read_databases(
        &mut self,
        engines: &Engines,
        memory_bytes: u64,
        look: impl Fn(&OwnDatabase<'_>) -> Result<Origin, String>,
    ) -> Result<(), SuiteError> {
        let mut mistakes = Mistakes::default();
        let mut notes = Vec::new();
        for part in &mut self.parts {
            let (typed, scale) = (&mut part.typed, part.scale);
            let (Some(from), Some(engine)) = (&mut typed.data.value.from, typed.engine.first())
            else {
                continue;
            };
            // A worker that is missing is reported when the plan is made.
            let Some(Ok(worker)) = engines.get(&engine.name.0, &engine.pick.value) else {
                continue;
            };
            let measures = Measures { memory: memory_bytes, is_limited: false, scale };
            let database = OwnDatabase {
                path: Path::new(from.path.as_str()).to_owned(),
                engine: &engine.name.0,
                worker,
                options: options::resolve(engine, worker.engine(), measures, &mut mistakes),
                keys_max: from.keys.as_ref().map_or(KEYS_MAX, |keys| keys.0),
                keys_file: from.keys_file.as_ref().map(|file| Path::new(file.as_str()).to_owned()),
            };
            match look(&database) {
                Ok(origin) => {
                    notes.push(note(&origin));
                    from.value.origin = Some(origin);
                }
                Err(why) => {
                    mistakes.at(&from.path.span, why).label("expected a database to measure");
                }
            }
        }
        self.notes.extend(notes);
        mistakes.into_result(&self.source)
    }
}

fn note(origin: &Origin) -> String {
    let [records, keys] = [origin.sample.records, origin.sample.keys].map(units::group_digits);
    let path = origin.path.display();
    // Each key takes 12 bytes more, for its length and its end.
    let list = origin.sample.keys as f64 * (origin.sample.key_bytes.mean() + 12.0);
    let list = units::bytes(list as u64);
    format!(
        "a copy of {path}: {records} records; requests ask for {keys} of their keys, whose list \
         takes {list} of the RAM limit"
    )
}
