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
