//! Tests of command lines from shell scripts, of flag files, and of files of other versions.

use super::tests::{SUITE, refusal, refused, set, set_with};
use super::*;
use crate::{Overrides, Suite};

/// The suite `db_bench` itself.
const BUILT_IN: &str = include_str!("../../../../../suites/db_bench.toml");

/// Returns the notes on a command line for the built-in suite, or the mistakes.
pub(super) fn notes(line: &str, phases: &[&str]) -> Result<Vec<String>, String> {
    let overrides = Overrides {
        db_bench: vec![line.to_owned()],
        phases: phases.iter().map(|phase| (*phase).to_owned()).collect(),
        ..Overrides::default()
    };
    let suite = Suite::parse("db_bench.toml", BUILT_IN, &overrides);
    suite.map(|suite| suite.notes).map_err(|error| error.render(false))
}

#[test]
fn a_line_of_a_script_is_its_flags() {
    let plain = set("--num=100 --benchmarks=fillrandom,readrandom --bloom_bits=10").unwrap();
    for line in [
        "./db_bench --num=100 --benchmarks=fillrandom,readrandom --bloom_bits=10",
        "~/rocksdb/db_bench.v6.26 --num=100 --benchmarks=fillrandom,readrandom --bloom_bits 10",
        "time ./db_bench -num 100 -benchmarks fillrandom,readrandom -bloom_bits 10",
        "TEST_TMPDIR=/dev/shm numactl --interleave=all ./db_bench --num=100 \\\n  \
         --benchmarks=\"fillrandom,readrandom\" \\\n  --bloom_bits='10' 2>&1 | tee -a o.log --x",
        "/usr/bin/time -f '%e %U %S' -o o.time $DB_BENCH --num=100 \
         --benchmarks=fillrandom,readrandom --bloom_bits=10 >> o.log 2>&1; echo done",
        "./db_bench \"--db=/a;\" --num=100 --benchmarks=fillrandom,readrandom --bloom_bits=10",
        "# a file of flags\n./db_bench\n--num=100\n--benchmarks=fillrandom,readrandom # two\n\
         --bloom_bits=10\n",
    ] {
        assert_eq!(set(line).unwrap(), plain, "{line}");
    }
    // A switch takes no word after it.
    refused("--sync 1", &["`1` is not a flag"]);
    refused("./db_bench --num=5 ./db_bench --num=6", &["expected one command"]);
    refused("\u{2013}num=5", &["this is a dash of a web page"]);
    refused("--num=$keys", &["in place of the shell's variable"]);
    refused("--num", &["`--num` has no value", "expected a value"]);
}

#[test]
fn a_value_that_is_wrong_is_refused_where_it_was_typed() {
    refused("--num 1e6x --benchmarks --sync", &["`--benchmarks` has no value"]);
    refused("--num=-5", &["[--set-db_bench:1:1]", "`--num` cannot be `-5`", "a whole number"]);
    refused("--compression_ratio=half", &["`--compression_ratio` cannot be `half`"]);
    refused("--benchmarks=fillrandom,readrandmo", &["--benchmarks", "did you mean `readrandom`?"]);
    let once = refusal("--benchmarks=mergerandom --use_existing_db=1 --writes=5");
    assert_eq!(once.matches("--set-db_bench").count(), 1, "{once}");
    refused("--benchmarks=mergerandom", &["found `mergerandom`, expected", "readrandom"]);
    refused("--benchmarks=readrandom,readrandom", &["found `readrandom`, expected it once"]);
    refused("--benchmarks=readrandom[X3]", &["`--trials N` repeats the whole case"]);
}

#[test]
fn a_mistake_does_not_repeat_the_command_line() {
    let many = (0..40).map(|index| format!("--block_size={index} ")).collect::<String>();
    let refusal = refusal(&format!("./db_bench {many} --blok_size=77 {many} --wrong_flag=78"));
    assert!(refusal.len() < 1500, "{} bytes: {refusal}", refusal.len());
    assert!(!refusal.contains("--block_size=3"), "{refusal}");
    // Names that only share words are not offered in place of an unknown flag.
    let refusal = super::tests::refusal("--arena_block_sizes_of_all=1 --sync_writes_twice=1");
    assert!(!refusal.contains("did you mean"), "{refusal}");
}

