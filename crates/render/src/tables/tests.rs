//! Tables of records made by hand.

use super::all;
use kvdyno_analysis::fixture::{Fixture, hiccups};
use kvdyno_record::blockio::{
    BlockIo, BlockIoFile, Cell, IoKind, IoOwner, Lost, PhaseBlockIo, Watch, WatchedDevice,
    slot_begin_ns,
};
use kvdyno_record::column::ColumnName;
use kvdyno_record::plan::Counting;
use kvdyno_record::usage::{EventCount, ProcessorUsage};

fn slot(ns: u64) -> u32 {
    (0..320).rev().find(|slot| slot_begin_ns(*slot) <= ns).unwrap()
}

/// Regression test: a load and a phase's I/O stood with the threads of the case's first phase.
#[test]
fn where_no_threads_are_swept_a_phase_stands_with_its_own() {
    let mut fixture = Fixture::field(1);
    fixture.run.block_io = Watch::Latency;
    let cell = Cell {
        device: 0,
        kind: IoKind::Read,
        owner: IoOwner::Ours,
        count: 40_000,
        bytes: 4096 * 40_000,
        fua: 0,
        latency_ns: 50_000 * 40_000,
        slots: vec![(slot(50_000), 40_000)],
    };
    let io = BlockIo { cells: vec![cell], lost: Lost::default() };
    let phases = ["load", "randomread", "readwhilewriting"];
    let phases = phases.map(|phase| PhaseBlockIo { phase: phase.to_owned(), io: io.clone() });
    let devices = vec![WatchedDevice { name: "vda".to_owned(), disk: "vda".to_owned() }];
    let file = BlockIoFile { devices, phases: phases.to_vec(), logged: None };
    fixture.cases[0].block_io = Some(file);
    let tables = all(&fixture.summary(), false);
    let table = |title: &str| {
        let table = tables.iter().find(|table| table.title.starts_with(title));
        table.unwrap_or_else(|| panic!("no table {title}")).table.text()
    };
    let io = table("Block I/O");
    let threads_before = |phase| {
        let line = io.lines().find(|line| line.contains(phase)).unwrap_or_else(|| panic!("{io}"));
        let words: Vec<&str> = line.split_whitespace().collect();
        words[words.iter().position(|word| *word == phase).unwrap() - 1].to_owned()
    };
    let phases = ["load", "randomread", "readwhilewriting"];
    assert_eq!(phases.map(threads_before), ["1", "1", "2"], "{io}");
    assert!(!table("Load").contains("threads"), "{}", table("Load"));
}

#[test]
fn trials_are_summed_and_rare_rows_wait_for_wide() {
    let mut fixture = Fixture::new();
    fixture.run.block_io = Watch::Latency;
    let cell = |kind, owner, count: u64| Cell {
        device: 0,
        kind,
        owner,
        count,
        bytes: 4096 * count,
        fua: 0,
        latency_ns: 50_000 * count,
        slots: vec![(slot(50_000), count)],
    };
    for trial in ["lmdb_t1_r1", "lmdb_t1_r2"] {
        let cells = vec![
            cell(IoKind::Read, IoOwner::Ours, 40_000),
            cell(IoKind::Flush, IoOwner::Kernel, 3),
            cell(IoKind::Discard, IoOwner::Foreign, 2),
        ];
        let io = BlockIo { cells, lost: Lost { unseen: 1, ..Lost::default() } };
        let phases = vec![PhaseBlockIo { phase: "measure".to_owned(), io }];
        let devices = vec![WatchedDevice { name: "vda".to_owned(), disk: "vda".to_owned() }];
        let file = BlockIoFile { devices, phases, logged: None };
        fixture.case(trial).block_io = Some(file);
    }
    let summary = fixture.summary();
    let [phase] = &summary.block_io[..] else { panic!("{:?}", summary.block_io) };
    assert_eq!((phase.trials, phase.flushes, phase.lost), (2, 6, 2));
    assert_eq!(phase.rows.iter().map(|row| row.count).collect::<Vec<_>>(), [80_000, 6, 4]);
    assert_eq!(phase.rows[0].latency_ns_mean.round() as u64, 50_000);
    let text = |wide| {
        let tables = all(&summary, wide);
        let table = tables.into_iter().find(|table| table.title.starts_with("Block I/O"));
        let table = table.unwrap();
        format!("{}\n{}", table.table.text(), table.aid)
    };
    let (narrow, wide) = (text(false), text(true));
    assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
    assert!(narrow.contains("80,000") && !narrow.contains("discard"), "{narrow}");
    assert!(wide.contains("discard"), "{wide}");
    assert!(narrow.contains("Lost in measure of LMDB: 2 requests"), "{narrow}");
}

