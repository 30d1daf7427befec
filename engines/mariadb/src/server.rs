//! The server: its program, and how it is made and started.

use crate::client::Mariadb;
use crate::connection::Connection;
use crate::elsewhere;
use crate::handshake::NAME;
use crate::upkeep::{Storage, log_value};
use kvdyno_engine::server::{
    Address, Attachment, Launch, ProgramSpec, Served, ServerDirectory, ServerProgram, StopSignal,
};
use kvdyno_engine::{DataShape, Durability, Error, Options, Result};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str = "`kvdyno engines get mariadb` fetches the system's packages without \
                      installing them; `library = PATH` in a suite names a program `mariadbd`";

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "mariadb",
    title: "MariaDB",
    program: "mariadbd",
    remedy: REMEDY,
    version,
});

/// The directory of the database in that of the server, and its name until it is complete. Only its
/// owner may enter: the socket in it needs no password.
const DATA: &str = "data";
const UNFINISHED: &str = "data.unfinished";

/// Statements that create a database; removed before the server starts.
const FIRST: &str = "kvdyno-first.sql";

/// Connections besides those of sessions: the engine's own, and a user's.
const MORE_CLIENTS: u32 = 32;

/// Options that are passed on unchanged, each with its storage engine.
const BYTES: [(Storage, &str); 4] = [
    (Storage::InnoDb, "innodb_buffer_pool_size"),
    (Storage::InnoDb, "innodb_log_file_size"),
    (Storage::RocksDb, "rocksdb_block_cache_size"),
    (Storage::RocksDb, "rocksdb_block_size"),
];
const NUMBERS: [(Storage, &str); 4] = [
    (Storage::InnoDb, "innodb_io_capacity"),
    (Storage::InnoDb, "innodb_flush_neighbors"),
    (Storage::RocksDb, "rocksdb_max_background_jobs"),
    (Storage::RocksDb, "rocksdb_wal_recovery_mode"),
];
const WORDS: [(Storage, &str); 3] = [
    (Storage::InnoDb, "innodb_flush_method"),
    (Storage::InnoDb, "innodb_page_size"),
    (Storage::RocksDb, "rocksdb_default_cf_options"),
];
const FLAGS: [(Storage, &str); 4] = [
    (Storage::InnoDb, "innodb_doublewrite"),
    (Storage::InnoDb, "innodb_adaptive_hash_index"),
    (Storage::RocksDb, "rocksdb_use_direct_reads"),
    (Storage::RocksDb, "rocksdb_use_direct_io_for_flush_and_compaction"),
];

/// `/place/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`.
fn version(output: &str) -> Option<&str> {
    output.split_once("Ver ")?.1.split_once("-MariaDB").map(|(version, _)| version)
}

impl Served for Mariadb {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
        "Innodb_buffer_pool_read_requests",
        "Innodb_buffer_pool_reads",
        "Innodb_buffer_pool_wait_free",
        "Innodb_data_fsyncs",
        "Innodb_data_read",
        "Innodb_data_written",
        "Innodb_log_waits",
        "Innodb_log_writes",
        "Innodb_os_log_written",
        "Innodb_row_lock_waits",
        "Rocksdb_block_cache_hit",
        "Rocksdb_block_cache_miss",
        "Rocksdb_compact_read_bytes",
        "Rocksdb_compact_write_bytes",
        "Rocksdb_flush_write_bytes",
        "Rocksdb_stall_micros",
        "Rocksdb_wal_bytes",
    ];

    // The server runs as root if kvdyno does, so no user namespace is needed: it gains no rights,
    // and other users cannot reach it.
    const SOCKET: &'static str = "data/server.sock";
    const ATTACHMENT: Option<Attachment> = Some(elsewhere::ATTACHMENT);

    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch> {
        let setup =
            if site.dir.join(DATA).exists() { Vec::new() } else { prepare_setup(site, options)? };
        let mut command = command(site, options, DATA)?;
        let mut set = |name: &str, value: &str| {
            command.arg(format!("--{name}={value}"));
        };
        match &site.address {
            Address::Unix(_) | Address::Elsewhere(_) => {
                // The server is started in the directory of its data.
                set("socket", "server.sock");
                set("skip-networking", "1");
            }
            Address::Tcp { .. } => {
                set("socket", "");
                set("bind-address", "127.0.0.1");
                set("port", &site.port().to_string());
            }
        }
        set("skip-name-resolve", "1");
        set("pid-file", "server.pid");
        set("max-connections", &(data.sessions + MORE_CLIENTS).to_string());
        // Each session has its own prepared statements.
        set("max-prepared-stmt-count", "1048576");
        set("max-allowed-packet", "64M");
        let storage = Storage::from_options(options)?;
        set(storage.log_setting(), log_value(options.durability));
        if storage == Storage::RocksDb && options.durability == Durability::Async {
            // Else the log stays in the server's memory until it is synced, once a second.
            set("rocksdb_manual_wal_flush", "0");
        }
        set("thread_handling", options.text("thread_handling")?);
        Ok(Launch { setup, ..Launch::new(command, StopSignal::Terminate) })
    }

    fn answers(address: &Address) -> Result<()> {
        Connection::open(address).map(drop)
    }
}

