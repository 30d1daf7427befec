//! A target as typed: `p99 < 1ms and reads > 50k/s`. [`Target::check`] then checks it against a
//! measured phase.

use kvdyno_record::operations::OpInfo;
use kvdyno_record::units;
use kvdyno_record::workload::{Mix, Role, reads};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;
use std::ops::Range;

/// A target: all of its clauses must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The text as the user typed it, without surrounding space.
    pub text: String,
    /// The clauses; at least one.
    pub clauses: Vec<Clause>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// The figure without its bound: `p99`, `readers.max`.
    pub about: String,
    /// The role; none: every role.
    pub role: Option<String>,
    /// The operation; none: every one.
    pub op: Option<&'static str>,
    /// The figure that must keep the bound.
    pub figure: Quantity,
    /// Whether the bound itself is allowed: `<=`, `>=`.
    pub inclusive: bool,
    /// The bound, in the figure's unit.
    pub bound: f64,
    /// Its position in the target.
    span: Range<usize>,
}

/// The figures of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A percentile of the latency in thousandths of a percent: 99900 is p99.9. Response times of
    /// an open loop, service times of a closed one.
    Percentile(u32),
    /// The mean of the same times.
    Mean,
    /// The longest of the same times.
    Longest,
    /// Keys and records read per second, by operations that only read.
    Reads,
    /// Records written per second.
    Writes,
    /// Operations per second.
    Operations,
    /// The share of the operations of all roles for which the drive was not read: one less its
    /// reads for each operation.
    Hits,
}

impl Quantity {
    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Percentile(_) | Self::Mean | Self::Longest => Unit::Time,
            Self::Reads | Self::Writes | Self::Operations => Unit::Rate,
            Self::Hits => Unit::Share,
        }
    }
}

/// The unit of a condition's values and bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds: the figure stays below its bound.
    Time,
    /// A number per second: the figure stays above its bound.
    Rate,
    /// 0 to 1: the figure stays above its bound.
    Share,
}

impl Unit {
    /// On which side of its bound a figure must stay: `<` or `>`.
    pub fn sign(self) -> char {
        match self {
            Self::Time => '<',
            Self::Rate | Self::Share => '>',
        }
    }

    /// A value in words.
    pub fn format_value(self, value: f64) -> String {
        match self {
            Self::Time => units::duration(value as u64),
            Self::Rate => units::rate(value),
            // Three digits would not tell 99.95 % from all.
            Self::Share => format!("{:.2} %", 100.0 * value),
        }
    }

    /// Whether a value meets a bound.
    pub(super) fn meets_bound(self, inclusive: bool, bound: f64, value: f64) -> bool {
        match (self.sign(), inclusive) {
            ('<', false) => value < bound,
            ('<', true) => value <= bound,
            (_, false) => value > bound,
            (_, true) => value >= bound,
        }
    }
}

/// A target that is invalid, or does not apply to the phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetError {
    text: String,
    /// The part that is wrong, in bytes.
    span: Range<usize>,
    /// The problem.
    problem: String,
    /// The remedy.
    pub hint: String,
}

impl std::error::Error for TargetError {}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text[..self.span.start].chars().count();
        let wide = self.text[self.span.clone()].chars().count().max(1);
        let (space, caret) = (" ".repeat(before), "^".repeat(wide));
        write!(f, "{}\n  {}\n  {space}{caret}", self.problem, self.text)
    }
}

const EXAMPLE: &str = "as in `p99 < 1ms and reads > 50k/s`";
const FIGURES: &str = "p50 to p99.999, mean and max stay below a time; reads, writes and ops above \
     a rate; hits above a share, as `hits > 99%`; of one role `readers.p99`, of one operation \
     `get.p99` or `readers.get`";

