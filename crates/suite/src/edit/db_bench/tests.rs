//! Translation of flags, group by group.

use super::*;
use crate::{Overrides, Suite};
use std::collections::BTreeSet;

pub(super) const SUITE: &str = r#"
include = ["db_bench"]
[suite]
name = "flags"
[data]
records = 1000
value_bytes = 100
[run]
threads = 1
phases = ["fillrandom", "readrandom"]
[[engine]]
name = "lmdb"
[[engine]]
name = "rocksdb"
label = "one"
[[engine]]
name = "rocksdb"
label = "two"
"#;

/// Files by name; the first two were written by `RocksDB` for databases with non-default options.
const FILES: [(&str, &str); 5] = [
    ("OPTIONS-9.10.0", include_str!("../../../../../fixtures/options/OPTIONS-9.10.0")),
    ("OPTIONS-6.29.5", include_str!("../../../../../fixtures/options/OPTIONS-6.29.5")),
    ("wrong.ini", WRONG),
    ("flags.txt", "# of gflags\n--num=7\n"),
    ("ring.txt", "--flagfile=ring.txt"),
];

const WRONG: &str = r#"# By hand.
[Version]
  rocksdb_version=9.10.0
[DBOptions]
  wal_dir=/mnt/wal
  max_background_job=4
  create_if_missing=false  # not the file's business
[CFOptions "default"]
  compaction_style=kCompactionStyleFIFO
  comparator=rocksdb.ReverseBytewiseComparator
  compression=kBZip2Compression
[TableOptions/PlainTable "default"]
  user_key_len=8
[CFOptions "meta"]
  write_buffer_size=1
[TableOptions/BlockBasedTable "meta"]
  block_size=1
write_buffer_size
"#;

/// Returns the arguments for these flags, or the mistakes.
pub(super) fn set(flags: &str) -> Result<Vec<String>, String> {
    set_with(SUITE, flags)
}

/// Returns the arguments for these flags and another suite, or the mistakes.
pub(super) fn set_with(text: &str, flags: &str) -> Result<Vec<String>, String> {
    let mut source = Source::new("suite.toml", text);
    let mut mistakes = Mistakes::default();
    let mut suite = DeTable::parse(text).unwrap().into_inner();
    let included =
        crate::edit::named_phases::load_included_texts(&suite, &mut source, &mut mistakes);
    crate::edit::named_phases::include(&mut suite, &included);
    let files = FILES.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let overrides = Overrides {
        db_bench: vec![flags.to_owned()],
        db_bench_files: files.to_vec(),
        ..Overrides::default()
    };
    let (set, _) = arguments(&overrides, &suite, &mut source, &mut mistakes);
    mistakes.into_result(&source).map(|()| set).map_err(|error| error.render(false))
}

