//! The servers: their program, and how they are started.

use crate::client::Aerospike;
use crate::connection::Connection;
use crate::device;
use crate::nodes::peers;
use kvdyno_engine::server::{
    Address, Launch, Program, ProgramSpec, Served, ServerDirectory, ServerProgram, StopSignal,
};
use kvdyno_engine::{DataShape, Error, ErrorClass, Options, Result};
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "aerospike",
    title: "Aerospike",
    program: "asd",
    remedy: "kvdyno cannot fetch Aerospike: put `asd` (Community Edition 7.1 or newer) on PATH, \
        or name it by `library = PATH` in a suite",
    version,
});

/// Files of each server, in its own directory.
const CONF: &str = "aerospike.conf";
const FILE: &str = "records";

/// Bytes of a record beside its value: its header, its bin's name and kind, rounded up to 16 bytes.
const HEADER_BYTES: u64 = 64;

/// The least file size: blocks and caches take a share of it.
const FILE_BYTES_MIN: u64 = 512 << 20;

/// The least size of a file or device that the server accepts.
const ROOM_MIN: u64 = 128 << 20;

/// Bytes of a block; a file has a multiple of them.
const BLOCK_BYTES: u64 = 8 << 20;

/// Connections besides those of sessions: the engine's own, of other servers, and a user's.
const MORE_CLIENTS: u32 = 64;

/// The smallest limit of connections that the server accepts.
const CLIENTS_MIN: u32 = 1024;

/// Threads for migrations. Two servers compare all their records after they start, one at a time in
/// each thread; nothing is measured before they have finished.
const MIGRATE_THREADS: u32 = 32;

/// `Aerospike Community Edition build 8.0.0.15`.
fn version(output: &str) -> Option<&str> {
    output.strip_prefix("Aerospike ")?.rsplit_once(" build ").map(|(_, version)| version.trim())
}

/// The port for clients, and the ports for other servers.
#[derive(Clone, Copy)]
struct Ports {
    service: u16,
    fabric: u16,
    heartbeat: u16,
}

impl Served for Aerospike {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
        "client_read",
        "client_write_error",
        "client_write_success",
        "storage-engine.device[0].defrag_reads",
        "storage-engine.device[0].defrag_writes",
        "storage-engine.device[0].writes",
        "storage-engine.file[0].defrag_reads",
        "storage-engine.file[0].defrag_writes",
        "storage-engine.file[0].writes",
        "storage-engine.stripe[0].defrag_reads",
        "storage-engine.stripe[0].defrag_writes",
        "storage-engine.stripe[0].writes",
    ];

    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch> {
        if let Some(path) = &site.device {
            device::prepare(path, options, data)?;
        }
        let program = PROGRAM.find(None)?;
        let count = servers(options)?;
        // All ports are held until each is found, so that they differ. One more than needed is
        // taken, because the first server's own port may be among them.
        let listeners = (0..=3 * count).map(|_| TcpListener::bind(("127.0.0.1", 0)));
        let listeners = listeners.collect::<std::io::Result<Vec<_>>>()?;
        let free = listeners.iter().map(|listener| Ok(listener.local_addr()?.port()));
        let mut free = free.collect::<std::io::Result<Vec<u16>>>()?;
        free.retain(|port| *port != site.port());
        let mut ports: Vec<Ports> = free
            .chunks_exact(3)
            .map(|free| Ports { service: free[0], fabric: free[1], heartbeat: free[2] })
            .collect();
        ports[0].service = site.port();
        drop(listeners);
        let mut commands = Vec::new();
        for number in 0..count {
            commands.push(server(site, program, options, data, &ports, number)?);
        }
        let first = commands.remove(0);
        Ok(Launch { replicas: commands, ..Launch::new(first, StopSignal::Terminate) })
    }

    /// The server must see the whole cluster, know its peers' addresses and own all its partitions.
    fn answers(address: &Address) -> Result<()> {
        let mut connection = Connection::enter(address)?;
        let replication = connection.info("namespace/kv")?;
        let replication = value_by_name(&replication, "replication-factor").unwrap_or("1");
        connection.info(&format!("cluster-stable:size={replication};ignore-migrations=false"))?;
        let peers = peers(&connection.info("peers-clear-std")?).count();
        if (peers + 1).to_string() != replication {
            return Err(Error::new(ErrorClass::Unavailable, "it does not list its peers"));
        }
        // Before its first balance the server has no partitions.
        connection.get(&[0; 20]);
        connection.ask().map(drop)
    }
}

