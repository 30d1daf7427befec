//! A process that outlives this one briefly, and removes what the kernel does not: control groups,
//! and swap. However this process ends, even by kill -9, its end of a socket closes.
//!
//! It creates the swap itself, so that there is always a process responsible for it. It does
//! nothing else, and is idle while this process lives. The reasons:
//! docs/decisions/0009-a-reaper.md.

use super::owner::Owner;
use super::swap::{Swap, SwapSpec};
use super::{Root, group, leftovers};
use kvdyno_record::tier::SwapRecord;
use rustix::net::sockopt::socket_peercred;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// The command of this program that starts the reaper.
pub const COMMAND: &str = "reaper";

/// A request to the reaper, one JSON line each.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Makes swap, and switches it on.
    On(SwapSpec),
    /// Switches the swap off, and removes it.
    Off,
    /// Ends the reaper: there is nothing left to remove.
    Done,
}

/// The reaper's answer to each request but the last: the swap that is, or was, on; or the reason
/// why there is none.
type Answer = Result<Option<SwapRecord>, String>;

/// This process's end of the connection to the reaper. Dropping it tells the reaper that it is not
/// needed any more, and waits for its end.
#[derive(Debug)]
pub struct Reaper {
    child: Child,
    stream: UnixStream,
}

impl Reaper {
    /// Starts the reaper from this program's own file, whatever its path is now. The reaper is in
    /// its own process group, unaffected by Ctrl-C, and inherits no open files.
    pub fn start() -> io::Result<Self> {
        let (stream, reaper_end) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(reaper_end)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, stream })
    }

    /// Asks the reaper to make swap and to switch it on.
    pub fn swap_on(&self, spec: SwapSpec) -> Answer {
        self.request(&Request::On(spec))
    }

    /// Asks the reaper to switch the swap off and to remove it.
    pub fn swap_off(&self) -> Answer {
        self.request(&Request::Off)
    }

    fn request(&self, request: &Request) -> Answer {
        let answer = send(&self.stream, request).and_then(|()| {
            let mut line = String::new();
            BufReader::new(&self.stream).read_line(&mut line)?;
            Ok(serde_json::from_str(&line)?)
        });
        answer.map_err(|error| format!("no answer from the reaper: {error}"))?
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        let _ = send(&self.stream, &Request::Done);
        let _ = self.child.wait();
        // The reaper may have been killed, or the case's swap did not fit into memory.
        leftovers::remove_own_swap(&Root::system());
    }
}

fn send(mut stream: &UnixStream, words: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Runs the reaper, in the started process. Its standard input is the socket, which identifies the
/// process that started it.
pub fn attend(root: &Root) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let pid = socket_peercred(&stream)?.pid.as_raw_nonzero().get().unsigned_abs();
    // Read now: after its death, the number may belong to another process.
    let owner = Owner::read(root, pid);
    let mut swap = None;
    if listen(root, &stream, &mut swap).is_err() {
        // Processes that could still use the swap come first: their pages need not be read back.
        group::remove_dead(root, owner);
    }
    drop(swap);
    Ok(())
}

/// Processes requests until [`Request::Done`]. Fails if the other end closes without it.
fn listen(root: &Root, stream: &UnixStream, swap: &mut Option<Swap>) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let answer: Answer = match serde_json::from_str(&line?)? {
            Request::Done => return Ok(()),
            Request::Off => swap.take().map(Swap::remove).transpose().map_err(|e| e.to_string()),
            Request::On(spec) => match Swap::make(root, &spec) {
                Ok(new_swap) => {
                    *swap = new_swap;
                    Ok(swap.as_ref().map(|swap| swap.record().clone()))
                }
                Err(error) => Err(error.to_string()),
            },
        };
        send(stream, &answer)?;
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
