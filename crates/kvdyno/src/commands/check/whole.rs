//! Checks of a run as a whole: formats, completeness, checksums.

use super::{Answer, Check};
use kvdyno_record::files::{CaseDir, RecordError, RunDir};
use kvdyno_record::plan::Plan;
use std::collections::BTreeMap;
use std::path::Path;

const FORMAT: &str = "all files are readable, in a known format";
const PRESENT: &str = "every planned case has a record";
const SEALED: &str = "files equal their sealed checksums";

pub(super) fn checks(dir: &RunDir) -> Vec<Check> {
    let mut checks = Vec::new();
    let readable = |name: &str, error: Option<&RecordError>| {
        let failed = |error: &RecordError| Answer::Failed(error.to_string());
        Check::new(FORMAT, name, error.map_or(Answer::Ok, failed))
    };
    checks.push(readable("run.json", dir.run().as_ref().err()));
    let plan = dir.plan();
    checks.push(readable("plan.json", plan.as_ref().err()));
    let cases = dir.cases().unwrap_or_default();
    for case in &cases {
        let name = format!("{}/case.json", case_dir_name(case));
        if case.path.join("case.json").exists() {
            checks.push(readable(&name, case.record().as_ref().err()));
        } else {
            let why = "the run was cut off: the program was killed";
            checks.push(Check::new(FORMAT, name, Answer::NotCheckable(why.to_owned())));
        }
    }
    if let Ok(plan) = plan {
        checks.push(Check::new(PRESENT, "the plan", check_plan(dir, &plan, &cases)));
    }
    checks.push(Check::new(SEALED, "SHA256SUMS", check_seal(dir)));
    checks
}

pub(super) fn case_dir_name(case: &CaseDir) -> String {
    case.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn check_plan(dir: &RunDir, plan: &Plan, cases: &[CaseDir]) -> Answer {
    let recorded: Vec<String> =
        cases.iter().filter_map(|case| Some(case.record().ok()?.case.id)).collect();
    let planned = || plan.cases.iter().map(|case| case.id.as_str());
    let absent: Vec<&str> = planned().filter(|id| !recorded.iter().any(|r| r == id)).collect();
    let recorded = recorded.iter().map(String::as_str);
    let unplanned: Vec<&str> = recorded.filter(|id| !planned().any(|p| p == *id)).collect();
    if !unplanned.is_empty() {
        return Answer::Failed(format!("not in the plan: {}", unplanned.join(", ")));
    }
    match (absent.is_empty(), dir.is_complete()) {
        (true, _) => Answer::Ok,
        (false, true) => Answer::Failed(format!("complete without: {}", absent.join(", "))),
        (false, false) => {
            Answer::NotCheckable(format!("the run is partial; left: {}", absent.join(", ")))
        }
    }
}

/// Checks each file's checksum, and that no file was added later.
fn check_seal(dir: &RunDir) -> Answer {
    if !dir.is_complete() {
        return Answer::NotCheckable("the run is partial: it was never sealed".to_owned());
    }
    let Ok(text) = std::fs::read_to_string(dir.path.join("SHA256SUMS")) else {
        return Answer::Failed("the run is complete and has no SHA256SUMS".to_owned());
    };
    let sums: BTreeMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(sum, name)| (name, sum))
        .collect();
    let mut wrong = Vec::new();
    for (name, sum) in &sums {
        match dir.file_checksum(name) {
            Some(now) if now == *sum => {}
            Some(_) => wrong.push(format!("{name} was changed")),
            None => wrong.push(format!("{name} is gone")),
        }
    }
    for name in files(&dir.path, &dir.path) {
        let seal = ["SHA256SUMS", "complete", "lock"].contains(&name.as_str());
        if !seal && !sums.contains_key(name.as_str()) {
            wrong.push(format!("{name} was added"));
        }
    }
    Answer::ok_if(wrong.is_empty(), || wrong.join("; "))
}

/// Names of all files below `dir`, relative to `root`.
fn files(root: &Path, dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for path in std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path()) {
        if path.is_dir() {
            names.extend(files(root, &path));
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path);
            names.push(name.to_string_lossy().into_owned());
        }
    }
    names
}
