//! Conversations whose engine is a server: its stop and start, and the end of the case if the
//! server ends by itself.

use super::Talk;
use crate::running::runner::supervisor::{ServerFailure, Supervisor};
use crate::running::runner::worker::Worker;
use kvdyno_host::cache;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::workload::Activity;
use std::io::ErrorKind;
use std::time::Duration;

/// The time in which a supervisor notices its server's end.
const SEEN_WITHIN: Duration = Duration::from_millis(500);

impl Talk<'_> {
    /// Does what a phase requires while its engine is closed: stops the server, evicts files, and
    /// starts the server again, with other options if the phase has them.
    pub(super) fn evict_or_restart(&mut self, work: Option<&Activity>, worker: &Worker) {
        let evicts = match work {
            Some(Activity::Measure(mix)) => mix.entries().any(|entry| entry.op.is_cold()),
            work => matches!(work, Some(Activity::Evict)),
        };
        let opens_again = evicts || matches!(work, Some(Activity::Reopen { .. }));
        // After a request to stop, the engine has closed for good.
        if !opens_again || self.stopping.is_some() {
            return;
        }
        let halted = self.supervisor.as_mut().map(Supervisor::halt);
        if evicts && !matches!(halted, Some(Err(_))) {
            let words = self.evict();
            if let Some(begun) = &mut self.current {
                begun.evicted = Some(words);
            }
            self.hold_limit(worker);
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

    fn evict(&mut self) -> String {
        let eviction = cache::evict(&self.environment.site.path);
        let caveat = match eviction.as_ref().map(|eviction| (eviction.is_cold(), &eviction.left)) {
            Ok((false, Ok(residency))) => {
                let percent = 100.0 * cache::resident_share(residency);
                Some(format!("after eviction {percent:.0} % of the database was still cached"))
            }
            Ok((true, Ok(_))) => None,
            Ok((_, Err(error))) => Some(format!("cached after eviction: {error}")),
            Err(error) => Some(format!("cannot empty the page cache: {error}")),
        };
        self.record.not_measured.extend(caveat);
        eviction.map_or_else(|error| format!("failed: {error}"), |eviction| eviction.words)
    }

    /// Puts the RAM limit in force, if it begins with the current phase.
    fn hold_limit(&mut self, worker: &Worker) {
        let from = self.environment.case.ram_limit_from as usize;
        let begins = from > 0 && self.current.as_ref().is_some_and(|begun| begun.index == from);
        let Some(Err(error)) = begins.then(|| self.memory.enforce_limit()) else { return };
        if error.kind() == ErrorKind::ResourceBusy {
            let message = "it holds more memory than its RAM limit after the load".to_owned();
            self.fail(ErrorClass::Memory, message);
            self.kill(worker);
        } else {
            self.refuse(format!("cannot limit RAM after the load: {error}"), worker);
        }
    }

    /// A case ends with its server.
    pub(super) fn check_server(&mut self, worker: &Worker) {
        let supervisor = self.supervisor.as_mut().filter(|_| self.ending.server.is_none());
        if let Some(why) = supervisor.and_then(|supervisor| supervisor.failure(Duration::ZERO)) {
            self.server_failed(why, worker);
        }
    }

    fn server_failed(&mut self, why: ServerFailure, worker: &Worker) {
        self.ending.server = Some(why);
        self.kill(worker);
    }

    /// Stops the server cleanly, if possible, after its client has ended.
    pub(in crate::running::runner) fn end_server(&mut self) {
        let Some(mut supervisor) = self.supervisor.take() else { return };
        if self.ending.server.is_none() && self.ending.failure.is_some() {
            // A client notices its server's end before the supervisor does.
            self.ending.server = supervisor.failure(SEEN_WITHIN);
        }
        if self.ending.server.is_none() && !self.ending.killed_by_us {
            self.ending.server = supervisor.halt().err();
        }
        // The client's error follows from the server's.
        if let Some(ServerFailure { class, message, .. }) = self.ending.server.clone() {
            // Server or client may have reported that the volume is full or fails.
            let telling = |class: &ErrorClass| {
                matches!(class, ErrorClass::Full | ErrorClass::Io | ErrorClass::Memory)
            };
            self.ending.failure = Some(match self.ending.failure.take() {
                Some((client_class, words)) => {
                    let class = if telling(&client_class) { client_class } else { class };
                    (class, format!("{message}; its client: {words}"))
                }
                None => (class, message),
            });
        }
        let (record, errors) = supervisor.end();
        self.record.not_measured.extend(errors);
        self.record.server = Some(record);
    }
}
