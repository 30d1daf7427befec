//! Twitter's cache traces: `timestamp,key,key size,value size,client id,operation,TTL`, in whole
//! seconds. (twitter/cache-trace, README)

use super::{Line, LineFormat, Notes, RawRequest, parse_ttl};
use crate::error::quote_bytes;
use crate::header::Times;
use crate::input::{Wrong, parse_field};
use crate::request::Op;

pub(super) struct Twitter;

const OPERATIONS: &str = "get, gets, set, add, replace, cas, append, prepend, delete, incr or decr";

impl LineFormat for Twitter {
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        notes: &mut Notes,
    ) -> Result<Line, Wrong> {
        // A key may have commas: the fields around it are counted from both ends.
        let (seconds, rest) = split_field(line)?;
        let mut behind = rest.rsplitn(6, |byte| *byte == b',');
        let mut last = || {
            behind.next().ok_or_else(|| {
                let names = "timestamp,key,key size,value size,client id,operation,TTL";
                Wrong::new("fewer than seven fields", names)
            })
        };
        let [ttl, operation, client, value, key_bytes, key] =
            [last()?, last()?, last()?, last()?, last()?, last()?];
        request.op = match operation {
            b"get" => Op::Get,
            b"set" => Op::Put,
            b"delete" => Op::Delete,
            b"gets" => map_op("gets", Op::Get, notes),
            b"add" => map_op("add", Op::Put, notes),
            b"replace" => map_op("replace", Op::Put, notes),
            b"cas" => map_op("cas", Op::Put, notes),
            b"append" => map_op("append", Op::Rmw, notes),
            b"prepend" => map_op("prepend", Op::Rmw, notes),
            b"incr" => map_op("incr", Op::Rmw, notes),
            b"decr" => map_op("decr", Op::Rmw, notes),
            other => {
                return Err(Wrong::new(format!("operation {}", quote_bytes(other)), OPERATIONS));
            }
        };
        let seconds = parse_field(seconds, "a time in whole seconds")?;
        request.at_ns = seconds.saturating_mul(1_000_000_000);
        request.key_bytes =
            parse_field(key_bytes, "the bytes of a key")?.min(u32::MAX.into()) as u32;
        request.value_bytes = parse_field(value, "the bytes of a value")?;
        request.client = parse_field(client, "the number of a client")? as u32;
        request.ttl_ns = parse_ttl(request.op, |what| parse_field(ttl, what))?;
        request.key.clear();
        request.key.extend_from_slice(key);
        Ok(Line::Request)
    }

    fn times(&self) -> Times {
        Times::SpreadOverSeconds
    }
}

fn split_field(line: &[u8]) -> Result<(&[u8], &[u8]), Wrong> {
    let comma = line.iter().position(|byte| *byte == b',');
    let comma = comma.ok_or_else(|| Wrong::new(quote_bytes(line), "seven fields with commas"))?;
    Ok((&line[..comma], &line[comma + 1..]))
}

fn map_op(from: &str, to: Op, notes: &mut Notes) -> Op {
    notes.count_mapped(from, to, 1);
    to
}
