//! Starts a server, stops it, and is its parent to the end. `serve` does so for a run, inside the
//! case's RAM limit. [`Client`](crate::client::Client) does so for the conformance kit and for
//! `torture`, where server and client are one engine on a directory.

#![expect(unsafe_code, reason = "what runs between fork and exec")]

use crate::on_device::OnDevice;
use crate::output::send;
use kvdyno_engine::server::{Address, LISTEN, Launch, SECRET, Served, ServerDirectory, StopSignal};
use kvdyno_engine::{DataShape, Error, ErrorClass, Location, Options, Result};
use kvdyno_record::protocol::{Event, ServerJob, SupervisorOrder};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, mount};
use rustix::process::{
    Pid, Signal, getegid, geteuid, getpid, kill_process, set_child_subreaper,
    set_parent_process_death_signal,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time within which a server must answer, or end: recovery of a large log takes minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// How long to wait for the processes of a killed server to end; a user's shell may stay.
const LEAVING: Duration = Duration::from_secs(30);

/// The interval between two looks at a server that is to answer, or to end.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// The interval between two looks at a server that serves.
const WATCH_EVERY: Duration = Duration::from_millis(50);

/// The log of a server that shares a process with its client, in its directory.
const LOG: &str = "kvdyno-server.log";

/// The map of user ids for a server that refuses root: in its user namespace root is nobody, and
/// root's files are nobody's.
const NOBODY: &[u8] = b"65534 0 1";

/// A running server. It is killed when this is dropped.
pub(crate) struct Running {
    /// The server and its replicas.
    children: Vec<Child>,
    stop: StopSignal,
    command: Vec<String>,
    pub(crate) address: Address,
    took: Duration,
}

impl Running {
    /// Starts a server in `dir`, with its log there.
    pub(crate) fn start_in<E: Served>(
        dir: &Path,
        options: &Options,
        data: &DataShape,
    ) -> Result<Self> {
        let address = address::<E>(dir, options)?;
        let site = ServerDirectory { dir: dir.to_owned(), device: None, address };
        let log = File::options().create(true).append(true).open(dir.join(LOG))?;
        Self::start::<E>(&site, options, data, Some(&log))
            .map_err(|error| error.context(&format!("{} in {}", LOG, dir.display())))
    }

    /// Starts a server and its replicas, and waits until the server answers.
    fn start<E: Served>(
        site: &ServerDirectory,
        options: &Options,
        data: &DataShape,
        log: Option<&File>,
    ) -> Result<Self> {
        let begun = Instant::now();
        // Processes of a killed server may still be ending and write to the directory. A directory
        // in memory is not shared.
        let shared = site.device.is_none();
        while shared && has_other_processes(&site.dir) && begun.elapsed() < LEAVING {
            sleep(LOOK_EVERY);
        }
        // A killed server leaves its socket behind, and some servers would not listen there again.
        if let Address::Unix(socket) = &site.address {
            let _ = std::fs::remove_file(socket);
        }
        let Launch { setup, command, replicas, stop } = E::launch(site, options, data)?;
        // The wait above and the preparation of the launch are not part of the server's start.
        let begun = Instant::now();
        for command in setup {
            run_to_end::<E>(command)?;
        }
        let address = site.address.clone();
        let (words, children) = (command_words(&command), Vec::new());
        let took = Duration::ZERO;
        let mut running = Self { children, stop, command: words, address, took };
        for command in std::iter::once(command).chain(replicas) {
            running.children.push(spawn::<E>(command, log)?);
        }
        while let Err(error) = E::answers(&running.address) {
            if let Some(why) = running.exit_error() {
                return Err(why.context("starting"));
            }
            if begun.elapsed() > PATIENCE {
                return Err(error.context("no answer from the server"));
            }
            sleep(LOOK_EVERY);
        }
        running.took = begun.elapsed();
        Ok(running)
    }

    /// The error that the server has ended; none: it runs.
    fn exit_error(&mut self) -> Option<Error> {
        let mut statuses = self.children.iter_mut().filter_map(|child| child.try_wait().ok()?);
        let status = statuses.next()?;
        let how = exit_words(status);
        let program = self.command.first().map_or("", String::as_str);
        let what = format!("the server {program} {how}; see the end of its log");
        Some(Error::new(ErrorClass::Unavailable, what))
    }

    /// The signal that the server or a replica died of.
    fn death_signal(&mut self) -> Option<i32> {
        self.children.iter_mut().find_map(|child| child.try_wait().ok()??.signal())
    }

    /// Stops the server in order. Returns how long that took.
    pub(crate) fn stop(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        if let Some(why) = self.exit_error() {
            return Err(why);
        }
        let signal = match self.stop {
            StopSignal::Terminate => Signal::TERM,
            StopSignal::Interrupt => Signal::INT,
            StopSignal::User1 => Signal::USR1,
        };
        for child in &self.children {
            kill_process(Pid::from_child(child), signal).map_err(io::Error::from)?;
        }
        for child in &mut self.children {
            let status = loop {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                if begun.elapsed() > PATIENCE {
                    let what = "the server did not stop in time";
                    return Err(Error::new(ErrorClass::Unavailable, what));
                }
                sleep(LOOK_EVERY);
            };
            // After an orderly stop, all servers end with code 0.
            if !status.success() && status.signal() != Some(signal.as_raw()) {
                let how = exit_words(status);
                let what = format!("the server {how} while it stopped; see the end of its log");
                let died = status.signal().is_some();
                let class = if died { ErrorClass::Corrupt } else { ErrorClass::Other };
                return Err(Error::new(class, what));
            }
        }
        Ok(begun.elapsed())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns how a process ended, in words.
fn exit_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("died of signal {signal}"),
        (code, None) => format!("ended with code {}", code.unwrap_or_default()),
    }
}

/// Starts a server's process. Its output is no protocol: without a log it goes to standard error.
fn spawn<E: Served>(mut command: Command, log: Option<&File>) -> Result<Child> {
    let words = command_words(&command);
    prepare::<E>(&mut command, false);
    match log {
        Some(log) => command.stdout(log.try_clone()?).stderr(log.try_clone()?),
        None => command.stdout(io::stderr()),
    };
    command.spawn().map_err(|error| start_error(&words, &error))
}

/// Whether another process has its working directory in `dir` or below it.
fn has_other_processes(dir: &Path) -> bool {
    let Ok(dir) = dir.canonicalize() else { return false };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut others = processes.filter(|entry| {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<u32>().ok());
        pid.is_some_and(|pid| pid != std::process::id())
    });
    others.any(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|working| working.starts_with(&dir))
    })
}

