//! Engines whose data a server keeps: beside the client, which is the [`Engine`], how the server is
//! started ([`Served`]) and where it listens ([`Address`]).
//!
//! A supervisor starts it, one for each case, and is its parent to the end: it belongs to the load
//! generator (`kvdyno_worker::main_served`).

mod address;
pub mod turns;
mod wire;

pub use address::{Address, BY_NAME, Elsewhere, Secrecy, Secret, Secured, Stream, near, send_to};
pub use wire::{Answers, GREETING_BYTES_MAX, Tickets, Wire, decimal, nonsense, too_long};

use crate::{DataShape, Durability, Engine, Error, Options, Result, library};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

    /// It does not run as root. Root then starts it in a user namespace as another user, who owns
    /// the files too.
    const REFUSES_ROOT: bool = false;

    /// How to attach to a server that kvdyno did not start; none: it has no databases of its own.
    const ATTACHMENT: Option<Attachment> = None;

    /// Of its [`counters`](Engine::counters), those that only grow and are worth a time line.
    const TOLD: &'static [&'static str] = &[];

    /// How to start it at a site, with the options of the case: what must be there before it is
    /// made by [`Launch::before`].
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
    /// A folder of its own, and where it is started: what is in it can be named by its name alone.
    /// Of a server on a device it is in memory, is gone with its supervisor, and has this path for
    /// the supervisor alone.
    pub folder: PathBuf,
    /// The device that its records are on, held for it, its first MiB zeros before the first start;
    /// none: they are in the folder.
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
        let mut command = command(program);
        command.current_dir(&self.folder);
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

/// The program that is looked for.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSpec<'s> {
    /// Whose it is.
    pub engine: &'s str,
    /// The server's name.
    pub title: &'s str,
    /// What it is called where it is on PATH.
    pub program: &'s str,
    /// What to do where there is none.
    pub remedy: &'s str,
}

impl ProgramSpec<'_> {
    /// The one at `path`; or the newest that was fetched; or the one on PATH.
    fn chosen(&self, path: Option<&Path>) -> Result<PathBuf> {
        let chosen = library::chosen(self.engine, self.title, path, self.remedy);
        if path.is_some() || chosen.is_ok() {
            return chosen;
        }
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = std::env::split_paths(&folders).map(|folder| folder.join(self.program));
        programs.find(|program| program.is_absolute() && is_executable(program)).map_or(chosen, Ok)
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

impl Program {
    /// The one at `path`, the newest that was fetched, or the one on PATH. `version` parses the
    /// output of `--version`.
    pub fn find(
        sought: &ProgramSpec<'_>,
        path: Option<&Path>,
        version: impl Fn(&str) -> Option<&str>,
    ) -> Result<Self> {
        let ProgramSpec { title, remedy, .. } = sought;
        let path = sought.chosen(path)?;
        let refused = |what: &dyn Display| {
            Error::invalid(format!("program {}: {what}; {remedy}", path.display()))
        };
        let output = command(&path).arg("--version").output().map_err(|error| refused(&error))?;
        let reply = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let version = version(&reply).ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            refused(&format!("expected the version of {title}, found: {reply} {}", errors.trim()))
        })?;
        let about = library::about(&path);
        let facts = [
            ("build", about.build.as_str().to_owned()),
            ("program", path.display().to_string()),
            ("sha256", about.sha256),
            ("source", about.source),
            ("says", reply.clone()),
        ];
        let filled = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let build = filled.map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { version: version.to_owned(), build, path })
    }

    /// Version and build for a description; of one that is not there, why.
    pub fn describe(program: Result<&Self>) -> (String, BTreeMap<String, String>) {
        match program {
            Ok(program) => (program.version.clone(), program.build.clone()),
            Err(error) => {
                ("unknown".to_owned(), BTreeMap::from([("program".to_owned(), error.message)]))
            }
        }
    }

    /// Refuses another program than this one, which the process has been told.
    pub fn check_only(&self, title: &str, required: Option<&Path>) -> Result<()> {
        library::check_only(title, &self.path, required)
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
