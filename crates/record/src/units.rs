//! Numbers as people write and read them: counts, bytes, times, shares.
//!
//! Written: `80M` (a count: powers of 1000), `64GiB` (bytes: powers of 1024), `64GB` (powers of
//! 1000), `1h30m`, `50%`, `1/1000`. Read: three significant digits and a unit. Parsing is exact:
//! no number passes through floating point on its way to a `u64`.
//! Results are `u64` (nanoseconds for times), as in plans and records. Tables that need more
//! digits, or a fixed unit in a column, format for themselves.

mod decimal;

use decimal::Decimal;
use std::fmt;

/// A text that is not the number it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` {problem}; expected {expected}")]
pub struct UnitError {
    /// The text.
    pub text: String,
    /// The mistake: "is not a count".
    pub problem: String,
    /// The expected form, with an example.
    pub expected: &'static str,
}

impl UnitError {
    fn new(text: &str, problem: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), problem: problem.to_owned(), expected }
    }
}

/// What a count looks like.
pub const A_COUNT: &str = "a count such as 1000, 80M or 1e9 (k, M, G, T: powers of 1000)";
/// What a rate of operations looks like.
pub const A_RATE: &str = "a rate such as 0.5, 1000 or 50k/s (k, M, G, T: powers of 1000)";
/// What bytes look like.
pub const BYTES: &str =
    "bytes such as 4000, 64GiB (1024 x 1024 x 1024) or 64GB (1000 x 1000 x 1000)";
/// What a size looks like: memory, data, a file.
pub const A_SIZE: &str =
    "a size with its unit, such as 512MiB (1024 x 1024 bytes), 512MB (1000 x 1000) or 512B";
/// What a time looks like.
pub const A_TIME: &str = "a time with its unit, such as 60s, 500ms, 2us or 1h30m";
/// What a share looks like.
pub const A_SHARE: &str = "a share between 0 and 1, such as 0.5, 50% or 1/2";
/// What a ratio looks like.
pub const A_RATIO: &str = "a ratio above 0, such as 1/1000, 0.001 or 10%";

const COUNT_UNITS: [(&str, u64); 7] = [
    ("", 1),
    ("K", 1_000),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("P", 1_000_000_000_000_000),
];

const BYTE_UNITS: [(&str, u64); 13] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("PB", 1_000_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("PiB", 1 << 50),
];

const TIME_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Parses a count: `80M`, `1e9`, `80_000_000`.
pub fn parse_count(text: &str) -> Result<u64, UnitError> {
    let mistake = |problem: &str| UnitError::new(text, problem, A_COUNT);
    let (number, unit) = number_and_unit(text).ok_or_else(|| mistake("is not a count"))?;
    let factor = factor(&COUNT_UNITS, unit).ok_or_else(|| mistake("is not a count"))?;
    if !number.is_whole_times(factor) {
        return Err(mistake("is not a whole number"));
    }
    number.times(factor).ok_or_else(|| mistake("is more than 64 bits hold"))
}

/// Parses a rate: `0.5`, `50k`, `50k/s`.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let bare = text.trim().strip_suffix('s').and_then(|bare| bare.trim_end().strip_suffix('/'));
    let bare = bare.unwrap_or(text).trim();
    let scaled = |unit: &&(&str, u64)| !unit.0.is_empty() && bare.ends_with(unit.0);
    let (unit, factor) = COUNT_UNITS.iter().find(scaled).copied().unwrap_or(("", 1));
    let number = bare.strip_suffix(unit).unwrap_or(bare).trim_end().replace('_', "");
    let number = number.parse::<f64>().ok().map(|number| number * factor as f64);
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| UnitError::new(text, "is not a rate", A_RATE))
}

/// Parses bytes: `64GiB` in powers of 1024, `64GB` in powers of 1000, plain numbers. A fraction of
/// a unit is rounded to the nearest byte.
pub fn parse_bytes(text: &str) -> Result<u64, UnitError> {
    parse_byte_count(text, BYTES)
}

/// Parses a size, which needs a unit: a bare number is a forgotten unit.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let bare = number_and_unit(text).is_some_and(|(_, unit)| unit.is_empty());
    match parse_byte_count(text, A_SIZE)? {
        1.. if bare => Err(UnitError::new(text, "has no unit", A_SIZE)),
        bytes => Ok(bytes),
    }
}

