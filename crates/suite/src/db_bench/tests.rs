//! What flags come to, group by group.

use super::super::{Overrides, Suite};
use super::*;
use std::collections::BTreeSet;

const SUITE: &str = r#"
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

/// The arguments that flags come to, or the mistakes.
fn set(flags: &str) -> Result<Vec<String>, String> {
    let mut source = Source::new("suite.toml", SUITE);
    let mut mistakes = Mistakes::default();
    let mut suite = DeTable::parse(SUITE).unwrap().into_inner();
    let included = super::super::fidelity::included(&suite, &mut source, &mut mistakes);
    super::super::fidelity::include(&mut suite, &included);
    let set = arguments(&[flags.to_owned()], &suite, &mut source, &mut mistakes);
    mistakes.none(&source).map(|()| set).map_err(|error| error.render(false))
}

fn refused(flags: &str, words: &[&str]) {
    let refused = set(flags).unwrap_err();
    let line = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.iter().all(|words| line.contains(words)), "{refused}");
}

#[test]
fn options_are_set_at_every_rocksdb() {
    let both = |option: &str| [1, 2].map(|at| format!("engine.{at}.options.{option}"));
    let flags = [
        ("--block_size=8192", "block_size=8192"),
        ("-write_buffer_size=134217728", "write_buffer_size=134217728"),
        ("--cache_size=-1", "block_cache=0"),
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
        ("--transaction_db", "transactions=pessimistic"),
    ];
    for (flag, option) in flags {
        assert_eq!(set(flag).unwrap(), both(option), "{flag}");
    }
    let own = set("--use_fsync=1 --max_compaction_bytes=9").unwrap();
    let own_options = "options=\"use_fsync=1;max_compaction_bytes=9\"";
    assert_eq!(own, both(own_options));
}

#[test]
fn the_work_is_that_of_the_suite() {
    let flags = [
        ("--num=5000", "data.records=5000"),
        ("--key_size=20", "data.key_bytes=20"),
        ("--value_size=400", "data.value_bytes=400"),
        ("--compression_ratio=0.3", "data.compress_to=0.3"),
        ("--seed=7", "data.seed=7"),
        ("--threads=8", "run.threads=[8]"),
        ("--benchmarks=fillseq,readseq", "run.phases=[\"fillseq\", \"readseq\"]"),
        ("--seek_nexts=10", "phases.seekrandom.role.readers.mix.0.length=11"),
        (
            "--benchmark_write_rate_limit=2097152",
            "phases.readwhilewriting.role.writer.rate={ bytes_per_s = 2097152 }",
        ),
    ];
    for (flag, argument) in flags {
        assert_eq!(set(flag).unwrap(), [argument], "{flag}");
    }
    let has = |flags: &str, argument: &str| {
        let set = set(flags).unwrap();
        assert!(set.iter().any(|set| set == argument), "{flags}: {set:?}");
    };
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
    refused("--blok_size=1", &["`--blok_size` is no flag", "did you mean `--block_size`?"]);
    refused("--db=/mnt/x", &["`--db` has no place here", "said by --place"]);
    refused("--histogram", &["`--histogram` has no place here", "records latencies"]);
    refused("--flagfile=x", &["--set-db_bench @FILE"]);
    refused("--compaction_style=2", &["cannot be `2`", "0 (level) or 1 (universal)"]);
    refused("--seed=0", &["expected a number above 0"]);
    refused("--statistics=maybe", &["expected true or false"]);
    refused("--reads=5", &["`--threads` before it"]);
    refused("--benchmarks=fillrandom,compact", &["expected a phase of kind settle"]);
    refused("num=5", &["`num=5` is no flag", "expected --name=value"]);
    refused("[DBOptions]", &["is no flag of db_bench"]);
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
    let names: BTreeSet<&str> = FLAGS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), FLAGS.len());
    // A flag that begins with "no" would be read as another one turned off.
    assert!(names.iter().all(|name| !name.starts_with("no")), "{names:?}");
}
