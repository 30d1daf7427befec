//! The two traits: an [`Engine`] is opened once per worker process, a [`Session`] once per thread.

use crate::{
    Counters, DataShape, Description, EngineEvent, Error, ErrorClass, Location, Options, Range,
    Result, Transaction, Walk,
};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// The interval between two polls of background work.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// A storage engine under test.
///
/// One value lives in a worker process at a time. It is opened, used by any number of threads
/// through sessions, and closed; closing must leave every acknowledged write readable by the next
/// `open` of the same place.
pub trait Engine: Sized + Send + Sync + 'static {
    /// One thread's handle. It never leaves the thread that made it.
    type Session<'e>: Session
    where
        Self: 'e;

    /// Selects the shared library that this process runs: the one at `path`, or the newest that is
    /// installed. Called once, before anything else. Only for engines with the capability
    /// [`library`](crate::Capabilities::library).
    fn use_library(path: Option<&Path>) -> Result<()> {
        let Some(path) = path else { return Ok(()) };
        let what = format!(
            "library {}: the worker of this engine contains its code and loads no library",
            path.display()
        );
        Err(Error::new(ErrorClass::Unsupported, what))
    }

    /// Returns what the engine is and can do, without opening anything.
    fn describe() -> Description;

    /// Opens the database at `location`, creating it where there is none.
    ///
    /// `options` holds every option of the description, resolved. `data` describes the data to
    /// come, for engines that must know sizes beforehand (LMDB's map).
    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self>;

    /// Returns a handle for the calling thread.
    fn session(&self) -> Result<Self::Session<'_>>;

    /// Waits for at most `limit` until background work (flush, compaction, checkpoint) is done.
    fn settle(&self, limit: Duration) -> Result<Settled>;

    /// Makes every write so far durable, whatever the durability class.
    fn sync(&self) -> Result<()>;

    /// Closes the engine. Errors of a last flush surface here and nowhere else.
    fn close(self) -> Result<()>;

    /// Returns the engine's own statistics under its own names, kept apart from the load
    /// generator's. They are read before and after every phase, so they must not come from a walk
    /// over the data: that would change what is cached.
    fn counters(&self) -> Counters {
        Counters::new()
    }

    /// Returns the events inside the engine since the last call (flushes, compactions, stalls),
    /// oldest first.
    fn events(&self) -> Vec<EngineEvent> {
        Vec::new()
    }
}

/// One thread's handle on an engine.
///
/// Two methods are required. The others have a provided form that either is correct for every
/// engine (and slower than a native one) or refuses. [`crate::Capabilities`] says which methods an
/// engine has, so that a plan that needs more is refused before any process starts.
pub trait Session: Sized {
    /// Whether a value has been read into memory to its last byte when it is shown, as a drive's
    /// values have. Of other values the load generator reads one word of every cache line, so that
    /// no engine is credited for bytes that were never fetched.
    const SHOWS_READ_BYTES: bool = false;

    /// Looks `key` up and shows the value, or `None`, to `visit` exactly once.
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R>;

    /// Stores `value` under `key`, replacing what was there, under the durability class the engine
    /// was opened with.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Stores a record as [`put`](Session::put) does, with a time to live: once `ttl` is over, the
    /// record no longer exists. An engine that counts in longer units rounds up. Only for engines
    /// with the capability [`time_to_live`](crate::Capabilities::time_to_live).
    fn put_expiring(&mut self, _key: &[u8], _value: &[u8], _ttl: Duration) -> Result<()> {
        Err(Error::unsupported("times to live"))
    }

