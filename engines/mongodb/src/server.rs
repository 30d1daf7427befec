//! The server: its program, and how it is started.

use crate::client::MongoDb;
use crate::connection::{ADMIN, Connection};
use crate::elsewhere;
use kvdyno_engine::server::{
    Address, Attachment, Launch, Program, ProgramSpec, Served, ServerDirectory, StopSignal,
};
use kvdyno_engine::{DataShape, Durability, Error, Options, Result};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

const SOUGHT: ProgramSpec<'_> = ProgramSpec {
    engine: "mongodb",
    title: "MongoDB",
    program: "mongod",
    remedy: "there is no package of MongoDB that could be fetched: `library = PATH` in a suite \
             names a program mongod, of any version since 2.6, from MongoDB's own site or built \
             from its sources, or a ferretdb 1.x",
};

/// The folder of the database, below that of the server.
pub(crate) const DATA: &str = "data";

static PROGRAM: OnceLock<Result<Program>> = OnceLock::new();

/// The program at `path`, the newest that was fetched, or the one on PATH.
pub(crate) fn program(path: Option<&Path>) -> Result<&'static Program> {
    let find = || Program::find(&SOUGHT, path, version);
    let program = PROGRAM.get_or_init(find).as_ref().map_err(Clone::clone)?;
    program.check_only(SOUGHT.title, path).map(|()| program)
}

/// `db version v3.0.10`; `version: v1.24.2` where it is `FerretDB`.
fn version(output: &str) -> Option<&str> {
    Kind::from_output(output)?;
    output.lines().next()?.rsplit_once(" v").map(|(_, version)| version.trim())
}

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `MongoDB` itself, or one that takes its words.
    Mongod,
    /// `FerretDB`, over `SQLite`.
    FerretDb,
}

impl Kind {
    pub(crate) fn from_program(program: &Program) -> Self {
        let output = program.build.get("says").map_or("", String::as_str);
        Self::from_output(output).unwrap_or(Self::Mongod)
    }

    fn from_output(output: &str) -> Option<Self> {
        if output.starts_with("db version v") {
            return Some(Self::Mongod);
        }
        output.starts_with("version: v").then_some(Self::FerretDb)
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mongod => "MongoDB",
            Self::FerretDb => "FerretDB",
        }
    }
}

impl Served for MongoDb {
    const TOLD: &'static [&'static str] = &[
        "backgroundFlushing.flushes",
        "extra_info.page_faults",
        "network.bytesIn",
        "network.bytesOut",
        "wiredTiger.block-manager.bytes read",
        "wiredTiger.block-manager.bytes written",
        "wiredTiger.cache.bytes read into cache",
        "wiredTiger.cache.bytes written from cache",
        "wiredTiger.cache.pages evicted by application threads",
        "wiredTiger.transaction.transaction checkpoints",
    ];

    const ATTACHMENT: Option<Attachment> = Some(elsewhere::ATTACHMENT);

    fn launch(site: &ServerDirectory, options: &Options, _data: &DataShape) -> Result<Launch> {
        if matches!(site.address, Address::Tcp { .. }) {
            return Err(Error::invalid(
                "listen = \"tcp\" is refused: this client has no password, and a port is open to \
                 all users; use a Unix socket",
            ));
        }
        std::fs::create_dir_all(site.folder.join(DATA))?;
        let program = program(None)?;
        let mut command = site.command(&program.path);
        match Kind::from_program(program) {
            Kind::Mongod => mongod(&mut command, options, &program.version)?,
            Kind::FerretDb => ferretdb(&mut command, options),
        }
        Ok(Launch { setup: Vec::new(), command, replicas: Vec::new(), stop: StopSignal::Terminate })
    }

    fn answers(address: &Address) -> Result<()> {
        Connection::open(address)?.command(ADMIN, |doc| doc.int("ping", 1)).map(drop)
    }
}

/// Its data is in files of `SQLite`; it opens no connections.
fn ferretdb(command: &mut Command, options: &Options) {
    let synchronous = if options.durability == Durability::Commit { "FULL" } else { "OFF" };
    command.args(["--handler=sqlite", "--state-dir=.", "--telemetry=disable"]);
    command.arg(format!("--sqlite-url=file:{DATA}/?_pragma=synchronous({synchronous})"));
    command.arg(format!("--listen-unix={}", MongoDb::SOCKET));
    command.args(["--listen-addr=", "--debug-addr=-", "--log-level=error"]);
}

fn mongod(command: &mut Command, options: &Options, version: &str) -> Result<()> {
    let since = |least: (u32, u32)| numbers(version) >= least;
    let mut set = |name: &str, value: &str| {
        command.arg(format!("--{name}")).arg(value);
    };
    set("dbpath", DATA);
    // An address with a slash is a socket, of every version. Some make one of another name as well.
    set("bind_ip", &format!("./{}", MongoDb::SOCKET));
    set("unixSocketPrefix", ".");
    set("syncdelay", &options.integer("syncdelay")?.to_string());
    let engine = options.text("storage_engine")?;
    if !engine.is_empty() {
        set("storageEngine", engine);
    }
    let wiredtiger = engine == "wiredTiger" || (engine.is_empty() && since((3, 2)));
    match options.integer("cache_size")? {
        0 => {}
        bytes if engine == "rocksdb" => {
            set("rocksdbCacheSizeGB", &bytes.div_ceil(1 << 30).to_string());
        }
        // Its option --wiredTigerCacheSizeGB takes whole gigabytes before 3.4.
        bytes if wiredtiger => {
            set("wiredTigerEngineConfigString", &format!("cache_size={}M", (bytes >> 20).max(1)));
        }
        // mmapv1 has none but the kernel's.
        _ => {}
    }
    for (option, flag) in [
        ("block_compressor", "wiredTigerCollectionBlockCompressor"),
        ("journal_compressor", "wiredTigerJournalCompressor"),
    ] {
        match options.text(option)? {
            "zstd" if !since((4, 2)) => {
                return Err(Error::invalid(format!("{option}: {version} has no zstd")));
            }
            compressor if wiredtiger => set(flag, compressor),
            _ => {}
        }
    }
    if options.boolean("directoryperdb")? {
        command.arg("--directoryperdb");
    }
    if !options.boolean("journal")? {
        if since((6, 1)) || options.durability == Durability::Commit {
            return Err(Error::invalid(
                "journal = false: class commit needs the journal, and so does class none since 6.1",
            ));
        }
        command.arg("--nojournal");
    }
    if options.boolean("smallfiles")? {
        if since((4, 2)) {
            return Err(Error::invalid(format!("smallfiles: {version} has no mmapv1")));
        }
        command.arg("--smallfiles");
    }
    Ok(())
}

/// The first two numbers of a version.
fn numbers(version: &str) -> (u32, u32) {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        assert_eq!(version("db version v3.0.10\ngit version: 1e0512f8"), Some("3.0.10"));
        assert_eq!(version("db version v7.0.5\nBuild Info: {}"), Some("7.0.5"));
        assert_eq!(version("version: v1.24.2\ncommit: unknown"), Some("1.24.2"));
        assert_eq!(version("Redis server v=7.0.15 sha=0"), None);
        assert_eq!(Kind::from_output("version: v1.24.2"), Some(Kind::FerretDb));
        assert!(numbers("3.0.10") < (3, 2) && numbers("7.0.5") > (4, 2));
    }
}
