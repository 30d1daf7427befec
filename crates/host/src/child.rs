//! A child process that is accounted for and never outlives us: in its RAM group from its first
//! instruction, killed with us and with all its children, reaped with its `rusage`.

#![expect(unsafe_code, reason = "what runs between fork and exec, and wait4(2)")]

use super::group::{self, Group};
use super::process::from_rusage;
use kvdyno_record::usage::ProcessUsage;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getpid, getppid, getrlimit,
    kill_process_group, set_parent_process_death_signal, setrlimit, waitid,
};
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Upper bound of what is read of a tool's output.
pub const OUTPUT_BYTES_MAX: u64 = 4 << 20;

/// Interval of checks of a tool.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A tool's pipes are read this long after its end: its own children may hold them open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A running child. Dropping it kills its process group and reaps it.
#[derive(Debug)]
pub struct Child {
    /// Its standard input.
    pub stdin: Option<ChildStdin>,
    /// Its standard output.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, where that was not sent elsewhere before.
    pub stderr: Option<ChildStderr>,
    pid: Pid,
    exit: Option<ExitStatus>,
}

/// How a child ended, and its resource usage with that of the children it waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExitStatus {
    /// Its exit code, where it ended by itself.
    pub code: Option<i32>,
    /// The signal that killed it.
    pub signal: Option<i32>,
    /// From wait4(2): what `time` prints. No `io`: `/proc/PID` is gone.
    pub usage: ProcessUsage,
}

impl ExitStatus {
    /// Returns whether the child ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (_, Some(signal)) => write!(f, "died of signal {signal}"),
            (Some(code), None) => write!(f, "ended with code {code}"),
            (None, None) => f.write_str("ended"),
        }
    }
}

impl Child {
    /// Starts a program with pipes for standard input, output and error.
    ///
    /// It is killed when **the thread that calls this** ends: call it from one that lives as long
    /// as the child. It is in a process group of its own, so that Ctrl-C at the terminal reaches
    /// us alone. It may open as many files as the hard limit allows.
    pub fn spawn(mut command: Command, group: Option<&Group>) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let parent = getpid();
        let procs = group.map(Group::procs_file).map(|procs| procs.try_clone_to_owned());
        let procs = procs.transpose()?;
        let files = getrlimit(Resource::Nofile);
        let files = Rlimit { current: files.maximum, maximum: files.maximum };
        let prepare = move || {
            use std::os::fd::AsFd;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent died before the death signal was set.
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            let _ = setrlimit(Resource::Nofile, files);
            procs.as_ref().map_or(Ok(()), |procs| group::join(procs.as_fd()))
        };
        // SAFETY: `prepare` runs in the child between fork and exec. It makes system calls only:
        // it allocates nothing, takes no lock, and touches no memory but its own captures. (An
        // error made of a code does not allocate.)
        unsafe { command.pre_exec(prepare) };
        let mut child = command.spawn()?;
        Ok(Self {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            pid: Pid::from_child(&child),
            exit: None,
        })
    }

    /// Returns the child's process number.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Returns how the child ended; `None`: it still runs.
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        self.end(WaitIdOptions::NOHANG)
    }

    /// Waits for the child's end.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(exit) = self.end(WaitIdOptions::empty())? {
                return Ok(exit);
            }
        }
    }

    /// Kills the child and the rest of its process group; [`Child::wait`] reaps it.
    pub fn kill(&self) {
        if self.exit.is_none() {
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Checks for the child's end, then kills the rest of its process group, then reaps it: before
    /// it is reaped, its pid cannot be reused.
    fn end(&mut self, how: WaitIdOptions) -> io::Result<Option<ExitStatus>> {
        if self.exit.is_none() {
            let options = how | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(self.pid), options) {
                Ok(None) | Err(rustix::io::Errno::INTR) => return Ok(None),
                Ok(Some(_)) => {}
                Err(errno) => return Err(errno.into()),
            }
            self.kill();
            self.exit = Some(reap(self.pid)?);
        }
        Ok(self.exit.clone())
    }
}

/// How a tool ended, and what it wrote.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub exit: ExitStatus,
    /// Its standard output, at most [`OUTPUT_BYTES_MAX`] of it.
    pub output: Vec<u8>,
    /// Its standard error, limited likewise.
    pub errors: Vec<u8>,
}

impl Finished {
    /// Returns the standard error as trimmed text.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&self.errors).trim().to_owned()
    }
}

