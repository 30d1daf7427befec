//! Engines whose data a server keeps: beside the client, which is the [`Engine`], how the server is
//! started ([`Served`]) and where it listens ([`Address`]).
//!
//! A keeper starts it, one for each case, and is its parent to the end: it belongs to the load
//! generator (`kvdyno_worker::main_served`).

mod wire;

pub use wire::{Answers, Tickets, Wire, nonsense};

use crate::{DataShape, Engine, Error, Options, Place, Result, library};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// The option that says by what the server is reached, of every server.
pub const LISTEN: &str = "listen";

/// Its words; the first is the default.
pub const LISTENS: [&str; 2] = ["unix", "tcp"];

/// The file in a server's folder with the password of its port, which only its owner may read.
pub const SECRET: &str = "kvdyno.secret";

/// An engine whose data a server keeps.
pub trait Served: Engine {
    /// The name of its Unix socket, in the folder it is started in.
    const SOCKET: &'static str = "server.sock";

    /// It will not run as root. Root then starts it in a user namespace in which it is somebody
    /// else, and in which the files are that one's too.
    const REFUSES_ROOT: bool = false;

    /// How to start it at a site, with the options of the case: what must be there before it is
    /// made by [`Launch::before`].
    fn launch(site: &Site, options: &Options, data: &DataShape) -> Result<Launch>;

    /// Fails until the server answers.
    fn answers(address: &Address) -> Result<()>;
}

/// Where a server has its data, and where it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// A folder of its own, and where it is started: what is in it can be named by its name alone.
    pub folder: PathBuf,
    /// Where it is to listen.
    pub address: Address,
}

/// How a server is started and stopped.
#[derive(Debug)]
pub struct Launch {
    /// Run to their ends before it, in this order.
    pub before: Vec<Command>,
    /// The server itself, in the foreground: what forks away is nobody's child.
    pub command: Command,
    /// What ends it in order, all writes kept.
    pub stop: StopSignal,
}

/// A signal that ends a server in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGUSR1.
    User1,
}

impl Site {
    /// A command of a server's program here, with the libraries that were unpacked with it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = command(program);
        command.current_dir(&self.folder);
        command
    }

    /// The port to listen at; zero where it listens at its socket alone.
    pub fn port(&self) -> u16 {
        match &self.address {
            Address::Tcp { at, .. } => at.port(),
            Address::Unix(_) => 0,
        }
    }

    /// What others on this machine must not read, in a file: a command's words are seen by all.
    pub fn keep_secret(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        let mut file =
            File::options().create(true).truncate(true).write(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    }
}

/// A server's program, which its engine has in the place of a library.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// As it says itself.
    pub version: String,
    /// What decides its speed, for a description.
    pub build: BTreeMap<String, String>,
}

impl Program {
    /// The one at `path`, or the newest installed of `engine`. `version` finds its version in what
    /// it says when it is asked with `--version`. Where there is none, `remedy` says what to do.
    pub fn find(
        engine: &str,
        title: &str,
        path: Option<&Path>,
        remedy: &str,
        version: impl Fn(&str) -> Option<&str>,
    ) -> Result<Self> {
        let path = library::chosen(engine, title, path, remedy)?;
        let refused = |what: &dyn Display| {
            Error::invalid(format!("program {}: {what}; {remedy}", path.display()))
        };
        let output = command(&path).arg("--version").output().map_err(|error| refused(&error))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = version(&said).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            refused(&format!("it does not say that it is {title}: {said} {}", errors.trim()))
        })?;
        let about = library::about(&path);
        let facts = [
            ("build", about.build.as_str().to_owned()),
            ("program", path.display().to_string()),
            ("sha256", about.sha256),
            ("source", about.source),
            ("says", said.clone()),
        ];
        let told = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let build = told.map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { version: version.to_owned(), build, path })
    }

    /// Version and build for a description; of one that is not there, why.
    pub fn told(program: Result<&Self>) -> (String, BTreeMap<String, String>) {
        match program {
            Ok(program) => (program.version.clone(), program.build.clone()),
            Err(error) => {
                ("unknown".to_owned(), BTreeMap::from([("program".to_owned(), error.message)]))
            }
        }
    }

    /// Refuses another program than this one, which the process has been told.
    pub fn check_only(&self, title: &str, wanted: Option<&Path>) -> Result<()> {
        library::check_only(title, &self.path, wanted)
    }
}

