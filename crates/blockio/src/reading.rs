//! The counts at one moment.

use super::maps::{Counts, KINDS, Maps, OWNERS, SLOTS, decode_cell};
use super::system::Program;
use kvdyno_record::blockio::{BlockIo, Cell, Lost};
use std::io;

/// Fields of [`Counts`] before its slots, in 64-bit words.
const HEADER: usize = size_of::<Counts>() / 8 - SLOTS;

/// Reads everything that was counted.
pub(super) fn read(maps: &Maps, programs: &[Program], devices: u32) -> io::Result<BlockIo> {
    let mut value = Vec::new();
    let mut cells = Vec::new();
    for number in 0..devices * KINDS * OWNERS {
        maps.cells.lookup(&number.to_ne_bytes(), &mut value)?;
        cells.extend(cell(number, &value));
    }
    let mut lost = |way: u32| -> io::Result<u64> {
        maps.lost.lookup(&way.to_ne_bytes(), &mut value)?;
        Ok(value.iter().sum())
    };
    let (unseen, full, log) = (lost(0)?, lost(1)?, lost(2)?);
    let skipped: io::Result<u64> =
        programs.iter().map(|program| Ok(program.statistics()?.skipped)).sum();
    Ok(BlockIo { cells, lost: Lost { unseen, full, skipped: skipped?, log } })
}

/// Returns the sum over the processors; `None`: nothing was counted.
fn cell(number: u32, by_cpu: &[u64]) -> Option<Cell> {
    let mut sum = [0_u64; HEADER + SLOTS];
    for counts in by_cpu.chunks_exact(sum.len()) {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let ([count, bytes, latency_ns, fua], slots) = sum.split_first_chunk::<HEADER>()?;
    let (device, kind, owner) = decode_cell(number);
    let (count, bytes, latency_ns, fua) = (*count, *bytes, *latency_ns, *fua);
    let slots = (0..).zip(slots.iter().copied()).filter(|(_, count)| *count > 0).collect();
    (count > 0).then_some(Cell { device, kind, owner, count, bytes, fua, latency_ns, slots })
}
