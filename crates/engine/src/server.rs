//! Engines whose data a server keeps: beside the client, which is the [`Engine`], how the server is
//! started ([`Served`]) and where it listens ([`Address`]).
//!
//! A supervisor starts it, one for each case, and is its parent to the end: it belongs to the load
//! generator (`kvdyno_worker::main_served`).

mod address;
mod program;
pub mod shared_threads;
mod wire;

pub use address::{Address, BY_NAME, Elsewhere, Secrecy, Secret, Secured, Stream, send_to};
pub use program::{Program, ProgramSpec, ServerProgram};
pub use wire::{Answers, Tickets, Wire, decimal, protocol_error};

use crate::{DataShape, Durability, Engine, Options, Result};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The option that says by what the server is reached, of every server.
pub const LISTEN: &str = "listen";

/// Its words; the first is the default.
pub const LISTENS: [&str; 2] = ["unix", "tcp"];

/// The file in a server's directory with the password of its port, which only its owner may read.
pub const SECRET: &str = "kvdyno.secret";

/// An engine whose data a server keeps.
pub trait Served: Engine {
    /// Its program.
    const PROGRAM: &'static ServerProgram;

    /// The name of its Unix socket, in the directory it is started in.
    const SOCKET: &'static str = "server.sock";

    /// It does not run as root. Root then starts it in a user namespace as another user, who owns
    /// the files too.
    const REFUSES_ROOT: bool = false;

    /// How to attach to a server that kvdyno did not start; none: it has no databases of its own.
    const ATTACHMENT: Option<Attachment> = None;

    /// The [`counters`](Engine::counters) for the time line; they only grow.
    const STATISTICS: &'static [&'static str] = &[];

    /// How to start it at a site, with the options of the case: what must be there before it is
    /// made by [`Launch::setup`].
    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch>;

    /// Fails until the server answers.
    fn answers(address: &Address) -> Result<()>;
}

/// How the client of an engine comes to a server that somebody runs.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// The server that a reference leads to (`env:NAME`), with the name of the database that is to
    /// be ours in it.
    pub address: fn(reference: &str, database: &str) -> Result<Address>,
    /// What it says of itself. It is asked, and nothing is changed.
    pub look: fn(&Address) -> Result<Look>,
    /// Makes our database, which must not be there: a name that is taken is refused.
    pub create: fn(&Address) -> Result<()>,
    /// Takes our database away, with all that is in it.
    pub remove: fn(&Address) -> Result<()>,
}

/// What a server elsewhere says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its version.
    pub version: String,
    /// How a write that it has answered is kept; none: it does not tell.
    pub durability: Option<Durability>,
    /// It has transactions that an engine of the same program on this machine has not.
    pub transactions: bool,
}

/// Where a server has its data, and where it is reached.
#[derive(Clone, Debug)]
pub struct ServerDirectory {
    /// A directory of its own, and where it is started: what is in it can be named by its name
    /// alone. Of a server on a device it is in memory, is gone with its supervisor, and has this
    /// path for the supervisor alone.
    pub dir: PathBuf,
    /// The device that its records are on, held for it, its first MiB zeros before the first start;
    /// none: they are in the directory.
    pub device: Option<PathBuf>,
    /// Where it is to listen.
    pub address: Address,
}

/// How a server is started and stopped.
#[derive(Debug)]
pub struct Launch {
    /// Run to their ends before it, in this order.
    pub setup: Vec<Command>,
    /// The server itself, in the foreground: what forks away is nobody's child.
    pub command: Command,
    /// More servers of the same records, of the same program: they begin and end with it.
    pub replicas: Vec<Command>,
    /// What ends it in order, all writes kept.
    pub stop: StopSignal,
}

impl Launch {
    /// One server, of a command alone.
    pub fn new(command: Command, stop: StopSignal) -> Self {
        Self { setup: Vec::new(), command, replicas: Vec::new(), stop }
    }
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

impl ServerDirectory {
    /// A command of a server's program here, with the libraries that were unpacked with it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = program::command(program);
        command.current_dir(&self.dir);
        command
    }

    /// The port to listen at; zero where it listens at its socket alone.
    pub fn port(&self) -> u16 {
        match &self.address {
            Address::Tcp { at, .. } => at.port(),
            Address::Unix(_) | Address::Elsewhere(_) => 0,
        }
    }

    /// What others on this machine must not read, in a file: a command's words are seen by all.
    pub fn write_secret(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.dir.join(name);
        let mut file =
            File::options().create(true).truncate(true).write(true).mode(0o600).open(path)?;
        file.write_all(text.as_bytes())
    }
}

/// The connection that an engine keeps for its own work, besides those of its sessions.
#[derive(Debug)]
pub struct ControlConnection<C> {
    connection: Mutex<C>,
    has_graph: OnceLock<()>,
}

impl<C> ControlConnection<C> {
    /// Keeps `connection`.
    pub fn new(connection: C) -> Self {
        Self { connection: Mutex::new(connection), has_graph: OnceLock::new() }
    }

    /// The connection, for one user at a time.
    pub fn lock(&self) -> MutexGuard<'_, C> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `create` before the first use of a graph, to create its tables.
    pub fn ensure_graph(&self, create: impl FnOnce(&mut C) -> Result<()>) -> Result<()> {
        let mut connection = self.lock();
        if !self.has_graph() {
            create(&mut connection)?;
            let _ = self.has_graph.set(());
        }
        Ok(())
    }

    /// Whether the tables of a graph were created.
    pub fn has_graph(&self) -> bool {
        self.has_graph.get().is_some()
    }
}
