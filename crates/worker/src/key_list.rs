//! The keys of a database that was there, as the command `sample` lists them.

use kvdyno_engine::{Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Keys one after the other.
#[derive(Debug)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    /// Where each begins, and where the last one ends.
    starts: Vec<u64>,
}

impl KeyList {
    /// The list in a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let file = fs::read(path)
            .map_err(|error| Error::from(error).context(&format!("reading {}", path.display())))?;
        let (mut bytes, mut starts) = (Vec::with_capacity(file.len()), vec![0]);
        let mut rest = file.as_slice();
        while let Some((length, after)) = rest.split_first_chunk() {
            let length = u32::from_le_bytes(*length) as usize;
            let Some((key, after)) = after.split_at_checked(length) else { break };
            bytes.extend_from_slice(key);
            starts.push(bytes.len() as u64);
            rest = after;
        }
        if !rest.is_empty() || starts.len() < 2 {
            let what = format!("{}: expected a list of keys, found another file", path.display());
            return Err(Error::invalid(what));
        }
        Ok(Self { bytes, starts })
    }

    /// Adds a key to a file.
    pub(crate) fn write(file: &mut impl Write, key: &[u8]) -> io::Result<()> {
        file.write_all(&(key.len() as u32).to_le_bytes())?;
        file.write_all(key)
    }

    /// The key of a number. Numbers beyond the last begin with the first again.
    pub(crate) fn key(&self, number: u64) -> &[u8] {
        let index = (number % (self.starts.len() as u64 - 1)) as usize;
        &self.bytes[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let keys: [&[u8]; 3] = [b"a", b"", &[0xff; 300]];
        let mut file = Vec::new();
        for key in keys {
            KeyList::write(&mut file, key).unwrap();
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
