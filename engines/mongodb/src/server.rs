//! The server: its program, and how it is started.

use crate::client::MongoDb;
use crate::connection::Connection;
use crate::elsewhere;
use crate::oplog;
use kvdyno_engine::server::{
    Address, Attachment, Launch, Program, ProgramSpec, Served, ServerDirectory, ServerProgram,
    StopSignal,
};
use kvdyno_engine::{DataShape, Durability, Error, Options, Result};
use std::process::Command;

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "mongodb",
    title: "MongoDB",
    program: "mongod",
    remedy: "there is no package of MongoDB that could be fetched: `library = PATH` in a suite \
             names a program mongod, of any version since 2.6, from MongoDB's own site or built \
             from its sources, TokuMX's mongod 2.0, or a ferretdb 1.x",
    version,
});

/// The directory of the database, below that of the server.
pub(crate) const DATA: &str = "data";

/// `db version v3.0.10`; `version: v1.24.2` where it is `FerretDB`; `TokuMX mongod server
/// v2.0.2-mongodb-2.4.10, using TokuKV rev 39fefcc`.
fn version(output: &str) -> Option<&str> {
    Kind::from_output(output)?;
    let first = output.lines().next()?.split(',').next()?;
    first.rsplit_once(" v").map(|(_, version)| version.trim())
}

/// The kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `MongoDB`, or a server with its options.
    Mongod,
    /// `TokuMX`: the protocol of `MongoDB` 2.4, and trees of its own.
    TokuMx,
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
        if output.starts_with("TokuMX mongod server v") {
            return Some(Self::TokuMx);
        }
        output.starts_with("version: v").then_some(Self::FerretDb)
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mongod => "MongoDB",
            Self::TokuMx => "TokuMX",
            Self::FerretDb => "FerretDB",
        }
    }
}

impl Served for MongoDb {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
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
        std::fs::create_dir_all(site.dir.join(DATA))?;
        let program = PROGRAM.find(None)?;
        let mut command = site.command(&program.path);
        match Kind::from_program(program) {
            Kind::Mongod => mongod(&mut command, options, &program.version)?,
            Kind::TokuMx => tokumx(&mut command, options)?,
            Kind::FerretDb => ferretdb(&mut command, options),
        }
        Ok(Launch::new(command, StopSignal::Terminate))
    }

    fn answers(address: &Address) -> Result<()> {
        oplog::check_primary(&mut Connection::open(address)?)
    }
}

/// Adds the arguments of `FerretDB`. Its data is in files of `SQLite`; it opens no connections.
fn ferretdb(command: &mut Command, options: &Options) {
    let synchronous = if options.durability == Durability::Commit { "FULL" } else { "OFF" };
    command.args(["--handler=sqlite", "--state-dir=.", "--telemetry=disable"]);
    command.arg(format!("--sqlite-url=file:{DATA}/?_pragma=synchronous({synchronous})"));
    command.arg(format!("--listen-unix={}", MongoDb::SOCKET));
    command.args(["--listen-addr=", "--debug-addr=-", "--log-level=error"]);
}

/// Adds the arguments of all kinds of mongod: where its data is, where it listens, and its oplog.
fn set_common(command: &mut Command, options: &Options) -> Result<()> {
    command.args(["--dbpath", DATA, "--unixSocketPrefix", "."]);
    // In every version an address with a slash is a socket. Some versions create one of another
    // name as well.
    command.args(["--bind_ip", &oplog::own_address()]);
    if options.integer("oplog_size")? > 0 {
        command.args(["--replSet", oplog::SET]);
    }
    Ok(())
}

/// Adds the arguments of `TokuMX`. Its log is synced each 100 ms, or before an answer if the write
/// asks for that.
fn tokumx(command: &mut Command, options: &Options) -> Result<()> {
    set_common(command, options)?;
    // Its web console would take the socket.
    command.arg("--nohttpinterface");
    match options.integer("cache_size")? {
        0 => {}
        bytes => {
            command.arg("--cacheSize").arg(bytes.to_string());
        }
    }
    command.arg("--checkpointPeriod").arg(options.integer("syncdelay")?.to_string());
    let compressor = options.text("block_compressor")?;
    command.arg("--setParameter").arg(format!("defaultCompression={compressor}"));
    Ok(())
}

fn mongod(command: &mut Command, options: &Options, version: &str) -> Result<()> {
    let since = |least: (u32, u32)| numbers(version) >= least;
    set_common(command, options)?;
    let mut set = |name: &str, value: &str| {
        command.arg(format!("--{name}")).arg(value);
    };
    set("syncdelay", &options.integer("syncdelay")?.to_string());
    match options.integer("oplog_size")? {
        0 => {}
        bytes => set("oplogSize", &(bytes >> 20).max(1).to_string()),
    }
    let engine = options.text("storage_engine")?;
    if !engine.is_empty() {
        set("storageEngine", engine);
    }
    let wiredtiger = engine == "wiredTiger" || (engine.is_empty() && since((3, 2)));
    match options.integer("cache_size")? {
        0 => {}
        // Its option --rocksdbCacheSizeGB takes whole gigabytes.
        bytes if engine == "rocksdb" => {
            let cache = format!("block_based_table_factory={{block_cache={bytes}}}");
            set("rocksdbConfigString", &cache);
        }
        // Its option --wiredTigerCacheSizeGB takes whole gigabytes before 3.4.
        bytes if wiredtiger => {
            set("wiredTigerEngineConfigString", &format!("cache_size={}M", (bytes >> 20).max(1)));
        }
        // mmapv1 has no cache but the kernel's.
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

/// Returns the first two numbers of a version.
pub(crate) fn numbers(version: &str) -> (u32, u32) {
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
        let toku = "TokuMX mongod server v2.0.2-mongodb-2.4.10, using TokuKV rev 39fefcc v1";
        assert_eq!(version(toku), Some("2.0.2-mongodb-2.4.10"));
        assert_eq!(Kind::from_output(toku), Some(Kind::TokuMx));
        assert_eq!(version("Redis server v=7.0.15 sha=0"), None);
        assert_eq!(Kind::from_output("version: v1.24.2"), Some(Kind::FerretDb));
        assert!(numbers("3.0.10") < (3, 2) && numbers("7.0.5") > (4, 2));
    }
}
