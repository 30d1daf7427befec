//! The operations of a load: every thread writes a contiguous range of its order.

use super::KeySupply;
use crate::bijection::Bijection;
use crate::block::Step;
use crate::keyed::{Action, Keyed, KeyedBlock, KeyedStep};
use crate::rng::Rng;
use kvdyno_record::workload::LoadOrder;
use std::ops::Range;

/// One thread's share of a load: a contiguous range of the order.
#[derive(Debug)]
pub(crate) struct LoadRange {
    pub(super) supply: KeySupply,
    rng: Rng,
    numbers_left: Range<u64>,
    order: Order,
    pub(super) batch: u32,
}

/// The seed of the draws of a load.
const DRAWN: u64 = 0x6472_6177;

/// The seed of the order of a random load. Popular keys are chosen by the data's seed alone, and
/// would otherwise be those that were loaded first.
const ORDER: u64 = 0x6f72_6465;

/// The order of a load: the number at each place.
#[derive(Debug)]
enum Order {
    Sequential,
    Random(Bijection),
    /// A random number below this, drawn anew each time. The load has its own draws, as a reader
    /// would otherwise draw the same keys.
    Drawn(u64, Rng),
}

impl Order {
    #[inline]
    fn number(&mut self, place: u64) -> u64 {
        match self {
            Self::Sequential => place,
            Self::Random(order) => order.permute(place),
            Self::Drawn(records, rng) => rng.below(*records),
        }
    }
}

impl LoadRange {
    /// The share of thread `thread` of `threads` in a load of `records`.
    pub(crate) fn new(
        order: LoadOrder,
        batch: u32,
        records: u64,
        (thread, threads): (u32, u32),
        supply: &KeySupply,
        mut rng: Rng,
    ) -> Self {
        let bound = |t: u32| (u128::from(records) * u128::from(t) / u128::from(threads)) as u64;
        let values = supply.values.for_thread(&mut rng);
        let draws = Rng::new(&[rng.clone().next(), DRAWN]);
        Self {
            supply: KeySupply { values, ..supply.clone() },
            rng,
            numbers_left: bound(thread)..bound(thread + 1),
            order: match order {
                LoadOrder::Sequential => Order::Sequential,
                LoadOrder::Random => {
                    Order::Random(Bijection::new(records, supply.keyspace.seed ^ ORDER))
                }
                LoadOrder::Drawn => Order::Drawn(records, draws),
                LoadOrder::FirstRead => unreachable!("a trace is dealt: the suite has it read"),
            },
            batch: batch.max(1),
        }
    }

    /// Returns the numbers that this share writes, in their order.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u64> {
        let Self { numbers_left, mut order, .. } = self;
        numbers_left.map(move |place| order.number(place))
    }

    pub(super) fn fill(&mut self, block: &mut KeyedBlock, steps: usize) {
        match self.supply.keys.equal_length_digits() {
            Some(digits) => self.write(block, steps, |data, number| data.push(number, digits)),
            None => {
                let keys = self.supply.keys.clone();
                self.write(block, steps, |data, number| data.push_of_its_length(number, &keys));
            }
        }
    }

    fn write(
        &mut self,
        block: &mut KeyedBlock,
        steps: usize,
        push: impl Fn(&mut Keyed, u64) -> u64,
    ) {
        block.clear();
        (block.data.batches, block.writes) = (self.batch > 1, true);
        let data = &mut block.data;
        while block.steps.len() < steps && !self.numbers_left.is_empty() {
            let (first, value) = (data.numbers.len() as u32, data.values.len() as u32);
            let (mut items, mut write_bytes) = (0, 0);
            for place in self.numbers_left.by_ref().take(self.batch as usize) {
                let number = self.order.number(place);
                write_bytes += push(data, number);
                let stored = self.supply.values.prepare(number, 0, &mut self.rng, &mut data.arena);
                write_bytes += stored.bytes as u64;
                data.values.push(stored);
                items += 1;
            }
            let action = if self.batch == 1 { Action::Put } else { Action::Batch };
            let action = KeyedStep { action, first, items, value };
            block.steps.push(Step { slot: 0, action, write_bytes });
        }
    }
}