/// Runs a tool to its end, with `input` on its standard input. If `go_on` fails, its error is
/// returned, and the tool is killed with its process group.
pub fn run(
    command: Command,
    input: Vec<u8>,
    mut go_on: impl FnMut() -> io::Result<()>,
) -> io::Result<Finished> {
    let mut child = Child::spawn(command, None)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A write error is ignored: a tool that ends before it has read all says why itself.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let (output, errors) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    let exit = loop {
        if let Some(exit) = child.poll()? {
            break exit;
        }
        go_on()?;
        sleep(LOOK_EVERY);
    };
    let end = |bytes: Receiver<Vec<u8>>| bytes.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ok(Finished { exit, output: end(output), errors: end(errors) })
}

/// Returns a function that fails once this time is over.
pub fn time_limit(limit: Duration) -> impl FnMut() -> io::Result<()> {
    let begun = Instant::now();
    move || {
        if begun.elapsed() <= limit {
            return Ok(());
        }
        let message = format!("no end within {} s", limit.as_secs_f64());
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }
}

/// Reads a pipe to its end, in a thread.
fn read_all(pipe: Option<impl io::Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, bytes) = channel();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // A read error is ignored: the rest is only missing from the output.
        let _ = pipe.map(|pipe| pipe.take(OUTPUT_BYTES_MAX).read_to_end(&mut all));
        let _ = sender.send(all);
    });
    bytes
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        let _ = self.wait();
    }
}

/// wait4(2) on a child that has ended.
fn reap(pid: Pid) -> io::Result<ExitStatus> {
    let mut status = 0;
    let mut rusage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: both pointers are to live locals of the types that wait4 fills.
        let reaped = unsafe {
            libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, rusage.as_mut_ptr())
        };
        if reaped > 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: it was zeroed, which is a valid value of it, and the kernel has filled it.
    let usage = from_rusage(unsafe { rusage.assume_init_ref() });
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let signal = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    Ok(ExitStatus { code, signal, usage })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::path::Path;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::spawn(command, None).unwrap()
    }

    #[test]
    fn pipes_code_and_usage() {
        let mut child = shell("read line; echo \"got $line\"; exit 3");
        assert_eq!(child.poll().unwrap(), None);
        child.stdin.take().unwrap().write_all(b"this\n").unwrap();
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        assert_eq!(output, "got this\n");
        let exit = child.wait().unwrap();
        assert_eq!((exit.code, exit.signal), (Some(3), None));
        assert!(exit.usage.rss_peak_bytes > 0 && exit.usage.minor_faults > 0);
        assert_eq!(child.poll().unwrap(), Some(exit), "the end is remembered");
    }

    #[test]
    fn what_a_child_started_dies_with_it() {
        let mut child = shell("sleep 600 & echo $!; wait");
        let mut digits = [0; 16];
        let length = child.stdout.as_mut().unwrap().read(&mut digits).unwrap();
        let grandchild = String::from_utf8_lossy(&digits[..length]).trim().to_owned();
        let status = Path::new("/proc").join(&grandchild).join("status");
        assert!(status.exists());
        child.kill();
        assert_eq!(child.wait().unwrap().signal, Some(libc::SIGKILL));
        let begun = Instant::now();
        let gone = || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            text.is_empty() || text.contains("State:\tZ")
        };
        while !gone() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(gone(), "process {grandchild} is alive");
    }

    #[test]
    fn it_has_a_process_group_of_its_own_and_all_the_files_it_may_have() {
        let mut child = shell("ulimit -n; ulimit -Hn; cut -d' ' -f5 /proc/$$/stat; echo $$");
        let mut output = String::new();
        child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines[0], lines[1]);
        assert_eq!(lines[2], lines[3]);
        assert_eq!(lines[3], child.pid().to_string());
    }

    #[test]
    fn it_dies_with_the_thread_that_spawned_it() {
        let (child, pid) = std::thread::spawn(|| {
            let child = shell("sleep 600");
            let pid = child.pid();
            (child, pid)
        })
        .join()
        .unwrap();
        let mut child = child;
        assert_eq!(child.pid(), pid);
        assert_eq!(child.wait().unwrap().signal, Some(libc::SIGKILL));
    }

    #[test]
    fn a_tool_is_over_when_it_ends_or_may_not_go_on() {
        let mut command = Command::new("sh");
        command.args(["-c", "cat; sleep 600 & echo trouble >&2; exit 4"]);
        let finished =
            run(command, b"given".to_vec(), time_limit(Duration::from_secs(60))).unwrap();
        assert_eq!((&*finished.output, finished.exit.code), (&b"given"[..], Some(4)));
        assert_eq!(finished.complaint(), "trouble");
        let mut command = Command::new("sleep");
        command.arg("600");
        let error = run(command, Vec::new(), time_limit(Duration::from_millis(20))).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Child::spawn(Command::new("/nothing/here"), None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
