//! A seeded random order: the same suite and seed give the same plan on every machine.

/// Shuffles `items` by `seed` (Fisher and Yates, on `SplitMix64`).
pub(crate) fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        let draw = u128::from(splitmix64(&mut state)) * (last as u128 + 1);
        items.swap(last, (draw >> 64) as usize);
    }
}

/// Shuffles the items of a trial: every second trial has the previous trial's order, reversed. In
/// an even number of trials each item comes before each other item as often as after it, and drift
/// of the machine favours none. Items that are not judged are at one end: none stands between two
/// that are compared.
pub(crate) fn shuffle_trial<T>(
    items: &mut [T],
    seed: u64,
    trial: u32,
    is_judged: impl Fn(&T) -> bool,
) {
    shuffle(items, seed.wrapping_add(u64::from(trial.div_ceil(2)) << 32));
    items.sort_by_key(is_judged);
    if trial.is_multiple_of(2) {
        items.reverse();
    }
}

/// Returns the next number of `SplitMix64`. (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, OOPSLA 2014)
fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation_and_follows_from_its_seed() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..100).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn over_two_trials_each_item_has_the_same_mean_position() {
        for first in [1, 3, 5] {
            let order = |trial| {
                let mut items: Vec<usize> = (0..7).collect();
                shuffle_trial(&mut items, 42, trial, |_| true);
                items
            };
            let (odd, even) = (order(first), order(first + 1));
            assert_ne!(odd, order(first + 2), "a new order");
            for item in 0..7 {
                let at = |order: &[usize]| order.iter().position(|other| *other == item).unwrap();
                assert_eq!(at(&odd) + at(&even), 6);
            }
        }
    }

    #[test]
    fn what_is_judged_stays_together() {
        for trial in 1..=8 {
            let mut items: Vec<u32> = (0..9).collect();
            let is_judged = |item: &u32| item.is_multiple_of(3);
            shuffle_trial(&mut items, 42, trial, is_judged);
            let ends = items.chunk_by(|a, b| is_judged(a) == is_judged(b));
            assert_eq!(ends.count(), 2, "{items:?}");
            assert_eq!(is_judged(&items[0]), trial.is_multiple_of(2));
        }
    }
}
