//! The code in a process's memory, and the files that it comes from.

use crate::address::CodeAddress;
use crate::elf::ElfFile;
use kvdyno_host::Root;
use std::collections::HashMap;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the kernel's code in a list of a process's mappings.
const VDSO: &str = "[vdso]";

/// A part of memory with code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) range: Range<u64>,
    /// The offset in the file where it begins.
    pub(crate) offset: u64,
    /// The path of its file; empty: it has none.
    pub(crate) path: String,
}

impl Mapping {
    /// Returns the part of the file that is mapped.
    pub(crate) fn part(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.range.end - self.range.start)
    }
}

/// The mappings with code, in order of their addresses; empty: the process has ended.
pub(crate) fn list_mappings(root: &Root, pid: u32) -> Vec<Mapping> {
    let text = root.text(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(parse_mapping).collect()
}

/// Returns the end of the mapping that contains an address; `None`: none does.
pub(crate) fn end_of_mapping(root: &Root, pid: u32, address: u64) -> Option<u64> {
    let text = root.text(format!("/proc/{pid}/maps"))?;
    let ranges = text.lines().filter_map(|line| parse_range(line.split(' ').next()?));
    let mut ranges = ranges.filter(|range| range.contains(&address));
    ranges.next().map(|range| range.end)
}

/// Parses a range, such as `7f52a000-7f52b000`.
fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once('-')?;
    Some(parse_hex(start)?..parse_hex(end)?)
}

fn parse_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// `7f52a000-7f52b000 r-xp 00026000 fe:00 1234   /usr/lib/x86_64-linux-gnu/libc.so.6`.
fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut words = line.splitn(6, ' ');
    let range = parse_range(words.next()?)?;
    words.next().filter(|rights| rights.contains('x'))?;
    let offset = parse_hex(words.next()?)?;
    let path = words.nth(2).unwrap_or_default().trim_start().to_owned();
    Some(Mapping { range, offset, path })
}

/// The files with code, each read once.
#[derive(Debug, Default)]
pub(crate) struct Files {
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u32>,
    parsed: HashMap<String, Option<Arc<ElfFile>>>,
}

impl Files {
    /// Converts an address in a mapping.
    pub(crate) fn locate(&mut self, mapping: &Mapping, address: u64) -> CodeAddress {
        let within = address - mapping.range.start;
        if mapping.path == VDSO {
            return CodeAddress::Vdso(within);
        }
        if !mapping.path.starts_with('/') {
            return CodeAddress::Unknown;
        }
        let path = Path::new(&mapping.path);
        let number = self.numbers.get(path).copied().unwrap_or_else(|| {
            let number = self.paths.len() as u32;
            self.paths.push(path.to_owned());
            self.numbers.insert(path.to_owned(), number);
            number
        });
        CodeAddress::File(number, within + mapping.offset)
    }

    /// The paths, by the numbers in addresses.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the file of a mapping; `None`: it has none that can be read and parsed.
    pub(crate) fn parse(&mut self, mapping: &Mapping) -> Option<Arc<ElfFile>> {
        let parsed = self.parsed.entry(mapping.path.clone()).or_insert_with(|| {
            let bytes = match &*mapping.path {
                VDSO => read_vdso()?,
                path => std::fs::read(path).ok()?,
            };
            ElfFile::parse(&bytes).map(Arc::new)
        });
        parsed.clone()
    }
}

/// Returns where the kernel's code is in this process; the code is the same in all.
pub(crate) fn own_vdso() -> Option<Range<u64>> {
    let mappings = list_mappings(&Root::system(), std::process::id());
    mappings.into_iter().find(|mapping| mapping.path == VDSO).map(|mapping| mapping.range)
}

fn read_vdso() -> Option<Vec<u8>> {
    let range = own_vdso()?;
    let mut bytes = vec![0; (range.end - range.start) as usize];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut bytes, range.start).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_host::testing::Fake;

    const MAPS: &str = "\
55d0c8a00000-55d0c8a2c000 r--p 00000000 fe:00 131 /opt/my engine/bin
55d0c8a2c000-55d0c8b00000 r-xp 0002c000 fe:00 131 /opt/my engine/bin
7f52aa000000-7f52aa021000 rwxp 00000000 00:00 0 
7ffd2b5f4000-7ffd2b5f6000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn code_is_found_by_its_file_and_offset() {
        let fake = Fake::new().file("/proc/7/maps", MAPS);
        let mappings = list_mappings(&fake.root, 7);
        let paths: Vec<&str> = mappings.iter().map(|mapping| &*mapping.path).collect();
        assert_eq!(paths, ["/opt/my engine/bin", "", "[vdso]"]);
        let mut files = Files::default();
        let address = files.locate(&mappings[0], 0x55d0_c8a2_c010);
        assert_eq!(address, CodeAddress::File(0, 0x2c010));
        assert_eq!(files.paths(), [PathBuf::from("/opt/my engine/bin")]);
        assert_eq!(files.locate(&mappings[1], 0x7f52_aa00_0010), CodeAddress::Unknown);
        assert_eq!(files.locate(&mappings[2], 0x7ffd_2b5f_4010), CodeAddress::Vdso(0x10));
        assert_eq!(list_mappings(&fake.root, 8), []);
        let end = |address: u64| end_of_mapping(&fake.root, 7, address);
        assert_eq!(end(0x55d0_c8a0_0010), Some(0x55d0_c8a2_c000));
        assert_eq!(end(0x7f52_aa02_1000), None);
    }
}