/// Makes a child die with this thread, and run as another user than root where it requires that.
/// With `own_memory`, such a child also has a `/dev/shm` of its own.
fn prepare<E: Served>(command: &mut Command, own_memory: bool) {
    let hidden = E::REFUSES_ROOT && geteuid().is_root();
    let group: Vec<u8> = format!("65534 {} 1", getegid().as_raw()).into_bytes();
    let prepare = move || {
        if hidden {
            become_nobody(&group)?;
        }
        if hidden && own_memory {
            hide_shared_memory();
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: `prepare` runs in the child between fork and exec. It makes system calls only: it
    // allocates nothing, takes no lock, and touches no memory but its own captures.
    unsafe { command.pre_exec(prepare) };
}

/// Enters a user namespace in which root is nobody. The kernel still sees root; the server sees
/// neither root nor the owners of other files.
fn become_nobody(group: &[u8]) -> io::Result<()> {
    // The server's shared memory (System V) is its own as well, so that none outlives it.
    let namespaces = UnshareFlags::NEWUSER | UnshareFlags::NEWIPC;
    // SAFETY: the process has this one thread, and shares nothing of what is unshared.
    unsafe { unshare_unsafe(namespaces) }?;
    let write_to = |file: &std::ffi::CStr, words: &[u8]| -> io::Result<()> {
        let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        rustix::io::write(&file, words)?;
        Ok(())
    };
    write_to(c"/proc/self/uid_map", NOBODY)?;
    write_to(c"/proc/self/setgroups", b"deny")?;
    write_to(c"/proc/self/gid_map", group)
}

/// Gives this process a `/dev/shm` of its own, which vanishes with it. Where that is impossible,
/// `/dev/shm` stays as it is.
fn hide_shared_memory() {
    // SAFETY: the process has this one thread, and shares nothing of what is unshared.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok() {
        let _ = mount(c"kvdyno", c"/dev/shm", c"tmpfs", MountFlags::NOSUID, None);
    }
}

/// Runs a setup command to its end; it must succeed. Only its files are needed after it, so its
/// shared memory may be its own and vanish with it.
fn run_to_end<E: Served>(mut command: Command) -> Result<()> {
    let words = command_words(&command);
    prepare::<E>(&mut command, true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| start_error(&words, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let output_text = [output.stdout, output.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_text).trim().to_owned();
    let what = format!("`{}` ended with {}: {output_text}", words.join(" "), output.status);
    Err(Error::new(ErrorClass::Other, what))
}

fn start_error(words: &[String], error: &io::Error) -> Error {
    let program = words.first().map_or("", String::as_str);
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; a server that refuses root needs user namespaces: run as another user"
        }
        _ => "",
    };
    Error::new(ErrorClass::Unavailable, format!("failed to start {program}: {error}{hint}"))
}

fn command_words(command: &Command) -> Vec<String> {
    let all = std::iter::once(command.get_program()).chain(command.get_args());
    all.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Returns the address at which a server with these options is to listen.
fn address<E: Served>(dir: &Path, options: &Options) -> Result<Address> {
    match options.text(LISTEN)? {
        "tcp" => {
            // The port is free now. The server itself notices if it is taken by then.
            let port_address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
            Ok(Address::Tcp { at: port_address, secret: secret(dir)? })
        }
        _ => Ok(Address::Unix(dir.join(E::SOCKET))),
    }
}

/// Returns the password of a database, which is drawn once and stored in `dir` for later servers.
fn secret(dir: &Path) -> Result<String> {
    let path = dir.join(SECRET);
    if let Ok(existing) = std::fs::read_to_string(&path) {
        return Ok(existing);
    }
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let secret = format!("{:032x}", u128::from_ne_bytes(random));
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(&path)?;
    file.write_all(secret.as_bytes())?;
    Ok(secret)
}

/// Starts and stops a server by orders. When the input ends, both end.
pub(crate) fn serve<E: Served>() -> Result<ExitCode> {
    // Orphans of a server become this process's children, so their usage stays in its accounts.
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)?;
    let orders = orders();
    let (mut on_device, mut running) = (None, None);
    match handle_orders::<E>(&orders, &mut on_device, &mut running) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            let signal = running.as_mut().and_then(Running::death_signal);
            let Error { class, message } = error;
            send(&Event::Failed { phase: None, class, message, signal })?;
            Ok(ExitCode::FAILURE)
        }
    }
}

