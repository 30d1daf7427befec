//! The engine that is tortured: its worker, what it is opened with, and its two commands.

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

/// The database is closed and opened again so often while it is written.
const SITTINGS: u64 = 3;

/// What waits in the page cache is written out after so many writes of one writer.
const WRITEBACK_EVERY: u64 = 60;

/// A database that is not opened and read after this time hangs: it has a few hundred records.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// What a killed process had open the kernel lets go of behind its end: of what `io_uring` had, a
/// moment later. A database that says it is in use is tried again for so long.
const LETTING_GO_MAX: Duration = Duration::from_secs(5);

/// A pledge takes seconds.
const PLEDGE_MAX: Duration = Duration::from_secs(120);

/// An engine in one class.
#[derive(Clone, Debug)]
pub(super) struct Victim {
    pub(super) name: String,
    pub(super) worker: WorkerIdentity,
    pub(super) options: Options,
    pub(super) units: Units,
}

/// A worker that was started, and what it says.
pub(super) struct RunningWorker {
    child: Child,
    out: JoinHandle<String>,
    err: JoinHandle<String>,
    begun: Instant,
}

/// How it ended.
pub(super) struct Ended {
    /// None: it was killed after its time.
    pub(super) exit: Option<ExitStatus>,
    out: String,
    err: String,
}

/// What a recovery came to.
pub(super) enum Recovery {
    /// It answered; where it could not open, that was said.
    Answered(Recovered),
    /// It crashed or hung.
    Crashed(String),
}

/// What a pledge came to.
pub(super) enum PledgeOutcome {
    /// It ran to its end, with errors of the engine or without.
    Done(Pledged),
    /// It crashed or hung.
    Crashed(String),
}

impl Victim {
    pub(super) fn class(&self) -> Durability {
        self.options.durability
    }

    /// Batches are all or nothing, it says.
    pub(super) fn is_atomic(&self) -> bool {
        self.worker.description.engine.capabilities.batch == BatchKind::Atomic
    }

    /// `lmdb commit`.
    pub(super) fn label(&self) -> String {
        format!("{} {}", self.name, self.class().as_str())
    }

    /// Begins to write into a database in `folder`.
    pub(super) fn pledge(
        &self,
        folder: &Path,
        acknowledgements: PathBuf,
    ) -> anyhow::Result<RunningWorker> {
        let pledge = Pledge {
            victim: self.opened(folder),
            writes: (WRITES / self.units.writers).max(2 * self.units.each()),
            sittings: SITTINGS,
            writeback_every: WRITEBACK_EVERY,
            acknowledgements,
        };
        self.start("pledge", &pledge.to_line()?)
    }

    /// Opens and reads the database in `folder`.
    pub(super) fn recover(&self, folder: &Path) -> anyhow::Result<Recovery> {
        let ended = self.start("recover", &self.opened(folder).to_line()?)?.wait(RECOVERY_MAX)?;
        let read = Recovered::from_json(&ended.out);
        Ok(match read.ok().filter(|_| ended.is_success()) {
            Some(found) => Recovery::Answered(found),
            None => Recovery::Crashed(ended.words()),
        })
    }

    /// The same of one whose process has just been killed.
    pub(super) fn recover_killed(&self, folder: &Path) -> anyhow::Result<Recovery> {
        let begun = Instant::now();
        loop {
            match self.recover(folder)? {
                Recovery::Answered(found)
                    if found.unopened.is_some() && begun.elapsed() < LETTING_GO_MAX =>
                {
                    std::thread::sleep(Duration::from_millis(50));
                }
                other => return Ok(other),
            }
        }
    }

    fn opened(&self, folder: &Path) -> Opened {
        let capabilities = &self.worker.description.engine.capabilities;
        Opened {
            place: Location::Directory(folder.to_owned()),
            options: self.options.clone(),
            units: self.units,
            // An engine that stores nothing shows as many records as it is asked for, for ever.
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
        // One that has died already is told by its end.
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
    /// Kills it with all that it started.
    pub(super) fn kill(&self) {
        self.child.kill();
    }

    /// It has ended by itself within this time.
    pub(super) fn ends_within(&mut self, limit: Duration) -> anyhow::Result<bool> {
        loop {
            if self.child.poll()?.is_some() {
                return Ok(true);
            }
            let left = limit.saturating_sub(self.begun.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
    }

    /// Waits for its end; one that takes longer is killed.
    pub(super) fn wait(mut self, limit: Duration) -> anyhow::Result<Ended> {
        let in_time = self.ends_within(limit)?;
        if !in_time {
            self.child.kill();
        }
        let exit = self.child.wait()?;
        let [out, err] = [self.out, self.err].map(|said| said.join().unwrap_or_default());
        Ok(Ended { exit: in_time.then_some(exit), out, err })
    }

    /// Waits for the end of a pledge on a drive that may do nothing for a while.
    pub(super) fn kept(self, pause: Duration) -> anyhow::Result<PledgeOutcome> {
        let ended = self.wait(PLEDGE_MAX + pause)?;
        if ended.exit.as_ref().is_some_and(|exit| exit.code == Some(2)) {
            anyhow::bail!(
                "the worker cannot be tortured: {}; rebuild it against this version's \
                 kvdyno-worker",
                ended.err.lines().next().unwrap_or("it does not know `pledge`")
            );
        }
        Ok(match Pledged::from_json(&ended.out).ok().filter(|_| ended.is_success()) {
            Some(done) => PledgeOutcome::Done(done),
            None => PledgeOutcome::Crashed(ended.words()),
        })
    }
}

impl Ended {
    fn is_success(&self) -> bool {
        self.exit.as_ref().is_some_and(ExitStatus::is_success)
    }

    /// Why there is no answer.
    fn words(&self) -> String {
        let said = self.err.trim().lines().last().unwrap_or_default();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        match &self.exit {
            None => format!("it hung{said}"),
            Some(ExitStatus { signal: Some(signal), .. }) => {
                format!("it crashed by signal {signal}{said}")
            }
            Some(exit) => format!("it ended with code {}{said}", exit.code.unwrap_or_default()),
        }
    }
}