fn parse_byte_count(text: &str, expected: &'static str) -> Result<u64, UnitError> {
    let mistake = |problem: &str| UnitError::new(text, problem, expected);
    let no_bytes = || mistake("is not a number of bytes");
    let (number, unit) = number_and_unit(text).ok_or_else(no_bytes)?;
    if let "k" | "K" | "m" | "M" | "g" | "G" | "t" | "T" | "p" | "P" = unit {
        let digits = text.trim().trim_end_matches(unit).trim_end();
        let unit = unit.to_uppercase();
        return Err(mistake(&format!(
            "leaves open whether {digits}{unit}iB (powers of 1024) or {digits}{unit}B (powers of \
             1000) is meant"
        )));
    }
    let factor = factor(&BYTE_UNITS, unit).ok_or_else(no_bytes)?;
    if factor == 1 && !number.is_whole_times(1) {
        return Err(mistake("is not a whole number"));
    }
    number.times(factor).ok_or_else(|| mistake("is more than 64 bits hold"))
}

/// Parses a time, and returns nanoseconds: `60s`, `500ms`, `1h30m`. The unit is never left out.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    let mistake = |problem: &str| UnitError::new(text, problem, A_TIME);
    let too_long = || mistake("is more than 584 years");
    let mut rest = text.trim();
    let mut sum = 0_u64;
    if rest.is_empty() {
        return Err(mistake("is empty"));
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let number = Decimal::parse(number).ok_or_else(|| mistake("is not a time"))?;
        let tail = tail.trim_start();
        let letters = tail.find(|c: char| !c.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(letters);
        if unit.is_empty() {
            return Err(mistake("has no unit"));
        }
        let factor = factor(&TIME_UNITS, unit).ok_or_else(|| mistake("is not a time"))?;
        let part = number.times(factor).ok_or_else(too_long)?;
        sum = sum.checked_add(part).ok_or_else(too_long)?;
        rest = tail.trim_start();
    }
    Ok(sum)
}

/// Parses a share of a whole, 0 to 1: `50%`, `0.5`, `1/2`.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let mistake = |problem: &str| UnitError::new(text, problem, A_SHARE);
    let share = ratio(text).ok_or_else(|| mistake("is not a share"))?.as_f64();
    if share <= 1.0 { Ok(share) } else { Err(mistake("is more than the whole")) }
}

/// Parses a ratio above 0: `1/1000`, `0.001`, `10%`, `2`.
pub fn parse_ratio(text: &str) -> Result<Ratio, UnitError> {
    let mistake = |problem: &str| UnitError::new(text, problem, A_RATIO);
    match ratio(text) {
        Some(Ratio { numerator: 0, .. }) => Err(mistake("is zero")),
        Some(ratio) => Ok(ratio),
        None => Err(mistake("is not a ratio")),
    }
}

/// An exact ratio of whole numbers, for scaling counts without rounding errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    /// Above the line.
    pub numerator: u64,
    /// Below the line; never 0.
    pub denominator: u64,
}

impl Ratio {
    /// The ratio that changes nothing.
    pub const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// `number` times the ratio, rounded down; null past 64 bits.
    pub fn multiply(self, number: u64) -> Option<u64> {
        let product = u128::from(number) * u128::from(self.numerator);
        u64::try_from(product / u128::from(self.denominator)).ok()
    }

    /// As a number.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl std::str::FromStr for Ratio {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse_ratio(text)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

fn ratio(text: &str) -> Option<Ratio> {
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (parse_count(above.trim()).ok()?, parse_count(below.trim()).ok()?);
        return (below > 0).then_some(Ratio { numerator: above, denominator: below });
    }
    let (number, percent) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), 100),
        None => (text.trim(), 1),
    };
    Decimal::parse(number)?.divide(percent)
}

/// The leading number and what follows it: `64 GiB` is 64 and `GiB`.
fn number_and_unit(text: &str) -> Option<(Decimal, &str)> {
    let text = text.trim();
    let digit_after = |end: usize| {
        let next = text[end..].chars().nth(1).filter(|c| matches!(c, '+' | '-' | '0'..='9'));
        next.is_some()
    };
    let end = text
        .char_indices()
        .find(|&(position, c)| match c {
            '0'..='9' | '.' | '_' => false,
            'e' | 'E' => !digit_after(position),
            '+' | '-' => !text[..position].ends_with(['e', 'E']),
            _ => true,
        })
        .map_or(text.len(), |(position, _)| position);
    let (number, unit) = text.split_at(end);
    Some((Decimal::parse(number)?, unit.trim_start()))
}

