//! Length prefixes in packets.

/// The byte in the place of a length for NULL, in a row of text.
const NULL: u8 = 0xfb;

/// Writes a length.
#[inline]
pub(crate) fn push_length(out: &mut Vec<u8>, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    match length {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => out.extend_from_slice(&[0xfc, bytes[0], bytes[1]]),
        0x1_0000..=0xff_ffff => out.extend_from_slice(&[0xfd, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Returns the length that is written at `offset`, and where it ends.
#[inline]
pub(crate) fn parse_length(bytes: &[u8], offset: usize) -> Option<(usize, usize)> {
    let number_of = |count: usize| {
        let mut number = [0; 8];
        number[..count].copy_from_slice(bytes.get(offset + 1..offset + 1 + count)?);
        let length = u64::from_le_bytes(number) as usize;
        let begin = offset + 1 + count;
        // A length without its end is not a length.
        begin.checked_add(length).map(|_| (length, begin))
    };
    match *bytes.get(offset)? {
        short @ 0..=250 => Some((usize::from(short), offset + 1)),
        0xfc => number_of(2),
        0xfd => number_of(3),
        0xfe => number_of(8),
        NULL | 0xff => None,
    }
}

/// Returns the columns of a row of text.
pub(crate) fn split_columns(row: &[u8]) -> Vec<Option<&str>> {
    let (mut words, mut offset) = (Vec::new(), 0);
    while offset < row.len() {
        let word = parse_length(row, offset).and_then(|(length, begin)| {
            offset = begin + length;
            row.get(begin..offset)
        });
        if word.is_none() {
            offset += 1;
        }
        words.push(word.and_then(|word| std::str::from_utf8(word).ok()));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_every_size_are_read_as_they_are_written() {
        for size in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000] {
            let mut out = Vec::new();
            push_length(&mut out, size);
            assert_eq!(parse_length(&out, 0), Some((size, out.len())));
        }
        assert_eq!(split_columns(b"\x01a\xfb\0\x02bc"), [Some("a"), None, Some(""), Some("bc")]);
    }

    /// The sum would overflow to the same position, and parsing would never end.
    #[test]
    fn a_length_beyond_all_memory_is_none() {
        let row = [&[0xfe], &(-9_i64).to_le_bytes()[..]].concat();
        assert_eq!(parse_length(&row, 0), None);
        assert!(split_columns(&row).len() <= row.len());
    }
}
