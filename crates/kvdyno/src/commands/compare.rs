//! `kvdyno compare`: two runs, or two engines of one, held against each other.

use super::calibrate::newest;
use super::{report, runs};
use crate::cli::{CompareArgs, ComparisonArgs, RunName};
use crate::exit::Complaint;
use crate::printer::Printer;
use anyhow::Context as _;
use kvdyno_analysis::versus::{
    Figures, GateResult, Noise, Question, Record, Refusal, Sides, Versus,
};
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_render::page::VersusData;
use kvdyno_render::versus as text;
use kvdyno_render::wrap::wrap;
use std::path::Path;

/// How far in the text stands after the word that a line begins with.
const INDENT: usize = 10;

pub(crate) fn run(args: &CompareArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let question = question(&args.asked)?;
    let base = read(args, &args.base)?;
    let new = args.new.as_deref().map(|name| read(args, name)).transpose()?;
    let sides = sides(args, &base, new.as_ref())?;
    answer(&sides, question, &args.asked, &args.runs.runs, printer)
}

/// Which figures, and the share by which they may get worse.
type Asked = (Figures, Option<f64>);

/// What is wanted of a comparison, as it was typed.
pub(super) fn question(args: &ComparisonArgs) -> Result<Asked, Complaint> {
    let gate = args.gate.as_deref().map(units::parse_share).transpose();
    let gate = gate.map_err(|error| Complaint::usage(format!("--gate: {error}")))?;
    Ok((figures(&args.figures, args.all)?, gate))
}

/// The figures that are asked for.
pub(super) fn figures(names: &[String], all: bool) -> Result<Figures, Complaint> {
    match names {
        _ if all => Ok(Figures::All),
        [] => Ok(Figures::Usual),
        names => Figures::named(names).map_err(|error| {
            let hint = format!("one of: {}", error.known.join(", "));
            Complaint::usage(format!("--figures: {error}")).hint(hint)
        }),
    }
}

/// Compares two sides by what this machine can resolve, shows it, and says what came of the gate.
pub(super) fn answer(
    sides: &Sides<'_>,
    (figures, gate): Asked,
    args: &ComparisonArgs,
    runs: &Path,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let noise = Noise::by(newest(runs, sides.host()), sides);
    let question = Question { figures, noise, gate };
    let versus = Versus::compare(sides, &question).map_err(|r| refused(&r))?;
    if args.json {
        printer.json(&versus)?;
    } else if let Some(path) = &args.html {
        report::write(&VersusData::new(Ok(versus.clone())), path, printer)?;
        // Who reads a log wants to know why the gate failed.
        if versus.gate.is_some() && path != Path::new("-") {
            lines(text::footer(&versus), printer);
        }
    } else {
        print(&versus, printer);
    }
    Ok(verdict(&versus))
}

/// How the program ends: a regression past the gate goes before figures that are void, and before
/// a gate that cannot judge.
fn verdict(versus: &Versus) -> Exit {
    let invalid = !versus.base.invalid.is_empty() || !versus.new.invalid.is_empty();
    match versus.gate.as_ref().map(|gate| gate.result) {
        Some(GateResult::Failed) => Exit::Regression,
        Some(GateResult::CannotJudge) => Exit::Invalid,
        _ if invalid => Exit::Invalid,
        Some(GateResult::Passed) | None => Exit::Ok,
    }
}

fn read(args: &CompareArgs, name: &str) -> anyhow::Result<Record> {
    let name = RunName { run: name.to_owned(), runs: args.runs.clone() };
    let folder = runs::find(&name)?;
    Record::read(&folder).with_context(runs::unread(&folder))
}

fn sides<'r>(
    args: &'r CompareArgs,
    base: &'r Record,
    new: Option<&'r Record>,
) -> Result<Sides<'r>, Complaint> {
    match (new, args.engines.as_slice()) {
        (Some(new), _) => Ok(Sides::Runs { base, new }),
        (None, [one, other]) => Ok(Sides::engines(base, one, other)),
        (None, engines) => {
            let what = format!("--engines takes two engines, and {} came", engines.len());
            let run = &base.summary.run.id;
            let labels: Vec<&str> =
                base.summary.engines.iter().map(|engine| engine.label.as_str()).collect();
            Err(Complaint::usage(what).hint(format!("run {run} has: {}", labels.join(", "))))
        }
    }
}

/// Why two runs cannot be compared, and what would help.
pub(super) fn refused(refusal: &Refusal) -> Complaint {
    let hint = match refusal {
        Refusal::Work { .. } => {
            "only equal work can be compared; `kvdyno show` each of them instead".to_owned()
        }
        Refusal::Method(_) => "run the older one again with this version".to_owned(),
        Refusal::NoCommonEngine { .. } => {
            "`--engines A,B` compares two engines of one run".to_owned()
        }
        Refusal::Same(_) => "name two; `kvdyno list` shows the runs".to_owned(),
        Refusal::NoEngine { known, .. } => format!("it has: {}", known.join(", ")),
        Refusal::NoFigure { known, .. } => format!("they have: {}", known.join(", ")),
    };
    Complaint::usage(format!("these cannot be compared: {refusal}")).hint(hint)
}

fn print(versus: &Versus, printer: &Printer) {
    lines(text::header(versus), printer);
    printer.data("");
    printer.data(&text::table(versus).text());
    printer.data(&wrap(&text::aid(versus).replace('\n', " "), 0));
    printer.data("");
    lines(text::footer(versus), printer);
}

/// Lines above and below a table: a word, and what it says.
pub(super) fn lines(lines: Vec<text::Line>, printer: &Printer) {
    for (tone, word, text) in lines {
        printer.marked(tone, &format!("{word:<INDENT$}"), &wrap(&text, INDENT));
    }
}