/// A command of a program, with the libraries that were unpacked with it.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    let libraries = library::beside(program);
    if !libraries.is_empty() {
        command.env("LD_LIBRARY_PATH", libraries.join(":"));
    }
    command
}

/// Where a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket: `unix:/place/server.sock`. Who may not enter its folder cannot reach it.
    Unix(PathBuf),
    /// A port, which anybody on this machine can reach: `tcp://:SECRET@127.0.0.1:6379`.
    Tcp {
        /// Numbers and port.
        at: SocketAddr,
        /// The password of those that may come in.
        secret: String,
    },
}

impl Address {
    /// Of a place that is a server.
    pub fn of(place: &Place) -> Result<Self> {
        match place {
            Place::Server(address) => address.parse(),
            Place::Directory(_) | Place::Device(_) => Err(Error::invalid(
                "this engine is the client of a server, the place is a directory or a device",
            )),
        }
    }

    /// Connects.
    pub fn connect(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(path) => {
                let (_folder, near) = near(path)?;
                Ok(Stream::Unix(UnixStream::connect(near)?))
            }
            Self::Tcp { at, .. } => {
                let stream = TcpStream::connect(at)?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp { at, secret } => write!(f, "tcp://:{secret}@{at}"),
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
            Error::invalid("an address is `unix:PATH` or `tcp://:PASSWORD@NUMBERS:PORT`")
        })
    }
}

/// A path to a socket that is short enough for the kernel, which takes 107 bytes of it: by way of
/// its folder, which must stay open until it is connected.
pub fn near(socket: &Path) -> io::Result<(File, PathBuf)> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (folder, name) = socket.parent().zip(socket.file_name()).ok_or_else(invalid)?;
    let folder = File::open(folder)?;
    let near = format!("/proc/self/fd/{}", folder.as_raw_fd());
    Ok((folder, Path::new(&near).join(name)))
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// By a socket.
    Unix(UnixStream),
    /// By a port.
    Tcp(TcpStream),
}

impl Stream {
    /// Sends as much as the server takes now, at least something; `None`: it takes nothing before
    /// what it has answered has been received. A server that answers while it reads would otherwise
    /// wait for its client for ever, and its client for it.
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let stream: &dyn AsFd = match self {
            Self::Unix(stream) => stream,
            Self::Tcp(stream) => stream,
        };
        loop {
            match send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => return Ok(Some(sent)),
                Err(Errno::AGAIN) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let mut ready = [PollFd::new(&stream, PollFlags::IN | PollFlags::OUT)];
            match poll(&mut ready, None) {
                Err(Errno::INTR) => {}
                other => drop(other?),
            }
            if ready[0].revents().contains(PollFlags::IN) {
                return Ok(None);
            }
        }
    }
}

impl Read for Stream {
    #[inline]
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert!(Address::of(&Place::Directory("/x".into())).is_err());
    }

    /// One that answers each byte with many, and reads on when they are taken.
    #[test]
    fn a_server_that_is_not_listened_to_is_not_waited_for() {
        const ASKED: usize = 1 << 20;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            let (mut bytes, mut read) = ([0; 4096], 0);
            while read < ASKED {
                read += theirs.read(&mut bytes).unwrap();
                theirs.write_all(&bytes).unwrap();
            }
        });
        let (mut stream, asked) = (Stream::Unix(ours), vec![1; ASKED]);
        let (mut sent, mut answers) = (0, vec![0; 65_536]);
        while sent < ASKED {
            match stream.send(&asked[sent..]).unwrap() {
                Some(more) => sent += more,
                None => drop(stream.read(&mut answers).unwrap()),
            }
        }
        // Until it hangs up.
        while stream.read(&mut answers).unwrap() > 0 {}
        server.join().unwrap();
    }

    #[test]
    fn a_socket_below_a_long_path_is_reached() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("server.sock");
        let (held, near) = near(&path).unwrap();
        let listener = UnixListener::bind(near).unwrap();
        drop(held);
        let mut stream = Address::Unix(path).connect().unwrap();
        stream.write_all(b"!").unwrap();
        let mut heard = [0];
        listener.accept().unwrap().0.read_exact(&mut heard).unwrap();
        assert_eq!(heard, *b"!");
    }
}
