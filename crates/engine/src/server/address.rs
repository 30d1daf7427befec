//! The address of a server, and the connection to it.

use super::Served;
use crate::{Error, Location, Result, Settled};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sockopt};
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// The prefix of a reference to an attached server. The name of an environment variable with its
/// URL follows.
pub const BY_NAME: &str = "env:";

/// An attached server must accept a connection within this time.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// The address of a server.
#[derive(Clone, Debug)]
pub enum Address {
    /// A Unix socket: `unix:/place/server.sock`. The permissions of its directory protect it.
    Unix(PathBuf),
    /// A port, open to every user of this machine: `tcp://:SECRET@127.0.0.1:6379`.
    Tcp {
        /// IP address and port.
        at: SocketAddr,
        /// The password of clients.
        secret: String,
    },
    /// A server that kvdyno did not start.
    Elsewhere(Arc<Elsewhere>),
}

/// A server that kvdyno did not start, and a database in it that kvdyno made.
#[derive(Debug)]
pub struct Elsewhere {
    /// Its reference: `env:NAME`.
    pub reference: String,
    /// Its host, by name or number.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The user; empty: the default user.
    pub user: String,
    /// The user's password; empty: none.
    pub password: Secret,
    /// The database that kvdyno made.
    pub database: String,
    /// An existing database to connect to, where the server requires one.
    pub entrance: String,
    /// TLS; none: the connection is not encrypted.
    pub secrecy: Option<Box<dyn Secrecy>>,
}

impl Elsewhere {
    /// The result of [`Engine::settle`](crate::Engine::settle) on an attached server.
    pub fn settle_result(&self) -> Settled {
        let note = format!("{}: attached server, not settled", self.reference);
        Settled { idle: false, note }
    }
}

/// A secret, which must not be printed.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Encrypts a connection (TLS).
pub trait Secrecy: fmt::Debug + Send + Sync {
    /// Encrypts the connection from here on, with the certificate of `host`.
    fn begin(&self, stream: TcpStream, host: &str) -> io::Result<Box<dyn Secured>>;
}

/// An encrypted connection.
pub trait Secured: fmt::Debug + Read + Send {
    /// Sends bytes, as [`Stream::send`] does.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Option<usize>>;

    /// Whether everything is on its way; false: the server's answers must be received first.
    fn is_sent(&mut self) -> io::Result<bool>;

    /// The connection under the encryption.
    fn socket(&self) -> &TcpStream;
}

impl Address {
    /// Returns the address in a location that is a server of engine `E`.
    pub fn from_location<E: Served>(location: &Location) -> Result<Self> {
        match location {
            Location::Server(address) => match address.split_once('/') {
                Some((reference, database)) if reference.starts_with(BY_NAME) => {
                    let none = || Error::invalid("this engine cannot attach to a server");
                    (E::ATTACHMENT.ok_or_else(none)?.address)(reference, database)
                }
                _ => address.parse(),
            },
            Location::Directory(_) | Location::Device(_) => {
                Err(Error::invalid("expected a server, found a directory or a device"))
            }
        }
    }

    /// Connects.
    pub fn connect(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(path) => {
                let (_dir, near) = shorten_path(path)?;
                Ok(Stream::Unix(UnixStream::connect(near)?))
            }
            Self::Tcp { at, .. } => {
                let stream = TcpStream::connect(at)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Self::Elsewhere(remote) => {
                let mut last = io::Error::other("the host has no address");
                let resolved = (remote.host.as_str(), remote.port).to_socket_addrs();
                let unknown = |error: io::Error| {
                    let what = "unknown host (expected SCHEME://USER:PASSWORD@HOST:PORT)";
                    io::Error::new(error.kind(), format!("{what}: {error}"))
                };
                for at in resolved.map_err(unknown)? {
                    match TcpStream::connect_timeout(&at, CONNECTS_WITHIN) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            notice_death(&stream)?;
                            return Ok(Stream::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// The server that kvdyno did not start, if it is one.
    pub fn attached_server(&self) -> Option<&Elsewhere> {
        match self {
            Self::Elsewhere(remote) => Some(remote),
            Self::Unix(_) | Self::Tcp { .. } => None,
        }
    }

    /// The password; empty: none.
    pub fn password(&self) -> &str {
        match self {
            Self::Unix(_) => "",
            Self::Tcp { secret, .. } => secret,
            Self::Elsewhere(remote) => &remote.password.0,
        }
    }
}

/// Sets the timeouts of a connection so that a vanished host is noticed within about a minute.
fn notice_death(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(30))?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(10))?;
    sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(sockopt::set_tcp_user_timeout(stream, 60_000)?)
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { at, secret } => write!(f, "tcp://:{secret}@{at}"),
            Self::Elsewhere(remote) => write!(f, "{}/{}", remote.reference, remote.database),
        }
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let tcp = || {
            let (secret, at) = text.strip_prefix("tcp://:")?.rsplit_once('@')?;
            Some(Self::Tcp { at: at.parse().ok()?, secret: secret.to_owned() })
        };
        let unix = text.strip_prefix("unix:").map(|path| Self::Unix(path.into()));
        unix.or_else(tcp).ok_or_else(|| {
            Error::invalid("expected an address: `unix:PATH` or `tcp://:PASSWORD@IP:PORT`")
        })
    }
}

/// Returns a path to a socket that is short enough for the kernel, which takes 107 bytes. The path
/// leads through the returned directory, which must stay open until the socket is connected.
fn shorten_path(socket: &Path) -> io::Result<(File, PathBuf)> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (dir, name) = socket.parent().zip(socket.file_name()).ok_or_else(invalid)?;
    let dir = File::open(dir)?;
    let near = format!("/proc/self/fd/{}", dir.as_raw_fd());
    Ok((dir, Path::new(&near).join(name)))
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// Through a Unix socket.
    Unix(UnixStream),
    /// Through a TCP port.
    Tcp(TcpStream),
    /// Through a TCP port, encrypted.
    Secured(Box<dyn Secured>),
}

