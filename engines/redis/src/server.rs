//! The server: its program, and how it is started.

use crate::client::Redis;
use crate::connection::Connection;
use crate::elsewhere;
use kvdyno_engine::server::{
    Address, Attachment, Launch, ProgramSpec, Served, ServerDirectory, ServerProgram, StopSignal,
};
use kvdyno_engine::{DataShape, Durability, Options, Result};

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "redis",
    title: "Redis",
    program: "redis-server",
    remedy: "`kvdyno engines get redis` fetches the system's package without installing it; \
             `library = PATH` in a suite names a redis-server or valkey-server",
    version,
});

/// The file with the password, which must not be on the command line.
const CONFIG: &str = "kvdyno.conf";

/// Connections besides those of sessions: the engine's own, and a user's.
const MORE_CLIENTS: u32 = 32;

/// `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=...`.
fn version(output: &str) -> Option<&str> {
    output.split_whitespace().find_map(|word| word.strip_prefix("v="))
}

impl Served for Redis {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
        "aof_delayed_fsync",
        "evicted_keys",
        "keyspace_hits",
        "keyspace_misses",
        "total_commands_processed",
        "total_net_input_bytes",
        "total_net_output_bytes",
    ];

    const ATTACHMENT: Option<Attachment> = Some(elsewhere::ATTACHMENT);

    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch> {
        let mut command = site.command(&PROGRAM.find(None)?.path);
        if let Address::Tcp { secret, .. } = &site.address {
            site.write_secret(CONFIG, &format!("requirepass {secret}\n"))?;
            command.arg(CONFIG);
        }
        let mut set = |name: &str, value: &str| {
            command.arg(format!("--{name}")).arg(value);
        };
        set("daemonize", "no");
        set("port", &site.port().to_string());
        set("bind", "127.0.0.1");
        if matches!(site.address, Address::Unix(_)) {
            set("unixsocket", Redis::SOCKET);
            set("unixsocketperm", "700");
        }
        set("maxclients", &(data.sessions + MORE_CLIENTS).to_string());
        set("maxmemory", &options.integer("maxmemory")?.to_string());
        set("maxmemory-policy", "noeviction");
        set("io-threads", &options.integer("io_threads")?.max(1).to_string());
        let schedule = if options.boolean("save")? { "3600 1 300 100 60 10000" } else { "" };
        set("save", schedule);
        let append = match options.durability {
            Durability::None => None,
            Durability::Async => Some(options.text("appendfsync")?),
            Durability::Commit => Some("always"),
        };
        set("appendonly", if append.is_some() { "yes" } else { "no" });
        set("appendfsync", append.unwrap_or("no"));
        let rewrite = if options.boolean("auto_aof_rewrite")? { "100" } else { "0" };
        set("auto-aof-rewrite-percentage", rewrite);
        // Without a log, only an orderly shutdown keeps the records.
        set("shutdown-on-sigterm", if append.is_some() { "default" } else { "save" });
        Ok(Launch::new(command, StopSignal::Terminate))
    }

    fn answers(address: &Address) -> Result<()> {
        Connection::open(address)?.ask(&[b"PING"]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        let output = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=0";
        assert_eq!(version(output), Some("7.0.15"));
        assert_eq!(version("postgres (PostgreSQL) 15.8"), None);
    }
}
