//! Messages between ranks: the first gives [`Order`]s, all [`Report`]. JSON, as between program
//! and worker.

use crate::slices::RankSlice;
use kvdyno_engine::ErrorClass;
use kvdyno_record::files::sha256;
use kvdyno_record::protocol::{Event, Job};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// An order to every rank, also the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "order")]
pub enum Order {
    /// Hand the worker its job.
    Begin(Box<Begin>),
    /// Send go to the worker.
    Go,
    /// Wait until every rank is ready, then send go; slices of the phase are gathered from here on.
    GoTogether {
        /// The phase's name.
        phase: String,
    },
    /// Send stop to the worker.
    Stop,
    /// Send stop to the worker if it is still in the phase: another rank has failed there.
    Cut,
    /// Answer pings until there are no more.
    Pings {
        /// The number of pings.
        count: u32,
    },
    /// End, and kill the worker if it still runs.
    End,
}

/// The job, and what else a worker needs of the first rank's machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// The job as the program sent it; its directory is the first rank's.
    pub job: Job,
    /// Name and value of the environment variable with the server's URL; null: the worker needs
    /// none.
    pub variable: Option<(String, String)>,
    /// The checksum of the first rank's worker; all ranks must have the same worker.
    pub worker: String,
}

impl Begin {
    /// Returns what all ranks need to know of a job and of the worker's command. A worker attached
    /// to a server finds its URL in a variable.
    pub fn new(job: Job, command: &[OsString]) -> io::Result<Self> {
        let mut words = command.iter().filter_map(|word| word.to_str());
        let name = words.find_map(|word| word.strip_prefix("env:"));
        let variable = name.map(read_variable).transpose()?;
        Ok(Self { job, variable, worker: worker_checksum(command)? })
    }
}

fn read_variable(name: &str) -> io::Result<(String, String)> {
    let named = |error| io::Error::other(format!("{name}: {error}"));
    Ok((name.to_owned(), std::env::var(name).map_err(named)?))
}

/// Returns the checksum of the worker that a command starts.
pub fn worker_checksum(command: &[OsString]) -> io::Result<String> {
    let path = command.first().ok_or(io::ErrorKind::InvalidInput)?;
    sha256(Path::new(path)).map_err(io::Error::other)
}

/// A report of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "report")]
#[expect(clippy::large_enum_variant, reason = "a few a second; boxes would only be in the way")]
pub enum Report {
    /// The rank's machine.
    Host {
        /// The name that the machine has for itself.
        name: String,
        /// The number of processors that the rank may use.
        cpus: u32,
    },
    /// An event of its worker.
    Event {
        /// The event.
        event: Event,
    },
    /// The worker has ended, or cannot continue.
    Lost {
        /// The class of the error.
        class: ErrorClass,
        /// The error message.
        message: String,
    },
    /// The worker has ended in order.
    Ended,
}

/// Some slices of a rank and of the ranks below it: its answer to the rank above.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slices {
    /// The slices, in order.
    pub slices: Vec<RankSlice>,
    /// Whether the phase has no more slices.
    pub last: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coordinator::tests::job;

    #[test]
    fn a_crew_begins_with_the_url_of_its_server() {
        let begin = |words: &[&str]| {
            let command: Vec<OsString> = words.iter().map(OsString::from).collect();
            Begin::new(job(), &command)
        };
        let error = begin(&["/bin/sh", "run", "env:NO_SUCH_URL"]).unwrap_err().to_string();
        assert_eq!(error, "NO_SUCH_URL: environment variable not found");
        let path = std::env::var("PATH").unwrap();
        let variable = begin(&["/bin/sh", "run", "env:PATH"]).unwrap().variable;
        assert_eq!(variable, Some(("PATH".to_owned(), path)));
        assert_eq!(begin(&["/bin/sh", "run"]).unwrap().variable, None);
    }
}
