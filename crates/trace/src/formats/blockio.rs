//! `blockio.csv`, as `kvdyno run --io-log` writes it: each request as the kernel saw it complete.

use super::{Line, LineFormat, Names, Notes, RawRequest, fields};
use crate::error::quote_bytes;
use crate::header::Times;
use crate::input::{Wrong, parse_field};
use crate::request::Op;

const NAMES: &str = "issued_unix_ns,process,name,owner,device,kind,fua,sector,bytes,latency_ns";

const SECTOR_BYTES: u64 = 512;

#[derive(Default)]
pub(super) struct BlockIo {
    devices: Names,
    begun: bool,
}

impl LineFormat for BlockIo {
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        notes: &mut Notes,
    ) -> Result<Line, Wrong> {
        if !std::mem::replace(&mut self.begun, true) {
            return if line == NAMES.as_bytes() {
                Ok(Line::Aside)
            } else {
                Err(Wrong::new(quote_bytes(line), format!("`{NAMES}`")))
            };
        }
        // A process's name may have commas: the fields behind it are counted from the end.
        let (front, _) = crate::input::Lines::split_fields::<3>(line, b',');
        let behind = front[2].rsplitn(8, |byte| *byte == b',').collect::<Vec<_>>();
        let [_, bytes, sector, _, kind, device, _, _] = behind.as_slice() else {
            return Err(fields::<10>(line, NAMES).err().unwrap_or(Wrong::new("fields", NAMES)));
        };
        request.op = match *kind {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"flush" => Op::Flush,
            b"discard" => Op::Discard,
            b"metadata" => {
                notes.count_mapped("metadata", Op::Write, 1);
                Op::Write
            }
            b"other" => return Ok(Line::LeftOut("other")),
            other => {
                let expected = "read, write, metadata, flush, discard or other";
                return Err(Wrong::new(format!("kind {}", quote_bytes(other)), expected));
            }
        };
        request.at_ns = parse_field(front[0], "a time in nanoseconds")?;
        let flush = request.op == Op::Flush;
        let sector = if flush { 0 } else { parse_field(sector, "a sector")? };
        request.offset = sector.saturating_mul(SECTOR_BYTES);
        request.value_bytes = parse_field(bytes, "how many bytes")?;
        request.client = self.devices.number(device)?;
        Ok(Line::Request)
    }

    fn times(&self) -> Times {
        Times::Exact
    }
}
