//! `CacheLib`'s traces of key-value caches. Columns are found by their names: in 2022
//! `key,op,size,op_count,key_size`, later `op_time,key,key_size,op,op_count,size` and more.

use super::{Line, LineFormat, Notes, RawRequest, parse_ttl};
use crate::error::quote_bytes;
use crate::header::Times;
use crate::input::{Wrong, parse_field};
use crate::request::Op;

/// The columns that are read.
const COLUMNS: [&str; 7] = ["op_time", "key", "key_size", "op", "op_count", "size", "ttl"];

const FIELDS_MAX: usize = 32;

/// The most repetitions of one line's operation: more than any trace has.
const TIMES_MAX: u64 = 10_000_000;

#[derive(Default)]
pub(super) struct Cachelib {
    /// The index of each of [`COLUMNS`], and the number of all columns.
    columns: Option<([Option<usize>; 7], usize)>,
}

impl Cachelib {
    /// Reads the first line, which has the columns' names.
    fn begin(&mut self, line: &[u8]) -> Result<Line, Wrong> {
        let names: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let column = |name: &str| names.iter().position(|other| *other == name.as_bytes());
        let columns = COLUMNS.map(column);
        let [_, key, _, op, ..] = columns;
        if key.is_none() || op.is_none() || names.len() > FIELDS_MAX {
            let other = format!("columns {}", quote_bytes(line));
            return Err(Wrong::new(other, "names, `key` and `op` among them"));
        }
        self.columns = Some((columns, names.len()));
        Ok(Line::Aside)
    }
}

impl LineFormat for Cachelib {
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        notes: &mut Notes,
    ) -> Result<Line, Wrong> {
        let Some((columns, count)) = self.columns else { return self.begin(line) };
        let (fields, field_count) = crate::input::Lines::split_fields::<FIELDS_MAX>(line, b',');
        if field_count < count.min(5) {
            return Err(Wrong::new(format!("{field_count} fields"), format!("{count} fields")));
        }
        let field = |column: usize| columns[column].map(|column| fields[column]);
        let number = |column: usize, what: &str, other: u64| {
            field(column)
                .filter(|field| !field.is_empty())
                .map_or(Ok(other), |f| parse_field(f, what))
        };
        request.times = number(4, "how often the operation was made", 1)?;
        if request.times > TIMES_MAX {
            let often = format!("an operation made {} times", request.times);
            return Err(Wrong::new(often, format!("at most {TIMES_MAX}")));
        }
        let op = field(3).unwrap_or_default();
        request.op = match op {
            b"GET" | b"GET_LEASE" => Op::Get,
            b"SET" | b"SET_LEASE" => Op::Put,
            b"DELETE" => Op::Delete,
            other => {
                notes.count_unknown(other);
                return Ok(Line::Aside);
            }
        };
        if op.ends_with(b"_LEASE") {
            notes.count_mapped(&String::from_utf8_lossy(op), request.op, request.times);
        }
        let seconds = number(0, "a time in whole seconds", 0)?;
        request.at_ns = seconds.saturating_mul(1_000_000_000);
        request.key.clear();
        request.key.extend_from_slice(field(1).unwrap_or_default());
        let length = request.key.len() as u64;
        request.key_bytes = number(2, "the bytes of a key", length)?.min(u32::MAX.into()) as u32;
        request.value_bytes = number(5, "the bytes of a value", 0)?;
        request.ttl_ns = parse_ttl(request.op, |what| number(6, what, 0))?;
        request.client = 0;
        Ok(if request.times == 0 { Line::LeftOut("made no times") } else { Line::Request })
    }

    fn times(&self) -> Times {
        match self.columns {
            Some(([Some(_), ..], _)) => Times::SpreadOverSeconds,
            _ => Times::None,
        }
    }
}
