//! The `Engine` trait for LMDB; sessions are in `session.rs`.

use crate::describe;
use crate::device::{Device, PAGE};
use crate::library::{self, ffi};
use crate::raw::{Env, Setup};
use crate::session::EnvSession;
use crate::size;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Location, Options, PlaceKind, Result, Settled, Value,
};
use std::path::Path;
use std::time::Duration;

/// An open LMDB environment.
pub(crate) struct Lmdb {
    env: Env,
    append: bool,
    /// The claim on a raw device, released after the environment: fields are dropped in this order.
    _device: Option<Device>,
}

impl Engine for Lmdb {
    type Session<'e> = EnvSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let flags = describe::flags(options)?;
        let map_size = options.integer("map_size")?;
        let file_bytes = size::file_bytes(data, PAGE);
        let readers = match options.integer("maxreaders")? {
            // The load generator itself opens a few more sessions, for verification.
            0 => data.sessions + 16,
            readers => readers as u32,
        };
        let append = options.boolean("append")?;
        let database = options.text("database")?;
        if let Some(path) = raw_device(location) {
            let device = Device::claim(path)?;
            let map_bytes = device.map_bytes(map_size, file_bytes)?;
            let env = device.open(Setup { flags, map_bytes, readers, database })?;
            return Ok(Self { env, append, _device: Some(device) });
        }
        let directory = location.directory()?;
        let map_bytes = match map_size {
            0 => map_bytes(directory, data),
            bytes => bytes.next_multiple_of(PAGE),
        };
        if flags & ffi::MDB_WRITEMAP != 0 {
            size::refuse_sigbus(directory, file_bytes.min(map_bytes))?;
        }
        let env = Env::open(directory, Setup { flags, map_bytes, readers, database })?;
        Ok(Self { env, append, _device: None })
    }

    fn session(&self) -> Result<EnvSession<'_>> {
        EnvSession::new(&self.env, self.append)
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        self.env.sync()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        let mut count = |name: &str, value: u64| {
            counters.insert(name.to_owned(), Value::Integer(value));
        };
        if let Ok(stat) = self.env.stat() {
            count("ms_psize", stat.ms_psize.into());
            count("ms_depth", stat.ms_depth.into());
            count("ms_branch_pages", stat.ms_branch_pages as u64);
            count("ms_leaf_pages", stat.ms_leaf_pages as u64);
            count("ms_overflow_pages", stat.ms_overflow_pages as u64);
            count("ms_entries", stat.ms_entries as u64);
        }
        if let Ok(info) = self.env.info() {
            count("me_mapaddr", info.me_mapaddr as u64);
            count("me_mapsize", info.me_mapsize as u64);
            count("me_last_pgno", info.me_last_pgno as u64);
            count("me_last_txnid", info.me_last_txnid as u64);
            count("me_maxreaders", info.me_maxreaders.into());
            count("me_numreaders", info.me_numreaders.into());
        }
        if let Ok(flags) = self.env.flags() {
            let names = Value::Text(describe::flag_names(flags));
            counters.insert("mdb_env_get_flags".to_owned(), names);
        }
        counters
    }
}

/// Returns the size of a map for the data, with room for a file that is larger already.
fn map_bytes(directory: &Path, data: &DataShape) -> u64 {
    let bytes = size::map_bytes(data, PAGE);
    let length = directory.join(library::FILE).metadata().map_or(0, |file| file.len());
    if length <= bytes { bytes } else { bytes + length.next_multiple_of(PAGE) }
}

/// Returns the device to open, if this library can open devices.
fn raw_device(location: &Location) -> Option<&Path> {
    match location {
        Location::Device(path) if library::PLACES.contains(&PlaceKind::Device) => Some(path),
        _ => None,
    }
}
