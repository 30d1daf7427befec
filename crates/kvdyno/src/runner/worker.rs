//! A worker process as the runner talks to it: lines out, events in, its log kept.

use super::count;
use crate::workers;
use kvdyno_host::child::{Child, ExitStatus};
use kvdyno_host::group::Group;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::crew::Crew;
use kvdyno_record::protocol::{Control, Event};
use kvdyno_record::redact::redact;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a worker's pipes are listened to after its end: what it started may hold them open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Between two looks at one that is about to end.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// No event is longer: more is not taken in at once.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// This much is shown of a line that is no event.
const NONSENSE_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) enum WorkerMessage {
    Event(Box<Event>),
    Nonsense(String),
    /// Nothing for a while.
    Silence,
    /// It has closed its end: it is over, or about to be.
    End,
}

pub(super) struct Worker {
    child: Child,
    /// Until it is closed: the worker then hears no more.
    input: Option<ChildStdin>,
    heard: Receiver<WorkerMessage>,
    threads: Vec<JoinHandle<()>>,
    /// When it was first seen to have ended.
    ended: Option<Instant>,
    /// Of a crew: temporary files of its launcher. Dropped after the child.
    _folder: Option<TempDir>,
}

impl Worker {
    /// Starts the program with a command, inside `group` from its first instruction; its standard
    /// error goes to `log`.
    pub(super) fn start(
        identity: &WorkerIdentity,
        word: &str,
        group: Option<&Group>,
        log: File,
    ) -> io::Result<Self> {
        Self::spawn(workers::command(identity, word), group, log)
    }

    /// Starts it under valgrind, whose counts come into a folder.
    pub(super) fn start_counted(
        identity: &WorkerIdentity,
        folder: &Path,
        group: Option<&Group>,
        log: File,
    ) -> io::Result<Self> {
        Self::spawn(count::counted(&workers::command(identity, "run"), folder), group, log)
    }

    /// Starts a crew of workers, which is to be talked with as one. What its launcher leaves in a
    /// folder for temporary files, which is made `at` the case, goes with it.
    pub(super) fn start_crew(
        crew: &Crew,
        identity: &WorkerIdentity,
        at: &Path,
        group: Option<&Group>,
        log: File,
    ) -> io::Result<Self> {
        let program =
            workers::find_crew(crew).map_err(|missing| io::Error::other(missing.message))?;
        let mut command = workers::crew_command(crew, &program, identity, "run");
        let folder = tempfile::Builder::new().prefix("launcher-").tempdir_in(at)?;
        command.env("TMPDIR", folder.path());
        let worker = Self::spawn(command, group, log)?;
        Ok(Self { _folder: Some(folder), ..worker })
    }

    fn spawn(command: Command, group: Option<&Group>, log: File) -> io::Result<Self> {
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
        let input = Some(input);
        let threads = vec![reader, logger];
        Ok(Self { child, input, heard, threads, ended: None, _folder: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Says go or stop. A worker that is dying does not listen; that is seen when it ends.
    pub(super) fn control(&mut self, control: Control) {
        let _ = self.send(&control);
    }

    pub(super) fn receive(&mut self, wait: Duration) -> WorkerMessage {
        match self.heard.recv_timeout(wait) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout) if self.is_over() => WorkerMessage::End,
            Err(RecvTimeoutError::Timeout) => WorkerMessage::Silence,
            Err(RecvTimeoutError::Disconnected) => WorkerMessage::End,
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

    /// Tells it that nothing more is to come.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Its process has ended, after a short wait where it has not.
    pub(super) fn has_ended(&mut self) -> bool {
        if matches!(self.child.poll(), Ok(None)) {
            std::thread::sleep(LOOK_EVERY);
        }
        !matches!(self.child.poll(), Ok(None))
    }

    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// Waits for its end, and for its last words.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        let exit = self.child.wait()?;
        let begun = Instant::now();
        while begun.elapsed() < LAST_WORDS && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(exit)
    }

    /// Hands it its job, or a word.
    pub(super) fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }
}

/// A worker may say anything; only its end, or ours, ends the listening.
fn read_events(output: impl Read, mut tell: impl FnMut(WorkerMessage) -> bool) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line).is_ok_and(|bytes| bytes > 0) {
        let heard = match serde_json::from_slice(&line) {
            Ok(event) => WorkerMessage::Event(Box::new(event)),
            Err(_) => WorkerMessage::Nonsense(shown(&line)),
        };
        if !tell(heard) {
            return;
        }
    }
}

/// The next line, or as much of it as is taken in at once.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)
}

fn shown(line: &[u8]) -> String {
    let start = &line[..line.len().min(4 * NONSENSE_CHARS_MAX)];
    String::from_utf8_lossy(start).trim_end().chars().take(NONSENSE_CHARS_MAX).collect()
}

/// Copies the worker's standard error into its log, line by line and without secrets; the pipe
/// must be drained or it would block, whatever becomes of the log.
fn keep_log(errors: impl Read, mut log: impl Write) {
    let mut reader = BufReader::new(errors);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line).is_ok_and(|bytes| bytes > 0) {
        let _ = match std::str::from_utf8(&line) {
            Ok(text) => log.write_all(redact(text).as_bytes()),
            Err(_) => log.write_all(redact(&String::from_utf8_lossy(&line)).as_bytes()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_messages(said: &[u8]) -> Vec<WorkerMessage> {
        let mut all = Vec::new();
        read_events(said, |heard| {
            all.push(heard);
            true
        });
        all
    }

    #[test]
    fn nonsense_is_heard_and_what_follows_too() {
        let all = read_messages(b"\xff\xfe\n\n{\"event\":\"closed\",\"took_ns\":7}\n{\"event\":");
        assert_eq!(all.len(), 4, "{all:?}");
        assert!(
            matches!(&all[0], WorkerMessage::Nonsense(line) if line == "\u{fffd}\u{fffd}"),
            "{all:?}"
        );
        let closed = Event::Closed { took_ns: 7 };
        assert!(matches!(&all[2], WorkerMessage::Event(event) if **event == closed));
        assert!(matches!(&all[3], WorkerMessage::Nonsense(_)));
    }

    #[test]
    fn the_log_has_no_secrets() {
        let mut log = Vec::new();
        keep_log(&b"connecting to x://me:secret@host/\n\xff end"[..], &mut log);
        let log = String::from_utf8(log).unwrap();
        assert_eq!(log, "connecting to x://***@host/\n\u{fffd} end");
    }
}
