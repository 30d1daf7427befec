//! Of a conversation whose engine is a server: when the server stops and starts, and what becomes
//! of the case when it ends by itself.

use super::Talk;
use crate::runner::supervisor::{Complaint, Supervisor};
use crate::runner::worker::Worker;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::workload::Activity;
use std::time::Duration;

/// A supervisor has seen by then that its server has ended.
const SEEN_WITHIN: Duration = Duration::from_millis(500);

impl Talk<'_> {
    /// What happens while a client is away for a phase: its server stops, files are evicted, the
    /// server starts, with other options where the phase has them.
    pub(super) fn while_closed(&mut self, work: Option<&Activity>, worker: &Worker) {
        let opens_again = matches!(work, Some(Activity::Evict | Activity::Reopen { .. }));
        // One that was asked to stop has closed for good.
        if !opens_again || self.stopping.is_some() {
            return;
        }
        let halted = self.supervisor.as_mut().map(Supervisor::halt);
        if matches!(work, Some(Activity::Evict)) && !matches!(halted, Some(Err(_))) {
            let words = self.evict();
            if let Some(begun) = &mut self.current {
                begun.evicted = Some(words);
            }
        }
        let serve = |supervisor: &mut Supervisor| {
            if let Some(Activity::Reopen { options }) = work {
                supervisor.options.clone_from(options);
            }
            supervisor.serve()
        };
        let done =
            halted.unwrap_or(Ok(())).and_then(|()| self.supervisor.as_mut().map_or(Ok(()), serve));
        if let Err(why) = done {
            self.server_failed(why, worker);
        }
    }

    /// A server that ends by itself takes its case along.
    pub(super) fn look_at_server(&mut self, worker: &Worker) {
        let supervisor = self.supervisor.as_mut().filter(|_| self.ending.server.is_none());
        if let Some(why) = supervisor.and_then(|supervisor| supervisor.complaint(Duration::ZERO)) {
            self.server_failed(why, worker);
        }
    }

    fn server_failed(&mut self, why: Complaint, worker: &Worker) {
        self.ending.server = Some(why);
        self.kill(worker);
    }

    /// The client has gone; its server goes in order, where it can.
    pub(in crate::runner) fn end_server(&mut self) {
        let Some(mut supervisor) = self.supervisor.take() else { return };
        if self.ending.server.is_none() && self.ending.failure.is_some() {
            // A client hears sooner of its server's end than the supervisor sees it.
            self.ending.server = supervisor.complaint(SEEN_WITHIN);
        }
        if self.ending.server.is_none() && !self.ending.killed_by_us {
            self.ending.server = supervisor.halt().err();
        }
        // What the client says of it follows from it.
        if let Some(Complaint { class, message: servers, .. }) = self.ending.server.clone() {
            // That the volume is full or fails either of them may have been told.
            let telling = |class: &ErrorClass| {
                matches!(class, ErrorClass::Full | ErrorClass::Io | ErrorClass::Memory)
            };
            self.ending.failure = Some(match self.ending.failure.take() {
                Some((clients, words)) => {
                    let class = if telling(&clients) { clients } else { class };
                    (class, format!("{servers}; its client: {words}"))
                }
                None => (class, servers),
            });
        }
        let (record, left) = supervisor.end();
        self.record.not_measured.extend(left);
        self.record.server = Some(record);
    }
}
