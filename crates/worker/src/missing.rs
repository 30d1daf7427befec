//! The numbers below the newest that have no key: a load that draws its keys never wrote them, or
//! they were deleted since.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The numbers of one page, whose bits take 64 KiB.
const PAGE_NUMBERS: u64 = 1 << 19;

type Page = Box<[AtomicU64]>;

/// The set of missing keys: one bit per number. Only pages with a missing key are in memory.
///
/// Threads mark their writes and deletions block by block, after the times of the block were taken.
/// If two threads deleted and wrote one key within a block, the order is lost, and the count may be
/// off by that key.
#[derive(Debug)]
pub(crate) struct MissingKeys {
    pages: Vec<OnceLock<Page>>,
}

impl MissingKeys {
    /// The set for `0..numbers` with no key missing.
    pub(crate) fn none(numbers: u64) -> Self {
        let pages = numbers.div_ceil(PAGE_NUMBERS);
        Self { pages: (0..pages).map(|_| OnceLock::new()).collect() }
    }

    /// The set for `0..numbers` in which all of `0..loaded` are missing except those in `written`.
    pub(crate) fn all_but(numbers: u64, loaded: u64, written: impl Iterator<Item = u64>) -> Self {
        let missing = Self::none(numbers.max(loaded));
        (0..loaded).for_each(|number| missing.add(number));
        written.for_each(|number| missing.remove(number));
        missing
    }

    /// Notes that the key of `number` was deleted.
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        let Some(page) = self.pages.get((number / PAGE_NUMBERS) as usize) else { return };
        let page = page.get_or_init(|| {
            (0..PAGE_NUMBERS / u64::from(u64::BITS)).map(|_| AtomicU64::new(0)).collect()
        });
        let (word, bit) = position(number);
        if page[word].load(Relaxed) & bit == 0 {
            page[word].fetch_or(bit, Relaxed);
        }
    }

    /// Notes that the key of `number` was written.
    #[inline]
    pub(crate) fn remove(&self, number: u64) {
        let page = self.pages.get((number / PAGE_NUMBERS) as usize).and_then(OnceLock::get);
        let Some(page) = page else { return };
        let (word, bit) = position(number);
        if page[word].load(Relaxed) & bit != 0 {
            page[word].fetch_and(!bit, Relaxed);
        }
    }

    /// The number of missing keys.
    pub(crate) fn count(&self) -> u64 {
        let words = self.pages.iter().filter_map(OnceLock::get).flatten();
        words.map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }
}

/// Returns the index of a number's word in its page, and its bit in that word.
#[inline]
fn position(number: u64) -> (usize, u64) {
    let in_page = number % PAGE_NUMBERS;
    ((in_page / u64::from(u64::BITS)) as usize, 1 << (in_page % u64::from(u64::BITS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_missing_from_its_deletion_to_its_next_write() {
        let missing = MissingKeys::none(3 * PAGE_NUMBERS);
        for number in [0, 63, 64, PAGE_NUMBERS, 3 * PAGE_NUMBERS - 1, 63] {
            missing.add(number);
        }
        assert_eq!(missing.count(), 5);
        missing.remove(64);
        missing.remove(2 * PAGE_NUMBERS);
        missing.remove(64);
        assert_eq!(missing.count(), 4);
        assert!(missing.pages[1].get().is_some_and(|page| page.len() == 8192));
    }

    #[test]
    fn what_no_draw_named_was_never_written() {
        let missing = MissingKeys::all_but(1000, 100, [7, 7, 99].into_iter());
        assert_eq!(missing.count(), 98);
    }
}
