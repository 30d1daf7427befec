//! Exports of real runs, read back by other programs' libraries.

use super::scratch::{Scratch, list};
use super::suites::{GET, UPDATE, suite};
use calamine::{Data, Reader, Xlsx, open_workbook};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A title that is a formula to a spreadsheet, a tag to a browser and markup to Markdown.
const TITLE: &str = "=HYPERLINK(1)|<script>`";

/// A run of two trials with readers and a writer.
fn ran() -> Scratch {
    let scratch = Scratch::new();
    let text = suite()
        .trials(2)
        .engine_as("null", "null", "latency_ns = 500")
        .load("batch = 500")
        .measure("operations = 20_000")
        .role("readers", GET)
        .role("writer", UPDATE)
        .text();
    let title = format!("name = \"test\"\ntitle = \"{TITLE}\"");
    scratch.write("s.toml", &text.replace("name = \"test\"", &title));
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch
}

/// A sheet's rows by heading.
fn rows(workbook: &Path, sheet: &str) -> Vec<BTreeMap<String, Data>> {
    let mut book: Xlsx<_> = open_workbook(workbook).unwrap();
    let range = book.worksheet_range(sheet).unwrap();
    let head: Vec<String> = range.rows().next().unwrap().iter().map(Data::to_string).collect();
    let row = |cells: &[Data]| head.iter().cloned().zip(cells.iter().cloned()).collect();
    range.rows().skip(1).map(row).collect()
}

/// A figure of the long list, over all trials.
fn figure(csv: &str, role: &str, metric: &str) -> f64 {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head = reader.headers().unwrap().clone();
    let at = |name: &str| head.iter().position(|column| column == name).unwrap();
    let row = reader
        .records()
        .map(Result::unwrap)
        .find(|row| (&row[at("role")], &row[at("metric")], &row[at("op")]) == (role, metric, ""));
    row.unwrap()[at("value_all_trials")].parse().unwrap()
}

