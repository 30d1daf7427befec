//! A directory for one test, the program in it, and a check that nothing remains.

use super::workers;
use kvdyno_record::case::CaseRecord;
use kvdyno_record::files::RunDir;
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Every wait ends after this time in which nothing happens, even on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// In the environment of every process that a test starts, and of their children.
const MARK: &str = "KVDYNO_TEST_MARK";

/// A test's directory.
pub(crate) struct Scratch {
    dir: TempDir,
    mark: String,
    /// The programs started here: their groups are found by process id.
    started: RefCell<Vec<u32>>,
    outputs: AtomicU32,
    program: PathBuf,
}

/// The program's exit code and output.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A running program.
pub(crate) struct Running {
    child: Child,
    outputs: [PathBuf; 2],
}

impl Scratch {
    /// A directory on a disk if there is one (`/tmp` often is memory), with the null engine and the
    /// other installed ones.
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::Builder::new().prefix("kvdyno-program-").tempdir_in("/var/tmp");
        let dir = dir.unwrap();
        for name in ["engines", "tmp", "outputs"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let number = NUMBER.fetch_add(1, Relaxed);
        let scratch = Self {
            dir,
            mark: format!("{}-{number}", std::process::id()),
            started: RefCell::default(),
            outputs: AtomicU32::new(0),
            program: workers::program().to_owned(),
        };
        scratch.link("null", workers::null());
        let servers = ["redis", "postgres", "mariadb", "mongodb"];
        for engine in
            ["lmdb", "lmdb1", "rocksdb", "drive", "fio", "crew"].into_iter().chain(servers)
        {
            if let Some(path) = workers::find(engine) {
                scratch.link(engine, &path);
            }
        }
        scratch
    }

    /// A directory of the user nobody, with copies of the program and the null engine that this
    /// user can access.
    pub(crate) fn of_nobody() -> Self {
        let mut scratch = Self::new();
        fs::remove_dir_all(scratch.path("engines")).unwrap();
        fs::create_dir(scratch.path("engines")).unwrap();
        workers::install(workers::null(), &scratch.path("engines/kvdyno-null"));
        fs::create_dir(scratch.path("bin")).unwrap();
        scratch.program = workers::install(workers::program(), &scratch.path("bin/kvdyno"));
        for path in [".", "tmp"] {
            std::os::unix::fs::chown(scratch.path(path), Some(65534), Some(65534)).unwrap();
        }
        scratch
    }

    /// One more engine; all plugins have one worker.
    pub(crate) fn link(&self, engine: &str, worker: &Path) {
        let engine = if worker.ends_with("kvdyno-plugin") { "plugin" } else { engine };
        let link = self.path("engines").join(format!("kvdyno-{engine}"));
        assert!(std::os::unix::fs::symlink(worker, link).is_ok() || engine == "plugin");
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file into it.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A worker that is a shell script.
    pub(crate) fn script(&self, engine: &str, script: &str) -> PathBuf {
        let text = self.write(&format!("{engine}.script"), &format!("#!/bin/sh\n{script}"));
        workers::install(&text, &self.path(&format!("engines/kvdyno-{engine}")))
    }

    /// A command line of the program.
    pub(crate) fn kvdyno(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        self.prepare(&mut command);
        command
    }

    /// The same through another program that executes it: `setpriv ... kvdyno ...`.
    pub(crate) fn kvdyno_by(&self, outer: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(outer[0]);
        command.args(&outer[1..]).arg(&self.program).args(arguments);
        self.prepare(&mut command);
        command
    }

    /// The program in its own mount namespace, after a script that mounts in it.
    pub(crate) fn kvdyno_after(&self, mounting: &str, arguments: &[&str]) -> Command {
        let script = format!("set -e\n{mounting}\nexec \"$@\"");
        let outer = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script, "sh"];
        self.kvdyno_by(&outer, arguments)
    }

    fn prepare(&self, command: &mut Command) {
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("KVDYNO_ENGINE_PATH", self.path("engines"));
        command.env("TMPDIR", self.path("tmp")).env(MARK, &self.mark).env("NO_COLOR", "1");
    }

    /// Starts it.
    pub(crate) fn start(&self, mut command: Command) -> Running {
        let number = self.outputs.fetch_add(1, Relaxed);
        let outputs = ["out", "err"].map(|kind| self.path(&format!("outputs/{number}.{kind}")));
        command.stdout(File::create(&outputs[0]).unwrap());
        command.stderr(File::create(&outputs[1]).unwrap());
        let child = command.spawn().unwrap();
        self.started.borrow_mut().push(child.id());
        Running { child, outputs }
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.start(self.kvdyno(arguments)).wait()
    }

    /// The only run in `runs`.
    pub(crate) fn only_run(&self) -> RunDir {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        RunDir::open(runs[0].clone()).unwrap()
    }

