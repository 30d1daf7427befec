//! Presets of `RocksDB`'s options: the defaults of each line of releases, and the advice of its
//! guide.

use kvdyno_engine::{OptionSpec, Preset};

/// The authors' recommendations.
const BASICS: &str = "RocksDB wiki, Setup-Options-and-Basic-Tuning";

/// A release's defaults, as in the OPTIONS file and the LOG that it writes: from 6.29.5, 7.10.2,
/// 8.11.4, 9.10.0, 10.10.1 and 11.8.1.
const COMES: &str = "OPTIONS and LOG of a database opened without options";

/// Returns the option with its presets, for releases of this `line`: 6, 7, .. 11. A preset whose
/// value the library does not know is left out.
pub(crate) fn with_presets(option: OptionSpec, line: u64) -> OptionSpec {
    let mut option = add_tuned_preset(add_defaults_preset(option, line));
    let supported: Vec<bool> =
        option.presets.iter().map(|setting| is_known(&option, setting.preset)).collect();
    let mut supported = supported.into_iter();
    option.presets.retain(|_| supported.next().unwrap_or_default());
    option
}

fn is_known(option: &OptionSpec, preset: Preset) -> bool {
    const ANY: u64 = 1 << 30;
    option.preset_value(preset, ANY).is_ok()
}

fn add_defaults_preset(option: OptionSpec, line: u64) -> OptionSpec {
    match (option.name.as_str(), line) {
        ("block_cache", ..8) => option.engine_default(8_u64 << 20, COMES),
        ("level_compaction_dynamic_level_bytes", ..8) | ("optimize_filters_for_memory", ..9) => {
            option.engine_default(false, COMES)
        }
        ("cache_type", 10..) => option.engine_default("auto_hyper_clock_cache", COMES),
        ("compression", 11..) => option.engine_default("lz4", COMES),
        _ => option,
    }
}

fn add_tuned_preset(option: OptionSpec) -> OptionSpec {
    match option.name.as_str() {
        "block_cache" => {
            option.tuned("33%", "About a third of the memory; what is left caches files.", BASICS)
        }
        "write_buffer_size" => option.tuned(
            "5%",
            "A share in place of 64 MiB: two of them are in memory besides the cache.",
            BASICS,
        ),
        "bloom_bits" => option.tuned(
            10_u64,
            "A filter of 10 bits a key spares point lookups most files that do not have the key.",
            BASICS,
        ),
        "block_size" => option.tuned(
            16_384_u64,
            "The index takes less memory than with blocks of 4 KiB.",
            BASICS,
        ),
        "cache_index_and_filter_blocks" => option.tuned(
            true,
            "Index and filters count in the cache instead of in addition to it.",
            BASICS,
        ),
        "pin_l0_filter_and_index_blocks_in_cache" => {
            option.tuned(true, "Every lookup reads those of level 0.", BASICS)
        }
        "compression" => option.tuned(
            "lz4",
            "Of all levels but the last: fast, at about Snappy's ratio.",
            BASICS,
        ),
        "bottommost_compression" => option.tuned(
            "zstd",
            "Most of the data is in the last level, and is seldom written again.",
            BASICS,
        ),
        "max_background_jobs" => {
            option.tuned(6_u64, "Flushes and compactions keep up with writers.", BASICS)
        }
        "bytes_per_sync" => option.tuned(
            1_u64 << 20,
            "Writeback of a file goes on while it is made instead of at once at its end.",
            BASICS,
        ),
        _ => option,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::Value;

    fn words(words: &[&str]) -> OptionSpec {
        OptionSpec::choice("compression", words, "")
    }

    #[test]
    fn a_library_without_a_word_has_no_preset_of_it() {
        let presets_of = |option: OptionSpec, line| with_presets(option, line).presets;
        assert_eq!(presets_of(words(&["snappy", "none"]), 11), []);
        let presets = presets_of(words(&["snappy", "lz4"]), 9);
        assert_eq!(presets.len(), 1);
        assert_eq!((presets[0].preset, &presets[0].value), (Preset::Tuned, &"lz4".into()));
        assert_eq!(presets_of(words(&["snappy", "lz4"]), 11).len(), 2);
    }

    #[test]
    fn a_line_comes_with_its_own_defaults_and_shares_are_of_the_memory() {
        let value_of = |line, preset| {
            let cache = OptionSpec::bytes("block_cache", 32 << 20, "");
            with_presets(cache, line).preset_value(preset, 300 << 20).unwrap()
        };
        assert_eq!(value_of(7, Preset::Defaults), Some(Value::Integer(8 << 20)));
        assert_eq!(value_of(9, Preset::Defaults), None);
        assert_eq!(value_of(9, Preset::Tuned), Some(Value::Integer(99 << 20)));
    }
}
