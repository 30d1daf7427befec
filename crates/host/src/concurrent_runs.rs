//! Other runs of this program on this machine at the same time, which would disturb each other.
//!
//! Each run listens on a socket that has a name and no file, and stays connected to the earlier
//! runs. So each knows the others from its start to its end, nothing is left behind, and runs of
//! all users are seen. Containers with their own networks are not.

use rustix::net::sockopt::socket_peercred;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The prefix of the sockets' names; a number follows.
const NAME: &str = "kvdyno-run";

/// The number of names. Runs beyond it are seen by those with a name, but not by each other.
const NAMES: u32 = 32;

/// The list of other runs.
#[derive(Debug)]
pub struct ConcurrentRuns {
    /// The socket that later runs connect to; `None`: every name is taken.
    listener: Option<UnixListener>,
    /// The process number of each other run, and a connection that ends when the run does.
    others: Vec<(u32, UnixStream)>,
}

impl ConcurrentRuns {
    /// Finds the other runs, and can be found by later ones from now on.
    pub fn look() -> Self {
        Self::with_name(NAME)
    }

    /// Listens before it looks for others: of two runs that begin at once, at least one finds the
    /// other. Errors are ignored: a failed search must not end a run.
    fn with_name(name: &str) -> Self {
        let address = |number| SocketAddr::from_abstract_name(format!("{name}-{number}"));
        let mine = (0..NAMES).find_map(|number| {
            let listener = UnixListener::bind_addr(&address(number).ok()?).ok()?;
            listener.set_nonblocking(true).ok()?;
            Some((number, listener))
        });
        let own_number = mine.as_ref().map(|(number, _)| *number);
        let others = (0..NAMES).filter(|number| Some(*number) != own_number).filter_map(|number| {
            let stream = UnixStream::connect_addr(&address(number).ok()?).ok()?;
            Some((pid(&stream)?, stream))
        });
        Self { others: others.collect(), listener: mine.map(|(_, listener)| listener) }
    }

    /// The process numbers of runs that were active at any time since the last call.
    pub fn take_other_pids(&mut self) -> Vec<u32> {
        if let Some(listener) = &self.listener {
            while let Ok((stream, _)) = listener.accept() {
                self.others.extend(pid(&stream).map(|pid| (pid, stream)));
            }
        }
        // Two runs that began at once are connected twice.
        let pids: BTreeSet<u32> = self.others.iter().map(|(pid, _)| *pid).collect();
        self.others.retain_mut(|(_, stream)| is_open(stream));
        pids.into_iter().collect()
    }
}

/// Returns the process number at the other end.
fn pid(stream: &UnixStream) -> Option<u32> {
    stream.set_nonblocking(true).ok()?;
    let pid = socket_peercred(stream).ok()?.pid;
    Some(pid.as_raw_nonzero().get().unsigned_abs())
}

/// Returns whether the other run is alive. No run writes, so a readable socket has ended.
fn is_open(stream: &mut UnixStream) -> bool {
    stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_know_of_each_other_for_as_long_as_both_are_there() {
        let name = format!("kvdyno-test-{}", std::process::id());
        let me = std::process::id();
        let mut first = ConcurrentRuns::with_name(&name);
        assert!(first.take_other_pids().is_empty());
        let mut second = ConcurrentRuns::with_name(&name);
        assert_eq!(second.take_other_pids(), [me]);
        assert_eq!(first.take_other_pids(), [me]);
        drop(second);
        assert_eq!(first.take_other_pids(), [me], "it was there since the last look");
        assert!(first.take_other_pids().is_empty());
        let mut third = ConcurrentRuns::with_name(&name);
        drop(first);
        assert_eq!(third.take_other_pids(), [me], "the first was there when it came");
        assert!(third.take_other_pids().is_empty());
        let mut fourth = ConcurrentRuns::with_name(&name);
        assert_eq!(fourth.take_other_pids(), [me], "the third can be found");
        assert_eq!(third.take_other_pids(), [me]);
    }
}