/// The server's program with the options that every start needs.
fn command(site: &ServerDirectory, options: &Options, data: &str) -> Result<Command> {
    let program = &PROGRAM.find(None)?.path;
    let storage = Storage::from_options(options)?;
    let mut command = site.command(program);
    // Ignores the settings of an installed server. Root needs `--user`; other users stay who they
    // are.
    command.args(["--no-defaults", "--user=root"]);
    let mut set = |name: &str, value: &str| {
        command.arg(format!("--{name}={value}"));
    };
    let path = |path: &Path| path.display().to_string();
    set("basedir", &path(base(program)));
    set("lc-messages-dir", &path(&find_share_dir(program)?));
    set("datadir", &path(&site.dir.join(data)));
    // Temporary files of statements lie with the data, not in the system's directory.
    set("tmpdir", &path(&site.dir.join(data)));
    match storage {
        Storage::InnoDb if options.text("innodb_compression")? != "off" => {
            set("innodb_compression_algorithm", options.text("innodb_compression")?);
        }
        Storage::InnoDb => {}
        // InnoDB would take memory and files that nothing uses.
        Storage::RocksDb => {
            set("innodb", "OFF");
            set("default-storage-engine", "Aria");
        }
    }
    if storage == Storage::RocksDb && data == DATA {
        set("plugin-dir", &path(&plugins(program)?));
        set("plugin-load-add", "ha_rocksdb");
        // If the plugin cannot open its files, the server must end, not run without it.
        set("rocksdb", "FORCE");
    }
    // The bootstrap does not load the plugin.
    let applies = |other: Storage| other == storage && (other == Storage::InnoDb || data == DATA);
    for (_, name) in BYTES.into_iter().filter(|(other, _)| applies(*other)) {
        set(name, &options.integer(name)?.to_string());
    }
    for (_, name) in NUMBERS.into_iter().filter(|(other, _)| applies(*other)) {
        set(name, &options.integer(name)?.to_string());
    }
    for (_, name) in WORDS.into_iter().filter(|(other, _)| applies(*other)) {
        set(name, options.text(name)?);
    }
    for (_, name) in FLAGS.into_iter().filter(|(other, _)| applies(*other)) {
        set(name, if options.boolean(name)? { "1" } else { "0" });
    }
    Ok(command)
}

/// Creates the database: the server runs the statements of its package and ours, and ends. An
/// unfinished database is removed first.
fn prepare_setup(site: &ServerDirectory, options: &Options) -> Result<Vec<Command>> {
    let unfinished = site.dir.join(UNFINISHED);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    DirBuilder::new().mode(0o700).create(&unfinished)?;
    let share = find_share_dir(&PROGRAM.find(None)?.path)?;
    let tables = NAMES.iter().find_map(|name| fs::read_to_string(share.join(name)).ok());
    let tables = tables.ok_or_else(|| missing_file_error(NAMES[0]))?;
    // The socket needs no password, the port does.
    let by = match &site.address {
        Address::Tcp { secret, .. } => format!(" IDENTIFIED BY '{secret}'"),
        Address::Unix(_) | Address::Elsewhere(_) => String::new(),
    };
    let statements = format!(
        "CREATE DATABASE mysql;\nUSE mysql;\n{tables}\nCREATE DATABASE {NAME};\n\
         FLUSH PRIVILEGES;\nCREATE USER {NAME}{by};\nGRANT ALL ON *.* TO {NAME};\n"
    );
    // The file may hold the password: it has no name any more when the server reads it.
    site.write_secret(FIRST, &statements)?;
    let statements = File::open(site.dir.join(FIRST))?;
    fs::remove_file(site.dir.join(FIRST))?;
    let mut make = command(site, options, UNFINISHED)?;
    make.arg("--bootstrap").stdin(statements);
    let mut rename = Command::new("mv");
    rename.args(["-T", UNFINISHED, DATA]).current_dir(&site.dir);
    Ok(vec![make, rename])
}

/// The scripts that create the system tables, in older and newer packages.
const NAMES: [&str; 2] = ["mysql_system_tables.sql", "mariadb_system_tables.sql"];

/// Returns the directory that the program was unpacked to, or installed in: `usr` of
/// `usr/sbin/mariadbd`.
fn base(program: &Path) -> &Path {
    program.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"))
}

/// Returns the directory with the server's messages and statements.
fn find_share_dir(program: &Path) -> Result<PathBuf> {
    let dirs = ["share/mysql", "share/mariadb", "share"].map(|name| base(program).join(name));
    let holds = |dir: &PathBuf| NAMES.iter().any(|name| dir.join(name).is_file());
    dirs.into_iter().find(holds).ok_or_else(|| missing_file_error(NAMES[0]))
}

/// Returns the directory with the server's plugins.
fn plugins(program: &Path) -> Result<PathBuf> {
    let dirs = ["lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin"];
    let dirs = dirs.map(|name| base(program).join(name));
    let holds = |dir: &PathBuf| dir.join("ha_rocksdb.so").is_file();
    dirs.into_iter().find(holds).ok_or_else(|| missing_file_error("ha_rocksdb.so"))
}

fn missing_file_error(name: &str) -> Error {
    Error::invalid(format!("{name} is missing next to the program; {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        let output = "/a/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64";
        assert_eq!(version(output), Some("10.11.19"));
        assert_eq!(version("/usr/sbin/mysqld  Ver 8.0.39 for Linux on x86_64"), None);
    }
}
