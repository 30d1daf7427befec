//! Numbers of variable length: seven bits in each byte, the lowest first.

use std::io::{self, Read, Write};

/// Bytes of the longest number.
const BYTES_MAX: usize = 10;

pub(crate) fn encode(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the front of `bytes`; `None`: there is no valid one.
#[inline]
pub(crate) fn decode(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for index in 0..bytes.len().min(BYTES_MAX) {
        let byte = bytes[index];
        // The tenth byte has room for one bit only.
        if index == BYTES_MAX - 1 && byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(number);
        }
    }
    None
}

pub(crate) fn write(out: &mut impl Write, number: u64) -> io::Result<()> {
    let mut bytes = [0; BYTES_MAX];
    let (mut rest, mut length) = (number, 0);
    while rest >= 0x80 {
        bytes[length] = rest as u8 | 0x80;
        rest >>= 7;
        length += 1;
    }
    bytes[length] = rest as u8;
    out.write_all(&bytes[..=length])
}

pub(crate) fn read(from: &mut impl Read) -> io::Result<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        number |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(number);
        }
        shift += 7;
        if shift >= 64 {
            return Err(io::Error::other("a number does not end"));
        }
    }
}

/// Maps numbers near zero, of either sign, to small numbers.
pub(crate) fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

pub(crate) fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_back(number: u64, signed: i64) {
            let mut bytes = Vec::new();
            encode(&mut bytes, number);
            let mut written = Vec::new();
            write(&mut written, number).unwrap();
            prop_assert_eq!(&written, &bytes);
            prop_assert_eq!(read(&mut bytes.as_slice()).unwrap(), number);
            let mut rest = bytes.as_slice();
            prop_assert_eq!(decode(&mut rest), Some(number));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(decode(&mut &bytes[..bytes.len() - 1]), None);
            prop_assert_eq!(unzigzag(zigzag(signed)), signed);
        }
    }

    #[test]
    fn what_does_not_end_is_no_number() {
        assert_eq!(decode(&mut [0xff; 12].as_slice()), None);
        assert!(read(&mut [0xff; 12].as_slice()).is_err());
    }
}
