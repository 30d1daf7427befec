//! Whether an engine's caches fit its RAM limit, and the sentence where they do not: for the plan
//! before a run, and for an engine that the kernel killed at its limit.

use crate::engine::{Description, OptionKind, OptionSpec, Options, Preset, Value};
use crate::units;

/// Memory that the engine's caches and write buffers are configured to take.
pub fn cache_bytes(description: &Description, options: &Options) -> u64 {
    caches(description, options).map(|(_, bytes)| bytes).fold(0, u64::saturating_add)
}

/// Names the option that makes the caches exceed `limit`, with the `--set` that mends it; `engine`
/// is the engine's name in that path. None: they fit.
pub fn cache_over_limit(
    description: &Description,
    options: &Options,
    limit: u64,
    engine: &str,
) -> Option<String> {
    let total = cache_bytes(description, options);
    let (largest, bytes) = caches(description, options).max_by_key(|(_, bytes)| *bytes)?;
    if total <= limit {
        return None;
    }
    let name = &largest.name;
    let [cache, all, ram] = [bytes, total, limit].map(units::bytes_in_words);
    let what = if bytes > limit {
        format!("its {name} {cache} exceeds the RAM limit {ram}")
    } else {
        format!("its {name} {cache} and other caches, {all} in all, exceed the RAM limit {ram}")
    };
    let share = tuned_share(largest).unwrap_or(USUAL_SHARE);
    Some(format!("{what}; hint: --set engine.{engine}.options.{name}={share}"))
}

/// Share of the RAM limit for a cache whose authors name none.
const USUAL_SHARE: &str = "25%";

fn tuned_share(option: &OptionSpec) -> Option<&str> {
    let tuned = option.presets.iter().find(|setting| setting.preset == Preset::Tuned)?;
    let Value::Text(share) = &tuned.value else { return None };
    share.ends_with('%').then_some(share)
}

/// Returns the options that set the size of a cache or buffer, with their values.
fn caches<'d>(
    description: &'d Description,
    options: &Options,
) -> impl Iterator<Item = (&'d OptionSpec, u64)> {
    let holds_memory = |spec: &OptionSpec| {
        let is_cache = ["cache", "buffer", "memtable"].iter().any(|part| spec.name.contains(part));
        spec.kind == OptionKind::Bytes && is_cache && !is_unused(spec, description, options)
    };
    let bytes = move |spec: &'d OptionSpec| {
        holds_memory(spec).then(|| Some((spec, options.integer(&spec.name).ok()?))).flatten()
    };
    description.options.iter().filter_map(bytes).collect::<Vec<_>>().into_iter()
}

/// Whether the option belongs to a storage engine inside the engine other than the chosen one:
/// `rocksdb_block_cache_size` beside `storage_engine = "innodb"`.
fn is_unused(spec: &OptionSpec, description: &Description, options: &Options) -> bool {
    description.options.iter().any(|choice| {
        let OptionKind::Choice { of } = &choice.kind else { return false };
        let is_prefix =
            |word: &str| spec.name.strip_prefix(word).is_some_and(|rest| rest.starts_with('_'));
        let storage_engine = of.iter().find(|word| is_prefix(word));
        storage_engine
            .is_some_and(|word| options.text(&choice.name).is_ok_and(|chosen| chosen != word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Capabilities, Durability, Planning, PowerLoss};
    use std::collections::BTreeMap;

    fn engine(options: Vec<OptionSpec>) -> Description {
        Description {
            name: "x".to_owned(),
            title: "X".to_owned(),
            version: "1".to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities::minimal([(Durability::Async, PowerLoss::LosesLast, "")]),
            options,
            planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 0 },
        }
    }

    fn message_over(options: Vec<OptionSpec>, limit: u64) -> Option<String> {
        let description = engine(options);
        let options = Options::defaults(&description, Durability::Async);
        cache_over_limit(&description, &options, limit, "x")
    }

    #[test]
    fn the_option_that_does_not_fit_is_named_with_what_mends_it() {
        let cache = || OptionSpec::bytes("cache_size", 1 << 30, "").tuned("30%", "", "");
        assert_eq!(
            message_over(vec![cache()], 512 << 20).unwrap(),
            "its cache_size 1 GiB exceeds the RAM limit 512 MiB; \
             hint: --set engine.x.options.cache_size=30%"
        );
        assert_eq!(message_over(vec![cache()], 1 << 30), None);
        let buffer = OptionSpec::bytes("write_buffer_size", 300 << 20, "");
        let other = OptionSpec::bytes("block_cache", 400 << 20, "");
        assert_eq!(
            message_over(vec![buffer, other], 512 << 20).unwrap(),
            "its block_cache 400 MiB and other caches, 700 MiB in all, exceed the RAM limit \
             512 MiB; hint: --set engine.x.options.block_cache=25%"
        );
    }

    #[test]
    fn the_cache_of_a_storage_engine_that_is_not_chosen_takes_nothing() {
        let options = || {
            vec![
                OptionSpec::choice("storage_engine", &["innodb", "rocksdb"], ""),
                OptionSpec::bytes("rocksdb_block_cache_size", 1 << 30, ""),
            ]
        };
        assert_eq!(message_over(options(), 1 << 20), None);
        let description = engine(options());
        let mut chosen = Options::defaults(&description, Durability::Async);
        chosen.values.insert("storage_engine".to_owned(), "rocksdb".into());
        assert!(cache_over_limit(&description, &chosen, 1 << 20, "x").is_some());
    }
}
