//! A target as typed: `p99 < 1ms and reads > 50k/s`.

use crate::units;
use std::fmt;

/// All of its clauses must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// At least one.
    pub clauses: Vec<Clause>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// As typed.
    pub text: String,
    /// Of this role; none: of every role the figure is about.
    pub role: Option<String>,
    /// What must keep a bound.
    pub figure: Figure,
    /// The bound: nanoseconds, below which a latency must stay, or items a second, above which a
    /// rate must.
    pub bound: f64,
}

/// What a clause can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// A percentile of the latency in thousandths of a percent: 99900 is p99.9. Response times of
    /// an open loop, service times of a closed one.
    Percentile(u32),
    /// The longest.
    Longest,
    /// Keys a second of the roles that only read.
    Reads,
    /// Records a second of the roles that write.
    Writes,
    /// Operations of all roles.
    Operations,
}

/// A target that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the target `{clause}` {problem}")]
pub struct TargetError {
    /// The part that is wrong.
    pub clause: String,
    /// What is wrong with it, and what would be right.
    pub problem: String,
}

/// Percentiles that there are.
const PERCENTILES: [(&str, u32); 5] =
    [("p50", 50_000), ("p90", 90_000), ("p99", 99_000), ("p99.9", 99_900), ("p99.99", 99_990)];

const FIGURES: &str = "p50, p90, p99, p99.9, p99.99 and max (of one role: readers.p99) stay below \
     a time, reads, writes and ops above a rate: `p99 < 1ms and reads > 50k/s`";

impl Target {
    /// Reads a target.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let clauses = text.split(" and ").map(Clause::parse).collect::<Result<_, _>>()?;
        Ok(Self { clauses })
    }
}

impl Clause {
    fn parse(text: &str) -> Result<Self, TargetError> {
        let text = text.trim();
        let wrong = |problem: String| TargetError { clause: text.to_owned(), problem };
        let at = text.find(['<', '>']).ok_or_else(|| wrong(format!("has no bound; {FIGURES}")))?;
        let (left, below) = (text[..at].trim(), text[at..].starts_with('<'));
        let bound = text[at + 1..].trim_start_matches('=').trim();
        let (role, figure) = figure(left)
            .ok_or_else(|| wrong(format!("is about `{left}`, which is not known; {FIGURES}")))?;
        let is_latency = matches!(figure, Figure::Percentile(_) | Figure::Longest);
        if is_latency != below {
            return Err(wrong(format!("bounds it on the wrong side; {FIGURES}")));
        }
        let bound = if is_latency {
            units::parse_duration(bound)
        } else {
            units::parse_count(bound.trim_end_matches("/s"))
        };
        let bound = bound.map_err(|error| wrong(format!("has a bound that is none: {error}")))?;
        if bound == 0 {
            return Err(wrong("has a bound of 0".to_owned()));
        }
        Ok(Self { text: text.to_owned(), role, figure, bound: bound as f64 })
    }

    /// Whether a value keeps the bound.
    pub fn holds(&self, value: f64) -> bool {
        match self.figure {
            Figure::Percentile(_) | Figure::Longest => value < self.bound,
            Figure::Reads | Figure::Writes | Figure::Operations => value > self.bound,
        }
    }

    /// What it is about, without the bound: `p99`, `readers.max`.
    pub fn about(&self) -> &str {
        self.text.split(['<', '>']).next().unwrap_or_default().trim()
    }
}

fn figure(text: &str) -> Option<(Option<String>, Figure)> {
    // The dot of `p99.9` is none between role and figure.
    let known = |word: &str| {
        let percentile = PERCENTILES.iter().find(|(name, _)| *name == word);
        percentile.map(|(_, share)| Figure::Percentile(*share)).or(match word {
            "max" => Some(Figure::Longest),
            _ => None,
        })
    };
    let whole = known(text).or(match text {
        "reads" => Some(Figure::Reads),
        "writes" => Some(Figure::Writes),
        "ops" => Some(Figure::Operations),
        _ => None,
    });
    whole.map(|figure| (None, figure)).or_else(|| {
        let (role, rest) = text.split_once('.')?;
        Some((Some(role.to_owned()), known(rest)?))
    })
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<&str> = self.clauses.iter().map(|clause| clause.text.as_str()).collect();
        f.write_str(&texts.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_asked_for() {
        let target =
            Target::parse("p99 < 1ms and reads > 50k/s and readers.p99.9<=5ms and max < 1s")
                .unwrap();
        let is: Vec<_> = target
            .clauses
            .iter()
            .map(|clause| (clause.role.as_deref(), clause.figure, clause.bound))
            .collect();
        assert_eq!(
            is,
            [
                (None, Figure::Percentile(99_000), 1e6),
                (None, Figure::Reads, 50_000.0),
                (Some("readers"), Figure::Percentile(99_900), 5e6),
                (None, Figure::Longest, 1e9),
            ]
        );
        assert!(target.clauses[0].holds(999_999.0) && !target.clauses[0].holds(1e6));
        assert!(target.clauses[1].holds(50_001.0) && !target.clauses[1].holds(50_000.0));
        assert_eq!(target.clauses[2].about(), "readers.p99.9");
    }

    #[test]
    fn mistakes_name_the_clause_and_what_would_be_right() {
        for (text, part) in [
            ("p99", "has no bound"),
            ("p98 < 1ms", "`p98`, which is not known"),
            ("p99 > 1ms", "wrong side"),
            ("reads > fast", "bound that is none"),
            ("p99 < 1", "bound that is none"),
            ("", "has no bound"),
        ] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
