//! The duration of a measured phase as typed: a time, or the bounds of a phase that ends when its
//! rates are steady.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml, Toml, table};
use crate::written::scalar::{Nanoseconds, either_schema};
use kvdyno_record::units;
use schemars::JsonSchema;
use toml::de::DeValue;

/// The duration of a phase.
#[derive(Clone, Debug)]
pub(crate) enum PhaseDuration {
    Fixed(Nanoseconds),
    Steady(Steady),
}

either_schema!(
    PhaseDuration,
    "PhaseDuration",
    "A time, or a table: the phase ends once its rates are steady.",
    Nanoseconds: "A time above zero with its unit: ns, us, ms, s, m, h or d.",
    Steady: "The phase ends once its rates are steady."
);

/// The bounds of a phase that ends once its rates are steady: the last five rounds, each a fifth of
/// `least`, pass SNIA's rule (docs/method.md). Only for phases with a role without `rate`.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Steady {
    /// The shortest time of the phase. At least five intervals of `[run] slice`.
    pub(crate) least: At<Nanoseconds>,
    /// The longest time of the phase. If it was never steady, its figures are a *burst*.
    pub(crate) most: At<Nanoseconds>,
}

table!(Steady, "a duration": least most);

impl PhaseDuration {
    /// Returns the time after which the phase ends in any case.
    pub(crate) fn most_ns(&self) -> u64 {
        match self {
            Self::Fixed(time) => time.0,
            Self::Steady(steady) => steady.most.0,
        }
    }

    /// Returns the earliest end of a phase that ends once its rates are steady; none: a fixed time.
    pub(crate) fn earliest_end(&self) -> Option<&At<Nanoseconds>> {
        match self {
            Self::Fixed(_) => None,
            Self::Steady(steady) => Some(&steady.least),
        }
    }
}

impl FromToml for PhaseDuration {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let DeValue::Table(_) = toml.get_ref() else {
            return Nanoseconds::from_toml(toml, mistakes).map(Self::Fixed);
        };
        let steady = Steady::from_toml(toml, mistakes)?;
        let [least, most] = [&steady.least, &steady.most].map(|time| units::duration(time.0));
        if steady.least.0 > steady.most.0 {
            let message = format!("`least` is {least}, more than `most`");
            let mistake = mistakes.at(&steady.least.span, message);
            mistake.label(format!("expected at most {most}"));
            mistake.help("lower `least` or raise `most`");
            return None;
        }
        Some(Self::Steady(steady))
    }
}
