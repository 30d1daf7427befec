//! The server: its program, and how it is started.

use crate::client::Memcached;
use crate::connection::{Connection, USER};
use kvdyno_engine::server::{
    Address, Launch, ProgramSpec, Served, ServerDirectory, ServerProgram, StopSignal,
};
use kvdyno_engine::{DataShape, Error, Options, Result};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The program of this process.
pub(crate) static PROGRAM: ServerProgram = ServerProgram::new(ProgramSpec {
    engine: "memcached",
    title: "memcached",
    program: "memcached",
    remedy: "`kvdyno engines get memcached` fetches the system's package without installing it; \
             `library = PATH` in a suite names a program memcached",
    version,
});

/// The file that the server's memory is mapped from.
const MEMORY: &str = "memory";

/// The file that the server writes beside [`MEMORY`] in an orderly shutdown, and removes when it
/// starts.
const MEMORY_META: &str = "memory.meta";

/// The file with the user and the password of the port.
const AUTH: &str = "kvdyno.auth";

/// Connections besides those of the sessions: the control connection, and a user's.
const MORE_CLIENTS: u32 = 32;

/// Bytes of a record beside key and value: a header, a version, ends of text.
const HEADER_BYTES: u64 = 64;

/// Memory besides the records', in MiB: it is allocated by pages, separately for each of about 60
/// chunk sizes.
const PAGES: u64 = 64;

const MIB: u64 = 1 << 20;

/// `memcached 1.6.18`.
fn version(output: &str) -> Option<&str> {
    output.strip_prefix("memcached ")?.split_whitespace().next()
}

impl Served for Memcached {
    const PROGRAM: &'static ServerProgram = &PROGRAM;
    const STATISTICS: &'static [&'static str] = &[
        "bytes_read",
        "bytes_written",
        "cmd_set",
        "evictions",
        "get_hits",
        "get_misses",
        "slabs_moved",
    ];

    fn launch(site: &ServerDirectory, options: &Options, data: &DataShape) -> Result<Launch> {
        wait_for_another_second(&site.dir.join(MEMORY_META));
        let mut command = site.command(&PROGRAM.find(None)?.path);
        // As root the server requires a user name.
        command.args(["-u", "root", "-U", "0", "-M", "-e", MEMORY]);
        let mut set = |flag: &str, value: &str| {
            command.arg(flag).arg(value);
        };
        match &site.address {
            Address::Unix(_) => {
                set("-s", Memcached::SOCKET);
                set("-a", "700");
            }
            Address::Elsewhere(_) => {}
            Address::Tcp { secret, .. } => {
                site.write_secret(AUTH, &format!("{USER}:{secret}\n"))?;
                set("-l", "127.0.0.1");
                set("-p", &site.port().to_string());
                set("-Y", AUTH);
            }
        }
        let item = item_bytes_max(options, data)?;
        set("-m", &memory_mib(options, data, item)?.to_string());
        set("-I", &item.to_string());
        set("-c", &(data.sessions + MORE_CLIENTS).to_string());
        set("-f", options.text("slab_growth_factor")?);
        set("-n", &options.integer("slab_min_size")?.max(1).to_string());
        set("-t", &options.integer("threads")?.max(1).to_string());
        set("-R", &options.integer("max_reqs_per_event")?.max(1).to_string());
        set("-o", &format!("hash_algorithm={}", options.text("hash_algorithm")?));
        match options.integer("hashpower")? {
            0 => {}
            bits => set("-o", &format!("hashpower={}", bits.max(12))),
        }
        if !options.boolean("lru_maintainer")? {
            set("-o", "no_lru_maintainer");
        }
        if options.boolean("disable_cas")? {
            command.arg("-C");
        }
        Ok(Launch::new(command, StopSignal::User1))
    }

    fn answers(address: &Address) -> Result<()> {
        let mut connection = Connection::enter(address)?;
        connection.line("mn");
        connection.ask().map(drop)
    }
}

/// Returns the size of the longest item: a value with its metadata. Above 1 MiB the server accepts
/// only multiples of 512 KiB.
fn item_bytes_max(options: &Options, data: &DataShape) -> Result<u64> {
    const BESIDE: u64 = 4 << 10;
    let item = options.integer("max_item_size")?.max(data.value_bytes_max + BESIDE);
    Ok(if item > MIB { item.next_multiple_of(MIB / 2) } else { item })
}

/// Returns the server's memory in MiB. An item takes at most half of it.
fn memory_mib(options: &Options, data: &DataShape, item: u64) -> Result<u64> {
    let least = PAGES + 2 * item.div_ceil(MIB);
    let configured = options.integer("memory_limit")?.div_ceil(MIB);
    if configured > 0 && configured >= least {
        return Ok(configured);
    }
    if configured > 0 {
        return Err(Error::invalid(format!(
            "memory_limit: expected at least {least} MiB for these records, found {configured}"
        )));
    }
    let growth: f64 = options.text("slab_growth_factor")?.parse().unwrap_or(2.0);
    let record = u64::from(data.key_bytes) + data.value_bytes_mean + HEADER_BYTES;
    // A record takes the next larger chunk, and the rest of a page is unused.
    let records = data.records_max.saturating_mul(record) as f64 * growth * 1.1;
    Ok(least + (records / MIB as f64).ceil() as u64)
}

/// Waits for the next second, because the server ignores a memory file from the current one.
fn wait_for_another_second(file: &Path) {
    let Ok(file) = file.metadata().and_then(|meta| meta.modified()) else { return };
    let second =
        |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    while second(SystemTime::now()) == second(file) {
        sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::Durability;

    #[test]
    fn its_version_is_read_from_what_it_says() {
        assert_eq!(version("memcached 1.6.18"), Some("1.6.18"));
        assert_eq!(version("Redis server v=7.0.15 sha=0"), None);
    }

    #[test]
    fn its_memory_is_enough_for_the_records() {
        let description = crate::describe::description(Err(Error::invalid("none")));
        let mut options = Options::defaults(&description, Durability::None);
        let data = DataShape::uniform(1 << 20, 16, 432);
        let item = item_bytes_max(&options, &data).unwrap();
        assert_eq!(item, MIB);
        assert_eq!(memory_mib(&options, &data, item).unwrap(), 66 + 704);
        options.values.insert("memory_limit".to_owned(), (100 * MIB).into());
        assert_eq!(memory_mib(&options, &data, item).unwrap(), 100);
        options.values.insert("memory_limit".to_owned(), (10 * MIB).into());
        assert!(memory_mib(&options, &data, item).is_err());
    }
}