fn factor(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor)
}

/// A count to read at a glance: `950`, `12.3 k`, `80.0 M`.
pub fn count(number: u64) -> String {
    si(number as f64)
}

/// A count in full: `80,000,000`.
pub fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.char_indices() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `2 cases`.
pub fn pluralize(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Any number in powers of 1000: `1.23 M`; whole numbers below 1000 as they are.
pub fn si(number: f64) -> String {
    let (text, unit) = scale_to_unit(number, 1000.0, &["", "k", "M", "G", "T", "P", "E"]);
    if unit.is_empty() { text } else { format!("{text} {unit}") }
}

/// Bytes in powers of 1024: `1.50 GiB`.
pub fn bytes(number: u64) -> String {
    let (text, unit) =
        scale_to_unit(number as f64, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
    format!("{text} {unit}")
}

/// Bytes without loss, in the form of suites: `64GiB`, `300000`.
pub fn exact_bytes(number: u64) -> String {
    exact(number, &BYTE_UNITS[8..])
}

/// Bytes of a setting for people: without loss where that is short, as `64 MiB`; else as
/// [`bytes`], which rounds.
pub fn bytes_in_words(number: u64) -> String {
    let text = exact_bytes(number);
    match text.find(|c: char| !c.is_ascii_digit()) {
        Some(unit @ 1..=4) => format!("{} {}", &text[..unit], &text[unit..]),
        _ => bytes(number),
    }
}

/// A count without loss, in the form of suites: `80M`, `1234`.
pub fn exact_count(number: u64) -> String {
    exact(number, &COUNT_UNITS[2..])
}

fn exact(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |factor: u64| number >= factor && number.is_multiple_of(factor);
    match units.iter().rev().find(|(_, factor)| fits(*factor)) {
        Some((name, factor)) => format!("{}{name}", number / factor),
        None => number.to_string(),
    }
}

/// A number each second: `1.23 M/s`.
pub fn rate(per_s: f64) -> String {
    format!("{}/s", si(per_s))
}

/// Bytes each second: `350 MiB/s`.
pub fn byte_rate(bytes_per_s: f64) -> String {
    format!("{}/s", bytes(bytes_per_s.max(0.0) as u64))
}

/// A share as a percentage: `12.5 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", three_digits(share * 100.0))
}

/// A time: `850 ns`, `12.3 us`, `4.56 ms`, `5.00 s`, `1m40s`, `2h13m`, `3d4h`.
pub fn duration(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    let pair = |large: u64, unit: &str, small: u64, rest: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{rest}"),
    };
    // From here on seconds would be shown as 60.0.
    if ns < 59_950_000_000 {
        let (text, unit) = scale_to_unit(ns as f64, 1000.0, &["ns", "us", "ms", "s"]);
        return format!("{text} {unit}");
    }
    let seconds = (ns + SECOND / 2) / SECOND;
    match seconds {
        0..3600 => pair(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => pair(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => pair(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// The number in the largest unit that leaves it at 1 or more, to three significant digits.
fn scale_to_unit<'u>(number: f64, base: f64, units: &[&'u str]) -> (String, &'u str) {
    let mut value = number;
    let mut unit = 0;
    while value.abs() >= base - 0.5 && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    let whole = unit == 0 && value.fract() == 0.0;
    let text = if whole { format!("{value:.0}") } else { three_digits(value) };
    (text, units[unit])
}

/// Three significant digits: `1.23`, `12.3`, `123`, `0.012`.
fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 || magnitude == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else if magnitude >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_short_and_exact_where_they_can_be() {
        let words = [64 << 20, 131_068 << 10, 4096, 1000, 0].map(bytes_in_words);
        assert_eq!(words, ["64 MiB", "128 MiB", "4 KiB", "1000 B", "0 B"]);
    }

    #[test]
    fn counts_are_powers_of_1000() {
        assert_eq!(parse_count("80M"), Ok(80_000_000));
        assert_eq!(parse_count("1e9"), Ok(1_000_000_000));
        assert_eq!(parse_count("1.5 k"), Ok(1500));
        assert_eq!(parse_count("80_000_000"), Ok(80_000_000));
        assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["", "M", "80Q", "-1", "1.5", "1e", "80MiB", "1e-3", "1..5", "0x10", "1e999"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
        let error = parse_count("18446744073709551616").unwrap_err();
        assert!(error.to_string().contains("more than 64 bits hold"), "{error}");
    }

    #[test]
    fn bytes_know_both_kinds_of_units() {
        assert_eq!(parse_bytes("64GiB"), Ok(64 << 30));
        assert_eq!(parse_bytes("64 GB"), Ok(64_000_000_000));
        assert_eq!(parse_bytes("4000"), Ok(4000));
        assert_eq!(parse_bytes("1.1KiB"), Ok(1126));
        assert_eq!(parse_bytes("1e3B"), Ok(1000));
        let error = parse_bytes("64G").unwrap_err();
        assert!(error.problem.contains("64GiB (powers of 1024) or 64GB (powers"), "{error}");
        assert!(parse_bytes("0.5").is_err());
        assert!(parse_bytes("99999PiB").is_err());
    }

    #[test]
    fn sizes_have_a_unit_but_for_none_at_all() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("512B"), Ok(512));
        assert_eq!(parse_size("0"), Ok(0));
        for bare in ["512", "1e9", "68_719_476_736"] {
            let error = parse_size(bare).unwrap_err();
            assert_eq!(error.to_string(), format!("`{bare}` has no unit; expected {A_SIZE}"));
        }
        assert!(parse_size("64 G").unwrap_err().problem.contains("64GiB"));
    }

    #[test]
    fn times_always_have_a_unit() {
        assert_eq!(parse_duration("60s"), Ok(60_000_000_000));
        assert_eq!(parse_duration("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(parse_duration("1h 30m"), Ok(5_400_000_000_000));
        assert_eq!(parse_duration("0.5ms"), Ok(500_000));
        assert_eq!(parse_duration("2us"), Ok(2000));
        for wrong in ["", "60", "s", "60 sec", "-1s", "1h30", "600y", "300000d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_and_ratios() {
        assert_eq!(parse_share("50%"), Ok(0.5));
        assert_eq!(parse_share("1/4"), Ok(0.25));
        assert_eq!(parse_share("0"), Ok(0.0));
        assert!(parse_share("150%").is_err());
        assert_eq!(parse_ratio("1/1000").unwrap().multiply(80_000_000), Some(80_000));
        assert_eq!(parse_ratio("0.001").unwrap().multiply(80_000_000), Some(80_000));
        assert_eq!(parse_ratio("1/3").unwrap().multiply(u64::MAX), Some(u64::MAX / 3));
        assert_eq!(parse_ratio("2").unwrap().multiply(u64::MAX), None);
        for wrong in ["0", "1/0", "-1", "x", "1/"] {
            assert!(parse_ratio(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shown_with_three_digits() {
        assert_eq!(count(950), "950");
        assert_eq!(count(999_600), "1.00 M");
        assert_eq!(count(80_000_000), "80.0 M");
        assert_eq!(group_digits(80_000_000), "80,000,000");
        assert_eq!(group_digits(100), "100");
        assert_eq!(bytes(512), "512 B");
        assert_eq!(bytes(3 << 29), "1.50 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(exact_bytes(64 << 30), "64GiB");
        assert_eq!(exact_bytes(300_000), "300000");
        assert_eq!(exact_bytes(0), "0");
        assert_eq!(exact_count(80_000_000), "80M");
        assert_eq!(exact_count(1_500), "1500");
        assert_eq!(exact_count(2_000), "2k");
        assert_eq!(rate(1_234_567.0), "1.23 M/s");
        assert_eq!(rate(0.25), "0.25/s");
        assert_eq!(byte_rate(2_097_152.0), "2.00 MiB/s");
        assert_eq!(percent(0.125), "12.5 %");
    }

    #[test]
    fn times_shown() {
        let times = [850, 12_300, 4_560_000, 5_000_000_000, 59_960_000_000, 100_000_000_000];
        let texts: Vec<_> = times.into_iter().map(duration).collect();
        assert_eq!(texts, ["850 ns", "12.3 us", "4.56 ms", "5.00 s", "1m", "1m40s"]);
        assert_eq!(duration(8_020_000_000_000), "2h13m");
        assert_eq!(duration(86_400_000_000_000 * 3), "3d");
    }
}
