//! As much of a spreadsheet's arithmetic as the workbook uses.

/// A cell of a sheet (none: its own), by row and column from 0.
type Look<'l> = &'l dyn Fn(Option<&str>, (u32, u32)) -> Option<f64>;

/// The value of a formula.
pub(super) fn formula(text: &str, look: Look<'_>) -> f64 {
    let mut reader = Reader { rest: text.trim_start_matches('='), look };
    let value = reader.sum();
    assert!(reader.rest.is_empty(), "{text}: left {:?}", reader.rest);
    value
}

struct Reader<'t> {
    rest: &'t str,
    look: Look<'t>,
}

impl<'t> Reader<'t> {
    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn sum(&mut self) -> f64 {
        let mut value = self.product();
        while self.eat("+") {
            value += self.product();
        }
        value
    }

    fn product(&mut self) -> f64 {
        let mut value = self.one();
        loop {
            if self.eat("*") {
                value *= self.one();
            } else if self.eat("/") {
                value /= self.one();
            } else {
                return value;
            }
        }
    }

    fn one(&mut self) -> f64 {
        for (name, function) in FUNCTIONS {
            if self.eat(name) {
                let (_, first) = self.reference();
                assert!(self.eat(":"));
                let (_, last) = self.reference();
                assert!(self.eat(")"));
                let cells = (first.0..=last.0).filter_map(|row| (self.look)(None, (row, first.1)));
                return function(&cells.collect::<Vec<f64>>());
            }
        }
        if self.eat("(") {
            let value = self.sum();
            assert!(self.eat(")"));
            return value;
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return self.while_(|c| c.is_ascii_digit() || c == '.').parse().unwrap();
        }
        let (sheet, at) = self.reference();
        (self.look)(sheet, at).unwrap_or_else(|| panic!("an empty cell: {sheet:?} {at:?}"))
    }

    /// `'Sheet'!C$7`.
    fn reference(&mut self) -> (Option<&'t str>, (u32, u32)) {
        let mut sheet = None;
        if let Some((name, rest)) = self.rest.split_once('!')
            && name.starts_with('\'')
        {
            sheet = Some(name.trim_matches('\''));
            self.rest = rest;
        }
        let letters = self.while_(|c| c.is_ascii_uppercase());
        let column = letters.bytes().fold(0, |n, letter| n * 26 + u32::from(letter - b'A') + 1);
        self.eat("$");
        let row: u32 = self.while_(|c| c.is_ascii_digit()).parse().unwrap();
        (sheet, (row - 1, column - 1))
    }

    fn while_(&mut self, matches: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !matches(c)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(end);
        self.rest = rest;
        part
    }
}

/// What a function makes of a range.
type Function = fn(&[f64]) -> f64;

const FUNCTIONS: [(&str, Function); 4] = [
    ("MEDIAN(", |values| kvdyno_analysis::stats::median(values).unwrap()),
    ("MAX(", |values| values.iter().copied().fold(f64::MIN, f64::max)),
    ("AVERAGE(", |values| values.iter().sum::<f64>() / values.len() as f64),
    ("SUM(", |values| values.iter().sum()),
];
