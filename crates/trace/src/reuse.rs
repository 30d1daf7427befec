//! Measures how soon keys are accessed again, by a sample of them, in constant memory.
//!
//! A key is in the sample when its hash is below a threshold, which falls when there are too many
//! keys (SHARDS, Waldspurger et al., FAST 2015). Until then the sample is all keys, and results are
//! exact. The stack distance of an access is the number of other keys accessed since the last
//! access of its key: it is a hit in an LRU cache of more keys than that.

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// The most keys in the sample.
const KEYS_MAX: usize = 1 << 20;
/// Slots of the order of accesses; it is renumbered when they are used up.
const SLOTS: usize = 4 << 20;
/// Buckets of distances for each power of two.
const BUCKETS: u64 = 64;

/// A key in the sample.
#[derive(Clone, Copy, Debug)]
struct SampledKey {
    slot: u32,
    window: u32,
    count: u64,
}

/// A hasher that returns its key, which is a hash already.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        // The sample's hashes are small: their upper halves are equal.
        self.0 = hash.rotate_left(32);
    }
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Access {
    /// The number of accesses that it stands for.
    pub(crate) weight: f64,
    /// Whether it is the first access of the key.
    pub(crate) first: bool,
    /// Whether it is the first access of the key in this window.
    pub(crate) first_in_window: bool,
}

/// The sampled keys, the order of their last accesses, and the distances of all accesses.
pub(crate) struct Reuse {
    keys: HashMap<u64, SampledKey, BuildHasherDefault<IdentityHasher>>,
    hashes: BinaryHeap<u64>,
    /// Hashes up to this are in the sample.
    threshold: u64,
    keys_max: usize,
    order: Order,
    /// Accesses in each bucket of stack distances, the shortest first.
    distances: Vec<f64>,
    accesses: u64,
}

impl Reuse {
    pub(crate) fn new() -> Self {
        Self::with_capacity(KEYS_MAX, SLOTS)
    }

    fn with_capacity(keys_max: usize, slots: usize) -> Self {
        Self {
            keys: HashMap::default(),
            hashes: BinaryHeap::new(),
            threshold: u64::MAX,
            keys_max,
            order: Order::new(slots),
            distances: Vec::new(),
            accesses: 0,
        }
    }

    /// Counts an access; `None`: its key is not in the sample.
    pub(crate) fn access(&mut self, key: u64, window: u32) -> Option<Access> {
        self.accesses += 1;
        let hash = mix(key);
        if hash > self.threshold {
            return None;
        }
        let weight = 1.0 / self.sampled_share();
        if self.order.is_full() {
            self.renumber();
        }
        let slot = self.order.push();
        let Some(entry) = self.keys.get_mut(&hash) else {
            self.keys.insert(hash, SampledKey { slot, window, count: 1 });
            self.hashes.push(hash);
            if self.keys.len() > self.keys_max {
                self.drop_largest_hash();
            }
            return Some(Access { weight, first: true, first_in_window: true });
        };
        let before = std::mem::replace(&mut entry.slot, slot);
        entry.count += 1;
        let first_in_window = std::mem::replace(&mut entry.window, window) != window;
        self.order.remove(before);
        // The current access is behind it as well.
        let distance = self.order.count_behind(before) - 1;
        let bucket = bucket((f64::from(distance) * weight) as u64);
        if self.distances.len() <= bucket {
            self.distances.resize(bucket + 1, 0.0);
        }
        self.distances[bucket] += weight;
        Some(Access { weight, first: false, first_in_window })
    }

    /// Returns the sample's share of all keys; 1: all keys are in the sample.
    pub(crate) fn sampled_share(&self) -> f64 {
        (self.threshold as f64 + 1.0) / 2f64.powi(64)
    }

    /// Estimates the number of distinct keys.
    pub(crate) fn distinct(&self) -> f64 {
        self.keys.len() as f64 / self.sampled_share()
    }

    fn drop_largest_hash(&mut self) {
        if let Some(hash) = self.hashes.pop() {
            if let Some(entry) = self.keys.remove(&hash) {
                self.order.remove(entry.slot);
            }
            self.threshold = hash - 1;
        }
    }

    fn renumber(&mut self) {
        let mut entries: Vec<&mut SampledKey> = self.keys.values_mut().collect();
        entries.sort_unstable_by_key(|entries| entries.slot);
        self.order.clear();
        for entries in entries {
            entries.slot = self.order.push();
        }
    }

    /// Returns the number of accesses of each sampled key, the most popular first.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let mut counts: Vec<u64> = self.keys.values().map(|entry| entry.count).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts
    }

    /// Returns the hit ratio of an LRU cache of this many keys.
    pub(crate) fn hits(&self, keys: f64) -> f64 {
        if self.accesses == 0 {
            return 0.0;
        }
        let counted: f64 = self.distances.iter().sum::<f64>() + self.cold();
        // Accesses that the sample has too many or too few of are mostly those of the most popular
        // keys (SHARDS-adj).
        let missing = self.accesses as f64 - counted;
        let mut hits = 0.0;
        for (bucket, weight) in self.distances.iter().enumerate() {
            let (from, to) = (start(bucket), start(bucket + 1));
            hits += weight * ((keys - from) / (to - from)).clamp(0.0, 1.0);
        }
        ((hits + missing) / self.accesses as f64).clamp(0.0, 1.0)
    }

    /// Estimates the number of first accesses: one for each key.
    fn cold(&self) -> f64 {
        self.distinct()
    }
}

