//! The conformance kit. It puts values of any length and asks for keys that nobody put, which a
//! drive has none of: a thin store with a length in front of each block is put on the drive.

use super::{BLOCK, dir};
use kvdyno_drive::Drive;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, ErrorClass, Location, Options, Result,
    Session, Settled, Value, Write, conformance,
};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

const HEADER: usize = 4;
const WORDS: [&str; 3] = ["io_uring", "psync", "mmap"];

/// A drive whose blocks hold a length plus one (zero: nobody put it) and a value. `CALLS` is the
/// place of the default for option `io` in `WORDS`.
struct Store<const CALLS: usize> {
    drive: Drive,
    /// A drive gives whole sectors, and no whole blocks to who reads what another just writes.
    locks: [RwLock<()>; 64],
}

impl<const CALLS: usize> Engine for Store<CALLS> {
    type Session<'e> = StoreSession<'e>;

    fn describe() -> Description {
        let mut description = Drive::describe();
        description.capabilities.value_bytes_max = Some((BLOCK - HEADER) as u64);
        description.capabilities.bare_drive = false;
        description.capabilities.addressed = false;
        description.capabilities.pipelined = WORDS[CALLS] == "io_uring";
        for option in &mut description.options {
            if option.name == "io" {
                option.default = Value::Text(WORDS[CALLS].to_owned());
            }
        }
        description
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let data = DataShape {
            records: data.records_max,
            value_bytes_mean: BLOCK as u64,
            value_bytes_max: BLOCK as u64,
            ..data.clone()
        };
        let fresh = !location.directory()?.join("drive").exists();
        let drive = Drive::open(location, options, &data)?;
        if fresh {
            let (zeros, mut session) = ([0; BLOCK], drive.session()?);
            let keys: Vec<_> = (0..data.records).map(u64::to_be_bytes).collect();
            let writes: Vec<_> = keys.iter().map(|key| Write::Put { key, value: &zeros }).collect();
            session.write(&writes)?;
            drive.sync()?;
        }
        Ok(Self { drive, locks: [const { RwLock::new(()) }; 64] })
    }

    fn session(&self) -> Result<StoreSession<'_>> {
        Ok(StoreSession { session: self.drive.session()?, locks: &self.locks })
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        self.drive.settle(limit)
    }

    fn sync(&self) -> Result<()> {
        self.drive.sync()
    }

    fn close(self) -> Result<()> {
        self.drive.close()
    }

    fn counters(&self) -> Counters {
        self.drive.counters()
    }
}

struct StoreSession<'e> {
    session: <Drive as Engine>::Session<'e>,
    locks: &'e [RwLock<()>; 64],
}

fn lock<'e>(locks: &'e [RwLock<()>; 64], key: &[u8]) -> &'e RwLock<()> {
    &locks[usize::from(*key.last().unwrap_or(&0)) % 64]
}

fn framed(value: &[u8]) -> Result<Vec<u8>> {
    if value.len() > BLOCK - HEADER {
        return Err(Error::new(ErrorClass::Invalid, "the value is longer than a block"));
    }
    let mut block = vec![0; BLOCK];
    block[..HEADER].copy_from_slice(&(value.len() as u32 + 1).to_le_bytes());
    block[HEADER..][..value.len()].copy_from_slice(value);
    Ok(block)
}

fn value(block: &[u8]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(*block.first_chunk()?).checked_sub(1)? as usize;
    block.get(HEADER..HEADER + length)
}

impl Session for StoreSession<'_> {
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let _shared = lock(self.locks, key).read().unwrap_or_else(PoisonError::into_inner);
        self.session.get(key, |block| visit(block.and_then(value)))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let _alone = lock(self.locks, key).write().unwrap_or_else(PoisonError::into_inner);
        self.session.put(key, &framed(value)?)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let mut blocks = Vec::new();
        for write in writes {
            let Write::Put { key, value } = *write else {
                return Err(Error::unsupported("delete"));
            };
            blocks.push((key, framed(value)?));
        }
        let writes: Vec<_> = blocks.iter().map(|(key, value)| Write::Put { key, value }).collect();
        self.session.write(&writes)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.session.multiget(keys, |index, block| visit(index, block.and_then(value)))
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.session.submit_get(ticket, key)
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.session.submit_put(ticket, key, &framed(value)?)
    }

    fn send(&mut self) -> Result<()> {
        self.session.send()
    }

    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.session.complete(|ticket, answer| {
            done(ticket, answer.map(|block| block.and_then(value)));
        })
    }
}

#[track_caller]
fn conforms<const CALLS: usize>() {
    let scratch = dir();
    let report = conformance::run::<Store<CALLS>>(scratch.path());
    println!("{report}");
    assert!(report.conforms(), "{report}");
}

#[test]
fn io_uring_conforms() {
    conforms::<0>();
}

#[test]
fn psync_conforms() {
    conforms::<1>();
}

#[test]
fn mmap_conforms() {
    conforms::<2>();
}
