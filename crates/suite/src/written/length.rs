//! Lengths and counts as typed: a number, or one named distribution.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Key, Or as _, Toml, report_wrong_kind, table};
use crate::written::scalar::{Bytes, SEVERAL_MAX, Several, either_schema};
use crate::written::source::Span;
use kvdyno_record::workload::{Over, Size};
use schemars::JsonSchema;
use toml::de::DeValue;

/// The longest possible length: each thread holds a value in memory as a whole.
const LONGEST: u64 = 1 << 30;

/// A length, of a value in bytes or of a scan in records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Length(pub(crate) Size);

/// The number of keys of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Keys(pub(crate) Size);

either_schema!(
    Length,
    "Length",
    "A fixed length, or a distribution of lengths: bytes of a value or key, records of a scan.",
    Bytes: "A fixed length.",
    Distribution: "A distribution of lengths."
);
either_schema!(
    Keys,
    "Keys",
    "A fixed number of keys, or a distribution.",
    Several: "A fixed number.",
    Distribution: "A number drawn for each operation."
);

/// A distribution of lengths or counts, in a table of its own: `{ uniform = { min = 1, max = 9 }
/// }`. A count is at most 65536, and plans use its mean.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "LengthDistribution")]
enum Distribution {
    /// Each length from `min` to `max` is equally likely.
    Uniform(Uniform),
    /// A lognormal distribution, rounded and clamped to 1..=max. `LinkBench` has sigma 1.
    Lognormal(Lognormal),
    /// A normal distribution, rounded and clamped to min..=max.
    Normal(Normal),
    /// The length min + n has the probability p (1-p)^n; a longer one becomes `max`. The multigets
    /// of `LinkBench` have p 0.382, min 2 and max 128.
    Geometric(Geometric),
    /// A generalized Pareto distribution: location + sigma/k ((1-u)^-k - 1), rounded up. mixgraph
    /// of `db_bench` has floor 10, k 0.2615, sigma 25.45 and max 1024, with a mean of 36 bytes.
    Pareto(Pareto),
    /// At most 1000 lengths with their weights: `[[100, 3], [4000, 1]]`.
    Empirical(At<Vec<At<Pair>>>),
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Uniform {
    /// The shortest length.
    min: At<Bytes>,
    /// The longest length.
    max: At<Bytes>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Lognormal {
    /// The median.
    median: At<Bytes>,
    /// The standard deviation of the logarithm.
    sigma: AboveZero<1_000_000>,
    /// The longest length.
    max: At<Bytes>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Normal {
    /// The mean.
    mean: At<Bytes>,
    /// The standard deviation.
    sigma: AboveZero<1_000_000_000>,
    /// The shortest length. Default: 1.
    min: Option<At<Bytes>>,
    /// The longest length.
    max: At<Bytes>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Geometric {
    /// The probability of each step, above 0 and at most 1.
    p: AboveZero<1>,
    /// The shortest length. Default: 1.
    min: Option<At<Bytes>>,
    /// The longest length.
    max: At<Bytes>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, inline)]
struct Pareto {
    /// The location. Default: 0.
    location: Option<At<f64>>,
    /// The shape.
    k: AboveZero<1_000_000>,
    /// The scale.
    sigma: AboveZero<1_000_000>,
    /// The shortest length, as `min`. Default: 1.
    floor: Option<At<Bytes>>,
    /// The shortest length, as `floor`. Default: 1.
    min: Option<At<Bytes>>,
    /// The longest length.
    max: At<Bytes>,
    /// The treatment of lengths above `max`. Default: fold.
    over: Option<At<Over>>,
}

/// A number above 0, at most `MOST`.
#[derive(Clone, Copy, JsonSchema)]
#[schemars(transparent, inline)]
struct AboveZero<const MOST: u64>(f64);

impl<const MOST: u64> Key for AboveZero<MOST> {
    fn read(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        let expected = format!("a number above 0, at most {MOST}");
        fields.number(key, &expected, |number| number > 0.0 && number <= MOST as f64).map(Self)
    }
}

/// A length and its weight.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Pair(Bytes, f64);

table!(Uniform, "a uniform length": max min);
table!(Lognormal, "a lognormal length": max median sigma);
table!(Normal, "a normal length": max mean sigma min);
table!(Geometric, "a geometric length": max p min);
table!(Pareto, "a pareto length": max floor min k sigma location over);

impl FromToml for Length {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let size = if toml.get_ref().is_table() {
            Distribution::from_toml(toml, mistakes)?.size(mistakes)?
        } else {
            Size::Fixed { bytes: Bytes::from_toml(toml, mistakes)?.0 }
        };
        check_size_range(size, LONGEST, "1GiB", &span, mistakes).map(Self)
    }
}

impl FromToml for Keys {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        if toml.get_ref().is_table() {
            let size = Distribution::from_toml(toml, mistakes)?.size(mistakes)?;
            return check_size_range(size, SEVERAL_MAX.into(), "65536", &span, mistakes).map(Self);
        }
        let Several(keys) = Several::from_toml(toml, mistakes)?;
        Some(Self(Size::Fixed { bytes: keys.into() }))
    }
}

/// Returns a size from 1 to `most`; refuses others.
fn check_size_range(
    size: Size,
    most: u64,
    most_text: &str,
    span: &Span,
    mistakes: &mut Mistakes,
) -> Option<Size> {
    let shortest = match size {
        Size::Lognormal { median, .. } => median,
        // A drawn length is at least `min`.
        Size::Pareto { min, .. } => min,
        _ => size.min(),
    };
    if shortest == 0 || size.max() > most {
        let mistake = mistakes.at(span, "the length is out of range");
        mistake.label(format!("expected 1 to {most_text}"));
    } else if shortest > size.max() {
        let mistake = mistakes.at(span, format!("{shortest} is more than the `max`"));
        mistake.label(format!("expected at most {}", size.max()));
    } else {
        return Some(size);
    }
    None
}

const NAMES: [&str; 6] = ["uniform", "normal", "lognormal", "geometric", "pareto", "empirical"];

impl FromToml for Distribution {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "a length", mistakes)?;
        let span = fields.span();
        let mut tables = fields.rest();
        let (Some((name, toml)), true) = (tables.pop(), tables.is_empty()) else {
            let mistake = mistakes.at(&span, "a length is a number or one distribution");
            mistake.label(format!("expected one of: {}", NAMES.join(", ")));
            return None;
        };
        Some(match name.as_str() {
            "uniform" => Self::Uniform(Uniform::from_toml(toml, mistakes)?),
            "normal" => Self::Normal(Normal::from_toml(toml, mistakes)?),
            "lognormal" => Self::Lognormal(Lognormal::from_toml(toml, mistakes)?),
            "geometric" => Self::Geometric(Geometric::from_toml(toml, mistakes)?),
            "pareto" => Self::Pareto(Pareto::from_toml(toml, mistakes)?),
            "empirical" => Self::Empirical(At::from_toml(toml, mistakes)?),
            other => {
                let message = format!("`{other}` is not a distribution of lengths");
                mistakes.unknown(&name.span, message, other, &NAMES);
                return None;
            }
        })
    }
}

