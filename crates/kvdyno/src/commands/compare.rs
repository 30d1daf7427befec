//! `kvdyno compare`: compares runs of two builds, or two engines of one run.

use super::report;
use crate::cli::{CompareArgs, ComparisonArgs, parse_within};
use crate::exit::Complaint;
use crate::output;
use crate::printer::Printer;
use crate::records::runs;
use kvdyno_analysis::figures::engines::EngineInfo;
use kvdyno_analysis::judge::versus::classes::ClassComparison;
use kvdyno_analysis::judge::versus::profile::{VersusJson, list_profiles};
use kvdyno_analysis::judge::versus::{
    FigureChoice, GateResult, Question, Record, Refusal, Sides, Versus,
};
use kvdyno_record::exit::Exit;
use kvdyno_record::plan::WITHIN;
use kvdyno_record::units;
use kvdyno_render::moved;
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
    let within = args.within.as_deref().map(parse_within).transpose()?;
    let within = within.unwrap_or(base[0].evidence.plan.within);
    let question = Question { within, ..question };
    if !args.durability.is_empty() {
        return compare_classes(args, &base, &question, printer);
    }
    let new = args.new.as_deref().map(|names| read(args, names)).transpose()?;
    let sides = choose_sides(args, &base, new.as_deref())?;
    let versus = answer(&sides, &question, &args.comparison, printer)?;
    Ok(verdict(&versus, &args.comparison))
}

/// Compares every engine of a run in two durability classes, in one table.
fn compare_classes(
    args: &CompareArgs,
    runs: &[Record],
    question: &Question,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let ([run], &[base, new]) = (runs, args.durability.as_slice()) else {
        let (runs, classes) = (runs.len(), args.durability.len());
        let what =
            format!("--durability: expected one run and two classes, found {runs} and {classes}");
        return Err(Complaint::usage(what)
            .hint("`kvdyno compare RUN --durability async,commit`")
            .into());
    };
    let comparison = ClassComparison::compare(run, [base, new], question);
    let comparison = comparison.map_err(|refusal| refusal_complaint(&refusal))?;
    if comparison.engines.is_empty() {
        let [base, new] = [base, new].map(|class| class.as_str());
        let what = format!("--durability: expected an engine in {base} and in {new}, found none");
        let label = |info: &EngineInfo| format!("{} ({})", info.label, info.durability.as_str());
        let labels: Vec<String> = run.figures.engines.iter().map(label).collect();
        let hint = format!("run {} has: {}", comparison.run, labels.join(", "));
        return Err(Complaint::usage(what).hint(hint).into());
    }
    if args.comparison.json {
        printer.json(&comparison)?;
    } else {
        let table = text::classes::table(&comparison);
        let (header, footer) =
            (text::classes::header(&comparison), text::classes::footer(&comparison));
        print(header, &table, &text::classes::reading_aid(&comparison), footer, printer);
    }
    let invalid = comparison.engines.iter().any(|engine| !engine.versus.base.invalid.is_empty());
    Ok(if invalid { Exit::Invalid } else { Exit::Ok })
}

/// Parses the options of a comparison.
pub(super) fn question(args: &ComparisonArgs) -> Result<Question, Complaint> {
    let gate = args.gate.as_deref().map(units::parse_share).transpose();
    let gate = gate.map_err(|error| Complaint::usage(format!("--gate: {error}")))?;
    Ok(Question { figures: figures(&args.figures, args.all)?, within: WITHIN, gate })
}

/// The requested figures.
pub(super) fn figures(names: &[String], all: bool) -> Result<FigureChoice, Complaint> {
    match names {
        _ if all => Ok(FigureChoice::All),
        [] => Ok(FigureChoice::Usual),
        names => FigureChoice::from_names(names).map_err(|error| {
            let hint = format!("one of: {}", error.known.join(", "));
            Complaint::usage(format!("--figures: {error}")).hint(hint)
        }),
    }
}

/// Compares two sides and shows the result.
pub(super) fn answer(
    sides: &Sides<'_>,
    question: &Question,
    args: &ComparisonArgs,
    printer: &Printer,
) -> anyhow::Result<Versus> {
    let mut versus = Versus::compare(sides, question).map_err(|r| refusal_complaint(&r))?;
    versus.explain(sides);
    let profiles = list_profiles(sides, &versus);
    if args.json {
        printer.json(&VersusJson::new(&versus, &profiles))?;
    } else if let Some(path) = &args.html {
        let page = VersusData::new(Ok(versus.clone())).with_profiles(profiles.clone());
        report::write(&page, path, printer)?;
    }
    // The page may be standard output itself.
    if !args.json && !args.html.as_deref().is_some_and(output::is_stdout) {
        let (header, footer) = (text::header(&versus), text::footer(&versus));
        lines(header, printer);
        if let Some((table, aid)) = text::explanation::table(&versus) {
            print_table(&table, &aid, printer);
        }
        print_table(&text::table(&versus), &text::reading_aid(&versus), printer);
        lines(footer, printer);
        if !profiles.is_empty() {
            printer.data("");
            printer.heading(moved::TITLE);
            printer.data(&moved::table(&profiles).text());
            printer.data(moved::AID);
        }
    }
    Ok(versus)
}

