//! A process of ours that outlives this one by a moment, and takes away what the kernel does not:
//! control groups, and swap. Whatever ends us, kill -9 included, it sees its end of a socket close.
//!
//! It makes the swap itself, so that there is no moment in which nobody knows of it. It does
//! nothing else, and no work while we live. Why it is there:
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

/// The command of this program that it is started with.
pub const COMMAND: &str = "reaper";

/// What it is told, a JSON line each.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Makes swap, and switches it on.
    On(SwapSpec),
    /// Switches it off, and takes it away.
    Off,
    /// There is nothing left to take away.
    Done,
}

/// What it says to each but the last: the swap that is, or was, on; or why there is none.
type Answer = Result<Option<SwapRecord>, String>;

/// This process's end. Dropped, the other is told that it is not needed any more, and has ended.
#[derive(Debug)]
pub struct Reaper {
    child: Child,
    stream: UnixStream,
}

impl Reaper {
    /// Starts it: this very program, however it is called by now. It is in a process group of its
    /// own, out of the way of Ctrl-C, and has nothing of ours open.
    pub fn start() -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(COMMAND).current_dir("/").process_group(0);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { child: command.spawn()?, stream })
    }

    /// Has swap made and switched on.
    pub fn swap_on(&self, spec: SwapSpec) -> Answer {
        self.request(&Request::On(spec))
    }

    /// Has it switched off and taken away.
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
        // It may have been killed, or there was no room for what was in a case's swap.
        leftovers::take_back(&Root::system());
    }
}

fn send(mut stream: &UnixStream, words: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(words)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// The other end: what the process does that was started so. Its standard input is the socket, by
/// which it knows who started it.
pub fn attend(root: &Root) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let pid = socket_peercred(&stream)?.pid.as_raw_nonzero().get().unsigned_abs();
    // Asked now: when it is dead, the number may be another's.
    let owner = Owner::read(root, pid);
    let mut swap = None;
    if listen(root, &stream, &mut swap).is_err() {
        // First those that could still use the swap: what is theirs need not be read back.
        group::remove_dead(root, owner);
    }
    drop(swap);
    Ok(())
}

/// Does what it is told until it is not needed any more. Fails where the other end is gone without
/// a word.
fn listen(root: &Root, stream: &UnixStream, swap: &mut Option<Swap>) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let answer: Answer = match serde_json::from_str(&line?)? {
            Request::Done => return Ok(()),
            Request::Off => swap.take().map(Swap::remove).transpose().map_err(|e| e.to_string()),
            Request::On(spec) => match Swap::on(root, &spec) {
                Ok(made) => {
                    *swap = made;
                    Ok(swap.as_ref().map(|swap| swap.record().clone()))
                }
                Err(error) => Err(error.to_string()),
            },
        };
        send(stream, &answer)?;
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
