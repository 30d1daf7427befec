//! Why a cell is empty: each reason once, by number.

/// The reasons of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footnotes {
    reasons: Vec<String>,
}

impl Footnotes {
    /// The mark for a reason: `[2]`; an equal reason has an equal mark.
    pub fn mark(&mut self, reason: &str) -> String {
        let at = self.reasons.iter().position(|other| other == reason).unwrap_or_else(|| {
            self.reasons.push(reason.to_owned());
            self.reasons.len() - 1
        });
        format!("[{}]", at + 1)
    }

    /// A line for each reason.
    pub fn lines(&self) -> Vec<String> {
        let line = |(at, reason): (usize, &String)| format!("[{}] {reason}", at + 1);
        self.reasons.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_reasons_share_a_mark() {
        let mut notes = Footnotes::default();
        assert_eq!([notes.mark("a"), notes.mark("b"), notes.mark("a")], ["[1]", "[2]", "[1]"]);
        assert_eq!(notes.lines(), ["[1] a", "[2] b"]);
    }
}