#[test]
fn what_changes_nothing_is_left_out_in_one_note() {
    let line = "./db_bench --benchmarks=fillrandom,stats,levelstats,readrandom --db=/data/x \
                --wal_dir=/data/x --histogram=1 --stats_interval_seconds=60 --verify_checksum=1 \
                --report_file=r.csv --use_existing_db=0 --cache_high_pri_pool_ratio=0.5 \
                --num_multi_db=0 --use_plain_table=false --trace_file= --keyrange_num=30";
    let notes = notes(line, &[]).unwrap();
    let left_out: Vec<&String> = notes.iter().filter(|note| note.contains("--histogram")).collect();
    let [note] = left_out[..] else { panic!("{notes:?}") };
    for flag in ["--db,", "--wal_dir", "--verify_checksum", "--trace_file", "--keyrange_num"] {
        assert!(note.contains(flag), "{flag}: {note}");
    }
    assert!(note.contains("--cache_high_pri_pool_ratio (the cache chooses"), "{note}");
    assert!(notes.iter().any(|note| note.contains("stats, levelstats")), "{notes:?}");
}

#[test]
fn what_would_change_the_work_is_refused_with_the_reason() {
    for (flag, words) in [
        ("--num_multi_db=4", "expected 0: a case has one database"),
        ("--use_plain_table", "expected false: the engine has block-based tables only"),
        ("--verify_checksum=0", "expected true: reads verify checksums"),
        ("--trace_file=/tmp/t", "expected no value"),
        ("--keyrange_num=1", "expected 30: mixgraph has its published parameters"),
        ("--async_io", "expected false"),
    ] {
        refused(flag, &[words]);
    }
}

#[test]
fn mixgraph_by_its_published_parameters() {
    let published = "--keyrange_dist_a=14.18 --keyrange_dist_b=-2.917 --keyrange_dist_c=0.0164 \
                     --keyrange_dist_d=-0.08082 -keyrange_num=30 --key_dist_a 0.002312 \
                     --key_dist_b=0.3467 --mix_get_ratio=0.83 --mix_put_ratio=0.14 \
                     --mix_seek_ratio=0.030 --sine_mix_rate --sine_a=1000 --sine_d=4500";
    let all = notes(&format!("--benchmarks=fillrandom,mixgraph {published}"), &[]).unwrap();
    assert!(all.iter().all(|note| !note.contains("others by default")), "{all:?}");
    let few = notes("--benchmarks=fillrandom,mixgraph --sine_a=1000", &[]).unwrap();
    let note = few.iter().find(|note| note.contains("others by default")).unwrap();
    assert!(note.contains("--keyrange_num") && !note.contains("--sine_a"), "{note}");
}

#[test]
fn a_database_of_another_line_needs_a_fill() {
    let line = "./db_bench --benchmarks=readrandom,stats --use_existing_db=1 --threads=4";
    let refusal = notes(line, &[]).unwrap_err();
    assert!(refusal.contains("--phases fillseq,readrandom"), "{refusal}");
    notes(line, &["fillseq", "readrandom"]).unwrap();
    notes("--benchmarks=fillrandom,readrandom --use_existing_db=1", &[]).unwrap();
}

#[test]
fn waiting_for_the_engine_is_settling() {
    let line = "--benchmarks=fillrandom,flush,waitforcompaction,compact,readrandom,stats";
    let notes = notes(line, &[]).unwrap();
    assert!(notes.iter().any(|note| note.contains("`settle` waits")), "{notes:?}");
    let set = set_with(BUILT_IN, line).unwrap();
    assert!(set.contains(&"engine.0.options.settle=compact".to_owned()), "{set:?}");
    let phases = "run.phases=[\"fillrandom\", \"settle\", \"readrandom\"]".to_owned();
    assert!(set.contains(&phases), "{set:?}");
}

#[test]
fn threads_of_a_fill_load() {
    let line = "--benchmarks=fillrandom,readrandom --threads=8";
    let set = set(line).unwrap();
    assert!(set.contains(&"phases.fillrandom.threads=8".to_owned()), "{set:?}");
    assert!(notes(line, &[]).unwrap().iter().any(|note| note.contains("write `num` records")));
    // db_bench runs these with one thread.
    let set = super::tests::set("--benchmarks=filluniquerandom --threads=8").unwrap();
    assert!(set.iter().all(|set| !set.ends_with(".threads=8")), "{set:?}");
}

