//! A comparison on a terminal: the two sides, their differences, the table, and the result.

pub mod classes;
pub mod explanation;

use crate::format::format_count;
use crate::header::moment;
use crate::table::{Side as Column, Table};
use crate::tone::Tone;
use kvdyno_analysis::figures::ratio::format_ratio;
use kvdyno_analysis::judge::rule::LEAST;
pub use kvdyno_analysis::judge::versus::gate::{Gate, GateResult, NotJudged};
use kvdyno_analysis::judge::versus::judge::{BIAS, COUNTED_BIAS, least_difference};
pub use kvdyno_analysis::judge::versus::judge::{Row, Sample, Verdict};
use kvdyno_analysis::judge::versus::sides::Side;
use kvdyno_analysis::judge::versus::{Explanation, Versus};
use kvdyno_record::text::escape_line;
use kvdyno_record::units;

/// More of a list than this is only counted.
const LISTED_MAX: usize = 8;

/// A line: the colour of its first word, the word, and its text.
pub type Line = (Tone, &'static str, String);

/// The text of a reason where the compared versions were read by different calls.
const OTHER_CALLS: &str = "read by different calls";

/// An interval whose upper end is more than this many times the lower one says nothing.
pub(crate) const INTERVAL_MAX: f64 = 1000.0;

/// The reason why such an interval is not shown.
const TOO_WIDE: &str = "too wide: its ends differ by more than a factor of 1,000";

const AID: &str = "\
Medians over {repeats}, of percentiles too; with too few, their range. ratio: the geometric mean of
{ratios}, with its 99 % interval. A {judged} is called {words} where the interval leaves 1 out, and
equal where it lies within {within} of 1; two builds differ by more than {least}. Figures without a
verdict are shown only.";

/// The names of the sides, and the words for a difference: of two engines one is better, and
/// neither has got worse.
struct Words {
    base: String,
    new: String,
    improved: String,
    regressed: String,
}

impl Words {
    fn from_versus(versus: &Versus) -> Self {
        match (&versus.base.label, &versus.new.label) {
            (Some(base), Some(new)) => Self {
                base: base.clone(),
                new: new.clone(),
                improved: format!("{new} better"),
                regressed: format!("{base} better"),
            },
            _ => Self {
                base: "base".to_owned(),
                new: "new".to_owned(),
                improved: "improved".to_owned(),
                regressed: "regressed".to_owned(),
            },
        }
    }

    /// The words of a gate for a change for the worse: that there is none, that there is one, and
    /// whether there is one.
    fn gate(versus: &Versus) -> [String; 3] {
        match (&versus.base.label, &versus.new.label) {
            (Some(base), Some(new)) => [
                format!("{new} is nowhere worse than {base} by more than"),
                format!("{new} is worse than {base} by more than"),
                format!("whether {new} is worse than {base} by more than"),
            ],
            _ => ["nothing regressed past", "regressed past", "whether anything regressed past"]
                .map(str::to_owned),
        }
    }
}

/// The lines above the table.
pub fn header(versus: &Versus) -> Vec<Line> {
    let answer = versus.answer.first().cloned().unwrap_or_default();
    let mut lines = vec![
        (Tone::Strong, "answer", answer),
        (Tone::Strong, "base", describe_side(&versus.base)),
        (Tone::Strong, "new", describe_side(&versus.new)),
    ];
    let explained = versus.explanations.iter().filter_map(Explanation::sentence);
    lines.splice(1..1, explained.map(|sentence| (Tone::Strong, "why", sentence)));
    let one_run = versus.base.run == versus.new.run;
    let sides = [("base", &versus.base), ("new", &versus.new)];
    let sides = &sides[..if one_run { 1 } else { 2 }];
    for (word, side) in sides.iter().filter(|(_, side)| !side.invalid.is_empty()) {
        let text = format!(
            "the figures of {} are void: {}; `kvdyno show {}` gives the reason",
            if one_run { "this run".to_owned() } else { word.to_uppercase() },
            side.invalid.join(", "),
            side.run
        );
        lines.push((Tone::Bad, "INVALID", text));
    }
    let differences = versus.differences.iter();
    lines
        .extend(differences.map(|difference| (Tone::Warning, "differs", difference.description())));
    escape_lines(lines)
}

/// The table: a line for each figure.
pub fn table(versus: &Versus) -> Table {
    let words = Words::from_versus(versus);
    let columns = [
        ("case", Column::Left),
        ("of", Column::Left),
        ("figure", Column::Left),
        (&words.base, Column::Right),
        (&words.new, Column::Right),
        ("ratio", Column::Right),
        ("interval", Column::Right),
        ("verdict", Column::Left),
    ];
    let columns = columns.map(|(title, side)| (escape_line(title).into_owned(), side));
    let mut table = Table::new(columns);
    for pair in &versus.pairs {
        for row in &pair.rows {
            let mut verdict = verdict(&mut table, row, &words);
            if let Some(why) = row.reason.as_deref().filter(|why| why.contains(OTHER_CALLS)) {
                verdict += &format!(" {}", table.footnotes.mark(why));
            }
            let interval = interval(row, &mut table);
            table.row(&[
                pair.name.clone(),
                row.scope.clone(),
                row.figure.to_owned(),
                sample(row, &row.base),
                sample(row, &row.new),
                row.ratio.map_or_else(|| "-".to_owned(), ratio),
                interval,
                verdict,
            ]);
        }
    }
    table
}

/// `1.02 .. 1.31`.
fn interval(row: &Row, table: &mut Table) -> String {
    match (row.ratio_low, row.ratio_high) {
        (Some(low), Some(high)) if high / low > INTERVAL_MAX => {
            format!("- {}", table.footnotes.mark(TOO_WIDE))
        }
        (Some(low), Some(high)) => format!("{} .. {}", ratio(low), ratio(high)),
        _ => "-".to_owned(),
    }
}

/// How to read the table.
pub fn reading_aid(versus: &Versus) -> String {
    let Words { improved, regressed, .. } = Words::from_versus(versus);
    let (repeats, ratios) = match versus.base.label {
        Some(_) => ("trials", "the ratios of pairs of trials"),
        None => ("runs", "runs over runs"),
    };
    let rows = || versus.pairs.iter().flat_map(|pair| &pair.rows);
    let is_count = |row: &&Row| least_difference(row.figure) == COUNTED_BIAS;
    let is_judged = |row: &&Row| row.primary && row.verdict != Verdict::NotComparable;
    let (counts, rates): (Vec<&Row>, Vec<&Row>) = rows().filter(is_judged).partition(is_count);
    let judged = if rates.is_empty() && !counts.is_empty() { "count" } else { "rate" };
    let least = if judged == "count" { COUNTED_BIAS } else { BIAS };
    let within = rows().filter(|row| judged == "rate" || is_count(row)).map(|row| row.within);
    let [within, least] = [within.fold(0.0, f64::max), least].map(units::percent);
    AID.replace("{words}", &format!("{improved} or {regressed}"))
        .replace("{repeats}", repeats)
        .replace("{ratios}", ratios)
        .replace("{judged}", judged)
        .replace("{within}", &within)
        .replace("{least}", &least)
}

/// The lines below the table: the result, what was left out, the gate.
pub fn footer(versus: &Versus) -> Vec<Line> {
    let mut lines = vec![total(versus)];
    if versus.counts.judged > 0 {
        lines.push((Tone::Strong, "chance", chance(versus)));
    }
    if versus.counts.too_few > 0 {
        lines.push((Tone::Warning, "too few", explain_too_few(versus)));
    }
    for case in versus.unpaired.iter().take(LISTED_MAX) {
        lines.push((Tone::Warning, "left out", format!("{}: {}", case.name, case.reason)));
    }
    if versus.unpaired.len() > LISTED_MAX {
        let more = versus.unpaired.len() - LISTED_MAX;
        lines.push((Tone::Warning, "left out", format!("and {more} more cases")));
    }
    let words = Words::gate(versus);
    lines.extend(versus.gate.as_ref().map(|result| gate(result, &words)).unwrap_or_default());
    escape_lines(lines)
}

fn total(versus: &Versus) -> Line {
    let counts = &versus.counts;
    let side_words = Words::from_versus(versus);
    let mut words = vec![
        format_outcome(counts.improved, &side_words.improved),
        format_outcome(counts.regressed, &side_words.regressed),
        format!("{} undecided", counts.undecided),
    ];
    let more = [
        (counts.equal, "equal"),
        (counts.changed, "changed"),
        (counts.too_few, "with too few repeats"),
        (counts.not_comparable, "not comparable"),
        (counts.described, "without a verdict"),
    ];
    words.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
    let tone = match (counts.regressed, counts.improved) {
        _ if versus.base.label.is_some() => Tone::Strong,
        (1.., _) => Tone::Bad,
        (0, 1..) => Tone::Good,
        (0, 0) => Tone::Strong,
    };
    (tone, "result", words.join(", "))
}

/// `3 improved`; `LMDB better in 3`.
fn format_outcome(n: usize, word: &str) -> String {
    if word.contains(' ') { format!("{word} in {n}") } else { format!("{n} {word}") }
}

fn chance(versus: &Versus) -> String {
    format!(
        "{} figures were judged, each at 99 %: if nothing differed, chance alone would call {} of \
         them different; up to six times as many where --budget added trials",
        versus.counts.judged,
        expected_alarms(versus.false_alarms_expected)
    )
}

/// An expected number of false alarms, which is never zero.
pub(crate) fn expected_alarms(expected: f64) -> String {
    if expected < 0.1 { "under 0.1".to_owned() } else { format!("about {expected:.1}") }
}

/// What is missing for a verdict, and the remedy.
fn explain_too_few(versus: &Versus) -> String {
    let figures = versus.counts.too_few;
    if versus.base.label.is_some() {
        return format!(
            "{figures} figures have fewer than {LEAST} pairs of trials: `kvdyno resume {} --budget \
             10m` adds trials",
            versus.base.run
        );
    }
    let [base, new] = [&versus.base.run, &versus.new.run];
    format!(
        "{figures} figures: how much runs of one build differ is not known from below {LEAST} \
         runs of both sides together. `kvdyno compare {base},MORE {new},MORE` takes further runs \
         of each side; both in one run (`kvdyno versus` for builds, `kvdyno drive DIR DIR` for \
         drives) need none"
    )
}

/// Returns the lines on a gate's result, with the words for passed, failed and not judged.
pub(crate) fn gate(gate: &Gate, [passed, failed, whether]: &[String; 3]) -> Vec<Line> {
    let allowed = units::percent(gate.allowed);
    let (tone, text) = match gate.result {
        GateResult::Passed => (Tone::Good, format!("passed: {passed} {allowed}")),
        GateResult::Undecided => {
            let text = format!("UNDECIDED {whether} {allowed} (more trials would decide)");
            (Tone::Warning, text)
        }
        GateResult::Failed => {
            let figures = join_first(&gate.regressed);
            (Tone::Bad, format!("FAILED: {failed} {allowed}: {figures}"))
        }
        GateResult::CannotJudge => {
            let cases = join_first(&format_unjudged(&gate.not_judged));
            (Tone::Bad, format!("CANNOT JUDGE {whether} {allowed}: {cases}"))
        }
    };
    let mut lines = vec![(tone, "gate", text)];
    if gate.result == GateResult::Failed && !gate.not_judged.is_empty() {
        lines.push((
            Tone::Warning,
            "gate",
            format!("not judged: {}", join_first(&format_unjudged(&gate.not_judged))),
        ));
    }
    if !gate.may_hide.is_empty() {
        let hidden = join_first(&gate.may_hide);
        let text = format!("may be worse by more than that: {hidden}");
        lines.push((Tone::Warning, "gate", text));
    }
    lines
}

/// What was not judged, case by case: figures of a case mostly share their reason.
fn format_unjudged(list: &[NotJudged]) -> Vec<String> {
    let equal = list.chunk_by(|a, b| (&a.case, &a.reason) == (&b.case, &b.reason));
    let words = |equal: &[NotJudged]| {
        let NotJudged { case, reason: why, figure } = &equal[0];
        match figure {
            Some(figure) if equal.len() == 1 => format!("{case}, {figure}: {why}"),
            Some(_) => format!("{case}, {} figures: {why}", equal.len()),
            None => format!("{case}: {why}"),
        }
    };
    equal.map(words).collect()
}

/// The first of a list, and how many more.
pub(crate) fn join_first(list: &[String]) -> String {
    let shown: Vec<&str> = list.iter().take(LISTED_MAX).map(String::as_str).collect();
    let more = list.len().saturating_sub(LISTED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}

fn describe_side(side: &Side) -> String {
    let label = side.label.as_ref().map(|label| format!("{label} in ")).unwrap_or_default();
    let plural = if side.trials == 1 { "" } else { "s" };
    let further = match side.further_runs.len() {
        0 => String::new(),
        1 => " and 1 further run".to_owned(),
        n => format!(" and {n} further runs"),
    };
    format!(
        "{label}{}{further}, {}, {} trial{plural}, {}, kvdyno {}",
        side.run,
        moment(side.started_unix_ns),
        side.trials,
        side.host,
        side.program
    )
}

fn verdict(table: &mut Table, row: &Row, words: &Words) -> String {
    match row.verdict {
        Verdict::Improved => words.improved.clone(),
        Verdict::Regressed => words.regressed.clone(),
        Verdict::Changed => "changed".to_owned(),
        Verdict::Equal => "equal".to_owned(),
        Verdict::Undecided => "undecided".to_owned(),
        Verdict::TooFew => "too few".to_owned(),
        Verdict::Described => "-".to_owned(),
        Verdict::NotComparable => {
            let why = row.reason.as_deref().unwrap_or("for an unknown reason");
            format!("not comparable {}", table.footnotes.mark(why))
        }
    }
}

/// The median; where nothing can be claimed, the range.
fn sample(row: &Row, sample: &Sample) -> String {
    let number = |value| figure(row.unit, value);
    match (row.verdict, sample.min, sample.max) {
        (Verdict::TooFew, Some(min), Some(max)) if sample.n > 1 => {
            format!("{} .. {}", number(min), number(max))
        }
        _ => sample.value.map_or_else(|| "-".to_owned(), number),
    }
}

fn ratio(ratio: f64) -> String {
    if ratio < 10.0 { format_ratio(ratio, 3) } else { format!("{ratio:.1}") }
}

/// A figure in its unit.
pub fn figure(unit: &str, value: f64) -> String {
    match unit {
        "1/s" => format_count(value.max(0.0)),
        "ns" => units::duration(value.max(0.0) as u64),
        "B" => units::bytes(value.max(0.0) as u64),
        "%" => format!("{} %", units::si(value)),
        _ => units::si(value),
    }
}

/// Escapes lines: names in a record may be anybody's, and nothing of them but letters reaches the
/// terminal.
pub(crate) fn escape_lines(lines: Vec<Line>) -> Vec<Line> {
    let clean = |(tone, word, text): Line| (tone, word, escape_line(&text).into_owned());
    lines.into_iter().map(clean).collect()
}

#[cfg(test)]
mod tests;