pub(crate) fn servers(options: &Options) -> Result<usize> {
    Ok(options.integer("replication_factor")?.max(1) as usize)
}

/// Returns the value of `name` in `NAME=VALUE;...`.
fn value_by_name<'s>(reply: &'s str, name: &str) -> Option<&'s str> {
    reply.split(';').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// Prepares one of the servers: its directory and its configuration. Returns its command.
fn server(
    site: &ServerDirectory,
    program: &Program,
    options: &Options,
    data: &DataShape,
    ports: &[Ports],
    number: usize,
) -> Result<Command> {
    let name = format!("node{}", number + 1);
    let dir = site.dir.join(&name);
    for needed in ["smd", "udf"] {
        std::fs::create_dir_all(dir.join(needed))?;
    }
    let storage = storage(&name, site.device.as_deref(), options, data)?;
    std::fs::write(dir.join(CONF), configuration(&name, &storage, options, data, ports, number)?)?;
    let mut command = site.command(&program.path);
    command.arg("--foreground").arg("--config-file").arg(format!("{name}/{CONF}"));
    Ok(command)
}

fn configuration(
    name: &str,
    storage: &str,
    options: &Options,
    data: &DataShape,
    ports: &[Ports],
    number: usize,
) -> Result<String> {
    let own_ports = &ports[number];
    let sessions = (data.sessions + MORE_CLIENTS).max(CLIENTS_MIN);
    let mut conf = format!(
        "service {{\ncluster-name kvdyno{port}\nnode-id a{id}\nwork-directory {name}\n\
         pidfile {name}/pid\nproto-fd-max {sessions}\nmigrate-threads {MIGRATE_THREADS}\n\
         migrate-max-num-incoming 256\n",
        port = ports[0].heartbeat,
        id = number + 1,
    );
    let threads = options.integer("service_threads")?;
    if threads > 0 {
        let _ = writeln!(conf, "service-threads {threads}");
    }
    conf += "}\nlogging {\nconsole {\ncontext any warning\n}\n}\n";
    let _ = writeln!(conf, "mod-lua {{\nuser-path {name}/udf\n}}");
    let Ports { service, fabric, heartbeat } = own_ports;
    let _ = writeln!(
        conf,
        "network {{\nservice {{\naddress 127.0.0.1\nport {service}\naccess-address 127.0.0.1\n}}\n\
         fabric {{\naddress 127.0.0.1\nport {fabric}\n}}\n\
         heartbeat {{\nmode mesh\naddress 127.0.0.1\nport {heartbeat}\ninterval 150\ntimeout 10"
    );
    for other in ports.iter().filter(|other| other.heartbeat != *heartbeat) {
        let _ = writeln!(conf, "mesh-seed-address-port 127.0.0.1 {}", other.heartbeat);
    }
    let _ = writeln!(conf, "}}\n}}\nnamespace {} {{", crate::connection::NAMESPACE);
    let _ = writeln!(conf, "replication-factor {}\nmigrate-sleep 0", ports.len());
    let record = data.value_bytes_max + (4 << 10);
    if record > 1 << 20 {
        let _ = writeln!(conf, "max-record-size {}", record.min(BLOCK_BYTES));
    }
    conf += storage;
    conf += "}\n";
    Ok(conf)
}

/// Returns the configuration of the records' storage. A device is used whole, and never through the
/// page cache.
fn storage(
    name: &str,
    device: Option<&Path>,
    options: &Options,
    data: &DataShape,
) -> Result<String> {
    let kind = options.text("storage_engine")?;
    let mut conf = format!("storage-engine {kind} {{\n");
    let _ = match device {
        Some(device) => writeln!(conf, "device {}", device.display()),
        None => {
            let (bytes, direct) = (file_bytes(options, data)?, options.boolean("direct_files")?);
            writeln!(conf, "file {name}/{FILE}\nfilesize {bytes}\ndirect-files {direct}")
        }
    };
    let mut set = |name: &str, value: u64| {
        let _ = writeln!(conf, "{name} {value}");
    };
    set("flush-max-ms", options.integer("flush_max_ms")?.max(1));
    set("max-write-cache", options.integer("max_write_cache")?);
    set("defrag-lwm-pct", options.integer("defrag_lwm_pct")?.max(1));
    if kind == "device" {
        set("post-write-cache", options.integer("post_write_cache")?);
        let read_page_cache = options.boolean("read_page_cache")?;
        let _ = writeln!(conf, "read-page-cache {read_page_cache}");
    }
    conf += "}\n";
    Ok(conf)
}