    /// The contents of `runs` but its states, in order.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        let runs = list(&self.path("runs")).into_iter().filter(|name| name != "states");
        runs.map(|name| self.path("runs").join(name)).collect()
    }

    /// The latest run has a finding with this id.
    #[track_caller]
    pub(crate) fn assert_finding(&self, id: &str) {
        let findings = self.run(&["show", "--json"]).json()["findings"].take();
        let is_it = |finding: &serde_json::Value| finding["id"] == id;
        assert!(findings.as_array().unwrap().iter().any(is_it), "{id}: {findings:#}");
    }

    /// Waits until a case of the one run is in a phase.
    pub(crate) fn wait_for_phase(&self, case: &str, phase: &str) {
        let phase_text = format!("\"phase\":\"{phase}\"");
        wait_until(&format!("{case} is in {phase}"), || {
            self.runs().iter().any(|run| {
                let cases = run.join("cases");
                let mut dirs = list(&cases).into_iter().filter(|name| name.contains(case));
                dirs.any(|name| {
                    let readings = cases.join(name).join("machine.ndjson");
                    fs::read_to_string(readings).is_ok_and(|text| text.contains(&phase_text))
                })
            })
        });
    }

    /// No process of the test lives, no group exists, and no unexpected file.
    pub(crate) fn assert_nothing_left(&self) {
        wait_until("all processes are gone", || self.processes().is_empty());
        let groups = self.groups();
        assert!(groups.is_empty(), "groups left: {groups:?}");
        let swaps = self.swaps();
        assert!(swaps.is_empty(), "swap left: {swaps:?}");
        assert_eq!(list(&self.path("tmp")), Vec::<String>::new(), "temporary files left");
        for run in self.runs() {
            let remains: Vec<PathBuf> =
                files_below(&run).into_iter().filter(|path| is_leftover(path)).collect();
            assert!(remains.is_empty(), "left in the run: {remains:?}");
            assert!(!run.join("volume").exists(), "databases left in {}", run.display());
        }
    }

    /// Live processes with the test's mark, and those in a run's directory: a server may overwrite
    /// its environment with its title.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = format!("{MARK}={}\0", self.mark);
        let runs = self.path("runs");
        let marked = |pid: &String| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark.as_bytes())
                || fs::read_link(format!("/proc/{pid}/cwd"))
                    .is_ok_and(|directory| directory.starts_with(&runs))
        };
        let pids = list(Path::new("/proc")).into_iter().filter(|name| name.parse::<u32>().is_ok());
        pids.filter(marked).collect()
    }

    /// Swap areas of programs started here, enabled or not: by their labels.
    pub(crate) fn swaps(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let enabled = text.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        let zram =
            list(Path::new("/sys/block")).into_iter().filter(|name| name.starts_with("zram"));
        let zram = zram.map(|name| Path::new("/dev").join(name));
        let mut areas: Vec<PathBuf> = enabled.map(PathBuf::from).chain(zram).collect();
        areas.sort();
        areas.dedup();
        let started = self.started.borrow();
        let ours = |path: &PathBuf| {
            let mut label = [0; 16];
            let read = File::open(path).and_then(|area| area.read_exact_at(&mut label, 1052));
            let label = String::from_utf8_lossy(&label);
            let label = label.trim_end_matches('\0');
            read.is_ok() && started.iter().any(|pid| label == format!("kvdyno-{pid}"))
        };
        areas.retain(ours);
        areas
    }

    /// Control groups of programs started here.
    pub(crate) fn groups(&self) -> Vec<PathBuf> {
        let started = self.started.borrow();
        let ours =
            |name: &str| started.iter().any(|pid| name.starts_with(&format!("kvdyno-{pid}-")));
        let mut groups = Vec::new();
        for dir in group_dirs() {
            groups.extend(
                list(&dir).into_iter().filter(|name| ours(name)).map(|name| dir.join(name)),
            );
        }
        groups
    }
}

/// The test's own memory groups, and their parents.
pub(crate) fn group_dirs() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut dirs = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let tops: &[&str] = match controllers {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            "memory" => &["/sys/fs/cgroup/memory"],
            _ => &[],
        };
        for top in tops {
            let dir = Path::new(top).join(path.trim_start_matches('/'));
            dirs.extend(dir.parent().map(Path::to_owned));
            dirs.push(dir);
        }
    }
    dirs.retain(|dir| dir.join("cgroup.procs").exists());
    dirs
}