#[test]
fn a_rate_of_nothing_is_no_rate() {
    let has = |line: &str, argument: &str| {
        let set = set(line).unwrap();
        assert!(set.iter().any(|set| set == argument), "{line}: {set:?}");
    };
    has("--benchmark_write_rate_limit=0", "phases.readwhilewriting.role.writer.rate=");
    let limit = "--benchmark_write_rate_limit=2097152";
    has(limit, "phases.readwhilewriting.role.writer.rate={ bytes_per_s = 2097152 }");
    has(limit, "phases.overwrite.role.writers.rate={ bytes_per_s = 2097152 }");
    has("--writes_per_second=9", "phases.readwhilewriting.role.writer.rate={ per_second = 9 }");
    // 0 does not cancel the other flag's limit, whatever their order.
    let limited = "phases.readwhilewriting.role.writer.rate={ bytes_per_s = 1000 }";
    has("--benchmark_write_rate_limit=1000 --writes_per_second=0", limited);
    has("--writes_per_second=0 --benchmark_write_rate_limit=1000", limited);
    has(
        "--benchmark_read_rate_limit=50",
        "phases.readrandom.role.readers.rate={ per_second = 50 }",
    );
    let line = "--benchmark_write_rate_limit=0 --benchmark_read_rate_limit=0 \
                --rate_limiter_bytes_per_sec=0";
    notes(line, &["fillrandom", "readwhilewriting"]).unwrap();
    let limited = set("--rate_limiter_bytes_per_sec=104857600").unwrap();
    assert!(limited[0].contains("rate_limiter_bytes_per_sec=104857600"), "{limited:?}");
    let with_file = "--rate_limiter_bytes_per_sec=104857600 --options_file=OPTIONS-9.10.0";
    let with_file = set(with_file).unwrap();
    let handed_on = |set: &String| set.contains("rate_limiter_bytes_per_sec=104857600");
    assert!(with_file.iter().any(handed_on), "{with_file:?}");
    assert!(
        !set("--rate_limiter_bytes_per_sec=0 --sync")
            .unwrap()
            .iter()
            .any(|set| set.contains("rate_limiter"))
    );
}

#[test]
fn counts_of_operations_end_their_phases() {
    let has = |line: &str, argument: &str| {
        let set = set(line).unwrap();
        assert_eq!(
            set.iter().rfind(|set| set.starts_with(argument.split_once('=').unwrap().0)).unwrap(),
            argument,
            "{line}"
        );
    };
    let line = "--benchmarks=overwrite --reads=10 --threads=4 --writes=30 --deletes=5";
    has(line, "phases.readrandom.operations=40");
    has(line, "phases.overwrite.operations=120");
    has(line, "phases.updaterandom.operations=120");
    has(line, "phases.deleterandom.operations=20");
    // As in db_bench, a duration overrides them.
    has("--threads=4 --reads=10 --duration=5", "phases.readrandom.operations=");
    assert!(
        set("--reads=-1 --writes=-1 --sync").unwrap().iter().all(|set| !set.contains("operations"))
    );
    refused("--benchmarks=fillseq --writes=5 --threads=1", &["a fill writes `num` records"]);
    set("--benchmarks=fillseq --writes=5 --num=5").unwrap();
    has("--reads=5", "run.threads=[1]");
    // A phase that reads nothing keeps its length.
    let reads_alone = set("--benchmarks=overwrite,readrandom --reads=5").unwrap();
    for phase in ["overwrite", "deleterandom"] {
        let of_phase = format!("phases.{phase}.");
        assert!(!reads_alone.iter().any(|set| set.starts_with(&of_phase)), "{reads_alone:?}");
    }
    has("--reads=5", "phases.updaterandom.operations=5");
}