/// The table of the processor's counters.
fn counters(fixture: &Fixture) -> Option<String> {
    let tables = all(&fixture.summary(), false);
    let table = tables.into_iter().find(|table| table.name == "counters")?;
    Some(format!("{}\n{}", table.table.text(), table.aid))
}

#[test]
fn what_the_processor_counted_is_a_table_with_its_reasons_below() {
    let mut fixture = Fixture::new();
    assert_eq!(counters(&fixture), None, "nobody asked");
    for case in &mut fixture.plan.cases {
        case.count = Some(Counting::Processor);
    }
    let event = |count| Some(EventCount { count, enabled_ns: 2_000, running_ns: 1_000 });
    for case in &mut fixture.cases {
        let record = &mut case.record;
        record.case.count = Some(Counting::Processor);
        if record.case.label == "RocksDB" {
            let why = "no counters (as most virtual ones)";
            record
                .not_measured
                .push(ProcessorUsage::format_uncounted(&["instructions", "cycles"], why));
            continue;
        }
        for phase in &mut record.phases {
            let roles = phase.roles.iter().flat_map(|role| role.ops.values());
            let ops: u64 = roles.map(|op| op.count).sum();
            // Four billion before it began, then half the time 1000.25 an operation.
            let instructions = [4_000_000_000, 4_000_000_000 + ops * 4001 / 8];
            let [before, after] = instructions.map(|count| ProcessorUsage {
                instructions: event(count),
                branch_misses: event(count / 1000),
                ..ProcessorUsage::default()
            });
            phase.before.processor = Some(before);
            let mut after = after;
            for counted in [&mut after.instructions, &mut after.branch_misses] {
                let counted = counted.as_mut().unwrap();
                (counted.enabled_ns, counted.running_ns) = (3_000, 1_500);
            }
            phase.after.processor = Some(after);
        }
    }
    insta::assert_snapshot!(counters(&fixture).unwrap());
}

#[test]
fn it_stands_below_the_latencies_on_a_terminal_and_in_markdown() {
    let mut fixture = Fixture::new();
    let below = |fixture: &Fixture| {
        let summary = fixture.summary();
        let tables = all(&summary, false);
        let names: Vec<_> = tables
            .iter()
            .filter(|titled| titled.aid.contains("\nscheduling jitter of this machine, 2.00 s"))
            .map(|titled| titled.title.clone())
            .collect();
        let longest = tables.iter().flat_map(|titled| titled.aid.lines()).map(str::len).max();
        assert!(longest <= Some(100), "{longest:?}");
        assert_eq!(crate::markdown::page(&summary).contains("max 13.4 ms"), !names.is_empty());
        names
    };
    assert!(below(&fixture).is_empty(), "records of before have none");
    fixture.run.hiccups = Some(hiccups());
    assert_eq!(below(&fixture), ["Run: what each role got"]);
}

#[test]
fn a_ratio_over_volumes_says_which_it_is_over() {
    let mut fixture = Fixture::new();
    let drive = kvdyno_record::host::Drive { name: "vda".to_owned(), ..Default::default() };
    fixture.put_on_volume("_rocksdb_", "xfs", &drive, true);
    fixture.put_on_volume("_lmdb_", "ext4", &drive, true);
    let tables = all(&fixture.summary(), false);
    assert!(tables.iter().any(|table| table.aid.contains("over the same engine's on ext4")));
}