/// Returns a distance's bucket: distances below [`BUCKETS`] have one each.
fn bucket(distance: u64) -> usize {
    if distance < BUCKETS {
        return distance as usize;
    }
    let power = distance.ilog2() - BUCKETS.ilog2();
    (u64::from(power) * BUCKETS + (distance >> power)) as usize
}

/// Returns the shortest distance of a bucket.
fn start(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < BUCKETS {
        return bucket as f64;
    }
    let power = (bucket / BUCKETS - 1) as i32;
    (bucket % BUCKETS + BUCKETS) as f64 * 2f64.powi(power)
}

/// `SplitMix64`'s finisher: a bijection, so hashes are as different as keys.
fn mix(key: u64) -> u64 {
    let mut x = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A Fenwick tree of the slots that hold a key, which counts those behind a slot.
struct Order {
    tree: Vec<u32>,
    next: u32,
    live: u32,
}

impl Order {
    fn new(slots: usize) -> Self {
        Self { tree: vec![0; slots + 1], next: 0, live: 0 }
    }

    fn is_full(&self) -> bool {
        self.next as usize + 1 == self.tree.len()
    }

    fn clear(&mut self) {
        self.tree.fill(0);
        (self.next, self.live) = (0, 0);
    }

    /// Puts a key into the next slot and returns the slot.
    fn push(&mut self) -> u32 {
        let slot = self.next;
        self.next += 1;
        self.live += 1;
        self.add(slot, 1);
        slot
    }

    fn remove(&mut self, slot: u32) {
        self.live -= 1;
        self.add(slot, u32::MAX);
    }

    fn add(&mut self, slot: u32, by: u32) {
        let mut index = slot as usize + 1;
        while index < self.tree.len() {
            self.tree[index] = self.tree[index].wrapping_add(by);
            index += index & index.wrapping_neg();
        }
    }

    /// Counts the slots behind this one that hold a key.
    fn count_behind(&self, slot: u32) -> u32 {
        let (mut index, mut up_to) = (slot as usize + 1, 0u32);
        while index > 0 {
            up_to = up_to.wrapping_add(self.tree[index]);
            index &= index - 1;
        }
        self.live - up_to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns accesses of which a few keys have most.
    fn skewed(count: u64, keys: u64) -> Vec<u64> {
        let draw = |n: u64| {
            let u = (mix(n) >> 11) as f64 / (1u64 << 53) as f64;
            (u * u * u * keys as f64) as u64
        };
        (0..count).map(draw).collect()
    }

    /// Returns the exact hit ratio, by an LRU list that is searched from its front.
    fn exact(accesses: &[u64], size: usize) -> f64 {
        let (mut list, mut hits) = (Vec::<u64>::new(), 0);
        for key in accesses {
            if let Some(position) = list.iter().position(|other| other == key) {
                hits += usize::from(position < size);
                list.remove(position);
            }
            list.insert(0, *key);
        }
        hits as f64 / accesses.len() as f64
    }

    #[test]
    fn a_sample_of_all_keys_is_exact() {
        let accesses = skewed(6_000, 400);
        // There are few slots, so the order is renumbered many times.
        let mut reuse = Reuse::with_capacity(1_000, 1_024);
        for key in &accesses {
            reuse.access(*key, 0);
        }
        assert!(reuse.sampled_share() >= 1.0);
        for size in [0, 1, 2, 10, 63, 64, 128] {
            let (hits, exact) = (reuse.hits(size as f64), exact(&accesses, size));
            assert!((hits - exact).abs() < 1e-9, "{size}: {hits} and {exact}");
        }
        for size in [100, 150, 333] {
            let (hits, exact) = (reuse.hits(f64::from(size)), exact(&accesses, size as usize));
            assert!((hits - exact).abs() < 2e-3, "{size}: {hits} and {exact}");
        }
    }

    #[test]
    fn a_sample_of_some_is_near() {
        let accesses = skewed(200_000, 20_000);
        let (mut all, mut some) =
            (Reuse::with_capacity(1 << 20, 1 << 18), Reuse::with_capacity(2_000, 8_192));
        for key in &accesses {
            all.access(*key, 0);
            some.access(*key, 0);
        }
        assert!(
            some.sampled_share() < 0.12 && some.keys.len() <= 2_000,
            "{}",
            some.sampled_share()
        );
        assert!((some.distinct() / all.distinct() - 1.0).abs() < 0.1);
        for size in [200.0, 1_000.0, 5_000.0, 10_000.0] {
            let (near, exact) = (some.hits(size), all.hits(size));
            assert!((near - exact).abs() < 0.03, "{size}: {near} and {exact}");
        }
    }

    #[test]
    fn buckets_follow_each_other() {
        for distance in (0..5_000).chain([1 << 20, 1 << 40, (1 << 40) + 12_345]) {
            let bucket = bucket(distance);
            let distance = distance as f64;
            assert!(start(bucket) <= distance && distance < start(bucket + 1), "{distance}");
        }
    }
}