impl Distribution {
    /// Returns the distribution in the form of a plan.
    fn size(&self, mistakes: &mut Mistakes) -> Option<Size> {
        let least = |min: &Option<At<Bytes>>| min.value_or(Bytes(1)).0;
        Some(match self {
            Self::Uniform(Uniform { min, max }) => Size::Uniform { min: min.0, max: max.0 },
            Self::Normal(Normal { mean, sigma, min, max }) => {
                let mean = mean.0 as f64;
                Size::Normal { mean, sigma: sigma.0, min: least(min), max: max.0 }
            }
            Self::Lognormal(Lognormal { median, sigma, max }) => {
                Size::Lognormal { median: median.0, sigma: sigma.0, max: max.0 }
            }
            Self::Geometric(Geometric { p, min, max }) => {
                Size::Geometric { p: p.0, min: least(min), max: max.0 }
            }
            Self::Pareto(pareto) => pareto.size(mistakes),
            Self::Empirical(pairs) if (1..=PAIRS_MAX).contains(&pairs.len()) => {
                let pairs: Vec<(u64, f64)> = pairs.iter().map(|at| (at.0.0, at.1)).collect();
                Size::empirical(&pairs)
            }
            Self::Empirical(pairs) => {
                let mistake =
                    mistakes.at(&pairs.span, format!("{} lengths with weights", pairs.len()));
                mistake.label(format!("expected 1 to {PAIRS_MAX}: [[100, 2.5], [4000, 1]]"));
                return None;
            }
        })
    }
}

impl Pareto {
    fn size(&self, mistakes: &mut Mistakes) -> Size {
        if let (Some(floor), Some(_)) = (&self.floor, &self.min) {
            let mistake = mistakes.at(&floor.span, "the length has both `min` and `floor`");
            mistake.label("expected one of them: they mean the same");
        }
        let min = self.floor.as_ref().or(self.min.as_ref()).map_or(1, |min| min.0);
        let (k, sigma) = (self.k.0, self.sigma.0);
        let location = self.location.value_or(0.0);
        if let Some(at) = self.location.as_ref().filter(|at| !(0.0..=1e9).contains(&at.value)) {
            let mistake = mistakes.at(&at.span, format!("`location` is {location}"));
            mistake.label("expected a number from 0 to 1e9");
        }
        let over = self.over.value_or(Over::Fold);
        Size::Pareto { min, k, sigma, max: self.max.0, location, over }
    }
}

/// The most lengths of an empirical distribution: the plan repeats the list in each case.
const PAIRS_MAX: usize = 1_000;

impl FromToml for Pair {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const EXPECTED: &str = "a length and its weight: [100, 2.5]";
        let span = toml.span();
        let values = match toml.into_inner() {
            DeValue::Array(values) if values.len() == 2 => values,
            other => return report_wrong_kind(&span, &other, EXPECTED, mistakes),
        };
        let mut values = values.into_iter();
        let length: At<Bytes> = At::from_toml(values.next()?, mistakes)?;
        let weight: At<f64> = At::from_toml(values.next()?, mistakes)?;
        if weight.value <= 0.0 || weight.value > 1e15 {
            let mistake = mistakes.at(&weight.span, format!("the weight is {}", weight.value));
            mistake.label("expected a number above 0, at most 1e15");
            return None;
        }
        Some(Self(length.value, weight.value))
    }
}
