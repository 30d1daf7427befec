//! Why a comparison has no meaning.

use super::work::Difference;

/// Fields of a workload that are named when they differ; more are only counted.
const NAMED_MAX: usize = 3;

/// Characters of a value in a refusal.
const VALUE_MAX: usize = 60;

/// Why a comparison has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The sides did different work.
    #[error("the workloads differ ({case}): {}", fields(.differences))]
    Work {
        /// The case in which it showed.
        case: String,
        /// What differs.
        differences: Vec<Difference>,
    },
    /// They were measured or computed by different methods.
    #[error("the methods differ: {}", .0.description())]
    Method(Difference),
    /// Runs of one side are no repeats of each other.
    #[error("runs {first} and {other} of one side differ: {}", format_difference(.difference))]
    Build {
        /// The first run of the side.
        first: String,
        /// The run that differs from it.
        other: String,
        /// Their first difference.
        difference: Difference,
    },
    /// No engine is on both sides.
    #[error("expected the same engine on both sides, found {base} in BASE and {new} in NEW")]
    NoCommonEngine {
        /// Labels of the base.
        base: String,
        /// Labels of the new side.
        new: String,
    },
    /// A gate over two durability classes.
    #[error("a gate needs equal promises, found durability {base} in BASE and {new} in NEW")]
    Promises {
        /// The base's class.
        base: &'static str,
        /// The new side's class.
        new: &'static str,
    },
    /// Both sides are the same.
    #[error("expected two sides, found {0} twice")]
    Same(String),
    /// An engine that the run does not have.
    #[error("unknown engine `{label}` in run {run}")]
    NoEngine {
        /// The label as the user typed it.
        label: String,
        /// The run.
        run: String,
        /// The labels that the run has.
        known: Vec<String>,
    },
    /// A figure was selected that no case has on either side.
    #[error("no case has the figure `{name}`")]
    NoFigure {
        /// The figure.
        name: &'static str,
        /// The figures that cases have.
        known: Vec<&'static str>,
    },
}

fn format_difference(difference: &Difference) -> String {
    let Difference { subject, base, new } = difference;
    format!("{subject}: {base} and {new}")
}

fn fields(differences: &[Difference]) -> String {
    let short = |difference: &Difference| {
        let Difference { subject: what, base, new } = difference;
        Difference { subject: what.clone(), base: cut(base), new: cut(new) }.description()
    };
    let listed: Vec<String> = differences.iter().take(NAMED_MAX).map(short).collect();
    let more = differences.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", listed.join("; "))
}

/// The beginning of a value, in whole words: a whole phase is too long for a terminal.
fn cut(value: &str) -> String {
    let Some((end, _)) = value.char_indices().nth(VALUE_MAX) else { return value.to_owned() };
    let words = value[..end].rsplit_once(' ').map_or(&value[..end], |(words, _)| words);
    format!("{} ...", words.trim_end_matches(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_short() {
        let differs = |index: usize| Difference {
            subject: format!("phases.{index}"),
            base: "none".to_owned(),
            new: "ä".repeat(500),
        };
        let text = fields(&[differs(0), differs(1), differs(2), differs(3), differs(4)]);
        assert!(
            text.starts_with(&format!("phases.0: none in BASE, {} ... in NEW", "ä".repeat(60)))
        );
        assert!(text.ends_with("; and 2 more") && text.chars().count() < 320, "{text}");
        let text = fields(&[Difference { new: "7".to_owned(), ..differs(0) }]);
        assert_eq!(text, "phases.0: none in BASE, 7 in NEW");
    }
}
