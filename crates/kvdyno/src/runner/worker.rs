//! A worker process as the runner talks to it: lines out, events in, its log kept.

use crate::host::child::{Child, Exit};
use crate::host::group::Group;
use kvdyno_record::protocol::{Control, Event, Job};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a worker's pipes are listened to after its end: what it started may hold them open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What comes from a worker.
#[derive(Debug)]
pub(super) enum Heard {
    /// An event.
    Event(Box<Event>),
    /// A line that is not one.
    Nonsense(String),
    /// Nothing for a while.
    Silence,
    /// It has closed its end: it is over, or about to be.
    End,
}

/// A running worker.
pub(super) struct Worker {
    child: Child,
    input: ChildStdin,
    heard: Receiver<Heard>,
    threads: Vec<JoinHandle<()>>,
    /// When it was first seen to have ended.
    ended: Option<Instant>,
}

impl Worker {
    /// Starts `program run`, inside `group` from its first instruction; its standard error goes to
    /// `log`.
    pub(super) fn start(program: &Path, group: Option<&Group>, log: File) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("run");
        let mut child = Child::spawn(command, group)?;
        let gone = || io::Error::other("the child has no pipes");
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = child.stdout.take().ok_or_else(gone)?;
        let errors = child.stderr.take().ok_or_else(gone)?;
        let (sender, heard) = channel();
        let reader = std::thread::spawn(move || {
            read_events(output, |heard| sender.send(heard).is_ok());
        });
        let logger = std::thread::spawn(move || keep_log(errors, log));
        Ok(Self { child, input, heard, threads: vec![reader, logger], ended: None })
    }

    /// Its process number.
    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Hands it its job.
    pub(super) fn give(&mut self, job: &Job) -> io::Result<()> {
        self.say(job)
    }

    /// Says go or stop. A worker that is dying does not listen; that is seen when it ends.
    pub(super) fn control(&mut self, control: Control) {
        let _ = self.say(&control);
    }

    /// What it says next.
    pub(super) fn hear(&mut self, wait: Duration) -> Heard {
        match self.heard.recv_timeout(wait) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) if self.is_over() => Heard::End,
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    /// It has ended and said its last. Looking takes what it left in its process group with it,
    /// and so closes the pipes that those have inherited.
    fn is_over(&mut self) -> bool {
        if self.ended.is_none() && matches!(self.child.poll(), Ok(Some(_))) {
            self.ended = Some(Instant::now());
        }
        self.ended.is_some_and(|ended| ended.elapsed() > LAST_WORDS)
    }

    /// Ends it at once.
    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// Waits for its end, and for its last words.
    pub(super) fn wait(mut self) -> io::Result<Exit> {
        let exit = self.child.wait()?;
        let begun = Instant::now();
        while begun.elapsed() < LAST_WORDS && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(exit)
    }

    fn say(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.input.write_all(&line)
    }
}

fn read_events(output: ChildStdout, mut tell: impl FnMut(Heard) -> bool) {
    let mut reader = BufReader::new(output);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
        let heard = match serde_json::from_str(&line) {
            Ok(event) => Heard::Event(Box::new(event)),
            Err(_) => Heard::Nonsense(line.trim_end().to_owned()),
        };
        if !tell(heard) {
            return;
        }
        line.clear();
    }
}

/// Copies the worker's standard error into its log; the pipe must be drained or it would block.
fn keep_log(mut errors: ChildStderr, mut log: File) {
    let _ = io::copy(&mut errors, &mut log);
}
