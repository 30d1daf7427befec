//! A run as a host's part of a fleet: its figures, and the facts of the machine.

use crate::answers::summary::Summary;
use crate::answers::trend::entry::Entry;
use crate::judge::versus::differs::facts;
use kvdyno_record::host::{DriveHealth, settings};

/// Settings about how full or busy a machine is, not about its setup.
const NOT_SET_UP: [&str; 3] = [settings::VOLUME_USED, settings::LARGEST_FILE, settings::NO_DEVICE];

/// A host's run.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The figures.
    pub entry: Entry,
    /// The host's name.
    pub name: String,
    /// The machine's identity; null: the record has none.
    pub machine_id: Option<String>,
    /// Facts that may explain differences between two hosts, by name.
    pub facts: Vec<(String, String)>,
    /// The drive's own report of its health.
    pub drive_health: Option<String>,
}

impl Member {
    /// A run's figures and facts; or the findings that void its figures.
    ///
    /// # Errors
    /// The names of those findings.
    pub fn from_summary(summary: &Summary) -> Result<Self, Vec<String>> {
        let entry = Entry::from_summary(summary, None)?;
        let host = &summary.host;
        let health = host.drive.as_ref().and_then(|drive| drive.health.as_ref());
        let verdict = health.map(|health| if health.is_unwell() { "unwell" } else { "well" });
        let machine = facts(host).into_iter().filter(|(what, _)| *what != "host");
        let machine = machine.map(|(what, value)| (what.to_owned(), value));
        let verdict = verdict.map(|verdict| ("drive's health".to_owned(), verdict.to_owned()));
        let programs = [("kvdyno".to_owned(), entry.program.clone())];
        let settings =
            host.settings.iter().filter(|(what, _)| !NOT_SET_UP.contains(&what.as_str()));
        let settings = settings.map(|(what, value)| (what.clone(), value.clone()));
        let facts = machine.chain(verdict).chain(programs).chain(entry.engines.clone());
        Ok(Self {
            facts: facts.chain(settings).collect(),
            drive_health: health.map(DriveHealth::to_text),
            name: host.hostname.clone(),
            machine_id: host.machine_id.clone(),
            entry,
        })
    }
}