/// Returns the bytes that the records of a case take.
fn record_bytes(data: &DataShape) -> u64 {
    let record = (data.value_bytes_mean + HEADER_BYTES).next_multiple_of(16);
    data.records_max.saturating_mul(record)
}

/// Refuses a file or device that is too small. Writes stop when live records take 70 % of it.
/// Blocks that are half full are not defragmented.
pub(crate) fn check_room(what: &str, bytes: u64, data: &DataShape) -> Result<()> {
    let records = record_bytes(data);
    let least = (records / 10 * 15).max(ROOM_MIN);
    if bytes >= least {
        return Ok(());
    }
    let (bytes, records) = (bytes >> 20, records >> 20);
    let least = least.div_ceil(1 << 20);
    Err(Error::invalid(format!(
        "{what}: expected at least {least} MiB, found {bytes} MiB: the records take {records} \
         MiB, and writes stop at 70 %"
    )))
}

fn file_bytes(options: &Options, data: &DataShape) -> Result<u64> {
    let records = record_bytes(data);
    let configured = options.integer("filesize")?;
    if configured > 0 {
        check_room("filesize", configured, data)?;
    }
    let needed = if configured > 0 { configured } else { FILE_BYTES_MIN + records * 2 };
    Ok(needed.next_multiple_of(BLOCK_BYTES))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kvdyno_engine::Durability;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        let output = "Aerospike Community Edition build 8.0.0.15";
        assert_eq!(version(output), Some("8.0.0.15"));
        assert_eq!(version("memcached 1.6.18"), None);
    }

    pub(crate) fn shape() -> DataShape {
        DataShape { value_bytes_max: 2 << 20, sessions: 10, ..DataShape::uniform(1 << 20, 16, 400) }
    }

    #[test]
    fn two_servers_know_each_other_and_a_file_has_room() {
        let description = crate::describe::description(Err(Error::invalid("none")));
        let mut options = Options::defaults(&description, Durability::None);
        let ports =
            [1000, 2000].map(|base| Ports { service: base, fabric: base + 1, heartbeat: base + 2 });
        let storage = storage("node2", None, &options, &shape()).unwrap();
        let conf = configuration("node2", &storage, &options, &shape(), &ports, 1).unwrap();
        for line in [
            "port 2000",
            "mesh-seed-address-port 127.0.0.1 1002",
            "replication-factor 2",
            "filesize 1509949440",
            "max-record-size 2101248",
            "proto-fd-max 1024",
        ] {
            assert!(conf.lines().any(|other| other == line), "{line}: {conf}");
        }
        assert_eq!(conf.matches('{').count(), conf.matches('}').count());
        options.values.insert("filesize".to_owned(), (128_u64 << 20).into());
        assert_eq!(file_bytes(&options, &shape()).unwrap_err().class, ErrorClass::Invalid);
    }

    #[test]
    fn a_device_takes_the_place_of_the_file() {
        let description = crate::describe::description(Err(Error::invalid("none")));
        let mut options = Options::defaults(&description, Durability::None);
        for kind in ["device", "memory"] {
            options.values.insert("storage_engine".to_owned(), kind.into());
            let device = Some(Path::new("/dev/loop7"));
            let conf = storage("node1", device, &options, &shape()).unwrap();
            assert!(conf.starts_with(&format!("storage-engine {kind} {{\ndevice /dev/loop7\n")));
            assert!(!conf.contains("file") && conf.ends_with("\n}\n"), "{conf}");
        }
    }

    #[test]
    fn a_value_is_found_by_its_name() {
        assert_eq!(value_by_name("a=1;replication-factor=2;b=3", "replication-factor"), Some("2"));
        assert_eq!(value_by_name("a=1", "replication-factor"), None);
    }
}
