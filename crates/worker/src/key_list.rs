//! The keys of an existing database, as the command `sample` lists them.

use kvdyno_engine::{Error, Result};
use std::fs;
use std::path::Path;

/// The keys in a file, each behind its length.
#[derive(Debug)]
pub(crate) struct KeyList {
    file: Vec<u8>,
    /// The offset at which each key ends.
    ends: Vec<u64>,
}

/// The bytes of a length.
const LENGTH_BYTES: usize = 4;

impl KeyList {
    /// Reads the list in a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = fs::read(path)
            .map_err(|error| Error::from(error).context(&format!("reading {}", path.display())))?;
        let (mut ends, mut end) = (Vec::new(), 0);
        while let Some(length) = file[end..].first_chunk::<LENGTH_BYTES>() {
            end += LENGTH_BYTES + u32::from_le_bytes(*length) as usize;
            if end > file.len() {
                break;
            }
            ends.push(end as u64);
        }
        if end != file.len() || ends.is_empty() {
            let what = format!("{}: expected a list of keys, found another file", path.display());
            return Err(Error::invalid(what));
        }
        Ok(Self { file, ends })
    }

    /// Returns the key of a number. Numbers beyond the last key begin with the first again.
    pub(crate) fn key(&self, number: u64) -> &[u8] {
        let index = (number % self.ends.len() as u64) as usize;
        let before = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.file[before + LENGTH_BYTES..self.ends[index] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::origin::write_key;

    #[test]
    fn keys_are_read_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let keys: [&[u8]; 3] = [b"a", b"", &[0xff; 300]];
        let mut file = Vec::new();
        for key in keys {
            write_key(&mut file, key).unwrap();
        }
        fs::write(&path, &file).unwrap();
        let list = KeyList::read(&path).unwrap();
        let read: Vec<&[u8]> = (0..6).map(|number| list.key(number)).collect();
        assert_eq!(read, [keys, keys].concat());
        for cut in [0, 1, file.len() - 1] {
            fs::write(&path, &file[..cut]).unwrap();
            let error = KeyList::read(&path).unwrap_err().to_string();
            assert!(error.contains("expected a list of keys"), "{error}");
        }
    }
}