fn handle_orders<E: Served>(
    orders: &Receiver<Result<SupervisorOrder>>,
    on_device: &mut Option<OnDevice>,
    running: &mut Option<Running>,
) -> Result<()> {
    loop {
        match orders.recv_timeout(WATCH_EVERY) {
            Ok(Ok(SupervisorOrder::Serve(job))) => {
                // At most one server runs.
                *running = None;
                let started = start_server::<E>(&job, on_device)?;
                send(&Event::Serving {
                    address: started.address.to_string(),
                    command: started.command.clone(),
                    took_ns: started.took.as_nanos() as u64,
                })?;
                *running = Some(started);
            }
            Ok(Err(error)) => return Err(error),
            Ok(Ok(SupervisorOrder::Halt)) => {
                let took = running.as_mut().map(Running::stop).transpose()?.unwrap_or_default();
                *running = None;
                send(&Event::Halted { took_ns: took.as_nanos() as u64 })?;
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(why) = running.as_mut().and_then(Running::exit_error) {
                    return Err(why);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

fn start_server<E: Served>(job: &ServerJob, on_device: &mut Option<OnDevice>) -> Result<Running> {
    let (dir, device) = match &job.location {
        Location::Device(device) => {
            let acquired = match on_device.take() {
                Some(acquired) => acquired,
                None => OnDevice::acquire(device)?,
            };
            (on_device.insert(acquired).dir(), Some(device.clone()))
        }
        other => (other.directory()?.to_owned(), None),
    };
    let address = match &job.address {
        Some(earlier) => earlier.parse()?,
        None => address::<E>(&dir, &job.options)?,
    };
    let site = ServerDirectory { dir, device, address };
    Running::start::<E>(&site, &job.options, &job.shape, None)
}

/// Reads orders in a thread of its own, until the input ends or is invalid.
pub(crate) fn orders() -> Receiver<Result<SupervisorOrder>> {
    let (sender, orders) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(io::stdin()).lines() {
            let order = line.map_err(Error::from).and_then(|line| {
                SupervisorOrder::from_json(&line)
                    .map_err(|error| Error::invalid(format!("invalid order: {error}: {line}")))
            });
            let last = order.is_err();
            if sender.send(order).is_err() || last {
                return;
            }
        }
    });
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that a signal stops with these commands.
    fn running(on_signal: &str) -> Running {
        let script = format!("trap '{on_signal}' TERM; echo; while :; do sleep 0.01; done");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It answers once the trap is set.
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Running {
            children: vec![child],
            stop: StopSignal::Terminate,
            command: Vec::new(),
            address: Address::Unix("socket".into()),
            took: Duration::ZERO,
        }
    }

    /// Regression test: a server that reported by its exit code that it could not stop in order
    /// counted as stopped.
    #[test]
    fn a_server_that_fails_to_stop_is_an_error() {
        running("exit 0").stop().unwrap();
        running("trap - TERM; kill -s TERM $$").stop().unwrap();
        let error = running("exit 3").stop().unwrap_err();
        let message = "the server ended with code 3 while it stopped; see the end of its log";
        assert_eq!((error.class, error.message.as_str()), (ErrorClass::Other, message));
        let error = running("kill -s KILL $$").stop().unwrap_err();
        assert_eq!(error.class, ErrorClass::Corrupt);
    }
}
