//! The tortured engine: its worker, its options, and its two commands.

use anyhow::Context as _;
use kvdyno_host::child::{Child, ExitStatus};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{BatchKind, Durability, Location, Options};
use kvdyno_record::pledge::{Pledge, Pledged, Recovered, Units, Victim as Opened};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writes of all writers together.
const WRITES: u64 = 1600;

/// The database is closed and opened again this often during the writes.
const SITTINGS: u64 = 3;

/// The page cache is written back after this many writes of one writer.
const WRITEBACK_EVERY: u64 = 60;

/// A database that is not opened and read in this time hangs: it has a few hundred records.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// The kernel closes a killed process's files after its end; those of `io_uring` a moment later. A
/// database that reports to be in use is tried again for this long.
const LETTING_GO_MAX: Duration = Duration::from_secs(5);

/// The time limit of a durability test, which takes seconds.
const PLEDGE_MAX: Duration = Duration::from_secs(120);

/// An engine in one class.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    pub(super) name: String,
    pub(super) worker: WorkerIdentity,
    pub(super) options: Options,
    pub(super) units: Units,
}

/// A started worker, and its output.
pub(super) struct RunningWorker {
    child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
    begun: Instant,
}

/// The end of a worker.
pub(super) struct WorkerExit {
    /// The worker's exit status; none: it was killed after its time limit.
    pub(super) exit: Option<ExitStatus>,
    out: String,
    err: String,
}

/// The result of a recovery.
pub(super) enum Recovery {
    /// The worker replied, possibly with the reason why the database could not be opened.
    Answered(Recovered),
    /// The worker crashed or hung.
    Crashed(String),
}

/// The result of a durability test.
pub(super) enum PledgeOutcome {
    /// The worker ran to its end, possibly with errors of the engine.
    Done(Pledged),
    /// The worker crashed or hung.
    Crashed(String),
}

impl Victim {
    pub(super) fn class(&self) -> Durability {
        self.options.durability
    }

    /// Whether its batches are atomic, by its description.
    pub(super) fn is_atomic(&self) -> bool {
        self.worker.description.engine.capabilities.batch == BatchKind::Atomic
    }

    /// `lmdb commit`.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.class().as_str())
    }

    /// Starts to write into a database in `dir`.
    pub(super) fn pledge(
        &self,
        dir: &Path,
        acknowledgements: PathBuf,
    ) -> anyhow::Result<RunningWorker> {
        let pledge = Pledge {
            victim: self.opened_database(dir),
            writes: (WRITES / self.units.writers).max(2 * self.units.units_each()),
            sittings: SITTINGS,
            writeback_every: WRITEBACK_EVERY,
            acknowledgements,
        };
        self.start("pledge", &pledge.to_line()?)
    }

    /// Opens and reads the database in `dir`.
    pub(super) fn recover(&self, dir: &Path) -> anyhow::Result<Recovery> {
        let ended =
            self.start("recover", &self.opened_database(dir).to_line()?)?.wait(RECOVERY_MAX)?;
        let read = Recovered::from_json(&ended.out);
        Ok(match read.ok().filter(|_| ended.is_success()) {
            Some(recovered) => Recovery::Answered(recovered),
            None => Recovery::Crashed(ended.describe_failure()),
        })
    }

    /// Opens and reads the database in `dir` after the engine's process was killed.
    pub(super) fn recover_killed(&self, dir: &Path) -> anyhow::Result<Recovery> {
        let begun = Instant::now();
        loop {
            match self.recover(dir)? {
                Recovery::Answered(recovered)
                    if recovered.readings.is_empty() && begun.elapsed() < LETTING_GO_MAX =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return Ok(other),
            }
        }
    }

    fn opened_database(&self, dir: &Path) -> Opened {
        let capabilities = &self.worker.description.engine.capabilities;
        Opened {
            location: Location::Directory(dir.to_owned()),
            options: self.options.clone(),
            units: self.units,
            // An engine that stores nothing would return any number of records, forever.
            walks: capabilities.scan_forward && !capabilities.stores_nothing,
        }
    }

    fn start(&self, word: &str, line: &[u8]) -> anyhow::Result<RunningWorker> {
        let mut command = Command::new(&self.worker.path);
        command.arg(word);
        if let Some(library) = &self.worker.library {
            command.arg("--library").arg(&library.path);
        }
        let failed = || format!("failed to start {} {word}", self.worker.path.display());
        let mut child = Child::spawn(command, None).with_context(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(out), Some(err)) = pipes else {
            anyhow::bail!("the child has no pipes");
        };
        // The end of a dead worker is reported later.
        let _ = stdin.write_all(line);
        let (out, err, begun) = (read(out), read(err), Instant::now());
        Ok(RunningWorker { child, out, err, begun })
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl RunningWorker {
    /// Kills the worker and its children.
    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// Waits until `limit` after the start, and returns whether the worker ended by itself.
    pub(super) fn ends_within(&mut self, limit: Duration) -> anyhow::Result<bool> {
        loop {
            if self.child.poll()?.is_some() {
                return Ok(true);
            }
            let time_left = limit.saturating_sub(self.begun.elapsed());
            if time_left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(time_left.min(Duration::from_millis(1)));
        }
    }

    /// Waits for the worker's end; kills it after the limit.
    pub(super) fn wait(mut self, limit: Duration) -> anyhow::Result<WorkerExit> {
        let in_time = self.ends_within(limit)?;
        if !in_time {
            self.child.kill();
        }
        let exit = self.child.wait()?;
        let [out, err] = [self.out, self.err].map(|reader| reader.join().unwrap_or_default());
        Ok(WorkerExit { exit: in_time.then_some(exit), out, err })
    }

    /// Waits for the end of a durability test on a drive that may stall.
    pub(super) fn finish(self, pause: Duration) -> anyhow::Result<PledgeOutcome> {
        let ended = self.wait(PLEDGE_MAX + pause)?;
        if ended.exit.as_ref().is_some_and(|exit| exit.code == Some(2)) {
            anyhow::bail!(
                "the worker does not support torture: {}; rebuild it with this version's \
                 kvdyno-worker",
                ended.err.lines().next().unwrap_or("it has no command `pledge`")
            );
        }
        Ok(match Pledged::from_json(&ended.out).ok().filter(|_| ended.is_success()) {
            Some(done) => PledgeOutcome::Done(done),
            None => PledgeOutcome::Crashed(ended.describe_failure()),
        })
    }
}

impl WorkerExit {
    fn is_success(&self) -> bool {
        self.exit.as_ref().is_some_and(ExitStatus::is_success)
    }

    /// The reason why there is no reply.
    fn describe_failure(&self) -> String {
        let message = self.err.trim().lines().last().unwrap_or_default();
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        match &self.exit {
            None => format!("it hung{message}"),
            Some(ExitStatus { signal: Some(signal), .. }) => {
                format!("it crashed by signal {signal}{message}")
            }
            Some(exit) => format!("it ended with code {}{message}", exit.code.unwrap_or_default()),
        }
    }
}