impl Target {
    /// Reads a target.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let mut clauses = Vec::new();
        for span in clause_spans(text) {
            clauses.push(parse_clause(text, span)?);
        }
        Ok(Self { text: text.trim().to_owned(), clauses })
    }

    /// Checks that a measured phase has the figures of the target.
    pub fn check(&self, mix: &Mix) -> Result<(), TargetError> {
        let is_missing = |clause: &&Clause| !mix.roles.iter().any(|role| clause.concerns(role));
        let Some(clause) = self.clauses.iter().find(is_missing) else { return Ok(()) };
        let has: Vec<String> = mix.roles.iter().map(role_words).collect();
        let problem = format!("`{}`: expected such a figure, the phase has none", clause.about);
        Err(self.clause_error(clause, problem, format!("its roles: {}", has.join("; "))))
    }

    /// Checks that no condition is on the rate of the role whose rate is searched.
    pub fn check_offered(&self, mix: &Mix, role: &str) -> Result<(), TargetError> {
        let offered = mix.roles.iter().find(|other| other.name == role);
        let is_on_rate = |clause: &&Clause| {
            clause.figure.unit() == Unit::Rate && offered.is_some_and(|role| clause.concerns(role))
        };
        let Some(clause) = self.clauses.iter().find(is_on_rate) else { return Ok(()) };
        let problem = format!("`{}` is the searched rate, not a condition", clause.about);
        let hint = format!(
            "leave it out, and search above it: --between {0}..{1}",
            clause.bound as u64,
            (clause.bound as u64).saturating_mul(16)
        );
        Err(self.clause_error(clause, problem, hint))
    }

    fn clause_error(&self, clause: &Clause, problem: String, hint: String) -> TargetError {
        TargetError { text: self.text.clone(), span: clause.span.clone(), problem, hint }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Clause {
    /// Whether a value meets the bound.
    pub fn is_met(&self, value: f64) -> bool {
        self.figure.unit().meets_bound(self.inclusive, self.bound, value)
    }

    /// Whether it applies to a role with some of its operations.
    pub fn concerns(&self, role: &Role) -> bool {
        let matches_role = self.role.as_ref().is_none_or(|name| *name == role.name);
        matches_role && role.mix.iter().any(|entry| self.counts(entry.op.name()))
    }

    /// Whether it applies to an operation.
    pub fn counts(&self, op: &str) -> bool {
        let kind = match self.figure {
            Quantity::Reads => reads(op),
            Quantity::Writes => OpInfo::find_by_name(op).is_some_and(|info| info.writes),
            // A flush is no operation on data; its times count.
            Quantity::Operations => self.op.is_some() || OpInfo::is_summed(op),
            Quantity::Percentile(_) | Quantity::Mean | Quantity::Longest | Quantity::Hits => true,
        };
        kind && self.op.is_none_or(|wanted| wanted == op)
    }
}

fn role_words(role: &Role) -> String {
    let mut ops: Vec<&str> = role.mix.iter().map(|entry| entry.op.name()).collect();
    ops.dedup();
    format!("{} ({})", role.name, ops.join(", "))
}

/// The parts between the words `and`, without the space around them.
fn clause_spans(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let (mut start, mut position) = (0, 0);
    for word in text.split_inclusive(char::is_whitespace) {
        if word.trim().eq_ignore_ascii_case("and") {
            spans.push(trim_span(text, start..position));
            start = position + word.len();
        }
        position += word.len();
    }
    spans.push(trim_span(text, start..text.len()));
    spans
}

fn trim_span(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

fn parse_clause(text: &str, span: Range<usize>) -> Result<Clause, TargetError> {
    let wrong = |span: Range<usize>, problem: String, hint: &str| TargetError {
        // Spans are relative to the trimmed target.
        span: shift_span(text, &span),
        text: text.trim().to_owned(),
        problem,
        hint: hint.to_owned(),
    };
    let part = &text[span.clone()];
    let Some(at) = part.find(['<', '>', '=']) else {
        let problem = if part.is_empty() {
            "expected a condition, found none"
        } else {
            "expected a bound, found none"
        };
        let hint = format!("a figure, `<` or `>`, and a bound: {EXAMPLE}");
        return Err(wrong(span, problem.to_owned(), &hint));
    };
    let sign_length = part[at..].chars().take_while(|c| "<>=".contains(*c)).count();
    let sign_span = span.start + at..span.start + at + sign_length;
    let about_span = trim_span(text, span.start..sign_span.start);
    let bound_span = trim_span(text, sign_span.end..span.end);
    let about = &text[about_span.clone()];
    let Some((role, op, figure)) = parse_figure(about) else {
        return Err(wrong(about_span, format!("unknown figure `{about}`"), FIGURES));
    };
    let (sign, expected) = (&text[sign_span.clone()], figure.unit().sign());
    if !sign.starts_with(expected) || !matches!(&sign[1..], "" | "=") {
        let what = match figure.unit() {
            Unit::Time => "a time stays below",
            Unit::Rate => "a rate stays above",
            Unit::Share => "a share stays above",
        };
        let problem =
            format!("{what} its bound: expected `{expected}` or `{expected}=`, found `{sign}`");
        return Err(wrong(sign_span, problem, EXAMPLE));
    }
    let bound = parse_bound(figure, &text[bound_span.clone()])
        .map_err(|(problem, hint)| wrong(bound_span, problem, hint))?;
    let span = shift_span(text, &span);
    let inclusive = sign.len() > 1;
    Ok(Clause { about: about.to_owned(), role, op, figure, inclusive, bound, span })
}

/// A span of `text`, relative to the trimmed text.
fn shift_span(text: &str, span: &Range<usize>) -> Range<usize> {
    let cut = text.len() - text.trim_start().len();
    let most = text.trim().len();
    let at = |byte: usize| byte.saturating_sub(cut).min(most);
    at(span.start)..at(span.end)
}

fn parse_bound(figure: Quantity, text: &str) -> Result<f64, (String, &'static str)> {
    const TIMES: &str = "add a unit to the time: 800us, 1ms, 1.5ms, 2s";
    const RATES: &str = "give the rate per second: 50k/s, 1.5M/s, 800/s";
    const SHARES: &str = "give a share below the whole: 99%, 0.999";
    let whole = |number: u64| number as f64;
    let (parsed, hint) = match figure.unit() {
        Unit::Time => (units::parse_duration(text).map(whole), TIMES),
        Unit::Rate => {
            let rate = text.strip_suffix("/s").unwrap_or(text).trim_end();
            (units::parse_count(rate).map(whole), RATES)
        }
        Unit::Share => (units::parse_share(text), SHARES),
    };
    match parsed {
        Ok(0.0) => Err(("expected a bound above 0, found 0".to_owned(), hint)),
        Ok(1.0) if figure.unit() == Unit::Share => {
            Err((format!("expected a bound below 1, found {text}"), hint))
        }
        Ok(bound) => Ok(bound),
        Err(error) => Err((error.to_string(), hint)),
    }
}

/// `p99`, `readers.p99.9`, `readers.get.max`, `readers.get`: role, operation and figure.
fn parse_figure(text: &str) -> Option<(Option<String>, Option<&'static str>, Quantity)> {
    let op = |name: &str| OpInfo::find_by_name(name).map(|op| op.name);
    let role = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    // The drive's reads are of all roles together.
    if text == "hits" {
        return Some((None, None, Quantity::Hits));
    }
    if let Some(figure) = plain_figure(text) {
        return Some((None, None, figure));
    }
    if let Some(op) = op(text) {
        return Some((None, Some(op), Quantity::Operations));
    }
    let (first, rest) = text.split_once('.')?;
    match (plain_figure(rest), op(first), op(rest)) {
        (Some(figure), Some(op), _) => return Some((None, Some(op), figure)),
        (Some(figure), None, _) => return Some((Some(role(first)?), None, figure)),
        (None, _, Some(op)) => return Some((Some(role(first)?), Some(op), Quantity::Operations)),
        (None, _, None) => {}
    }
    let (second, rest) = rest.split_once('.')?;
    Some((Some(role(first)?), Some(op(second)?), plain_figure(rest)?))
}

fn plain_figure(word: &str) -> Option<Quantity> {
    match word {
        "mean" => Some(Quantity::Mean),
        "max" => Some(Quantity::Longest),
        "reads" => Some(Quantity::Reads),
        "writes" => Some(Quantity::Writes),
        "ops" => Some(Quantity::Operations),
        _ => {
            let (whole, part) = word.strip_prefix('p')?.split_once('.').unwrap_or((&word[1..], ""));
            let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
            if whole.len() != 2 || part.len() > 3 || !digits(whole) || !digits(part) {
                return None;
            }
            let dangling = word.ends_with('.');
            let thousandths = format!("{whole}{part:0<3}").parse().ok()?;
            (!dangling && thousandths >= 50_000).then_some(Quantity::Percentile(thousandths))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::{Choice, Ends, ExpectedHits, MixEntry, Op};

    #[test]
    fn all_forms_of_a_target_are_parsed() {
        let text = " p99 < 1ms and reads > 50k/s AND readers.p99.9<=5ms and get.mean < 20us and \
                    readers.get >= 1.5M/s and readers.scan.max < 1s and ops > 10 and p95 < 2 ms \
                    and hits > 99.9%";
        let target = Target::parse(text).unwrap();
        let clauses: Vec<_> = target
            .clauses
            .iter()
            .map(|c| (c.role.as_deref(), c.op, c.figure, c.inclusive, c.bound))
            .collect();
        let readers = Some("readers");
        assert_eq!(
            clauses,
            [
                (None, None, Quantity::Percentile(99_000), false, 1e6),
                (None, None, Quantity::Reads, false, 50_000.0),
                (readers, None, Quantity::Percentile(99_900), true, 5e6),
                (None, Some("get"), Quantity::Mean, false, 20_000.0),
                (readers, Some("get"), Quantity::Operations, true, 1.5e6),
                (readers, Some("scan"), Quantity::Longest, false, 1e9),
                (None, None, Quantity::Operations, false, 10.0),
                (None, None, Quantity::Percentile(95_000), false, 2e6),
                (None, None, Quantity::Hits, false, 0.999),
            ]
        );
        assert!(target.clauses[0].is_met(999_999.0) && !target.clauses[0].is_met(1e6));
        assert!(target.clauses[2].is_met(5e6) && !target.clauses[2].is_met(5e6 + 1.0));
        assert!(target.clauses[1].is_met(50_001.0) && !target.clauses[1].is_met(50_000.0));
        assert_eq!(target.clauses[2].about, "readers.p99.9");
        assert_eq!(target.to_string(), text.trim());
    }

    #[test]
    fn mistakes_are_shown_with_their_position_and_the_remedy() {
        let mut all = String::new();
        for text in [
            "p99",
            "p99 < 1ms and",
            "  p99 < 1ms and p9 < 2ms",
            "p99 > 1ms",
            "reads < 50k/s",
            "p99 == 1ms",
            "reads > fast",
            "p99 < 1",
            "p99 < 0ms",
            "max < 1s and readers.put > 5/s",
            "µ < 1ms",
            "p99. < 1ms",
            "hits < 99%",
            "hits > 100%",
            "readers.hits > 99%",
            "",
        ] {
            let error = Target::parse(text).unwrap_err();
            all += &format!("{error}\n  {}\n\n", error.hint);
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn a_target_is_checked_against_the_phase() {
        let role = |name: &str, op: Op| Role {
            name: name.to_owned(),
            threads: 1,
            mix: vec![MixEntry::new(op, 1.0, Choice::Uniform)],
            rate: None,
            depth: None,
            think_ns: None,
            os_threads: None,
            flush_every: None,
            pilot: None,
            expected_hits: ExpectedHits::All,
            replay: None,
        };
        let ends = Ends::after_ns(1);
        let roles = vec![role("readers", Op::Get), role("writer", Op::Update)];
        let mix = Mix { roles, ends };
        let check = |text: &str| Target::parse(text).unwrap().check(&mix);
        check("p99 < 1ms and reads > 1/s and writes > 1/s and writer.update > 1/s").unwrap();
        check("hits > 99%").unwrap();
        let error = check("p99 < 1ms and reader.p99 < 1ms").unwrap_err();
        assert_eq!(
            error.to_string(),
            "`reader.p99`: expected such a figure, the phase has none\n  \
             p99 < 1ms and reader.p99 < 1ms\n                \
             ^^^^^^^^^^^^^^^^"
        );
        assert_eq!(error.hint, "its roles: readers (get); writer (update)");
        assert!(check("readers.writes > 1/s").is_err());
        let offered = |text: &str| Target::parse(text).unwrap().check_offered(&mix, "readers");
        offered("p99 < 1ms and writes > 1k/s and writer.ops > 5/s and hits > 9%").unwrap();
        let error = offered("p99 < 1ms and reads > 5k/s").unwrap_err();
        assert!(error.to_string().ends_with("              ^^^^^^^^^^^^"), "{error}");
        assert!(error.hint.contains("--between 5000..80000"), "{}", error.hint);
        assert!(offered("ops > 5k/s").is_err() && offered("readers.get > 5k/s").is_err());
        assert!(check("scan.p99 < 1ms").is_err());
    }
}
