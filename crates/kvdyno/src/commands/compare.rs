//! `kvdyno compare`: compares two runs, or two engines of one.

use super::report;
use crate::cli::{CompareArgs, ComparisonArgs};
use crate::exit::Complaint;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::judge::versus::{
    FigureChoice, GateResult, Noise, Question, Record, Refusal, Sides, Versus,
};
use kvdyno_record::exit::Exit;
use kvdyno_record::units;
use kvdyno_render::page::VersusData;
use kvdyno_render::table::Table;
use kvdyno_render::versus as text;
use kvdyno_render::wrap::wrap;
use std::path::Path;

/// The column of the text after a line's first word.
const INDENT: usize = 10;

pub(crate) fn run(args: &CompareArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let question = question(&args.comparison)?;
    let base = read(args, &args.base)?;
    let new = args.new.as_deref().map(|name| read(args, name)).transpose()?;
    let sides = sides(args, &base, new.as_ref())?;
    answer(&sides, question, &args.comparison, &args.runs.runs, printer)
}

/// The figures, and the share by which they may get worse.
type FiguresAndGate = (FigureChoice, Option<f64>);

/// The comparison as typed.
pub(super) fn question(args: &ComparisonArgs) -> Result<FiguresAndGate, Complaint> {
    let gate = args.gate.as_deref().map(units::parse_share).transpose();
    let gate = gate.map_err(|error| Complaint::usage(format!("--gate: {error}")))?;
    Ok((figures(&args.figures, args.all)?, gate))
}

/// The requested figures.
pub(super) fn figures(names: &[String], all: bool) -> Result<FigureChoice, Complaint> {
    match names {
        _ if all => Ok(FigureChoice::All),
        [] => Ok(FigureChoice::Usual),
        names => FigureChoice::named(names).map_err(|error| {
            let hint = format!("one of: {}", error.known.join(", "));
            Complaint::usage(format!("--figures: {error}")).hint(hint)
        }),
    }
}

/// Compares two sides with this machine's resolution, shows the result, and returns the gate's exit
/// code.
pub(super) fn answer(
    sides: &Sides<'_>,
    (figures, gate): FiguresAndGate,
    args: &ComparisonArgs,
    runs: &Path,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let noise = Noise::by(runs::newest_calibration(runs, sides.host()), sides);
    let question = Question { figures, noise, gate };
    let versus = Versus::compare(sides, &question).map_err(|r| refused(&r))?;
    if args.json {
        printer.json(&versus)?;
    } else if let Some(path) = &args.html {
        report::write(&VersusData::new(Ok(versus.clone())), path, printer)?;
        // A log needs the reason why the gate failed.
        if versus.gate.is_some() && path != Path::new("-") {
            lines(text::footer(&versus), printer);
        }
    } else {
        let (header, footer) = (text::header(&versus), text::footer(&versus));
        print(header, &text::table(&versus), &text::aid(&versus), footer, printer);
    }
    Ok(verdict(&versus))
}

/// The exit code: a regression past the gate precedes invalid figures, which precede a gate that
/// cannot judge.
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
    runs::read_record(&*runs::find(name, &args.runs.runs)?)
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
            let what = format!("--engines: expected two engines, found {}", engines.len());
            let run = &base.figures.run.id;
            let labels: Vec<&str> =
                base.figures.engines.iter().map(|engine| engine.label.as_str()).collect();
            Err(Complaint::usage(what).hint(format!("run {run} has: {}", labels.join(", "))))
        }
    }
}

/// Why two runs cannot be compared, and the remedy.
pub(super) fn refused(refusal: &Refusal) -> Complaint {
    let hint = match refusal {
        Refusal::Work { .. } => {
            "only equal work can be compared; use `kvdyno show` for each of them".to_owned()
        }
        Refusal::Method(_) => "run the older suite again with this version".to_owned(),
        Refusal::NoCommonEngine { .. } => {
            "`--engines A,B` compares two engines of one run".to_owned()
        }
        Refusal::Same(_) => "expected two runs; `kvdyno list` shows the runs".to_owned(),
        Refusal::NoEngine { known, .. } => format!("it has: {}", known.join(", ")),
        Refusal::NoFigure { known, .. } => format!("they have: {}", known.join(", ")),
    };
    Complaint::usage(format!("cannot compare these: {refusal}")).hint(hint)
}

/// A table between lines, with what helps to read it.
pub(super) fn print(
    header: Vec<text::Line>,
    table: &Table,
    aid: &str,
    footer: Vec<text::Line>,
    printer: &Printer,
) {
    lines(header, printer);
    printer.data("");
    printer.data(&table.text());
    printer.data(&wrap(&aid.replace('\n', " "), 0));
    printer.data("");
    lines(footer, printer);
}

/// Lines above and below a table: a word, and its text.
pub(super) fn lines(lines: Vec<text::Line>, printer: &Printer) {
    for (tone, word, text) in lines {
        printer.marked(tone, &format!("{word:<INDENT$}"), &wrap(&text, INDENT));
    }
}
