//! Of a conversation whose engine is a server: when the server stops and starts, and what becomes
//! of the case when it ends by itself.

use super::Talk;
use crate::runner::keeper::Complaint;
use crate::runner::worker::Worker;
use kvdyno_record::workload::{Activity, Phase};
use std::time::Duration;

/// A keeper has seen by then that its server has ended.
const SEEN_WITHIN: Duration = Duration::from_millis(500);

impl Talk<'_> {
    /// What happens while a client is away: its server stops, files are evicted, the server starts,
    /// with the options of a phase that has others.
    pub(super) fn start_anew(&mut self, phase: Option<&Phase>) -> Result<(), Complaint> {
        let environment = self.environment;
        if let Some(keeper) = &mut self.keeper {
            keeper.halt(environment)?;
        }
        let mut options = &environment.case.options;
        match phase.map(|phase| &phase.work) {
            Some(Activity::Evict) => {
                let words = self.evict();
                if let Some(begun) = &mut self.current {
                    begun.evicted = Some(words);
                }
            }
            Some(Activity::Reopen { options: others }) => options = others,
            _ => {}
        }
        let Some(keeper) = &mut self.keeper else { return Ok(()) };
        keeper.serve(environment, options)
    }

    /// A server that ends by itself takes its case along.
    pub(super) fn look_at_server(&mut self, worker: &Worker) {
        let keeper = self.keeper.as_mut().filter(|_| !self.ending.server_gone);
        if let Some((class, message)) = keeper.and_then(|keeper| keeper.complaint(Duration::ZERO)) {
            self.ending.server_gone = true;
            self.fail(class, message);
            self.kill(worker);
        }
    }

    /// The client has gone; its server goes in order, where it can.
    pub(in crate::runner) fn end_server(&mut self) {
        let Some(mut keeper) = self.keeper.take() else { return };
        if let Some((class, clients)) = self.ending.failure.take() {
            // A client hears sooner of its server's end than the keeper sees it.
            let gone = keeper.complaint(SEEN_WITHIN).filter(|_| !self.ending.server_gone);
            self.ending.server_gone |= gone.is_some();
            self.ending.failure = Some(match gone {
                Some((class, servers)) => (class, format!("{servers}; its client: {clients}")),
                None => (class, clients),
            });
        }
        let in_order = !self.ending.killed_by_us && !self.ending.server_gone;
        if let Some(Err((class, message))) = in_order.then(|| keeper.halt(self.environment)) {
            self.fail(class, message);
        }
        self.record.server = Some(keeper.end());
    }
}
