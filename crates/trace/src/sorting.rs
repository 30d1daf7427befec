//! Numbers keys without a gap, in the order of their bytes. It sorts externally, so that memory
//! does not grow with the trace.
//!
//! Keys are sorted in runs that fit into memory and written to files without a name. Merging the
//! runs gives each distinct key its number. Numbers are distributed to files by the index of their
//! request: each file has a stretch that fits into memory and is read in the requests' order.

use super::varint;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of the keys and their entries that are sorted at once.
const RUN_BYTES: usize = 96 << 20;
/// Runs that are merged at once.
const MERGED_MAX: usize = 64;
/// Requests whose numbers are in memory at once, and the most files of such stretches.
const STRETCH: u64 = 4 << 20;
const STRETCHES_MAX: u64 = 256;

/// Limits of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) run_bytes: usize,
    pub(crate) merged_max: usize,
    pub(crate) stretch: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { run_bytes: RUN_BYTES, merged_max: MERGED_MAX, stretch: STRETCH }
    }
}

/// Creates a temporary file without a name in a directory.
pub(crate) fn spool(dir: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 16, tempfile::tempfile_in(dir)?))
}

/// Flushes a temporary file and returns it for reading from its beginning.
pub(crate) fn reread(spool: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Collects keys and sorts them in runs.
pub(crate) struct Keys {
    dir: PathBuf,
    limits: Limits,
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// The runs, each with the number of times that its keys were merged.
    runs: Vec<(u32, BufReader<File>)>,
    count: u64,
}

/// A key of the current run.
struct Entry {
    /// Its first eight bytes, which decide most comparisons.
    first: u64,
    start: u32,
    length: u32,
    index: u64,
}

impl Keys {
    pub(crate) fn new(dir: &Path, limits: Limits) -> Self {
        Self {
            dir: dir.to_owned(),
            limits,
            bytes: Vec::new(),
            entries: Vec::new(),
            runs: Vec::new(),
            count: 0,
        }
    }

    /// Adds the key of the next request.
    pub(crate) fn push(&mut self, key: &[u8]) -> io::Result<()> {
        let run_bytes = self.bytes.len() + self.entries.len() * size_of::<Entry>();
        if run_bytes + key.len() > self.limits.run_bytes && !self.entries.is_empty() {
            self.end_run()?;
        }
        let mut first = [0; 8];
        let length = key.len().min(8);
        first[..length].copy_from_slice(&key[..length]);
        self.entries.push(Entry {
            first: u64::from_be_bytes(first),
            start: self.bytes.len() as u32,
            length: key.len() as u32,
            index: self.count,
        });
        self.bytes.extend_from_slice(key);
        self.count += 1;
        Ok(())
    }

    fn end_run(&mut self) -> io::Result<()> {
        let bytes = &self.bytes;
        let key = |entry: &Entry| &bytes[entry.start as usize..][..entry.length as usize];
        self.entries.sort_unstable_by(|a, b| {
            let by_key = || key(a).cmp(key(b));
            a.first.cmp(&b.first).then_with(by_key).then(a.index.cmp(&b.index))
        });
        let mut run = RunWriter::new(&self.dir)?;
        for entry in &self.entries {
            run.write(key(entry), entry.index)?;
        }
        self.runs.push((0, reread(run.file)?));
        self.bytes.clear();
        self.entries.clear();
        self.merge_alike()
    }

    /// Merges the last runs when too many of them were merged equally often. This bounds the open
    /// files for each number of merges.
    fn merge_alike(&mut self) -> io::Result<()> {
        let most = self.limits.merged_max.max(2);
        while let Some(first) = self.runs.len().checked_sub(most) {
            let merged = self.runs[first].0;
            if self.runs.last().is_none_or(|last| last.0 != merged) {
                break;
            }
            self.merge_from(first, merged + 1)?;
        }
        Ok(())
    }

    fn merge_from(&mut self, first: usize, merged: u32) -> io::Result<()> {
        let runs = self.runs.drain(first..).map(|(_, run)| run).collect();
        let mut run = RunWriter::new(&self.dir)?;
        merge(runs, |key, index| run.write(key, index))?;
        self.runs.push((merged, reread(run.file)?));
        Ok(())
    }

    /// Gives each key its number.
    pub(crate) fn numbers(mut self) -> io::Result<Numbers> {
        self.end_run()?;
        self.bytes = Vec::new();
        self.entries = Vec::new();
        let most = self.limits.merged_max.max(2);
        while self.runs.len() > most {
            self.merge_from(self.runs.len() - most, 0)?;
        }
        let mut stretches = StretchFiles::new(&self.dir, self.count, self.limits.stretch)?;
        let (mut last, mut distinct) = (Vec::new(), 0u64);
        let runs = self.runs.into_iter().map(|(_, run)| run).collect();
        merge(runs, |key, index| {
            if distinct == 0 || last != key {
                distinct += 1;
                last.clear();
                last.extend_from_slice(key);
            }
            stretches.write(index, distinct - 1)
        })?;
        let files = stretches.files.into_iter().map(reread).collect::<io::Result<Vec<_>>>()?;
        Ok(Numbers { stretch: stretches.stretch, files: files.into_iter(), held: Vec::new() })
    }
}

/// Writes a run: for each key the length shared with the key before, the rest, and its request's
/// index.
struct RunWriter {
    file: BufWriter<File>,
    last: Vec<u8>,
}

impl RunWriter {
    fn new(dir: &Path) -> io::Result<Self> {
        Ok(Self { file: spool(dir)?, last: Vec::new() })
    }

    fn write(&mut self, key: &[u8], index: u64) -> io::Result<()> {
        let shared = self.last.iter().zip(key).take_while(|(a, b)| a == b).count();
        varint::write(&mut self.file, shared as u64)?;
        varint::write(&mut self.file, (key.len() - shared) as u64)?;
        self.file.write_all(&key[shared..])?;
        self.last.truncate(shared);
        self.last.extend_from_slice(&key[shared..]);
        // Above zero, so that zero can be the end.
        varint::write(&mut self.file, index + 1)
    }
}

/// The current key of a run.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Head {
    key: Vec<u8>,
    index: u64,
    run: usize,
}

