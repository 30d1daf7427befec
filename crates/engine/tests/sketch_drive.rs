//! A bare drive behind the two traits: keys are numbers, a number is an offset, and a multiget is a
//! queue depth. See docs/decisions/0003-traits-carry-servers-and-drives.md.

use kvdyno_engine::{
    Capabilities, DataShape, Description, Durability, Engine, Error, ErrorClass, Location, Options,
    PlaceKind, Planning, PowerLoss, Result, Session, Settled, conformance,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::channel;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// A slot is a block of the drive: the length of the value plus one (zero: empty), then the value.
const SLOT: usize = 4096;
const HEADER: usize = 4;

struct Drive {
    file: File,
    slots: u64,
    sync: bool,
    /// A drive gives whole sectors; the page cache under this sketch does not, so neighbours share
    /// a lock. A real adapter reads with `O_DIRECT` and needs none.
    locks: [RwLock<()>; 64],
}

impl Drive {
    /// Keys are the big-endian numbers below `slots`; any other was never meant for a drive.
    fn slot(&self, key: &[u8]) -> Result<u64> {
        let invalid = || Error::new(ErrorClass::Invalid, "not the number of a slot");
        let (zeros, digits) = key.split_last_chunk().ok_or_else(invalid)?;
        let number = u64::from_be_bytes(*digits);
        let fits = number < self.slots && zeros.iter().all(|&byte| byte == 0);
        if fits { Ok(number) } else { Err(invalid()) }
    }

    fn lock(&self, slot: u64) -> &RwLock<()> {
        &self.locks[(slot % 64) as usize]
    }

    fn read(&self, slot: u64, block: &mut [u8; SLOT]) -> Result<()> {
        let _shared = self.lock(slot).read().unwrap_or_else(PoisonError::into_inner);
        Ok(self.file.read_exact_at(block, slot * SLOT as u64)?)
    }
}

fn value(block: &[u8; SLOT]) -> Option<&[u8]> {
    let length = u32::from_le_bytes(*block.first_chunk()?).checked_sub(1)? as usize;
    block.get(HEADER..HEADER + length)
}

impl Engine for Drive {
    type Session<'e> = DriveSession<'e>;

    fn describe() -> Description {
        Description {
            name: "drive".to_owned(),
            title: "Bare drive".to_owned(),
            version: "1".to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities {
                places: vec![PlaceKind::Device],
                native_multiget: true,
                numbered_keys_only: true,
                bare_drive: true,
                value_bytes_max: Some((SLOT - HEADER) as u64),
                ..Capabilities::minimal([
                    (Durability::Async, PowerLoss::LosesLast, "pwrite"),
                    (Durability::Commit, PowerLoss::Keeps, "pwrite, fdatasync"),
                ])
            },
            options: Vec::new(),
            planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 0 },
        }
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let Location::Device(path) = location else {
            return Err(Error::new(ErrorClass::Invalid, "a drive is a device"));
        };
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() < data.records_max * SLOT as u64 {
            return Err(Error::new(ErrorClass::Full, "the drive has fewer slots than records"));
        }
        let sync = options.durability == Durability::Commit;
        let locks = [const { RwLock::new(()) }; 64];
        Ok(Self { file, slots: data.records_max, sync, locks })
    }

    fn session(&self) -> Result<DriveSession<'_>> {
        Ok(DriveSession { drive: self, block: Box::new([0; SLOT]) })
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        Ok(self.file.sync_data()?)
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

struct DriveSession<'e> {
    drive: &'e Drive,
    block: Box<[u8; SLOT]>,
}

impl Session for DriveSession<'_> {
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.drive.read(self.drive.slot(key)?, &mut self.block)?;
        Ok(visit(value(&self.block)))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let slot = self.drive.slot(key)?;
        let room = &mut self.block[HEADER..];
        let Some(room) = room.get_mut(..value.len()) else {
            return Err(Error::new(ErrorClass::Invalid, "the value is longer than a slot"));
        };
        room.copy_from_slice(value);
        self.block[..HEADER].copy_from_slice(&(value.len() as u32 + 1).to_le_bytes());
        let _alone = self.drive.lock(slot).write().unwrap_or_else(PoisonError::into_inner);
        self.drive.file.write_all_at(&*self.block, slot * SLOT as u64)?;
        if self.drive.sync { self.drive.sync() } else { Ok(()) }
    }

    /// All reads are in flight at once, and are shown as they come back: `keys.len()` is the queue
    /// depth. Threads stand in for the `io_uring` of a real adapter.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let (done, completions) = channel();
        std::thread::scope(|scope| {
            for (index, key) in keys.iter().enumerate() {
                let (drive, done) = (self.drive, done.clone());
                scope.spawn(move || {
                    let mut block = Box::new([0; SLOT]);
                    let read = drive.slot(key).and_then(|slot| drive.read(slot, &mut block));
                    done.send((index, read.map(|()| block)))
                });
            }
            drop(done);
            completions.into_iter().try_for_each(|(index, block)| {
                visit(index, value(&*block?));
                Ok(())
            })
        })
    }
}

#[test]
fn a_bare_drive_conforms() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Drive>(scratch.path());
    assert!(report.conforms(), "{report}");
}
