//! The counts at one moment, and the difference of two.

use super::maps::{Counts, KINDS, Maps, OWNERS, SLOTS, of_cell};
use super::system::Program;
use kvdyno_record::blockio::{BlockIo, Cell, Lost};
use std::io;

/// Words of [`Counts`] before its slots.
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

/// The sum over the processors; `None` where nothing was counted.
fn cell(number: u32, by_cpu: &[u64]) -> Option<Cell> {
    let mut sum = [0_u64; HEADER + SLOTS];
    for counts in by_cpu.chunks_exact(sum.len()) {
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    let ([count, bytes, latency_ns, fua], slots) = sum.split_first_chunk::<HEADER>()?;
    let (device, kind, owner) = of_cell(number);
    let (count, bytes, latency_ns, fua) = (*count, *bytes, *latency_ns, *fua);
    let slots = (0..).zip(slots.iter().copied()).filter(|(_, count)| *count > 0).collect();
    (count > 0).then_some(Cell { device, kind, owner, count, bytes, fua, latency_ns, slots })
}

/// What was counted between two readings.
pub fn since(before: &BlockIo, after: &BlockIo) -> BlockIo {
    let cells = after.cells.iter().filter_map(|cell| {
        let same = |other: &&Cell| {
            (other.device, other.kind, other.owner) == (cell.device, cell.kind, cell.owner)
        };
        let Some(old) = before.cells.iter().find(same) else { return Some(cell.clone()) };
        let slots = cell.slots.iter().map(|(slot, count)| {
            let old = old.slots.iter().find(|(other, _)| other == slot);
            (*slot, count.saturating_sub(old.map_or(0, |(_, count)| *count)))
        });
        let count = cell.count.saturating_sub(old.count);
        (count > 0).then(|| Cell {
            count,
            bytes: cell.bytes.saturating_sub(old.bytes),
            fua: cell.fua.saturating_sub(old.fua),
            latency_ns: cell.latency_ns.saturating_sub(old.latency_ns),
            slots: slots.filter(|(_, count)| *count > 0).collect(),
            ..cell.clone()
        })
    });
    let (a, b) = (&before.lost, &after.lost);
    let lost = Lost {
        unseen: b.unseen.saturating_sub(a.unseen),
        full: b.full.saturating_sub(a.full),
        skipped: b.skipped.saturating_sub(a.skipped),
        log: b.log.saturating_sub(a.log),
    };
    BlockIo { cells: cells.collect(), lost }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::blockio::{IoKind, IoOwner};

    fn cell(count: u64, slots: &[(u32, u64)]) -> Cell {
        Cell {
            device: 0,
            kind: IoKind::Read,
            owner: IoOwner::Ours,
            count,
            bytes: 4096 * count,
            fua: 0,
            latency_ns: 100 * count,
            slots: slots.to_vec(),
        }
    }

    #[test]
    fn a_difference_has_what_is_new_and_nothing_else() {
        let io =
            |cells: Vec<Cell>, unseen| BlockIo { cells, lost: Lost { unseen, ..Lost::default() } };
        let flush = Cell { kind: IoKind::Flush, ..cell(1, &[(9, 1)]) };
        let foreign = Cell { owner: IoOwner::Foreign, ..cell(2, &[(70, 2)]) };
        let before = io(vec![cell(3, &[(40, 2), (50, 1)]), flush.clone()], 1);
        let after = io(vec![cell(7, &[(40, 2), (50, 4), (60, 1)]), flush, foreign.clone()], 3);
        let expected = io(vec![cell(4, &[(50, 3), (60, 1)]), foreign], 2);
        assert_eq!(since(&before, &after), expected);
        assert_eq!(since(&BlockIo::default(), &after), after);
    }
}
