//! A worker process for the runner: sends lines, receives events, stores its log.

use super::count;
use crate::running::workers;
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

/// How long a worker's pipes are read after its end: its children may hold them open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Interval of checks of a worker that is about to end.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Upper bound of an event's length.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Characters shown of a line that is no event.
const NONSENSE_CHARS_MAX: usize = 200;

#[derive(Debug)]
pub(super) enum WorkerMessage {
    Event(Box<Event>),
    Nonsense(String),
    /// No message for a while.
    Silence,
    /// The worker has closed its output: it has ended, or is about to.
    End,
}

pub(super) struct Worker {
    child: Child,
    /// The worker's input; `None` after it was closed.
    input: Option<ChildStdin>,
    messages: Receiver<WorkerMessage>,
    threads: Vec<JoinHandle<()>>,
    /// When its end was first noticed.
    ended: Option<Instant>,
    /// The temporary files of a crew's launcher; `None` for a single worker. Dropped after the
    /// child.
    _dir: Option<TempDir>,
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

    /// Starts a worker under valgrind, which writes its counts into `dir`.
    pub(super) fn start_counted(
        identity: &WorkerIdentity,
        dir: &Path,
        group: Option<&Group>,
        log: File,
    ) -> io::Result<Self> {
        Self::spawn(count::valgrind_command(&workers::command(identity, "run"), dir), group, log)
    }

    /// Starts a crew, which exchanges messages like a single worker. The launcher's temporary files
    /// go into a directory in `case_dir`, which is removed with the crew.
    pub(super) fn start_crew(
        crew: &Crew,
        identity: &WorkerIdentity,
        case_dir: &Path,
        group: Option<&Group>,
        log: File,
    ) -> io::Result<Self> {
        let program =
            workers::find_crew(crew).map_err(|missing| io::Error::other(missing.message))?;
        let mut command = workers::crew_command(crew, &program, identity, "run");
        let dir = tempfile::Builder::new().prefix("launcher-").tempdir_in(case_dir)?;
        command.env("TMPDIR", dir.path());
        let worker = Self::spawn(command, group, log)?;
        Ok(Self { _dir: Some(dir), ..worker })
    }

    fn spawn(command: Command, group: Option<&Group>, log: File) -> io::Result<Self> {
        let mut child = Child::spawn(command, group)?;
        let no_pipes = || io::Error::other("the child has no pipes");
        let input = child.stdin.take().ok_or_else(no_pipes)?;
        let output = child.stdout.take().ok_or_else(no_pipes)?;
        let errors = child.stderr.take().ok_or_else(no_pipes)?;
        let (sender, messages) = channel();
        let reader = std::thread::spawn(move || {
            read_events(output, |message| sender.send(message).is_ok());
        });
        let logger = std::thread::spawn(move || copy_log(errors, log));
        let input = Some(input);
        let threads = vec![reader, logger];
        Ok(Self { child, input, messages, threads, ended: None, _dir: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// Sends go or stop. A dying worker does not read it; its end is handled later.
    pub(super) fn control(&mut self, control: Control) {
        let _ = self.send(&control);
    }

    pub(super) fn receive(&mut self, wait: Duration) -> WorkerMessage {
        match self.messages.recv_timeout(wait) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) if self.is_over() => WorkerMessage::End,
            Err(RecvTimeoutError::Timeout) => WorkerMessage::Silence,
            Err(RecvTimeoutError::Disconnected) => WorkerMessage::End,
        }
    }

    /// Whether it has ended and all of its messages are read. The check also kills its process
    /// group, and so closes inherited pipes.
    fn is_over(&mut self) -> bool {
        if self.ended.is_none() && matches!(self.child.poll(), Ok(Some(_))) {
            self.ended = Some(Instant::now());
        }
        self.ended.is_some_and(|ended| ended.elapsed() > LAST_WORDS)
    }

    /// Closes its input.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Whether its process has ended, after a short wait.
    pub(super) fn has_ended(&mut self) -> bool {
        if matches!(self.child.poll(), Ok(None)) {
            std::thread::sleep(LOOK_EVERY);
        }
        !matches!(self.child.poll(), Ok(None))
    }

    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// Waits for its end, and reads its last messages.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        let exit = self.child.wait()?;
        let begun = Instant::now();
        while begun.elapsed() < LAST_WORDS && !self.threads.iter().all(JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(exit)
    }

    /// Sends its job, or a command.
    pub(super) fn send(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }
}

/// Reads events until the output ends or the receiver is gone. Invalid messages do not end the
/// reading.
fn read_events(output: impl Read, mut on_message: impl FnMut(WorkerMessage) -> bool) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while read_line(&mut reader, &mut line).is_ok_and(|bytes| bytes > 0) {
        let message = match serde_json::from_slice(&line) {
            Ok(event) => WorkerMessage::Event(Box::new(event)),
            Err(_) => WorkerMessage::Nonsense(line_excerpt(&line)),
        };
        if !on_message(message) {
            return;
        }
    }
}

/// The next line, up to its maximum length.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    line.clear();
    reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)
}

fn line_excerpt(line: &[u8]) -> String {
    let start = &line[..line.len().min(4 * NONSENSE_CHARS_MAX)];
    String::from_utf8_lossy(start).trim_end().chars().take(NONSENSE_CHARS_MAX).collect()
}

/// Copies the worker's standard error into its log, line by line and without secrets. The pipe must
/// be drained even if the log fails, otherwise the worker would block.
fn copy_log(errors: impl Read, mut log: impl Write) {
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

    fn read_messages(output: &[u8]) -> Vec<WorkerMessage> {
        let mut all = Vec::new();
        read_events(output, |message| {
            all.push(message);
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
        let WorkerMessage::Event(event) = &all[2] else { panic!("{all:?}") };
        assert_eq!(**event, Event::Closed { took_ns: 7 });
        assert!(matches!(&all[3], WorkerMessage::Nonsense(_)));
    }

    #[test]
    fn the_log_has_no_secrets() {
        let mut log = Vec::new();
        copy_log(&b"connecting to x://me:secret@host/\n\xff end"[..], &mut log);
        let log = String::from_utf8(log).unwrap();
        assert_eq!(log, "connecting to x://***@host/\n\u{fffd} end");
    }
}
