//! The parts of a file that unwinding needs: where they lie in memory, and its tables of frames.

use framehop::ExplicitModuleSectionInfo;
use object::read::elf::{ElfFile64, ProgramHeader as _};
use object::{Object as _, ObjectSection as _};
use std::ops::Range;
use std::sync::Arc;

/// A file with code.
#[derive(Debug, Default)]
pub(crate) struct ElfFile {
    /// Code that is loaded: where it is in the file, and the address that it is linked for.
    segments: Vec<(Range<u64>, u64)>,
    sections: Sections,
}

/// The sections that unwinding reads.
pub(crate) type Sections = ExplicitModuleSectionInfo<Arc<[u8]>>;

impl ElfFile {
    /// Parses a file; `None`: it is no 64-bit ELF file.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let file = ElfFile64::<object::Endianness>::parse(bytes).ok()?;
        let endian = file.endian();
        let has_code = |flags: object::elf::ProgramFlags| flags.0 & object::elf::PF_X.0 != 0;
        let segments = file.elf_program_headers().iter();
        let loaded = segments.filter(|segment| segment.p_type(endian) == object::elf::PT_LOAD);
        let loaded = loaded.filter(|segment| has_code(segment.p_flags(endian)));
        let segments = loaded.map(|segment| {
            let from = segment.p_offset(endian);
            (from..from.saturating_add(segment.p_filesz(endian)), segment.p_vaddr(endian))
        });
        let section = |name: &str| file.section_by_name(name);
        let range = |name: &str| {
            let section = section(name)?;
            Some(section.address()..section.address().saturating_add(section.size()))
        };
        let data = |name: &str| Some(Arc::from(section(name)?.uncompressed_data().ok()?));
        let sections = Sections {
            text_svma: range(".text"),
            got_svma: range(".got"),
            eh_frame_svma: range(".eh_frame"),
            eh_frame: data(".eh_frame"),
            eh_frame_hdr_svma: range(".eh_frame_hdr"),
            eh_frame_hdr: data(".eh_frame_hdr"),
            debug_frame: data(".debug_frame"),
            ..Sections::default()
        };
        Some(Self { segments: segments.collect(), sections })
    }

    /// Returns the distance from the addresses that the file is linked for to those in a process.
    /// `start` is where a part of the process's memory with its code begins, and `part` is the part
    /// of the file that is there.
    pub(crate) fn base(&self, start: u64, part: &Range<u64>) -> Option<u64> {
        // Whole pages are mapped: a part may begin in the file before the code does.
        let overlaps =
            |(file, _): &&(Range<u64>, u64)| file.start < part.end && part.start < file.end;
        let (file, linked) = self.segments.iter().find(overlaps)?;
        let linked = linked.wrapping_add(part.start).wrapping_sub(file.start);
        Some(start.wrapping_sub(linked))
    }

    pub(crate) fn sections(&self) -> Sections {
        self.sections.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// lld links like this: a mapping begins with the end of another segment.
    #[test]
    fn code_that_begins_within_a_page_is_where_it_is_linked() {
        let file = ElfFile {
            segments: vec![(0x1a40..0x9000, 0x2a40), (0x9000..0x9100, 0xb000)],
            sections: Sections::default(),
        };
        assert_eq!(file.base(0x5000_2000, &(0x1000..0x9000)), Some(0x5000_0000));
        assert_eq!(file.base(0x5000_b000, &(0x9000..0xa000)), Some(0x5000_0000));
        assert_eq!(file.base(0x5000_b000, &(0xa000..0xb000)), None);
    }
}
