//! LMDB behind the two traits. One write transaction per put or batch, one renewed read transaction
//! per get: what an application does that wants the newest data each time.

use crate::describe;
use crate::device::{Device, PAGE};
use crate::library::{self, ffi};
use crate::raw::{self, Env, Reader};
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, ErrorClass, Found, Options, Place, PlaceKind,
    Range, Records, Result, Session, Settled, Transaction, Value, Walk, Write,
};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// An open LMDB environment.
pub(crate) struct Lmdb {
    env: Env,
    append: bool,
    /// Let go after the environment, as fields are dropped in this order.
    _device: Option<Device>,
}

impl Engine for Lmdb {
    type Session<'e> = LmdbSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(place: &Place, options: &Options, data: &DataShape) -> Result<Self> {
        let flags = describe::flags(options)?;
        let map_size = options.integer("map_size")?;
        let file_bytes = describe::file_bytes(data, PAGE);
        let readers = match options.integer("maxreaders")? {
            // A few more than asked for: sessions of the load generator itself, for verification.
            0 => data.sessions + 16,
            readers => readers as u32,
        };
        let append = options.boolean("append")?;
        if let Some(path) = raw_device(place) {
            let device = Device::claim(path)?;
            let env = device.open(flags, device.map_bytes(map_size, file_bytes)?, readers)?;
            return Ok(Self { env, append, _device: Some(device) });
        }
        let directory = place.directory()?;
        let map_bytes = match map_size {
            0 => describe::map_bytes(data, PAGE),
            bytes => bytes.next_multiple_of(PAGE),
        };
        if flags & ffi::MDB_WRITEMAP != 0 {
            refuse_sigbus(directory, file_bytes.min(map_bytes))?;
        }
        let env = Env::open(directory, flags, map_bytes, readers)?;
        Ok(Self { env, append, _device: None })
    }

    fn session(&self) -> Result<LmdbSession<'_>> {
        Ok(LmdbSession { env: &self.env, reader: self.env.reader()?, append: self.append })
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

/// The device to open, where this library opens any.
fn raw_device(place: &Place) -> Option<&Path> {
    match place {
        Place::Device(path) if library::PLACES.contains(&PlaceKind::Device) => Some(path),
        _ => None,
    }
}

/// Writing through the map to a block that the volume cannot give kills the process with SIGBUS,
/// where a write call would return ENOSPC. So the space is looked for first.
fn refuse_sigbus(directory: &Path, file_bytes: u64) -> Result<()> {
    const BLOCK: u64 = 512;
    let there = directory.join("data.mdb").metadata().map_or(0, |file| file.blocks() * BLOCK);
    let free = raw::free_bytes(directory)?;
    if file_bytes.saturating_sub(there) <= free {
        return Ok(());
    }
    let what = format!(
        "the data may take {file_bytes} bytes, {free} are free, and under MDB_WRITEMAP a full \
         volume is a SIGBUS: use writemap = off, or a larger volume"
    );
    Err(Error::new(ErrorClass::Full, what))
}

/// One thread's handle.
pub(crate) struct LmdbSession<'e> {
    env: &'e Env,
    reader: Reader<'e>,
    /// Keys have come in ascending order past the last one so far.
    append: bool,
}

impl LmdbSession<'_> {
    /// Puts, past the end if the keys allow; gives that up at the first key that does not.
    #[inline]
    fn put_in(
        writer: &mut raw::Writer<'_>,
        append: &mut bool,
        key: &[u8],
        value: &[u8],
    ) -> Result<()> {
        if !writer.put(key, value, *append)? {
            *append = false;
            writer.put(key, value, false)?;
        }
        Ok(())
    }
}

impl Session for LmdbSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], seen: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.reader.renewed(|snapshot| snapshot.get(key).map(seen))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.env.write(|writer| Self::put_in(writer, &mut self.append, key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.env.write(|writer| writer.delete(key))
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        seen: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.reader.renewed(|snapshot| snapshot.scan(range, seen))
    }

    /// In one snapshot from its beginning to its end, as programs walk.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        seen: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.reader.walk(walk, limit, seen)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.env.write(|writer| body(writer))
    }

    /// All from one snapshot.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut seen: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.reader.renewed(|snapshot| {
            let mut keys = keys.iter().enumerate();
            keys.try_for_each(|(index, key)| snapshot.get(key).map(|value| seen(index, value)))
        })
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.env.write(|writer| {
            writer.keep_position()?;
            writes.iter().try_for_each(|write| match *write {
                Write::Put { key, value } => Self::put_in(writer, &mut self.append, key, value),
                Write::Delete { key } => writer.delete(key),
            })
        })
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        self.env.write(|writer| {
            let old = raw::Writer::get(writer, key)?;
            let found = old.is_some();
            change(old, buffer);
            Self::put_in(writer, &mut self.append, key, buffer)?;
            Ok(found)
        })
    }
}

/// The one writer of the moment: nobody changes what it reads.
impl Transaction for raw::Writer<'_> {
    fn get(&mut self, key: &[u8], seen: &mut Found<'_>) -> Result<()> {
        Self::get(self, key).map(seen)
    }

    fn get_for_update(&mut self, key: &[u8], seen: &mut Found<'_>) -> Result<()> {
        Self::get(self, key).map(seen)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Self::put(self, key, value, false).map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Self::delete(self, key)
    }

    fn scan(&mut self, range: Range<'_>, seen: &mut Records<'_>) -> Result<u64> {
        Self::scan(self, range, seen)
    }
}
