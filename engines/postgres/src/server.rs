//! The server: its programs, and how it is made and started.

use crate::client::Postgres;
use crate::connection::{Connection, USER};
use crate::elsewhere;
use kvdyno_engine::server::{
    Address, Attachment, Launch, ProgramSpec, SECRET, Served, ServerDirectory, ServerProgram,
    StopSignal,
};
use kvdyno_engine::{DataShape, Durability, Options, Result};
use std::path::Path;
use std::process::Command;

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "postgres",
    title: "PostgreSQL",
    program: "postgres",
    remedy: "`kvdyno engines get postgres` fetches the system's package without installing it; \
             `library = PATH` in a suite names a program `postgres`",
    version,
});

/// The directory of the database, below that of the server: it must be empty when it is created.
const DATA: &str = "data";
const UNFINISHED: &str = "data.unfinished";

/// Connections besides those of sessions: the engine's own, and those reserved for the superuser.
const MORE_CLIENTS: u32 = 16;

/// `postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)`.
fn version(output: &str) -> Option<&str> {
    output.split_once("(PostgreSQL) ")?.1.split_whitespace().next()
}

impl Served for Postgres {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
        "bgwriter.buffers_backend",
        "bgwriter.buffers_checkpoint",
        "bgwriter.checkpoints_req",
        "bgwriter.checkpoints_timed",
        "database.blks_hit",
        "database.blks_read",
        "database.temp_bytes",
        "database.xact_commit",
        "wal.wal_buffers_full",
        "wal.wal_bytes",
        "wal.wal_sync",
        "wal.wal_write",
    ];

    const SOCKET: &'static str = "data/.s.PGSQL.5432";
    const REFUSES_ROOT: bool = true;
    const ATTACHMENT: Option<Attachment> = Some(elsewhere::ATTACHMENT);

    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch> {
        let program = &PROGRAM.find(None)?.path;
        let exists = site.dir.join(DATA).exists();
        let setup = if exists { Vec::new() } else { make(site, program)? };
        let mut command = site.command(program);
        command.args(["-D", DATA]);
        let mut set = |name: &str, value: &str| {
            command.arg("-c").arg(format!("{name}={value}"));
        };
        match &site.address {
            Address::Unix(_) | Address::Elsewhere(_) => {
                set("listen_addresses", "");
                // The server is started in the directory of its data.
                set("unix_socket_directories", ".");
                set("unix_socket_permissions", "0700");
            }
            Address::Tcp { .. } => {
                set("listen_addresses", "127.0.0.1");
                set("port", &site.port().to_string());
                set("unix_socket_directories", "");
            }
        }
        set("max_connections", &(data.sessions + MORE_CLIENTS).to_string());
        // Shared memory is in files of the database, so that none outlives it.
        set("dynamic_shared_memory_type", "mmap");
        // If a part of the server dies, the server must end too.
        set("restart_after_crash", "off");
        let (fsync, commit) = match options.durability {
            Durability::None => ("on", "off"),
            Durability::Async => ("off", "on"),
            Durability::Commit => ("on", "on"),
        };
        set("fsync", fsync);
        set("synchronous_commit", commit);
        set("shared_buffers", &blocks(options.integer("shared_buffers")?, 8).to_string());
        set(
            "max_wal_size",
            &format!("{}MB", blocks(options.integer("max_wal_size")?, 1024).max(32)),
        );
        set("checkpoint_timeout", &options.integer("checkpoint_timeout")?.to_string());
        set("wal_compression", options.text("wal_compression")?);
        for name in ["full_page_writes", "autovacuum"] {
            set(name, if options.boolean(name)? { "on" } else { "off" });
        }
        Ok(Launch { setup, ..Launch::new(command, StopSignal::Interrupt) })
    }

    fn answers(address: &Address) -> Result<()> {
        Connection::open(address).map(drop)
    }
}

/// Returns a number of bytes in units of `kib` KiB, for settings that are counted in them.
fn blocks(bytes: u64, kib: u64) -> u64 {
    bytes / (kib << 10)
}

/// Returns the commands that create the database under another name and rename it, so that it is
/// complete and on the drive, or absent: a kill or a power loss may happen meanwhile.
fn make(site: &ServerDirectory, program: &Path) -> Result<Vec<Command>> {
    let unfinished = site.dir.join(UNFINISHED);
    if unfinished.exists() {
        std::fs::remove_dir_all(unfinished)?;
    }
    let (mut rename, mut sync) = (site.command(Path::new("mv")), site.command(Path::new("sync")));
    rename.args([UNFINISHED, DATA]);
    sync.arg(".");
    Ok(vec![initdb(site, program), rename, sync])
}

/// Returns the command that creates a database. Its socket needs no password, its port does.
fn initdb(site: &ServerDirectory, program: &Path) -> Command {
    let mut command = site.command(&program.with_file_name("initdb"));
    command.args(["-D", UNFINISHED, "-U", USER, "--encoding=UTF8", "--locale=C"]);
    command.args(["--auth-local=trust"]);
    match &site.address {
        Address::Tcp { .. } => command.args(["--auth-host=scram-sha-256", "--pwfile", SECRET]),
        Address::Unix(_) | Address::Elsewhere(_) => command.args(["--auth-host=reject"]),
    };
    command
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        let output = "postgres (PostgreSQL) 15.8 (Debian 15.8-0+deb12u1)";
        assert_eq!(version(output), Some("15.8"));
        assert_eq!(version("Redis server v=7.0.15 sha=0"), None);
    }
}
