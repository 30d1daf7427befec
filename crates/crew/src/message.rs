//! Messages between ranks: the first gives [`Order`]s, all [`Report`]. JSON, as between program
//! and worker.

use crate::slices::RankSlice;
use kvdyno_engine::ErrorClass;
use kvdyno_record::protocol::{Event, Job};
use serde::{Deserialize, Serialize};

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
    /// Only where the worker is still in the phase: another rank has failed there.
    Cut,
    /// Answer pings until there are no more.
    Pings {
        /// How many.
        count: u32,
    },
    /// End: kill the worker where it still runs.
    End,
}

/// The job, and what else a worker needs of the first rank's machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// As the program gave it; its directory is the first rank's.
    pub job: Job,
    /// An environment variable that the worker is to read the server's URL from.
    pub variable: Option<(String, String)>,
    /// Checksum of the first rank's worker: all have the same.
    pub worker: String,
}

/// A report of a rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "report")]
#[expect(clippy::large_enum_variant, reason = "a few a second; boxes would only be in the way")]
pub enum Report {
    /// The machine it is on, by the name that this has for itself.
    Host {
        /// The name.
        name: String,
        /// Processors that it may use there.
        cpus: u32,
    },
    /// An event of its worker.
    Event {
        /// The event.
        event: Event,
    },
    /// The worker has ended, or cannot continue.
    Lost {
        /// What it was.
        class: ErrorClass,
        /// In words.
        message: String,
    },
    /// The worker has ended in order.
    Ended,
}

/// Some slices of a rank and of those below it, as it answers the one above.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slices {
    /// In order.
    pub slices: Vec<RankSlice>,
    /// There are no more of the phase.
    pub last: bool,
}
