//! The engine: opens the blocks as the plan needs them, and reports the setup in effect.

use crate::blocks::{Blocks, alignment};
use crate::describe::{Calls, DriveOptions, description};
use crate::drive::Drive;
use crate::how::How;
use crate::mapped_file::MappedFile;
use crate::session::DriveSession;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, Location, Options, Result, Settled, Value,
};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

impl Engine for Drive {
    type Session<'e> = DriveSession<'e>;

    fn describe() -> Description {
        description()
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let drive_options = DriveOptions::from_options(options)?;
        let bytes = file_bytes(data)?;
        check_calls(data, drive_options)?;
        let blocks = Blocks::open(location, bytes, drive_options)?;
        let alignment = if drive_options.direct { alignment(&blocks.file) } else { 1 };
        if alignment == 0 || !data.value_bytes_max.is_multiple_of(u64::from(alignment)) {
            let block = data.value_bytes_max;
            let what = match alignment {
                0 => "the filesystem refuses O_DIRECT for this file; set direct = false".to_owned(),
                _ => {
                    format!("a block has {block} bytes, expected a multiple of {alignment}")
                }
            };
            return Err(Error::invalid(what));
        }
        check_alignment(data, alignment)?;
        let longest = data.requests.as_ref().map_or(0, |requests| requests.bytes_max);
        let whole = OnceLock::new();
        if !blocks.fresh {
            let _ = whole.set(blocks.demand_whole()?);
        }
        let map = match drive_options.calls {
            Calls::Mmap => Some(MappedFile::new(&blocks.file, bytes, drive_options.read_only)?),
            Calls::IoUring | Calls::Psync => None,
        };
        Ok(Self {
            blocks,
            options: drive_options,
            map,
            block_bytes: data.value_bytes_max as usize,
            buffer_bytes: data.value_bytes_max.max(longest) as usize,
            records: data.records,
            depth: data.depth,
            alignment,
            whole,
            ran: Mutex::default(),
        })
    }

    fn session(&self) -> Result<DriveSession<'_>> {
        DriveSession::new(self)
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    /// Flushes the file, and at the end of a load notes the evidence that every block was written.
    /// If there is none, the first read fails.
    fn sync(&self) -> Result<()> {
        self.blocks.file.sync_all()?;
        if let (false, Ok(how)) = (self.is_whole(), self.blocks.demand_whole()) {
            let _ = self.whole.set(how);
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(self.blocks.file.sync_all()?)
    }

    fn counters(&self) -> Counters {
        let ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counters = Counters::new();
        let mut tell = |name: &str, value: Value| drop(counters.insert(name.to_owned(), value));
        tell("direct", Value::Boolean(self.options.direct));
        tell("alignment_bytes", Value::Integer(self.alignment.into()));
        let unproved = "not proved: it is being loaded";
        let whole = self.whole.get().map_or(unproved, String::as_str);
        tell("written_in_full", Value::Text(whole.to_owned()));
        if self.map.is_some() {
            tell("how", Value::Text("mmap, MADV_RANDOM".to_owned()));
        } else if !ran.is_empty() {
            let texts: Vec<_> = ran.iter().map(How::to_string).collect();
            tell("how", Value::Text(texts.join(" | ")));
            let all = |is: fn(&How) -> bool| Value::Boolean(ran.iter().all(is));
            tell("io_uring", all(|how| how.io_uring));
            tell("io_uring.registered_files", all(|how| how.registered_files));
            tell("io_uring.registered_buffers", all(|how| how.registered_buffers));
            tell("io_uring.sqpoll", all(|how| how.sqpoll));
            tell("io_uring.iopoll", all(|how| how.iopoll));
        }
        counters
    }
}

/// Refuses requests by offset that the location cannot perform.
fn check_calls(data: &DataShape, drive_options: DriveOptions) -> Result<()> {
    let Some(requests) = &data.requests else { return Ok(()) };
    if drive_options.calls == Calls::Mmap {
        return Err(Error::invalid(
            "io = mmap has no requests by offset and length; set io = io_uring or psync",
        ));
    }
    if drive_options.read_only && requests.writes {
        return Err(Error::invalid(
            "option read_only is on, and some of the requests by offset write or discard",
        ));
    }
    Ok(())
}

/// Refuses requests by offset whose alignment the location does not support.
fn check_alignment(data: &DataShape, alignment: u32) -> Result<()> {
    let Some(requests) = &data.requests else { return Ok(()) };
    let multiple_of = requests.multiple_of;
    if multiple_of.is_multiple_of(u64::from(alignment)) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "requests are aligned to {multiple_of} bytes, expected multiples of {alignment}; set \
         direct = false, or use a drive with smaller sectors"
    )))
}

/// Returns the bytes of all blocks of the plan. Refuses blocks of several lengths, and inserts.
fn file_bytes(data: &DataShape) -> Result<u64> {
    let invalid = |what: &str| Err(Error::invalid(what));
    if data.value_bytes_mean != data.value_bytes_max || data.value_bytes_max == 0 {
        return invalid(
            "engine `drive` stores blocks of one length: `value_bytes` must be one number above 0",
        );
    }
    if data.records_max != data.records || data.records == 0 {
        return invalid(
            "engine `drive` has as many records as blocks and no room for inserts; remove them",
        );
    }
    let bytes = data.records.checked_mul(data.value_bytes_max);
    let too_many = "the records need more bytes than a drive can have; lower `records`";
    bytes.map_or_else(|| invalid(too_many), Ok)
}