impl Head {
    /// Reads the run's next key. False: the run is over.
    fn read_next(&mut self, run: &mut BufReader<File>) -> io::Result<bool> {
        use io::BufRead as _;
        if run.fill_buf()?.is_empty() {
            return Ok(false);
        }
        let shared = varint::read(run)? as usize;
        let rest = varint::read(run)? as usize;
        self.key.resize(shared + rest, 0);
        run.read_exact(&mut self.key[shared..])?;
        self.index = varint::read(run)? - 1;
        Ok(true)
    }
}

/// Calls `each` with all keys of some runs in order, equal keys in the order of their requests.
fn merge(
    mut runs: Vec<BufReader<File>>,
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut heads = BinaryHeap::new();
    for (index, run) in runs.iter_mut().enumerate() {
        let mut head = Head { key: Vec::new(), index: 0, run: index };
        if head.read_next(run)? {
            heads.push(Reverse(head));
        }
    }
    while let Some(mut least) = heads.peek_mut() {
        let head = &mut least.0;
        each(&head.key, head.index)?;
        if !head.read_next(&mut runs[head.run])? {
            PeekMut::pop(least);
        }
    }
    Ok(())
}

/// Files of key numbers, one for each stretch of requests.
struct StretchFiles {
    files: Vec<BufWriter<File>>,
    stretch: u64,
}

impl StretchFiles {
    fn new(dir: &Path, count: u64, stretch: u64) -> io::Result<Self> {
        let stretch = stretch.max(count.div_ceil(STRETCHES_MAX));
        let files = (0..count.div_ceil(stretch)).map(|_| spool(dir));
        Ok(Self { files: files.collect::<io::Result<_>>()?, stretch })
    }

    fn write(&mut self, index: u64, number: u64) -> io::Result<()> {
        let file = &mut self.files[(index / self.stretch) as usize];
        varint::write(file, index % self.stretch)?;
        varint::write(file, number)
    }
}

/// Returns key numbers in the order in which the keys were added.
pub(crate) struct Numbers {
    stretch: u64,
    files: std::vec::IntoIter<BufReader<File>>,
    /// The numbers of the current stretch, the next one last.
    held: Vec<u64>,
}

impl Numbers {
    pub(crate) fn next(&mut self) -> io::Result<u64> {
        if self.held.is_empty() {
            self.load_stretch()?;
        }
        self.held.pop().ok_or_else(|| io::Error::other("there are more requests than keys"))
    }

    fn load_stretch(&mut self) -> io::Result<()> {
        use io::BufRead as _;
        let Some(mut file) = self.files.next() else { return Ok(()) };
        self.held.reserve(self.stretch.min(STRETCH) as usize);
        while !file.fill_buf()?.is_empty() {
            let (index, number) = (varint::read(&mut file)? as usize, varint::read(&mut file)?);
            if self.held.len() <= index {
                self.held.resize(index + 1, 0);
            }
            self.held[index] = number;
        }
        self.held.reverse();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn numbers(keys: &[Vec<u8>], limits: Limits) -> Vec<u64> {
        let dir = tempfile::tempdir().unwrap();
        let mut keys_taken = Keys::new(dir.path(), limits);
        for key in keys {
            keys_taken.push(key).unwrap();
        }
        let mut numbers = keys_taken.numbers().unwrap();
        let numbers_given = keys.iter().map(|_| numbers.next().unwrap()).collect();
        assert!(numbers.next().is_err());
        numbers_given
    }

    fn exact(keys: &[Vec<u8>]) -> Vec<u64> {
        let distinct: Vec<_> = keys.iter().collect::<BTreeSet<_>>().into_iter().collect();
        let number = |key: &Vec<u8>| distinct.binary_search(&key).unwrap() as u64;
        keys.iter().map(number).collect()
    }

    proptest! {
        #[test]
        fn numbers_are_the_order_of_the_keys(
            keys in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..12), 0..300),
            run_bytes in 1usize..3000,
            merged_max in 2usize..5,
            stretch in 1u64..100,
        ) {
            // Small runs of many keys would need more files than a process may open.
            let run_bytes = run_bytes.max(keys.len());
            let limits = Limits { run_bytes, merged_max, stretch };
            prop_assert_eq!(numbers(&keys, limits), exact(&keys));
        }
    }

    #[test]
    fn equal_beginnings_are_told_apart() {
        let keys: Vec<Vec<u8>> =
            ["user0001b", "user0001a", "user0001", "", "user0001\0"].map(Vec::from).into();
        assert_eq!(numbers(&keys, Limits::default()), exact(&keys));
    }
}
