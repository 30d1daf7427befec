//! The block cache.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::owned::Owned;
use kvdyno_engine::{DataShape, Error, Options, Result};
use std::ffi::c_int;

/// The value of `cache_numshardbits` that leaves the number of shards to `RocksDB`.
pub(crate) const AUTO: &str = "auto";

/// The block cache that the options ask for.
pub(crate) struct BlockCache {
    bytes: usize,
    /// The approximate size of an entry, which the hyper clock cache needs.
    entry_bytes: Option<usize>,
    /// The number of shards as a power of two; `None`: `RocksDB` chooses.
    shard_bits: Option<c_int>,
}

impl BlockCache {
    /// Returns the cache that `options` ask for; `None`: no cache.
    pub(crate) fn from_options(options: &Options, data: &DataShape) -> Result<Option<Self>> {
        let bytes = options.integer("block_cache")? as usize;
        let entry = (options.integer("block_size")? + data.value_bytes_mean) as usize;
        let entry_bytes = match options.text("cache_type")? {
            "hyper_clock_cache" => Some(entry),
            // This cache finds out by itself how large its entries are.
            "auto_hyper_clock_cache" => Some(0),
            _ => None,
        };
        let shard_bits = options.text("cache_numshardbits")?;
        let shard_bits = (shard_bits != AUTO).then(|| shard_bits.parse().unwrap_or_default());
        Ok((bytes > 0).then_some(Self { bytes, entry_bytes, shard_bits }))
    }

    pub(crate) fn create(&self, api: &'static Api) -> Result<Owned<api::Cache>> {
        let Self { bytes, entry_bytes, shard_bits } = *self;
        let cache = match (entry_bytes, shard_bits) {
            // SAFETY: a constructor that does not fail.
            (None, None) => Some(unsafe { (api.cache_create_lru)(bytes) }),
            (None, Some(bits)) => create_lru(api, bytes, bits),
            // SAFETY: as above.
            (Some(entry), None) => {
                api.cache_create_hyper_clock.map(|create| unsafe { create(bytes, entry) })
            }
            (Some(entry), Some(bits)) => create_hyper_clock(api, bytes, entry, bits),
        };
        let cache = cache.ok_or_else(|| {
            let what = match shard_bits {
                None => "hyper clock cache; set cache_type = lru_cache",
                Some(_) => "call for the shards of its cache; set cache_numshardbits = auto",
            };
            Error::invalid(format!("this version of RocksDB has no {what}"))
        })?;
        // SAFETY: it came from the API, and this call ends it.
        Ok(unsafe { Owned::new(cache, api.cache_destroy) })
    }
}

/// Creates an LRU cache; `None`: this version cannot set the shards.
fn create_lru(api: &Api, bytes: usize, shard_bits: c_int) -> Option<*mut api::Cache> {
    let (create, destroy) = (api.lru_cache_options_create?, api.lru_cache_options_destroy?);
    let set_capacity = api.lru_cache_options_set_capacity?;
    let set_shard_bits = api.lru_cache_options_set_num_shard_bits?;
    let create_cache = api.cache_create_lru_opts?;
    // SAFETY: constructors that do not fail; the cache copies the options.
    unsafe {
        let options = Owned::new(create(), destroy);
        set_capacity(options.raw(), bytes);
        set_shard_bits(options.raw(), shard_bits);
        Some(create_cache(options.raw()))
    }
}

/// Creates a hyper clock cache; `None`: this version cannot set the shards, or lacks the cache.
fn create_hyper_clock(
    api: &Api,
    bytes: usize,
    entry_bytes: usize,
    shard_bits: c_int,
) -> Option<*mut api::Cache> {
    let create = api.hyper_clock_cache_options_create?;
    let destroy = api.hyper_clock_cache_options_destroy?;
    let set_shard_bits = api.hyper_clock_cache_options_set_num_shard_bits?;
    let create_cache = api.cache_create_hyper_clock_opts?;
    // SAFETY: constructors that do not fail; the cache copies the options.
    unsafe {
        let options = Owned::new(create(bytes, entry_bytes), destroy);
        set_shard_bits(options.raw(), shard_bits);
        Some(create_cache(options.raw()))
    }
}