/// The exit code: a regression past the gate precedes invalid figures.
pub(super) fn verdict(versus: &Versus, args: &ComparisonArgs) -> Exit {
    let invalid = !versus.base.invalid.is_empty() || !versus.new.invalid.is_empty();
    match gate_exit(versus.gate.as_ref().map(|gate| gate.result), args.strict) {
        Exit::Ok if invalid => Exit::Invalid,
        exit => exit,
    }
}

/// The exit code of a gate.
pub(super) fn gate_exit(gate: Option<GateResult>, strict: bool) -> Exit {
    match gate {
        Some(GateResult::Failed) => Exit::Regression,
        Some(GateResult::CannotJudge) => Exit::Invalid,
        Some(GateResult::Undecided) if strict => Exit::Invalid,
        Some(GateResult::Passed | GateResult::Undecided) | None => Exit::Ok,
    }
}

/// Reads the runs of a side: one, or several between commas.
fn read(args: &CompareArgs, names: &str) -> anyhow::Result<Vec<Record>> {
    let names: Vec<&str> =
        if Path::new(names).exists() { vec![names] } else { names.split(',').collect() };
    names.iter().map(|name| runs::read_record(&*runs::find(name, &args.runs.runs)?)).collect()
}

fn choose_sides<'r>(
    args: &'r CompareArgs,
    base: &'r [Record],
    new: Option<&'r [Record]>,
) -> Result<Sides<'r>, Complaint> {
    match (new, args.engines.as_slice(), base) {
        (Some(new), ..) => Ok(Sides::Runs { base, new }),
        (None, [one, other], [run]) => Ok(Sides::engines(run, one, other)),
        (None, [_, _], runs) => {
            let what = format!("--engines: expected one run, found {}", runs.len());
            Err(Complaint::usage(what).hint("name one run that has both engines"))
        }
        (None, engines, runs) => {
            let what = format!("--engines: expected two engines, found {}", engines.len());
            let run = &runs[0].figures;
            let labels: Vec<&str> =
                run.engines.iter().map(|engine| engine.label.as_str()).collect();
            let hint = format!("run {} has: {}", run.run.id, labels.join(", "));
            Err(Complaint::usage(what).hint(hint))
        }
    }
}

/// Returns the reason why two runs cannot be compared, with the remedy.
pub(super) fn refusal_complaint(refusal: &Refusal) -> Complaint {
    let hint = match refusal {
        Refusal::Work { .. } => {
            "only equal work can be compared; use `kvdyno show` for each of them".to_owned()
        }
        Refusal::Build { .. } => {
            "runs of one side repeat each other: the same suite, builds, options and machine"
                .to_owned()
        }
        Refusal::Method(_) => "run the older suite again with this version".to_owned(),
        Refusal::NoCommonEngine { .. } => {
            "`--engines A,B` compares two engines of one run".to_owned()
        }
        Refusal::Promises { .. } => {
            "leave --gate out: the ratios are what the promise costs".to_owned()
        }
        Refusal::Same(_) => "expected two runs; `kvdyno list` shows the runs".to_owned(),
        Refusal::NoEngine { known, .. } => format!("it has: {}", known.join(", ")),
        Refusal::NoFigure { known, .. } => format!("they have: {}", known.join(", ")),
    };
    Complaint::usage(format!("cannot compare these: {refusal}")).hint(hint)
}

/// Prints a table between lines, with its reading aid.
pub(super) fn print(
    header: Vec<text::Line>,
    table: &Table,
    aid: &str,
    footer: Vec<text::Line>,
    printer: &Printer,
) {
    lines(header, printer);
    print_table(table, aid, printer);
    lines(footer, printer);
}

/// Prints a table and its reading aid between empty lines.
fn print_table(table: &Table, aid: &str, printer: &Printer) {
    printer.data("");
    printer.data(&table.text());
    printer.data(&wrap(&aid.replace('\n', " "), 0));
    printer.data("");
}

/// Prints lines above or below a table: each is a word and its text.
pub(super) fn lines(lines: Vec<text::Line>, printer: &Printer) {
    for (tone, word, text) in lines {
        printer.marked_data(tone, &format!("{word:<INDENT$}"), &wrap(&text, INDENT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strict_gate_fails_where_it_is_undecided() {
        let exit = |result, strict| gate_exit(Some(result), strict);
        for strict in [false, true] {
            assert_eq!(exit(GateResult::Failed, strict), Exit::Regression);
            assert_eq!(exit(GateResult::CannotJudge, strict), Exit::Invalid);
            assert_eq!(exit(GateResult::Passed, strict), Exit::Ok);
        }
        assert_eq!(exit(GateResult::Undecided, false), Exit::Ok);
        assert_eq!(exit(GateResult::Undecided, true), Exit::Invalid);
    }
}
