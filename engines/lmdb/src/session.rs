//! One thread's handle: one write transaction per put or batch, one renewed read transaction per
//! get, as an application does that wants the newest data each time.

use crate::raw::{self, Env, Reader};
use kvdyno_engine::{Range, Records, Result, Session, Transaction, ValueVisitor, Walk, Write};
use std::ops::ControlFlow;

/// A session of LMDB, or of a library derived from it.
pub(crate) struct EnvSession<'e> {
    env: &'e Env,
    reader: Reader<'e>,
    /// Whether to append: all keys so far have come in ascending order, past the last one.
    append: bool,
}

impl<'e> EnvSession<'e> {
    /// With `append`, puts go past the last key as long as keys ascend.
    pub(crate) fn new(env: &'e Env, append: bool) -> Result<Self> {
        Ok(Self { env, reader: env.reader()?, append })
    }

    /// Puts a record; with `append`, past the last key. The first key that is not past it clears
    /// `append`.
    #[inline]
    fn append_or_put(
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

impl Session for EnvSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.reader.with_snapshot(|snapshot| snapshot.get(key).map(visit))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.env.write(|writer| Self::append_or_put(writer, &mut self.append, key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.env.write(|writer| writer.delete(key))
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.reader.with_snapshot(|snapshot| snapshot.scan(range, visit))
    }

    /// Walks in one snapshot from beginning to end, as programs do.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.reader.walk(walk, limit, visit)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.env.write(|writer| body(writer))
    }

    /// Reads all keys from one snapshot.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.reader.with_snapshot(|snapshot| {
            let mut keys = keys.iter().enumerate();
            keys.try_for_each(|(index, key)| snapshot.get(key).map(|value| visit(index, value)))
        })
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.env.write(|writer| {
            writer.open_put_cursor()?;
            writes.iter().try_for_each(|write| match *write {
                Write::Put { key, value } => {
                    Self::append_or_put(writer, &mut self.append, key, value)
                }
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
            let existed = old.is_some();
            change(old, buffer);
            Self::append_or_put(writer, &mut self.append, key, buffer)?;
            Ok(existed)
        })
    }
}

/// A transaction is the only writer at its time, so its reads do not change.
impl Transaction for raw::Writer<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        Self::get(self, key).map(visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        Self::get(self, key).map(visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Self::put(self, key, value, false).map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Self::delete(self, key)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Self::scan(self, range, visit)
    }
}