impl Running {
    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid_of(self.pid()), signal).unwrap();
    }

    /// The process id of its worker: its only child with such a name.
    pub(crate) fn worker(&self) -> Option<u32> {
        let is_worker = |pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let Some((head, tail)) = stat.rsplit_once(") ") else { return false };
            let name = head.split_once('(').map_or("", |(_, name)| name);
            let parent = tail.split(' ').nth(1).and_then(|parent| parent.parse().ok());
            name.starts_with("kvdyno-") && parent == Some(self.pid())
        };
        let pids = list(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
        pids.into_iter().find(is_worker)
    }

    /// The process id of its reaper.
    pub(crate) fn reaper(&self) -> Option<u32> {
        let is_it = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let tail = stat.rsplit_once(") ").map_or("", |(_, tail)| tail);
            let parent = tail.split(' ').nth(1).and_then(|parent| parent.parse().ok());
            words.ends_with(b"\0reaper\0") && parent == Some(self.pid())
        };
        let pids = list(Path::new("/proc")).into_iter().filter_map(|name| name.parse().ok());
        pids.into_iter().find(is_it)
    }

    /// Kills its worker.
    pub(crate) fn kill_worker(&self) {
        let mut worker = None;
        wait_until("there is a worker", || {
            worker = self.worker();
            worker.is_some()
        });
        kill_process(pid_of(worker.unwrap()), Signal::KILL).unwrap();
    }

    /// Its standard error so far.
    pub(crate) fn stderr_text(&self) -> String {
        fs::read_to_string(&self.outputs[1]).unwrap_or_default()
    }

    /// Its standard output so far.
    pub(crate) fn printed(&self) -> String {
        fs::read_to_string(&self.outputs[0]).unwrap_or_default()
    }

    /// Whether it is still running.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end. A command of many runs may take ten times as long as others if it goes on
    /// saying something.
    pub(crate) fn wait(mut self) -> Done {
        let (begun, mut last_size, mut since) = (Instant::now(), 0, Instant::now());
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let size = self.outputs.iter().filter_map(|path| fs::metadata(path).ok());
            let size = size.map(|it| it.len()).sum();
            if last_size != size {
                (last_size, since) = (size, Instant::now());
            }
            let is_late = since.elapsed() > PATIENCE || begun.elapsed() > 10 * PATIENCE;
            assert!(!is_late, "kvdyno does not end: {}", self.stderr_text());
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Done {
            code: status.code(),
            signal: status.signal(),
            out: text(&self.outputs[0]),
            err: text(&self.outputs[1]),
        }
    }
}

/// A failed test leaves no process.
impl Drop for Running {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Done {
    /// It ended with this code.
    #[track_caller]
    pub(crate) fn assert_code(&self, code: i32) -> &Self {
        assert!(self.code == Some(code), "not {code}: {}", self.story());
        self
    }

    /// Success; a debug build of the null engine is invalid, with a note.
    #[track_caller]
    pub(crate) fn assert_ok(&self) -> &Self {
        let flagged = self.out.contains("debug-build") || self.err.contains("debug-build");
        let void = workers::null_is_a_debug_build() && flagged;
        assert!(self.code == Some(0) || (void && self.code == Some(4)), "{}", self.story());
        self
    }

    /// Either output contains this, however it is wrapped.
    #[track_caller]
    pub(crate) fn assert_says(&self, words: &str) -> &Self {
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = flat(words);
        let contains = flat(&self.out).contains(&words) || flat(&self.err).contains(&words);
        assert!(contains, "it did not say {words:?}: {}", self.story());
        self
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.story()))
    }

    fn story(&self) -> String {
        let Self { code, signal, out, err } = self;
        format!("code {code:?}, signal {signal:?}\n--- out\n{out}\n--- err\n{err}")
    }
}

/// The record of each case, by id; with several attempts the last.
pub(crate) fn records(run: &RunDir) -> BTreeMap<String, CaseRecord> {
    let mut records: BTreeMap<String, CaseRecord> = BTreeMap::new();
    for (_, record) in run.case_records().unwrap() {
        let newest = records.get(&record.case.id).is_none_or(|old| old.attempt < record.attempt);
        if newest {
            records.insert(record.case.id.clone(), record);
        }
    }
    records
}

/// The record of the one case whose id contains these words.
#[track_caller]
pub(crate) fn record(run: &RunDir, words: &str) -> CaseRecord {
    let mut matching: Vec<CaseRecord> =
        records(run).into_values().filter(|record| record.case.id.contains(words)).collect();
    let ids: Vec<&String> = matching.iter().map(|record| &record.case.id).collect();
    assert_eq!(ids.len(), 1, "{words}: {ids:?}");
    matching.remove(0)
}

/// Each case's outcome in a word, by id.
pub(crate) fn outcomes(run: &RunDir) -> BTreeMap<String, &'static str> {
    records(run).into_iter().map(|(id, record)| (id, record.outcome.as_str())).collect()
}

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut true_now: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !true_now() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The names in a directory, in order; none if there is no directory.
pub(crate) fn list(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// All files below a directory.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for name in list(dir) {
        let path = dir.join(name);
        if path.is_dir() && !path.is_symlink() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// A run that has ended has no partial files, locks or databases.
fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let leftover = ["tmp", "mdb", "sst", "store"];
    path.extension().is_some_and(|kind| leftover.iter().any(|suffix| kind == *suffix))
        || name == "lock"
        || name == ".kvdyno-lock"
}

fn pid_of(pid: u32) -> Pid {
    Pid::from_raw(pid.try_into().unwrap()).unwrap()
}