#[test]
fn options_of_rocksdb_are_handed_on() {
    for (flag, option) in [
        ("--compression_level=3", "compression_opts={level=3}"),
        ("--compaction_pri=3", "compaction_pri=kMinOverlappingRatio"),
        ("--partition_index_and_filters", "partition_filters=true"),
        ("--bloom_bits=10 --use_ribbon_filter", "filter_policy=ribbonfilter:10"),
        (
            "--min_level_to_compress=2 --num_levels=4 --compression_type=zstd",
            "compression_per_level=kNoCompression:kNoCompression:kZSTD:kZSTD",
        ),
        ("--universal_allow_trivial_move=1", "compaction_options_universal={allow_trivial_move=1}"),
        ("--index_shortening_mode=2", "index_shortening=kShortenSeparatorsAndSuccessor"),
        ("--wal_compression=zstd", "wal_compression=kZSTD"),
        ("--noparanoid_checks", "paranoid_checks=false"),
    ] {
        let set = set(flag).unwrap();
        assert!(set.iter().any(|set| set.contains(option)), "{flag}: {set:?}");
    }
    let handed_on =
        |flag: &str| set(flag).unwrap().iter().any(|set| set.contains(".options.options"));
    assert!(!handed_on("--min_level_to_compress=-1"));
    assert!(!handed_on("--min_level_to_compress=0"));
    refused("--min_level_to_compress=9", &["expected -1 to 7"]);
    refused("--checksum_type=9", &["0 (kNoChecksum)"]);
}

/// Every option that is passed on occurs in the OPTIONS file of a known version.
#[test]
fn options_that_are_handed_on_are_known_to_rocksdb() {
    let defaults = include_str!("defaults.ini");
    let names: Vec<&str> =
        defaults.lines().map(|line| line.split('=').next().unwrap_or_default()).collect();
    for (flag, kind) in flags::all() {
        let paths: Vec<&str> = match kind {
            Flag::Own(path)
            | Flag::OwnPositive(path)
            | Flag::OwnSwitch(path)
            | Flag::OwnNumbered(path, _)
            | Flag::OwnWords(path, _) => vec![path],
            Flag::OwnIf(options) => options.iter().map(|(path, _)| *path).collect(),
            _ => continue,
        };
        for path in paths {
            let name = path.trim_start_matches("block_based_table_factory.");
            // Options of a string form, and options with a name here.
            let elsewhere = ["rate_limiter_bytes_per_sec", "bottommost_compression"];
            assert!(names.contains(&name) || elsewhere.contains(&name), "{flag}: {path}");
        }
    }
}

#[test]
fn unknown_flags_may_be_allowed() {
    let set = set("--undefok=new_flag,other --new_flag=5 --num=7").unwrap();
    assert_eq!(set, ["data.records=7"]);
    refused("--undefok=new_flag --newer_flag=5", &["db_bench has no flag `--newer_flag`"]);
}

#[test]
fn a_flag_file_stands_for_its_flags() {
    assert_eq!(set("--flagfile=flags.txt --num=8").unwrap(), ["data.records=7", "data.records=8"]);
    refused("--flagfile=ring.txt", &["flag files name each other"]);
    let read = |path: &str| match path {
        "a" => Ok("--flagfile=b\n--options_file=c".to_owned()),
        "b" | "c" => Ok(String::new()),
        _ => Err(path.to_owned()),
    };
    let files = read_db_bench_files("--flagfile a --num=5", read).unwrap();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(read_db_bench_files("--flagfile=d", read), Err("d".to_owned()));
}

#[test]
fn options_of_other_versions_are_skipped_with_a_note() {
    let text = "[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  \
                listeners={ErrorHandlerListener:ErrorHandlerListener}\n  from_another_age=1\n\
                [CFOptions \"default\"]\n  bottommost_temperature=kUnknown\n";
    let notes = |text: &str| {
        let overrides = Overrides {
            db_bench: vec!["--options_file=O".to_owned()],
            db_bench_files: vec![("O".to_owned(), text.to_owned())],
            ..Overrides::default()
        };
        let suite = Suite::parse("s.toml", SUITE, &overrides);
        suite.map(|suite| suite.notes).map_err(|error| error.render(false))
    };
    let all = notes(text).unwrap().join("\n");
    for words in [
        "left out listeners={ErrorHandlerListener:ErrorHandlerListener}, from_another_age=1",
        "6.29.5, 7.10.2, 8.11.4, 9.10.0, 10.10.1 and 11.8.1",
        "`bottommost_temperature` is the old name of `last_level_temperature`",
    ] {
        assert!(all.contains(words), "{words}: {all}");
    }
    let refusal = notes(&text.replace("kUnknown", "kCold")).unwrap_err();
    assert!(refusal.contains("last_level_temperature"), "{refusal}");
    let silent = notes(&text.replace("{ErrorHandlerListener:ErrorHandlerListener}", "{}")).unwrap();
    assert!(!silent.join(" ").contains("listeners"), "{silent:?}");
}
