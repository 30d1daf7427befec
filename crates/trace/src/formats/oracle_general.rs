//! libCacheSim's `oracleGeneral`: records of 24 bytes, little-endian: u32 seconds, u64 object, u32
//! bytes, i64 the number of the object's next request. All are lookups.

use super::{Importer, Notes, RawRequest};
use crate::error::TraceError;
use crate::header::Times;
use crate::input::{Bytes, Input, ReadOutcome};
use crate::request::Op;

const RECORD: usize = 24;

pub(super) struct OracleGeneral {
    bytes: Bytes,
}

impl OracleGeneral {
    pub(super) fn open(input: Input) -> Self {
        Self { bytes: input.bytes() }
    }
}

impl Importer for OracleGeneral {
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        let mut record = [0; RECORD];
        match self.bytes.fill(&mut record)? {
            ReadOutcome::Whole => {}
            ReadOutcome::End => return Ok(false),
            ReadOutcome::Part(part) => {
                let at = self.bytes.position() - part as u64;
                let cut = format!("the record at byte {at} has {part} of {RECORD} bytes");
                notes.cut_short = Some(cut);
                return Ok(false);
            }
        }
        let [s0, s1, s2, s3, object @ .., _, _, _, _, _, _, _, _, _, _, _, _] = record;
        let seconds = u32::from_le_bytes([s0, s1, s2, s3]);
        let bytes = u32::from_le_bytes([record[12], record[13], record[14], record[15]]);
        request.at_ns = u64::from(seconds) * 1_000_000_000;
        request.op = Op::Get;
        request.key.clear();
        // Big-endian bytes sort as the numbers do.
        request.key.extend(object.into_iter().rev());
        request.key_bytes = 0;
        request.value_bytes = bytes.into();
        Ok(true)
    }

    fn times(&self) -> Times {
        Times::SpreadOverSeconds
    }
}