impl Stream {
    /// Returns the connection, encrypted from here on; none: the server requires no TLS.
    pub(super) fn start_tls(&self, address: &Address) -> Result<Option<Self>> {
        let hidden =
            address.attached_server().and_then(|remote| Some((remote.secrecy.as_ref()?, remote)));
        match (hidden, self) {
            (None, _) => Ok(None),
            (Some((secrecy, remote)), Self::Tcp(stream)) => {
                Ok(Some(Self::Secured(secrecy.begin(stream.try_clone()?, &remote.host)?)))
            }
            _ => Err(Error::invalid("TLS needs a TCP connection")),
        }
    }

    /// The file descriptor to poll.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
            Self::Secured(stream) => stream.socket().as_fd(),
        }
    }

    /// Limits the wait for each answer from now on.
    pub(super) fn patience(&self, limit: Duration) -> io::Result<()> {
        let limit = Some(limit.max(Duration::from_millis(1)));
        match self {
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tcp(stream) => stream.set_read_timeout(limit),
            Self::Secured(stream) => stream.socket().set_read_timeout(limit),
        }
    }

    /// Whether all that [`Stream::send`] took is on its way. False: the server takes nothing before
    /// its answers have been received.
    #[inline]
    pub(super) fn is_sent(&mut self) -> io::Result<bool> {
        match self {
            Self::Unix(_) | Self::Tcp(_) => Ok(true),
            Self::Secured(stream) => stream.is_sent(),
        }
    }

    /// Sends as much as the server takes now, at least one byte; `None`: the server takes nothing
    /// before its answers have been received. Otherwise a server that answers while it reads and
    /// its client would wait for each other for ever.
    #[inline]
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self {
            Self::Unix(stream) => send_to(stream, bytes),
            Self::Tcp(stream) => send_to(stream, bytes),
            Self::Secured(stream) => stream.send(bytes),
        }
    }
}

/// [`Stream::send`] to a socket.
#[inline]
pub fn send_to(socket: &impl AsFd, bytes: &[u8]) -> io::Result<Option<usize>> {
    loop {
        match send(socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => return Ok(Some(sent)),
            Err(Errno::AGAIN) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        }
        let mut ready = [PollFd::new(socket, PollFlags::IN | PollFlags::OUT)];
        match poll(&mut ready, None) {
            Err(Errno::INTR) => {}
            other => drop(other?),
        }
        if ready[0].revents().contains(PollFlags::IN) {
            return Ok(None);
        }
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
            Self::Secured(stream) => stream.read(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        for text in ["unix:/a b/server.sock", "tcp://:pw@127.0.0.1:6379", "tcp://:@[::1]:1"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for wrong in ["", "tcp://:secret@localhost:1", "redis://me:secret@h/", "/s.sock"] {
            let error = wrong.parse::<Address>().unwrap_err();
            assert!(!error.message.contains("secret"), "{error}");
        }
    }

    /// The server answers each byte with many, and reads on when they are received.
    #[test]
    fn a_server_that_is_not_listened_to_is_not_waited_for() {
        const ASKED: usize = 1 << 20;
        let (client, mut remote) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut bytes, mut read) = ([0; 4096], 0);
            while read < ASKED {
                read += remote.read(&mut bytes).unwrap();
                remote.write_all(&bytes).unwrap();
            }
        });
        let (mut stream, request) = (Stream::Unix(client), vec![1; ASKED]);
        let (mut sent, mut answers) = (0, vec![0; 65_536]);
        while sent < ASKED {
            match stream.send(&request[sent..]).unwrap() {
                Some(more) => sent += more,
                None => drop(stream.read(&mut answers).unwrap()),
            }
        }
        // Until the server hangs up.
        while stream.read(&mut answers).unwrap() > 0 {}
        server.join().unwrap();
    }

    #[test]
    fn a_socket_below_a_long_path_is_reached() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("server.sock");
        let (open_dir, near) = shorten_path(&path).unwrap();
        let listener = UnixListener::bind(near).unwrap();
        drop(open_dir);
        let mut stream = Address::Unix(path).connect().unwrap();
        assert_eq!(stream.send(b"!").unwrap(), Some(1));
        let mut byte = [0];
        listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"!");
    }
}
