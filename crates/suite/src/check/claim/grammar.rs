//! The grammar of a claim: `CELL / CELL in 1.15..1.35`.
//!
//! Spaces separate words, so `/` and `#` inside of a cell are not operators. A cell is
//! `[PART:]PHASE[-wN][.ROLE[.OP]].ENGINE[@VOLUME][%TIER][#THREADS][/RAM][*RECORDS].FIGURE`.

use kvdyno_record::claim::{Bound, Cell, Relation, Side, Test, Threads};
use kvdyno_record::units;
use std::iter::Peekable;
use std::str::SplitWhitespace;

/// The form of a claim, for help.
pub(super) const HELP: &str = "\
CELL, CELL / CELL or CELL - CELL; then `in LOW..HIGH`, `> BOUND` or `< BOUND`, where a bound is a \
number or cells again; CELL is \
[PART:]PHASE[-wN][.ROLE[.OP]].ENGINE[@VOLUME][%TIER][#THREADS][/RAM][*RECORDS].FIGURE";

/// The marks in a cell after its engine.
const MARKS: [char; 5] = ['@', '%', '#', '/', '*'];

const A_CELL: &str = "a cell such as load.lmdb.wall_ns or measure.readers.lmdb@ext4#8.ops_per_s";

/// The unexpected word (empty: the end), and what was expected.
pub(super) struct ParseError {
    pub(super) word: String,
    pub(super) expected: &'static str,
}

impl ParseError {
    fn new(word: Option<&str>, expected: &'static str) -> Self {
        Self { word: word.unwrap_or_default().to_owned(), expected }
    }
}

type Words<'t> = Peekable<SplitWhitespace<'t>>;

/// Parses the relation. In each cell, the path before the engine is not yet split off.
pub(super) fn read(text: &str) -> Result<Relation, ParseError> {
    let mut words = text.split_whitespace().peekable();
    let first = parse_side(&mut words)?;
    let test = match words.next() {
        Some("in") => parse_range(words.next())?,
        Some(">") => Test::Above(parse_bound(&mut words)?),
        Some("<") => Test::Below(parse_bound(&mut words)?),
        other => return Err(ParseError::new(other, "`in LOW..HIGH`, `>` or `<`")),
    };
    match words.next() {
        None => Ok(Relation { left: first, test }),
        more => Err(ParseError::new(more, "nothing more")),
    }
}

/// Returns the cells of a relation for changes.
pub(super) fn cells_mut(relation: &mut Relation) -> Vec<&mut Cell> {
    fn cells_mut(side: &mut Side) -> Vec<&mut Cell> {
        match side {
            Side::Figure(cell) => vec![cell],
            Side::Ratio(one, other) | Side::Difference(one, other) => vec![one, other],
        }
    }
    let right = match &mut relation.test {
        Test::Above(Bound::Side(side)) | Test::Below(Bound::Side(side)) => cells_mut(side),
        _ => Vec::new(),
    };
    cells_mut(&mut relation.left).into_iter().chain(right).collect()
}

fn parse_side(words: &mut Words<'_>) -> Result<Side, ParseError> {
    let first = parse_cell(words.next())?;
    match words.peek() {
        Some(&"/") => {
            words.next();
            Ok(Side::Ratio(first, parse_cell(words.next())?))
        }
        Some(&"-") => {
            words.next();
            Ok(Side::Difference(first, parse_cell(words.next())?))
        }
        _ => Ok(Side::Figure(first)),
    }
}

fn parse_bound(words: &mut Words<'_>) -> Result<Bound, ParseError> {
    match words.peek().and_then(|word| parse_number(word)) {
        Some(number) => {
            words.next();
            Ok(Bound::Number(number))
        }
        // A word without letters was meant as a number.
        None if words.peek().is_none_or(|word| !word.contains(char::is_alphabetic)) => {
            Err(ParseError::new(words.next(), "a number such as 1.5, 400k, 10us or 2h, or cells"))
        }
        None => parse_side(words).map(Bound::Side),
    }
}

fn parse_range(word: Option<&str>) -> Result<Test, ParseError> {
    let ends = word.and_then(|word| word.split_once(".."));
    let ends = ends.and_then(|(low, high)| Some((parse_number(low)?, parse_number(high)?)));
    match ends.filter(|(low, high)| low < high) {
        Some((low, high)) => Ok(Test::Within { low, high }),
        None => Err(ParseError::new(word, "LOW..HIGH, such as 1.15..1.35")),
    }
}

/// Parses a bound in the figure's own unit; a count, a time or a size may have a unit.
fn parse_number(text: &str) -> Option<f64> {
    let plain = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let count = || units::parse_count(text).ok().map(|count| count as f64);
    let time = || units::parse_duration(text).ok().map(|ns| ns as f64);
    let bytes = || units::parse_bytes(text).ok().map(|bytes| bytes as f64);
    let starts = text.starts_with(|c: char| c.is_ascii_digit());
    plain.or_else(|| starts.then(|| count().or_else(time).or_else(bytes)).flatten())
}

fn parse_cell(word: Option<&str>) -> Result<Cell, ParseError> {
    let text = word.ok_or_else(|| ParseError::new(None, A_CELL))?;
    let unread = || ParseError::new(word, A_CELL);
    let (part, rest) = match text.split_once(':') {
        Some((part, rest)) => (Some(part.to_owned()), rest),
        None => (None, text),
    };
    let (rest, figure) = rest.rsplit_once('.').ok_or_else(unread)?;
    let (phase, rest) = rest.split_once('.').ok_or_else(unread)?;
    let end = rest.find(MARKS).unwrap_or(rest.len());
    let (path, mut marks) = rest.split_at(end);
    if [phase, path, figure].iter().any(|name| name.is_empty()) || part.as_deref() == Some("") {
        return Err(unread());
    }
    let mut cell = Cell {
        part,
        phase: phase.to_owned(),
        engine: path.to_owned(),
        figure: figure.to_owned(),
        ..Cell::default()
    };
    while let Some(mark) = marks.chars().next() {
        let rest = &marks[mark.len_utf8()..];
        let end = rest.find(MARKS).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        marks = after;
        match mark {
            '@' => cell.volume = Some(non_empty_name(name).ok_or_else(unread)?),
            '%' => cell.tier = Some(non_empty_name(name).ok_or_else(unread)?),
            '#' => cell.threads = Some(parse_threads(name).ok_or_else(unread)?),
            '/' => cell.ram_bytes = Some(units::parse_bytes(name).map_err(|_| unread())?),
            _ => cell.records = Some(units::parse_count(name).map_err(|_| unread())?),
        }
    }
    Ok(cell)
}

fn non_empty_name(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.to_owned())
}

/// Parses a number of threads: `8`, `1..8` or `max`.
fn parse_threads(text: &str) -> Option<Threads> {
    match text.split_once("..") {
        None if text == "max" => Some(Threads::Most),
        None => text.parse().ok().map(Threads::Exactly),
        Some((low, high)) => {
            let (low, high) = (low.parse().ok()?, high.parse().ok()?);
            (low < high).then_some(Threads::Between(low, high))
        }
    }
}
