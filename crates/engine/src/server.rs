//! Engines whose data a server keeps. The client is the [`Engine`]; [`Served`] says how the server
//! is started, and [`Address`] where it listens.
//!
//! A supervisor starts one server for each case and is its parent to the end. The supervisor
//! belongs to the load generator (`kvdyno_worker::main_served`).

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

/// The option of every server that says how it is reached.
pub const LISTEN: &str = "listen";

/// The words of the option [`LISTEN`]; the first is the default.
pub const LISTENS: [&str; 2] = ["unix", "tcp"];

/// The file in a server's directory with the password of its port, which only its owner may read.
pub const SECRET: &str = "kvdyno.secret";

/// An engine whose data a server keeps.
pub trait Served: Engine {
    /// The server's program.
    const PROGRAM: &'static ServerProgram;

    /// The name of the server's Unix socket, in the directory where the server is started.
    const SOCKET: &'static str = "server.sock";

    /// Whether the server refuses to run as root. Root then starts it in a user namespace as
    /// another user, who owns the files too.
    const REFUSES_ROOT: bool = false;

    /// How to attach to a server that kvdyno did not start; none: the engine cannot attach.
    const ATTACHMENT: Option<Attachment> = None;

    /// The names of those [`counters`](Engine::counters) that are put on the time line. They only
    /// grow.
    const STATISTICS: &'static [&'static str] = &[];

    /// Returns how to start the server in `site`, with the options of the case. [`Launch::setup`]
    /// makes whatever must exist before the server starts.
    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch>;

    /// Checks that the server answers; fails until it does.
    fn answers(address: &Address) -> Result<()>;
}

/// How the client of an engine attaches to a server that kvdyno did not start.
#[derive(Clone, Copy, Debug)]
pub struct Attachment {
    /// Returns the address of the server that a reference (`env:NAME`) leads to, with the name that
    /// kvdyno's database has or is to have in it.
    pub address: fn(reference: &str, database: &str) -> Result<Address>,
    /// Asks the server about itself, and changes nothing.
    pub look: fn(&Address) -> Result<Look>,
    /// Creates kvdyno's database; refuses a name that exists already.
    pub create: fn(&Address) -> Result<()>,
    /// Removes kvdyno's database, with all that is in it.
    pub remove: fn(&Address) -> Result<()>,
}

/// What an attached server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// Its version.
    pub version: String,
    /// The durability class of its completed writes; none: the server does not tell.
    pub durability: Option<Durability>,
    /// Whether it has transactions that an engine of the same program on this machine lacks.
    pub transactions: bool,
}

/// The directory, the device and the address of a server.
#[derive(Clone, Debug)]
pub struct ServerDirectory {
    /// The server's own directory, in which it is started, so that paths relative to it work. For a
    /// server on a device the directory is in memory, vanishes with the supervisor, and has this
    /// path only for the supervisor.
    pub dir: PathBuf,
    /// The device with the server's records, reserved for it. Its first MiB is zeroed before the
    /// first start. None: the records are in the directory.
    pub device: Option<PathBuf>,
    /// The address at which the server is to listen.
    pub address: Address,
}

/// How a server is started and stopped.
#[derive(Debug)]
pub struct Launch {
    /// Commands that run to their ends before the server starts, in this order.
    pub setup: Vec<Command>,
    /// The server itself, in the foreground: one that forks away is not the supervisor's child.
    pub command: Command,
    /// More servers of the same records and program, which start and stop with the server.
    pub replicas: Vec<Command>,
    /// The signal that stops the server in order, with all writes kept.
    pub stop: StopSignal,
}

impl Launch {
    /// One server, without setup and replicas.
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
    /// A command that runs `program` in this directory, with the libraries that were unpacked with
    /// it.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = program::command(program);
        command.current_dir(&self.dir);
        command
    }

    /// The port to listen at; zero: the server listens only at its socket.
    pub fn port(&self) -> u16 {
        match &self.address {
            Address::Tcp { at, .. } => at.port(),
            Address::Unix(_) | Address::Elsewhere(_) => 0,
        }
    }

    /// Writes `text` to a file that only its owner may read. A secret does not belong in a command,
    /// whose words all users of this machine see.
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
