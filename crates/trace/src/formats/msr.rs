//! The block traces of Microsoft Research in Cambridge:
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, in 100 ns since 1601.

use super::{Line, LineFormat, Names, Notes, RawRequest, fields};
use crate::error::quote_bytes;
use crate::header::Times;
use crate::input::{Wrong, parse_field};
use crate::request::Op;

const NAMES: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

/// From 1601 to 1970, in 100 ns.
const TO_1970: u64 = 116_444_736_000_000_000;

#[derive(Default)]
pub(super) struct Msr {
    disks: Names,
    begun: bool,
}

impl LineFormat for Msr {
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        _: &mut Notes,
    ) -> Result<Line, Wrong> {
        if !std::mem::replace(&mut self.begun, true) && line.starts_with(b"Timestamp") {
            return Ok(Line::Aside);
        }
        let [time, host, disk, kind, offset, bytes, _] = fields::<7>(line, NAMES)?;
        let time = parse_field(time, "a time in units of 100 ns")?;
        request.op = match kind.to_ascii_lowercase().as_slice() {
            b"read" => Op::Read,
            b"write" => Op::Write,
            _ => return Err(Wrong::new(format!("type {}", quote_bytes(kind)), "Read or Write")),
        };
        request.at_ns = time.saturating_sub(TO_1970).saturating_mul(100);
        request.offset = parse_field(offset, "an offset in bytes")?;
        request.value_bytes = parse_field(bytes, "how many bytes")?;
        request.client = self.disks.number(&[host, b"," as &[u8], disk].concat())?;
        Ok(Line::Request)
    }

    fn times(&self) -> Times {
        Times::Exact
    }
}
