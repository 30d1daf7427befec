//! The log that fio writes with `write_iolog`: `[microseconds] file action [offset length]`.
//! Version 3 has times, version 2 waits in between. (fio, HOWTO, "Trace file format")

use super::{Line, LineFormat, Names, Notes, RawRequest};
use crate::error::quote_bytes;
use crate::header::Times;
use crate::input::{Wrong, parse_field};
use crate::request::Op;

#[derive(Default)]
pub(super) struct FioIolog {
    version: u32,
    files: Names,
    /// In version 2 the end of the last wait; in version 3 the time of the last request.
    at_us: u64,
    /// In version 3 the time on the last line, as written there.
    last_us: Option<u64>,
    waits: bool,
}

impl FioIolog {
    fn begin(&mut self, line: &[u8]) -> Result<Line, Wrong> {
        self.version = match line {
            b"fio version 2 iolog" => 2,
            b"fio version 3 iolog" => 3,
            _ => {
                let expected = "`fio version 2 iolog` or `fio version 3 iolog`";
                return Err(Wrong::new(quote_bytes(line), expected));
            }
        };
        Ok(Line::Aside)
    }
}

impl LineFormat for FioIolog {
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        _: &mut Notes,
    ) -> Result<Line, Wrong> {
        if self.version == 0 {
            return self.begin(line);
        }
        let mut words: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let time_us = match self.version {
            2 => None,
            _ if words.is_empty() => None,
            _ => Some(parse_field(words.remove(0), "a time in microseconds")?),
        };
        let (file, action, range) = match words.as_slice() {
            [_, b"add" | b"open" | b"close"] => return Ok(Line::Aside),
            [file, action, offset, length] => (*file, *action, (*offset, *length)),
            [file, action @ (b"sync" | b"datasync")] => (*file, *action, (&b"0"[..], &b"0"[..])),
            _ => {
                let expected = if time_us.is_some() {
                    "microseconds, file, action, offset, length"
                } else {
                    "file, action, offset, length"
                };
                return Err(Wrong::new(quote_bytes(line), expected));
            }
        };
        let (offset, length) =
            (parse_field(range.0, "an offset")?, parse_field(range.1, "a length")?);
        request.op = match action {
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"sync" | b"datasync" => Op::Flush,
            b"trim" => Op::Discard,
            b"wait" if self.version == 2 => {
                self.waits = true;
                // fio 3.33 takes it for milliseconds since the start, whatever its HOWTO says.
                self.at_us = self.at_us.max(offset.saturating_mul(1_000));
                return Ok(Line::Aside);
            }
            b"sync_file_range" => return Ok(Line::LeftOut("sync_file_range")),
            _ => {
                let request = format!("action {}", quote_bytes(action));
                return Err(Wrong::new(request, "read, write, sync, datasync, trim or wait"));
            }
        };
        let flush = request.op == Op::Flush;
        (request.offset, request.value_bytes) = if flush { (0, 0) } else { (offset, length) };
        if let Some(time_us) = time_us {
            // Where a log's time goes back, another lap begins without a pause.
            let last_us = self.last_us.replace(time_us).unwrap_or(0);
            self.at_us = self.at_us.saturating_add(time_us.saturating_sub(last_us));
        }
        request.at_ns = self.at_us.saturating_mul(1_000);
        request.client = self.files.number(file)?;
        Ok(Line::Request)
    }

    fn times(&self) -> Times {
        if self.version == 3 || self.waits { Times::Exact } else { Times::None }
    }

    fn ends_lines(&self) -> bool {
        true
    }
}
