//! The `Engine` trait for the store: its location, its options, and its sessions.

use crate::describe;
use crate::log::Log;
use crate::member::FILE_NAME;
use crate::opening::{self, StoreSpec};
use crate::session::DirectSession;
use crate::store::Store;
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Error, Location, Options,
    Result, Settled, Value,
};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use twox_hash::XxHash3_64;

/// An open store.
#[derive(Debug)]
pub struct Direct {
    store: Store,
    depth: u32,
    /// The setup of the first session's ring, as text.
    how: OnceLock<String>,
}

impl Direct {
    /// Opens a store with a mirror that the caller is responsible for: a location, and the file's
    /// name there. It may be a device whose contents were given up. The option `mirror` is ignored.
    ///
    /// Errors are those of `open`.
    pub fn open_with(
        location: &Location,
        mirror: Option<(Location, String)>,
        options: &Options,
        data: &DataShape,
    ) -> Result<Self> {
        let commit = options.durability == Durability::Commit;
        let spec = StoreSpec {
            records: data.records_max,
            value_bytes: data.value_bytes_max,
            pack: options.integer("pack")?,
            rebuild: options.boolean("rebuild")?,
            commit,
        };
        let first = (location.clone(), FILE_NAME.to_owned());
        let places: Vec<_> = std::iter::once(first).chain(mirror).collect();
        let log = Log::default();
        let opened = opening::open(&places, spec, &log)?;
        Ok(Self { store: Store::new(opened, commit, log), depth: data.depth, how: OnceLock::new() })
    }
}

impl Engine for Direct {
    type Session<'e> = DirectSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let mirror = match options.text("mirror")? {
            "" => None,
            path => Some(mirror_location(location, Path::new(path))?),
        };
        Self::open_with(location, mirror, options, data)
    }

    fn session(&self) -> Result<DirectSession<'_>> {
        let session = DirectSession::new(&self.store, self.depth)?;
        self.how.get_or_init(|| session.effective_setup());
        Ok(session)
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        self.store.sync()
    }

    fn close(self) -> Result<()> {
        self.store.close()
    }

    fn counters(&self) -> Counters {
        let mut counters = self.store.log.counters();
        let geometry = &self.store.format.geometry;
        let mut tell = |name: &str, value: Value| drop(counters.insert(name.to_owned(), value));
        tell("pack", u64::from(geometry.pack).into());
        tell("block_bytes", u64::from(geometry.block_bytes).into());
        tell("blocks", geometry.blocks().into());
        tell("copies_in_use", (self.store.live_members().count() as u64).into());
        if let Some(how) = self.how.get() {
            tell("io", Value::Text(how.clone()));
        }
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.store.log.events.drain()
    }
}

/// Returns the location of the mirror. Its file name is derived from the first place, so that one
/// directory can hold the mirrors of many stores. A mirror cannot be a device: the program checks
/// and clears only the first place.
fn mirror_location(location: &Location, mirror: &Path) -> Result<(Location, String)> {
    if mirror.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(Error::invalid(format!(
            "{} is not a directory: a mirror needs a directory; a second device is for programs \
             that open the store themselves",
            mirror.display()
        )));
    }
    let first = match location {
        Location::Directory(path) | Location::Device(path) => path.clone(),
        Location::Server(_) => PathBuf::new(),
    };
    let whole = first.canonicalize().unwrap_or(first);
    let name = XxHash3_64::oneshot(whole.as_os_str().as_encoded_bytes());
    let name = format!("direct-{name:016x}.data");
    Ok((Location::Directory(mirror.to_owned()), name))
}