#[test]
fn engines_that_took_turns_on_a_database_are_told() {
    let mut fixture = Fixture::new();
    let before = ["0001_lmdb_load_r1", "0002_lmdb_t1_r1"].map(str::to_owned).to_vec();
    fixture.case("lmdb_t2_r1").record.database_used_by = before;
    let tables = all(&fixture.summary(), false);
    assert!(tables.iter().any(|table| table.aid.contains("took turns on one database")));
}

#[test]
fn a_column_that_the_suite_asks_for_needs_no_wide() {
    let mut fixture = Fixture::new();
    let titles = |fixture: &Fixture, wide| {
        let tables = all(&fixture.summary(), wide);
        let columns = tables.iter().flat_map(|titled| titled.table.columns());
        let titles: Vec<String> = columns.map(|(title, _)| title.replace('\n', " ")).collect();
        titles
    };
    let names = ["p95 us", "took s", "> 1 ms %", "> 2 ms %", "> 4 ms %", "rms us", "dev us"];
    let names = names.into_iter().chain(["MB/s", "items/s", "I/Os /record"]);
    let (bare, wide) = (titles(&fixture, false), titles(&fixture, true));
    for title in names.clone() {
        assert!(!bare.iter().any(|other| other == title), "{title}: {bare:?}");
        assert!(wide.iter().any(|other| other == title), "{title}: {wide:?}");
    }
    fixture.plan.columns = ColumnName::ALL.iter().map(|(_, column)| *column).collect();
    let requested = titles(&fixture, false);
    for title in names {
        assert!(requested.iter().any(|other| other == title), "{title}: {requested:?}");
    }
    assert!(!requested.iter().any(|title| title == "p90 us"), "{requested:?}");
}

/// Each rank has a row, wherever tables are written; a crew of many shows those that are not like
/// the others.
#[test]
fn ranks_of_a_crew_have_a_table() {
    let fixture = Fixture::with_crew();
    let mut summary = fixture.summary();
    let ranks = |summary: &_, wide| {
        let tables = all(summary, wide).into_iter();
        let lines = tables.filter(|titled| titled.name == "ranks").map(|titled| {
            assert!(wide || titled.aid.lines().all(|line| line.len() <= 100), "{}", titled.aid);
            titled.table.text()
        });
        lines.collect::<String>()
    };
    let narrow = ranks(&summary, false);
    assert!(narrow.lines().all(|line| line.chars().count() <= 100), "{narrow}");
    insta::assert_snapshot!("ranks", narrow);
    let csv = crate::wide::tables(&summary).unwrap();
    let (_, csv) = csv.iter().find(|(name, _)| *name == "ranks").unwrap();
    let csv = String::from_utf8_lossy(csv);
    assert!(csv.lines().next().unwrap().contains("rank_pace_percent"), "{csv}");
    assert_eq!(
        csv.lines().count(),
        narrow.lines().filter(|line| line.contains("node")).count() + 1
    );
    assert!(crate::markdown::page(&summary).contains("node1"));
    assert_eq!(ranks(&Fixture::new().summary(), true), "", "no crew, no table");
    for rank in &mut summary.ranks {
        rank.ranks = 1000;
    }
    let of_many = ranks(&summary, false);
    let remaining = of_many.lines().filter(|line| line.contains("node")).count();
    assert_eq!(remaining, narrow.lines().filter(|line| line.contains(" 0  node0")).count());
    assert_eq!(ranks(&summary, true).matches("node").count(), summary.ranks.len());
}

#[test]
fn data_and_its_limit_stand_above_the_tables_once() {
    let mut summary = Fixture::new().summary();
    // An engine that never came as far as its limit.
    let limited = summary.groups.iter_mut().filter(|group| group.ram_limit_bytes.is_some());
    for group in limited {
        group.ram_limit_held = (group.engine != "rocksdb").then_some(true);
    }
    let lines = crate::header::lines(&summary);
    assert_eq!(lines.iter().filter(|(word, _)| word == "data").count(), 1, "{lines:?}");
}

#[test]
fn functions_stand_by_their_own_samples_and_cut_stacks_are_said() {
    let tables = all(&Fixture::with_profile().summary(), false);
    let table = tables.iter().find(|table| table.name == "profile").unwrap();
    insta::assert_snapshot!(format!("{}\n{}", table.table.text(), table.aid));
}
