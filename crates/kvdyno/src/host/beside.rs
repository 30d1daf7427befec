//! Other runs of this program on this machine at the same time, which would measure each other.
//!
//! The first run listens on a socket that has a name and no file; another finds it there and stays
//! connected. So each knows of the other from its first moment to its last, nothing is left behind,
//! and runs of all users are seen. Containers with networks of their own are not.

use rustix::net::sockopt::socket_peercred;
use std::io::{self, ErrorKind, Read};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

/// The socket's name.
const NAME: &str = "kvdyno-run";

/// How this run knows of others.
#[derive(Debug)]
pub struct Beside {
    name: String,
    /// Where others find us; none where one was there before.
    listener: Option<UnixListener>,
    /// The others, by a connection that ends when they do.
    others: Vec<(u32, UnixStream)>,
}

impl Beside {
    /// Looks for others, and can be found from now on.
    pub fn look() -> Self {
        Self::named(NAME)
    }

    fn named(name: &str) -> Self {
        let mut beside = Self { name: name.to_owned(), listener: None, others: Vec::new() };
        // That others cannot be looked for must not end a run.
        let _ = beside.settle();
        beside
    }

    /// Their process numbers: those that were at work at any time since this was last asked.
    pub fn others(&mut self) -> Vec<u32> {
        if let Some(listener) = &self.listener {
            while let Ok((stream, _)) = listener.accept() {
                self.others.extend(pid(&stream).map(|pid| (pid, stream)));
            }
        }
        let seen = self.others.iter().map(|(pid, _)| *pid).collect();
        self.others.retain_mut(|(_, stream)| is_open(stream));
        // Who was there first has ended: its name is free.
        if self.listener.is_none() && self.others.is_empty() {
            let _ = self.settle();
        }
        seen
    }

    /// Takes the name, or connects to who has it.
    fn settle(&mut self) -> io::Result<()> {
        let address = SocketAddr::from_abstract_name(&self.name)?;
        match UnixListener::bind_addr(&address) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                self.listener = Some(listener);
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                let stream = UnixStream::connect_addr(&address)?;
                self.others.extend(pid(&stream).map(|pid| (pid, stream)));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Who is at the other end.
fn pid(stream: &UnixStream) -> Option<u32> {
    stream.set_nonblocking(true).ok()?;
    let pid = socket_peercred(stream).ok()?.pid;
    Some(pid.as_raw_nonzero().get().unsigned_abs())
}

/// Nobody says anything: what can be read is the end.
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
        let mut first = Beside::named(&name);
        assert!(first.others().is_empty());
        let mut second = Beside::named(&name);
        assert_eq!(second.others(), [me]);
        assert_eq!(first.others(), [me]);
        drop(second);
        assert_eq!(first.others(), [me], "it was there since the last look");
        assert!(first.others().is_empty());
        let mut third = Beside::named(&name);
        drop(first);
        assert_eq!(third.others(), [me], "the first was there when it came");
        assert!(third.others().is_empty());
        let mut fourth = Beside::named(&name);
        assert_eq!(fourth.others(), [me], "the third can be found now");
        assert_eq!(third.others(), [me]);
    }
}
