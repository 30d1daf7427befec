//! `kvdyno check`: a second, independent reading of a record. It shares no line with the summary:
//! if both agree, neither is likely to be wrong.

mod bytes;
mod case;
mod counts;
mod server;
mod whole;

use crate::cli::CheckArgs;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_record::exit::Exit;
use kvdyno_record::files::RunDir;
use kvdyno_render::tone::Tone;
use kvdyno_render::wrap::wrap;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "words")]
enum Answer {
    Ok,
    Failed(String),
    NotCheckable(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// The condition that must hold.
    name: &'static str,
    /// The checked part: a case, a phase, a role's operation; or the run.
    of: String,
    #[serde(flatten)]
    answer: Answer,
}

pub(crate) fn run(args: &CheckArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let dir = runs::find(&args.name.run, &args.name.runs.runs)?;
    let checks = all(&dir);
    if args.json {
        printer.json(&checks)?;
    } else {
        print(&checks, args.all, printer);
    }
    let failed = checks.iter().any(|check| matches!(check.answer, Answer::Failed(_)));
    Ok(if failed { Exit::Invalid } else { Exit::Ok })
}

fn all(dir: &RunDir) -> Vec<Check> {
    let mut checks = whole::checks(dir);
    for case in dir.cases().unwrap_or_default() {
        checks.extend(case::checks(&case));
    }
    checks
}

/// Prints a line for each name, and below it the failures; with `all`, every check.
fn print(checks: &[Check], all: bool, printer: &Printer) {
    let mut names: Vec<&str> = Vec::new();
    for check in checks {
        if !names.contains(&check.name) {
            names.push(check.name);
        }
    }
    for name in names {
        let group: Vec<&Check> = checks.iter().filter(|check| check.name == name).collect();
        let count = |matches: fn(&Answer) -> bool| {
            group.iter().filter(|check| matches(&check.answer)).count()
        };
        let ok = count(|answer| *answer == Answer::Ok);
        let failed = count(|answer| matches!(answer, Answer::Failed(_)));
        let (tone, word) = match (failed, ok) {
            (1.., _) => (Tone::Bad, "FAILED"),
            (0, 1..) => (Tone::Good, "ok"),
            (0, 0) => (Tone::Warning, "not checkable"),
        };
        let numbers = numbers(ok, failed, group.len() - ok - failed);
        printer.marked_data(tone, &format!("{word:<14}"), &format!("{name} ({numbers})"));
        for line in details(&group, all) {
            printer.data(&format!("    {}", wrap(&line, 8)));
        }
    }
}

/// `all 36 hold`; `33 of 36 hold, 1 fails, 2 are not checkable`.
fn numbers(ok: usize, failed: usize, not_checkable: usize) -> String {
    let all = ok + failed + not_checkable;
    let some = |n: usize, one: &str, many: &str| match n {
        0 => String::new(),
        1 => format!(", 1 {one}"),
        n => format!(", {n} {many}"),
    };
    match all {
        1 if ok == 1 => "it holds".to_owned(),
        _ if ok == all => format!("all {all} hold"),
        _ if ok + failed == 0 => format!("none of {all}"),
        _ => format!(
            "{ok} of {all} hold{}{}{}",
            if all == 1 { "s" } else { "" },
            some(failed, "fails", "fail"),
            some(not_checkable, "is not checkable", "are not checkable")
        ),
    }
}

/// Returns a line for each failure, and with `all` for each success. Without `all`, each reason why
/// a check is not possible occurs once.
fn details(checks: &[&Check], all: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut whys: Vec<&str> = Vec::new();
    for Check { of, answer, .. } in checks {
        match answer {
            Answer::Ok if all => lines.push(format!("ok: {of}")),
            Answer::Ok => {}
            Answer::Failed(words) => lines.push(format!("FAILED: {of}: {words}")),
            Answer::NotCheckable(why) if all => lines.push(format!("not checkable: {of}: {why}")),
            Answer::NotCheckable(why) if whys.contains(&why.as_str()) => {}
            Answer::NotCheckable(why) => {
                let others = match checks.iter().filter(|check| check.answer == *answer).count() {
                    1 => String::new(),
                    same => format!(" and {} more", same - 1),
                };
                lines.push(format!("not checkable: {of}{others}: {why}"));
                whys.push(why);
            }
        }
    }
    lines
}

impl Check {
    fn new(name: &'static str, of: impl Into<String>, answer: Answer) -> Self {
        Self { name, of: of.into(), answer }
    }
}

impl Answer {
    fn ok_if(holds: bool, otherwise: impl FnOnce() -> String) -> Self {
        if holds { Self::Ok } else { Self::Failed(otherwise()) }
    }
}

#[cfg(test)]
mod tests;