#[test]
fn time_lines_are_exported_and_add_up() {
    let scratch = ran();
    scratch.run(&["export", "--csv", "csv"]).assert_code(0);
    let text = fs::read_to_string(scratch.path("csv/series.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().unwrap();
    let operations = |role: &str| -> f64 {
        let role_rows = rows.iter().filter(|row| row["role"] == role && row["phase"] == "measure");
        role_rows.map(|row| row["operations"].parse::<f64>().unwrap()).sum()
    };
    // The first role with 20,000 operations ends the phase, in each of two trials.
    assert!(operations("readers").max(operations("writer")) >= 2.0 * 20_000.0);
    assert!(rows.iter().any(|row| !row["service_p99_us"].is_empty()), "{text}");
    let machine = fs::read_to_string(scratch.path("csv/machine.csv")).unwrap();
    assert!(machine.starts_with("case,label,engine,threads_swept,value_bytes_mean,trial,phase,"));
    let brief = scratch.run(&["export", "--markdown", "-", "--brief"]);
    brief.assert_code(0).assert_says("| engine |");
    let path = scratch.path(".").display().to_string();
    assert!(!brief.out.contains(path.trim_end_matches('.')), "{}", brief.out);
}

/// The columns of the snippet in docs/exports.md are there. The first row's phase, role and
/// operation select one row of each engine, and of a mix the rate of all its operations.
#[test]
fn bars_of_a_mix_have_one_row_for_each_engine() {
    let scratch = Scratch::new();
    let suite = suite().trials(2).engine_as("null", "null", "latency_ns = 500");
    let suite = suite.engine_as("other", "null", "latency_ns = 900").load("batch = 500");
    let mix = "mix = [{ op = \"get\" }, { op = \"update\" }]";
    let suite = suite.measure("operations = 5_000").role("clients", mix);
    let suite = suite.measure("name = \"again\"\noperations = 5_000").role("clients", mix);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    // Two phases have the role.
    let run = scratch.runs()[0].display().to_string();
    let compared = scratch.run(&["compare", &run, "--engines", "null,other"]);
    compared.assert_says("measure clients").assert_says("again clients");
    scratch.run(&["export", "--csv", "figures"]).assert_code(0);
    let text = fs::read_to_string(scratch.path("figures/run.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<BTreeMap<String, String>> =
        reader.deserialize().collect::<Result<_, _>>().unwrap();
    let page = fs::read_to_string(concat!(env!("KVDYNO_SOURCE"), "/docs/exports.md"));
    let page = page.unwrap();
    let (_, snippet) = page.split_once("```python").unwrap();
    let (snippet, _) = snippet.split_once("```").unwrap();
    let columns = ["phase", "role", "op", "engine", "label", "threads", "ops_per_s"];
    for column in columns.into_iter().chain(["ops_per_s_low", "ops_per_s_high"]) {
        assert!(snippet.contains(column) && rows[0].contains_key(column), "{column}");
    }
    let is_first = |row: &&BTreeMap<String, String>| {
        ["phase", "role", "op"].iter().all(|column| row[*column] == rows[0][*column])
    };
    let labels: Vec<&str> = rows.iter().filter(is_first).map(|row| &*row["label"]).collect();
    assert_eq!(labels, ["null", "other"], "{text}");
    assert_eq!(rows[0]["op"], "all operations", "{text}");
    assert!(rows.len() > 2 * labels.len(), "{text}");
}

#[test]
fn a_workbook_has_the_figures_and_the_formulas_behind_them() {
    let scratch = ran();
    let csv = scratch.run(&["export", "--csv", "-"]).out;
    scratch.run(&["export", "--xlsx", "run.xlsx"]).assert_code(0);
    let path = scratch.path("run.xlsx");
    let writer = rows(&path, "Run").into_iter().find(|row| {
        (row["role"].to_string().as_str(), row["trial"].to_string().as_str()) == ("writer", "all")
    });
    let Data::Float(rate) = writer.unwrap()["ops/s"] else { panic!("no number") };
    let expected = figure(&csv, "writer", "ops_per_s");
    assert!((rate - expected).abs() < expected * 1e-12, "{rate} {expected}");

    let mut book: Xlsx<_> = open_workbook(&path).unwrap();
    let formulas = |book: &mut Xlsx<_>, sheet: &str| -> Vec<String> {
        let range = book.worksheet_formula(sheet).unwrap();
        range.used_cells().map(|(_, _, formula)| formula.clone()).collect()
    };
    for sheet in ["Load", "Run", "Cost", "Series"] {
        let formulas = formulas(&mut book, sheet);
        assert!(formulas.iter().any(|formula| formula.contains('/')), "{sheet}: {formulas:?}");
    }
    assert!(formulas(&mut book, "Run").iter().any(|formula| formula.starts_with("MEDIAN(")));
    assert_eq!(formulas(&mut book, "Summary"), Vec::<String>::new());
    let title = book.worksheet_range("Summary").unwrap().get_value((0, 0)).cloned();
    assert_eq!(title, Some(Data::String(TITLE.to_owned())));
    scratch.assert_nothing_left();
}

#[test]
fn markdown_goes_to_a_file_or_to_standard_output() {
    let scratch = ran();
    let page = scratch.run(&["export", "--markdown", "-"]).out;
    assert!(page.starts_with(r"## =HYPERLINK(1)\|&lt;script&gt;\`"), "{page}");
    assert!(page.contains("\n### Run: "), "{page}");
    assert!(page.contains("\n    kvdyno run s.toml\n"), "{page}");
    scratch.run(&["export", "--markdown", "post.md"]).assert_code(0).assert_says("wrote post.md");
    assert_eq!(fs::read_to_string(scratch.path("post.md")).unwrap(), page);
}

#[test]
fn what_cannot_be_exported_is_said_and_nothing_is_written() {
    let scratch = ran();
    let before = list(&scratch.path("."));
    let ods = scratch.run(&["export", "--xlsx", "run.ods"]);
    ods.assert_code(2).assert_says("run.ods").assert_says("soffice --convert-to ods");
    scratch.run(&["export"]).assert_code(2);
    scratch.run(&["export", "--ods", "run.ods"]).assert_code(2);
    let both = scratch.run(&["export", "--json", "--markdown", "-"]);
    both.assert_code(2).assert_says("only one output can go to standard output");
    scratch.run(&["export", "test", "latest", "--csv", "figures"]).assert_code(2);
    assert_eq!(list(&scratch.path(".")), before);
}
