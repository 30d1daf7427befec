//! A block of requests as bytes, column after column: similar values compress well together.

use super::request::{Op, Request};
use super::varint;

/// The largest number of requests in a block.
pub(crate) const REQUESTS_MAX: usize = 1 << 16;

/// A bound on the bytes of a block: [`REQUESTS_MAX`] requests never take as many.
pub(crate) const BYTES_MAX: usize = REQUESTS_MAX * 62 + 64;

const JOINED: u8 = 0x80;

/// Appends a block to `out`. Each time and key is written as its difference to the previous
/// request's; `before_ns` is the time of the request before the first.
pub(crate) fn encode(requests: &[Request], before_ns: u64, out: &mut Vec<u8>) {
    let mut last_ns = before_ns;
    for request in requests {
        varint::encode(out, request.at_ns - last_ns);
        last_ns = request.at_ns;
    }
    out.extend(requests.iter().map(|r| r.op.code() | if r.joined { JOINED } else { 0 }));
    let mut last_key = 0;
    for request in requests {
        varint::encode(out, varint::zigzag(request.key.wrapping_sub(last_key) as i64));
        last_key = request.key;
    }
    for request in requests {
        varint::encode(out, request.key_bytes.into());
    }
    for request in requests {
        varint::encode(out, request.value_bytes);
    }
    for request in requests {
        varint::encode(out, request.client.into());
    }
    for request in requests {
        varint::encode(out, request.ttl_ns);
    }
}

/// Reads a block of `count` requests and replaces the contents of `requests` with them. `None`:
/// the bytes are not a valid block.
pub(crate) fn decode(
    mut bytes: &[u8],
    count: usize,
    before_ns: u64,
    requests: &mut Vec<Request>,
) -> Option<()> {
    let empty = Request {
        at_ns: 0,
        op: Op::Get,
        joined: false,
        key: 0,
        key_bytes: 0,
        value_bytes: 0,
        client: 0,
        ttl_ns: 0,
    };
    requests.clear();
    requests.resize(count, empty);
    let mut last_ns = before_ns;
    for request in requests.iter_mut() {
        last_ns = last_ns.checked_add(varint::decode(&mut bytes)?)?;
        request.at_ns = last_ns;
    }
    let (ops, mut bytes) = bytes.split_at_checked(count)?;
    for (request, code) in requests.iter_mut().zip(ops) {
        request.op = Op::from_code(code & !JOINED)?;
        request.joined = code & JOINED != 0;
    }
    let mut last_key = 0u64;
    for request in requests.iter_mut() {
        let step = varint::unzigzag(varint::decode(&mut bytes)?);
        last_key = last_key.wrapping_add(step as u64);
        request.key = last_key;
    }
    for request in requests.iter_mut() {
        request.key_bytes = varint::decode(&mut bytes)?.try_into().ok()?;
    }
    for request in requests.iter_mut() {
        request.value_bytes = varint::decode(&mut bytes)?;
    }
    for request in requests.iter_mut() {
        request.client = varint::decode(&mut bytes)?.try_into().ok()?;
    }
    for request in requests.iter_mut() {
        request.ttl_ns = varint::decode(&mut bytes)?;
    }
    bytes.is_empty().then_some(())
}