/// Returns the mistakes, with all white space collapsed to single spaces.
pub(super) fn refusal(flags: &str) -> String {
    set(flags).unwrap_err().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn refused(flags: &str, words: &[&str]) {
    let refusal = refusal(flags);
    assert!(words.iter().all(|words| refusal.contains(words)), "{refusal}");
}

#[test]
fn options_are_set_at_every_rocksdb() {
    let both = |option: &str| [1, 2].map(|index| format!("engine.{index}.options.{option}"));
    let flags = [
        ("--block_size=8192", "block_size=8192"),
        ("-write_buffer_size=134217728", "write_buffer_size=134217728"),
        ("--cache_size=-1", "block_cache=0"),
        ("--cache_numshardbits=6", "cache_numshardbits=6"),
        ("--cache_numshardbits=-1", "cache_numshardbits=auto"),
        ("--bloom_bits=10", "bloom_bits=10"),
        ("--open_files=-1", "max_open_files=0"),
        ("--compression_type=zstd", "compression=zstd"),
        ("--compaction_style=1", "compaction_style=universal"),
        (
            "--blob_garbage_collection_age_cutoff=0.25",
            "blob_garbage_collection_age_cutoff_percent=25",
        ),
        ("--mmap_read", "allow_mmap_reads=true"),
        ("--nostatistics", "statistics=false"),
        ("--disable_auto_compactions=1", "disable_auto_compactions=true"),
        ("--perf_level=2", "perf_level=enable_count"),
        ("--transaction_db", "transactions=pessimistic"),
    ];
    for (flag, option) in flags {
        assert_eq!(set(flag).unwrap(), both(option), "{flag}");
    }
    let passed_on = set("--use_fsync=1 --max_compaction_bytes=9").unwrap();
    let own_options = "options=\"use_fsync=1;max_compaction_bytes=9\"";
    assert_eq!(passed_on, both(own_options));
}

#[test]
fn the_work_is_that_of_the_suite() {
    let flags = [
        ("--num=5000", "data.records=5000"),
        ("--key_size=20", "data.key_bytes=20"),
        ("--value_size=400", "data.value_bytes=400"),
        ("--compression_ratio=0.3", "data.compress_to=0.3"),
        ("--seed=7", "data.seed=7"),
        ("--threads=1", "run.threads=[1]"),
        ("--benchmarks=fillseq,readseq", "run.phases=[\"fillseq\", \"readseq\"]"),
    ];
    for (flag, argument) in flags {
        assert_eq!(set(flag).unwrap(), [argument], "{flag}");
    }
    let has = |flags: &str, argument: &str| {
        let set = set(flags).unwrap();
        assert!(set.iter().any(|set| set == argument), "{flags}: {set:?}");
    };
    has("--seek_nexts=10", "phases.seekrandom.role.readers.mix.0.length=11");
    has("--reverse_iterator", "phases.seekrandom.role.readers.mix.0.reverse=true");
    has("--duration=30", "phases.readrandom.duration=30s");
    has("--duration=30", "phases.readrandom.operations=");
    has("--threads=4 --reads=1000", "phases.readrandom.operations=4000");
    has("--batch_size=100", "phases.fillrandom.batch=100");
    has("--batch_size=100", "phases.multireadrandom.role.readers.mix.0.count=100");
    has("--readwritepercent=75", "phases.readrandomwriterandom.role.clients.mix.1.weight=25");
    assert!(set("--duration=0").unwrap().is_empty());
}

#[test]
fn promises_are_durability_classes() {
    let class = |flags: &str| set(flags).unwrap()[0].split_once('=').unwrap().1.to_owned();
    assert_eq!(class("--sync"), "commit");
    assert_eq!(class("--sync=false"), "async");
    assert_eq!(class("--disable_wal=1 --sync=0"), "none");
    assert_eq!(set("--sync").unwrap()[0], "engine.1.durability=commit");
}

#[test]
fn a_file_of_flags_has_comments() {
    let file = "# for a small machine\n--num=100\n\n  --bloom_bits=10\n#--num=5\n";
    assert_eq!(set(file).unwrap().len(), 3);
}

#[test]
fn what_is_not_known_or_has_no_place_is_refused_by_name() {
    refused(
        "--blok_size=1",
        &["db_bench has no flag `--blok_size`", "did you mean `--block_size`?"],
    );
    refused("--flagfile=x", &["x was not read"]);
    refused("--flagfile", &["expected a file: --flagfile=PATH"]);
    refused("--compaction_style=2", &["cannot be `2`", "0 (level) or 1 (universal)"]);
    refused("--seed=0", &["expected a number above 0"]);
    refused("--statistics=maybe", &["expected true or false"]);
    refused("--benchmarks=fillrandom,compact", &["a phase of kind settle"]);
    refused("num=5", &["`num=5` is not a flag", "expected --name=value"]);
    refused("[DBOptions]", &["is not a flag"]);
}

#[test]
fn a_suite_is_bent_by_them_and_by_what_is_set_after_them() {
    let text = SUITE.replace("label = \"two\"", "label = \"two\"\ndurability = \"commit\"");
    let flags = "--num=77 --threads=3 --benchmarks=fillseq,seekrandom --duration=2";
    let overrides = Overrides {
        db_bench: vec![flags.to_owned()],
        set: vec!["run.threads=[5]".to_owned()],
        ..Overrides::default()
    };
    let suite = Suite::parse("s.toml", &text, &overrides);
    let typed = &suite.unwrap().parts[0].typed;
    assert_eq!(typed.phase.len(), 2);
    assert_eq!(typed.run.threads.as_ref().unwrap().0[0].0, 5);
    assert_eq!(typed.data.records.as_ref().unwrap().0[0].0, 77);
    let unknown = Overrides { db_bench: vec!["--benchmarks=fillsex".to_owned()], ..overrides };
    let refused = Suite::parse("s.toml", &text, &unknown).unwrap_err().render(false);
    assert!(refused.contains("did you mean `fillseq`?"), "{refused}");
}

#[test]
fn each_flag_stands_in_the_table_once() {
    let names: BTreeSet<&str> = flags::all().map(|(name, _)| name).collect();
    assert_eq!(names.len(), flags::all().count());
    // A flag that begins with "no" would be read as another flag turned off.
    assert!(names.iter().all(|name| !name.starts_with("no")), "{names:?}");
}

#[test]
fn an_options_file_is_options_by_their_names_and_the_rest_as_it_stands() {
    let set = set("--options_file=OPTIONS-9.10.0").unwrap();
    let first = "engine.1.options.";
    let of_one: Vec<&str> = set.iter().filter_map(|set| set.strip_prefix(first)).collect();
    for option in [
        "bloom_bits=10",
        "write_buffer_size=33554432",
        "compression=lz4",
        "compaction_style=universal",
        "universal_size_ratio=5",
        "universal_max_merge_width=12",
        "memtable=vector",
        "max_open_files=500",
        "blob_garbage_collection_age_cutoff_percent=50",
        "max_bytes_for_level_multiplier=8",
        "use_direct_reads=true",
        "disable_auto_compactions=false",
    ] {
        assert!(of_one.contains(&option), "{option}: {of_one:#?}");
    }
    let passed_on: Vec<_> = of_one.iter().filter_map(|set| set.strip_prefix("options=")).collect();
    let [passed_on] = passed_on[..] else { panic!("{passed_on:?}") };
    for option in [
        "compression_opts={max_dict_bytes=4096;level=3}",
        "compression_per_level=kNoCompression:kLZ4Compression",
        "optimize_filters_for_hits=true",
        "compaction_readahead_size=4194304",
        "allow_concurrent_memtable_write=false",
        "db_host_id=a:b#c",
        "partition_filters=true",
        "metadata_block_size=8192",
    ] {
        assert!(passed_on.contains(option), "{option}: {passed_on}");
    }
    assert!(passed_on.contains("block_based_table_factory={"), "{passed_on}");
    // Defaults are not repeated, nor settings that the run makes itself.
    for ignored in ["paranoid_checks", "nullptr", "create_if_missing", "comparator", "bloomfilter"]
    {
        assert!(!passed_on.contains(ignored), "{ignored}: {passed_on}");
    }
    assert_eq!(of_one.len(), set.len() / 2, "both engines have the same");
}

#[test]
fn flags_count_over_an_options_file() {
    let flags = "--write_buffer_size=1 --use_fsync=1 --options_file=OPTIONS-9.10.0 \
                 --max_compaction_bytes=7";
    let set = set(flags).unwrap();
    let last = |prefix: &str| set.iter().rfind(|set| set.starts_with(prefix)).unwrap();
    assert_eq!(last("engine.1.options.write_buffer_size"), "engine.1.options.write_buffer_size=1");
    let passed_on = last("engine.1.options.options");
    assert!(
        passed_on.contains("use_fsync=1") && passed_on.contains("optimize_filters_for_hits=true"),
        "{passed_on}"
    );
    assert!(passed_on.contains("max_compaction_bytes=7"), "{passed_on}");
    assert_eq!(passed_on.matches("max_compaction_bytes").count(), 1, "{passed_on}");
}

#[test]
fn what_an_options_file_cannot_have_here_is_told_at_its_line() {
    let wrong = "--options_file=wrong.ini";
    let mistakes = [
        ("5", "`wal_dir` cannot be `/mnt/wal`", "a run writes only to its own directory"),
        ("6", "unknown RocksDB option `max_background_job`", "did you mean `max_background_jobs`?"),
        ("9", "`compaction_style` cannot be", "kCompactionStyleLevel or kCompactionStyleUniversal"),
        ("10", "`comparator` cannot be", "keys are ordered by their bytes"),
        ("11", "`compression` cannot be", "kLZ4Compression or kZSTD"),
        ("12", "section `TableOptions/PlainTable` is not supported", "BlockBasedTable"),
        ("14", "column family `meta` is not supported", "expected only `default`"),
        ("18", "invalid line in an OPTIONS file", "expected name=value"),
    ];
    for (line, message, label) in mistakes {
        refused(wrong, &[&format!("[wrong.ini:{line}:"), message, label]);
    }
    let all = set(wrong).unwrap_err();
    assert_eq!(all.matches("[wrong.ini:").count(), mistakes.len(), "{all}");
    // RocksDB 6 writes that there is a filter, but not its number of bits.
    refused("--options_file=OPTIONS-6.29.5", &["rocksdb.BuiltinBloomFilter", "expected the bits"]);
    refused("--options_file=gone", &["gone was not read"]);
    refused("--options_file", &["expected a file: --options_file=PATH"]);
}

#[test]
fn a_file_is_said_with_what_became_of_it() {
    let overrides = Overrides {
        db_bench: vec!["--options_file=OPTIONS-9.10.0".to_owned()],
        db_bench_files: vec![(FILES[0].0.to_owned(), FILES[0].1.to_owned())],
        ..Overrides::default()
    };
    let suite = Suite::parse("s.toml", SUITE, &overrides).unwrap();
    let [note] = &suite.notes[..] else { panic!("{:?}", suite.notes) };
    assert!(note.starts_with("OPTIONS file OPTIONS-9.10.0 of RocksDB 9.10.0: "), "{note}");
    assert!(note.ends_with("does not contain the block cache size"), "{note}");
}
