//! The program's messages on standard input after the job: go, stop, or the end of input.

use crate::output::send;
use crate::usage;
use kvdyno_engine::{Counters, Error, ErrorClass, Result};
use kvdyno_record::protocol::{Control, Event};
use kvdyno_record::usage::ProcessUsage;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};

/// Set once the program stops the phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// The gate at which a prepared phase waits until the program has taken its readings.
pub(crate) struct Gate<'l> {
    phase: u32,
    listener: &'l Listener,
}

impl Gate<'_> {
    /// Reports that the phase is ready and waits for the order to go. Returns the worker's usage at
    /// that moment, so that work before it is not counted; none: the program stopped the phase.
    /// `counters` reads the engine's counters.
    pub(crate) fn pass(&self, counters: &dyn Fn() -> Counters) -> Result<Option<ProcessUsage>> {
        let (phase, usage, counters) = (self.phase, usage::read_process(), counters());
        send(&Event::Ready { phase, usage, counters })?;
        self.listener.wait_for_go()?;
        Ok((!self.stop().is_set()).then(usage::read_process))
    }

    /// Reports that a turn is over and waits for the next.
    pub(crate) fn end_turn(&self) -> Result<()> {
        send(&Event::TurnEnded { phase: self.phase })?;
        self.listener.wait_for_go()
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.listener.stop
    }
}

/// The program's orders, which a separate thread reads.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) stop: Stop,
    go: Receiver<()>,
}

impl Listener {
    /// Reads `input` until it ends. If it ends before the worker does, the program is dead and the
    /// worker exits too.
    pub(crate) fn start(mut input: impl BufRead + Send + 'static) -> Self {
        let (sender, go) = channel();
        let stop = Stop::default();
        let shared = stop.clone();
        std::thread::spawn(move || {
            let mut line = String::new();
            while input.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                match Control::from_json(&line) {
                    // Sending fails when the worker is done and the receiver is gone.
                    Ok(Control::Go) => {
                        let _ = sender.send(());
                    }
                    Ok(Control::Stop) => {
                        shared.0.store(true, Relaxed);
                        let _ = sender.send(());
                    }
                    Err(_) => break,
                }
                line.clear();
            }
            std::process::exit(1);
        });
        Self { stop, go }
    }

    /// The gate of a phase.
    pub(crate) fn gate(&self, phase: u32) -> Gate<'_> {
        Gate { phase, listener: self }
    }

    /// Waits for the order to go, or to stop.
    pub(crate) fn wait_for_go(&self) -> Result<()> {
        self.go.recv().map_err(|_| Error::new(ErrorClass::Other, "the program has ended"))
    }
}