    /// Removes `key`. Removing a key that does not exist is not an error.
    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Err(Error::unsupported("delete"))
    }

    /// Shows the records of `range` in its order until `visit` breaks off. Returns how many were
    /// shown, including the one at which `visit` broke off.
    fn scan(
        &mut self,
        _range: Range<'_>,
        _visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        Err(Error::unsupported("scan"))
    }

    /// Shows the next `limit` records of a walk over all records, until `visit` breaks off. Returns
    /// how many were shown. Fewer than `limit`, although `visit` did not break off, means that the
    /// walk has ended; the next call begins it anew.
    ///
    /// A session may keep its cursor open from call to call, and show the records that existed when
    /// the walk began.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        walk.continue_by_scan(self, limit, visit)
    }

    /// Runs `body` as one transaction. All of its writes are stored when this returns `Ok`, and
    /// none of them after an `Err`, whether the error is the body's or the engine's. An error of
    /// class `Conflict` means that another writer interfered, and the caller may run the body
    /// again. The kind of transaction is
    /// [`Capabilities::transactions`](crate::Capabilities::transactions).
    fn transaction<R>(
        &mut self,
        _body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        Err(Error::unsupported("transactions"))
    }

    /// Looks up several keys; `visit` is called once for each with its index, in any order.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        for (index, key) in keys.iter().enumerate() {
            self.get(key, |value| visit(index, value))?;
        }
        Ok(())
    }

    /// Applies `writes` in order, as one atomic and, in class `commit`, one durable unit where
    /// [`crate::BatchKind::Atomic`] is claimed; else one after the other.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        for write in writes {
            match *write {
                Write::Put { key, value } => self.put(key, value)?,
                Write::Delete { key } => self.delete(key)?,
            }
        }
        Ok(())
    }

    /// Reads `key`, lets `change` write the new value into the (empty) buffer it is given, and
    /// stores that. Returns whether the key was there. Atomic only where the capability says so.
    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        let existed = self.get(key, |value| {
            change(value, buffer);
            value.is_some()
        })?;
        self.put(key, buffer)?;
        Ok(existed)
    }

    /// Shows the `bytes` bytes from `offset` on. This method, `write_at`, `discard` and `flush` are
    /// for engines with the capability [`addressed`](crate::Capabilities::addressed), and called
    /// only where [`DataShape::requests`] announced them.
    fn read_at<R>(
        &mut self,
        _offset: u64,
        _bytes: usize,
        _visit: impl FnOnce(&[u8]) -> R,
    ) -> Result<R> {
        Err(Error::unsupported("requests by offset"))
    }

    /// Writes `bytes` from `offset` on, under the durability class the engine was opened with.
    fn write_at(&mut self, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::unsupported("requests by offset"))
    }

    /// Tells the engine that the `bytes` bytes from `offset` on are no longer needed.
    fn discard(&mut self, _offset: u64, _bytes: u64) -> Result<()> {
        Err(Error::unsupported("requests by offset"))
    }

    /// Makes every completed write durable, whatever the durability class.
    fn flush(&mut self) -> Result<()> {
        Err(Error::unsupported("requests by offset"))
    }

    /// Accepts a lookup without waiting for it. Its answer comes from [`Session::complete`] under
    /// `ticket`, which is below [`DataShape::depth`] and is not used again before the answer.
    fn submit_get(&mut self, _ticket: u32, _key: &[u8]) -> Result<()> {
        Err(Error::unsupported("operations in flight"))
    }

    /// Accepts a write without waiting for it. The caller may overwrite the value when this
    /// returns.
    fn submit_put(&mut self, _ticket: u32, _key: &[u8], _value: &[u8]) -> Result<()> {
        Err(Error::unsupported("operations in flight"))
    }

    /// Accepts a [`put_expiring`](Session::put_expiring), which is answered as a write is.
    fn submit_put_expiring(
        &mut self,
        _ticket: u32,
        _key: &[u8],
        _value: &[u8],
        _ttl: Duration,
    ) -> Result<()> {
        Err(Error::unsupported("times to live in flight"))
    }

    /// Accepts a [`read_at`](Session::read_at), which is answered as a lookup is.
    fn submit_read_at(&mut self, _ticket: u32, _offset: u64, _bytes: usize) -> Result<()> {
        Err(Error::unsupported("requests by offset in flight"))
    }

    /// Accepts a [`write_at`](Session::write_at), which is answered as a write is.
    fn submit_write_at(&mut self, _ticket: u32, _offset: u64, _bytes: &[u8]) -> Result<()> {
        Err(Error::unsupported("requests by offset in flight"))
    }

    /// Starts the accepted operations that are not yet under way.
    fn send(&mut self) -> Result<()> {
        Err(Error::unsupported("operations in flight"))
    }

    /// Waits for at least one answer. Shows the answers that have arrived, or the first of them,
    /// each with its ticket: for a lookup the value or `None`, for a write `None`. Returns how many
    /// were shown; zero: nothing is in flight. An error of one operation is that operation's
    /// answer; `Err` means that the whole session has failed.
    fn complete(&mut self, _done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        Err(Error::unsupported("operations in flight"))
    }
}

/// One write of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write<'a> {
    /// Store `value` under `key`.
    Put {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Remove `key`.
    Delete {
        /// The key.
        key: &'a [u8],
    },
}

impl<'a> Write<'a> {
    /// The key of the record.
    #[inline]
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Self::Put { key, .. } | Self::Delete { key } => key,
        }
    }

    /// The value to store; none: the record is removed.
    #[inline]
    pub fn value(&self) -> Option<&'a [u8]> {
        match *self {
            Self::Put { value, .. } => Some(value),
            Self::Delete { .. } => None,
        }
    }
}

/// The outcome of a wait for background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whether the engine came to rest within the limit.
    pub idle: bool,
    /// The background work that was waited for, in the engine's words.
    pub note: String,
}

impl Settled {
    /// Polls `work`, which names the background work under way, until it returns none or `limit`
    /// has passed. `idle` is the note where no work is left.
    pub fn poll(
        limit: Duration,
        idle: &str,
        mut work: impl FnMut() -> Result<Option<String>>,
    ) -> Result<Self> {
        let begun = Instant::now();
        loop {
            match work()? {
                None => return Ok(Self { idle: true, note: idle.to_owned() }),
                Some(work) if begun.elapsed() >= limit => {
                    return Ok(Self { idle: false, note: format!("waited for {work}") });
                }
                Some(_) => std::thread::sleep(POLL_EVERY),
            }
        }
    }

    /// The outcome for an engine without background work, which is always idle.
    pub fn at_once() -> Self {
        Self { idle: true, note: "no background work".to_owned() }
    }
}
