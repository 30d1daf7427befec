//! Lengths and counts as typed: a number, or one named distribution.

use super::mistake::Mistakes;
use super::read::{At, Fields, FromToml, Or as _, Toml, wrong_kind};
use super::scalar::{Bytes, SEVERAL_MAX, Several};
use super::source::Span;
use kvdyno_record::workload::{Over, Size};
use schemars::JsonSchema;
use toml::de::DeValue;

/// The longest possible length: each thread holds a value in memory as a whole.
const LONGEST: u64 = 1 << 30;

/// A length, of a value in bytes or of a scan in records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Length(pub(super) Size);

/// A fixed length, or a distribution of lengths: bytes of a value or key, records of a scan.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Length")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum Written {
    /// A fixed length.
    Fixed(Bytes),
    /// A distribution of lengths.
    Drawn(Drawn),
}

/// The number of keys of an operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Keys(pub(super) Size);

/// A fixed number of keys, or a distribution.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Keys")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum WrittenKeys {
    /// A fixed number.
    Fixed(Several),
    /// A number drawn for each operation.
    Drawn(Drawn),
}

/// A distribution of lengths or counts, in a table of its own: `{ uniform = { min = 1, max = 9 }
/// }`. A count is at most 65536, and plans use its mean.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", deny_unknown_fields, rename = "LengthDistribution")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum Drawn {
    /// Each length from `min` to `max` is equally likely.
    Uniform {
        /// The shortest length.
        min: Bytes,
        /// The longest length.
        max: Bytes,
    },
    /// A lognormal distribution, rounded and clamped to 1..=max. `LinkBench` has sigma 1.
    Lognormal {
        /// The median.
        median: Bytes,
        /// The standard deviation of the logarithm.
        sigma: f64,
        /// The longest length.
        max: Bytes,
    },
    /// A normal distribution, rounded and clamped to min..=max.
    Normal {
        /// The mean.
        mean: Bytes,
        /// The standard deviation.
        sigma: f64,
        /// The shortest length. Default: 1.
        min: Option<Bytes>,
        /// The longest length.
        max: Bytes,
    },
    /// The length min + n has the probability p (1-p)^n; a longer one becomes `max`. The multigets
    /// of `LinkBench` have p 0.382, min 2 and max 128.
    Geometric {
        /// The probability of each step, above 0 and at most 1.
        p: f64,
        /// The shortest length. Default: 1.
        min: Option<Bytes>,
        /// The longest length.
        max: Bytes,
    },
    /// A generalized Pareto distribution: location + sigma/k ((1-u)^-k - 1), rounded up. mixgraph
    /// of `db_bench` has floor 10, k 0.2615, sigma 25.45 and max 1024, with a mean of 36 bytes.
    Pareto {
        /// The location. Default: 0.
        location: Option<f64>,
        /// The shape.
        k: f64,
        /// The scale.
        sigma: f64,
        /// The shortest length, as `min`. Default: 1.
        floor: Option<Bytes>,
        /// The shortest length, as `floor`. Default: 1.
        min: Option<Bytes>,
        /// The longest length.
        max: Bytes,
        /// The treatment of lengths above `max`. Default: fold.
        over: Option<Over>,
    },
    /// At most 1000 lengths with their weights: `[[100, 3], [4000, 1]]`.
    Empirical(Vec<(Bytes, f64)>),
}

impl FromToml for Length {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let size = if matches!(toml.get_ref(), DeValue::Table(_)) {
            drawn(toml, mistakes)?
        } else {
            Size::Fixed { bytes: Bytes::from_toml(toml, mistakes)?.0 }
        };
        within(size, LONGEST, "1GiB", &span, mistakes).map(Self)
    }
}

impl FromToml for Keys {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        if matches!(toml.get_ref(), DeValue::Table(_)) {
            let size = drawn(toml, mistakes)?;
            return within(size, SEVERAL_MAX.into(), "65536", &span, mistakes).map(Self);
        }
        let Several(keys) = Several::from_toml(toml, mistakes)?;
        Some(Self(Size::Fixed { bytes: keys.into() }))
    }
}

/// A size from 1 to `most`.
fn within(
    size: Size,
    most: u64,
    most_text: &str,
    span: &Span,
    mistakes: &mut Mistakes,
) -> Option<Size> {
    let shortest = match size {
        Size::Lognormal { median, .. } => median,
        // Drawn lengths are never 0.
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

fn drawn(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Size> {
    let mut fields = Fields::read(toml, "a length", mistakes)?;
    let span = fields.span();
    let mut tables = fields.rest();
    let (Some((name, toml)), true) = (tables.pop(), tables.is_empty()) else {
        let mistake = mistakes.at(&span, "a length is a number or one distribution");
        mistake.label(format!("expected one of: {}", NAMES.join(", ")));
        return None;
    };
    if !NAMES.contains(&name.as_str()) {
        let message = format!("`{}` is not a distribution of lengths", name.value);
        mistakes.unknown(&name.span, message, &name.value, &NAMES);
        return None;
    }
    if name.as_str() == "empirical" {
        return empirical(toml, mistakes);
    }
    let mut fields = Fields::read(toml, format!("a {} length", name.value), mistakes)?;
    let max: Option<At<Bytes>> = fields.required("max");
    let max = max.map(|max| max.value.0);
    let size = match name.as_str() {
        "uniform" => {
            let min: Option<At<Bytes>> = fields.required("min");
            (|| Some(Size::Uniform { min: min?.0, max: max? }))()
        }
        "normal" => {
            let mean: Option<At<Bytes>> = fields.required("mean");
            let (sigma, min) = (above_zero(&mut fields, "sigma", 1e9), shortest(&mut fields));
            (|| Some(Size::Normal { mean: mean?.0 as f64, sigma: sigma?, min, max: max? }))()
        }
        "lognormal" => {
            let median: Option<At<Bytes>> = fields.required("median");
            let sigma = above_zero(&mut fields, "sigma", 1e6);
            (|| Some(Size::Lognormal { median: median?.0, sigma: sigma?, max: max? }))()
        }
        "geometric" => {
            let (p, min) = (above_zero(&mut fields, "p", 1.0), shortest(&mut fields));
            (|| Some(Size::Geometric { p: p?, min, max: max? }))()
        }
        _ => pareto(&mut fields, max),
    };
    fields.finish();
    size
}

fn above_zero(fields: &mut Fields<'_, '_>, key: &'static str, most: f64) -> Option<f64> {
    let expected = format!("a number above 0, at most {most}");
    fields.number(key, &expected, |number| number > 0.0 && number <= most)
}

/// `min`, if it is optional.
fn shortest(fields: &mut Fields<'_, '_>) -> u64 {
    fields.optional("min").value_or(Bytes(1)).0
}

fn pareto(fields: &mut Fields<'_, '_>, max: Option<u64>) -> Option<Size> {
    let floor: Option<At<Bytes>> = fields.optional("floor");
    if let Some(floor) = floor.as_ref().filter(|_| fields.has("min")) {
        let mistake = fields.mistakes.at(&floor.span, "the length has both `min` and `floor`");
        mistake.label("expected one of them: they mean the same");
    }
    let min = shortest(fields);
    let min = floor.map_or(min, |floor| floor.value.0);
    let (k, sigma) = (above_zero(fields, "k", 1e6), above_zero(fields, "sigma", 1e6));
    let location = if fields.has("location") {
        fields.number("location", "a number from 0 to 1e9", |n| (0.0..=1e9).contains(&n))
    } else {
        fields.optional::<f64>("location").map_or(Some(0.0), |location| Some(location.value))
    };
    let over = fields.optional("over").value_or(Over::Fold);
    Some(Size::Pareto { min, k: k?, sigma: sigma?, max: max?, location: location?, over })
}

/// The plan repeats the list in each case, so a longer list makes it long.
const PAIRS_MAX: usize = 1_000;

fn empirical(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Size> {
    let span = toml.span();
    let pairs: Vec<At<Pair>> = Vec::from_toml(toml, mistakes)?;
    if !(1..=PAIRS_MAX).contains(&pairs.len()) {
        let mistake = mistakes.at(&span, format!("{} lengths with weights", pairs.len()));
        mistake.label(format!("expected 1 to {PAIRS_MAX}: [[100, 2.5], [4000, 1]]"));
        return None;
    }
    let pairs: Vec<(u64, f64)> = pairs.iter().map(|pair| (pair.0, pair.1)).collect();
    Some(Size::empirical(&pairs))
}

/// A length and its weight.
struct Pair(u64, f64);

impl FromToml for Pair {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const EXPECTED: &str = "a length and its weight: [100, 2.5]";
        let span = toml.span();
        let values = match toml.into_inner() {
            DeValue::Array(values) if values.len() == 2 => values,
            other => return wrong_kind(&span, &other, EXPECTED, mistakes),
        };
        let mut values = values.into_iter();
        let length: At<Bytes> = At::from_toml(values.next()?, mistakes)?;
        let weight: At<f64> = At::from_toml(values.next()?, mistakes)?;
        if weight.value <= 0.0 || weight.value > 1e15 {
            let mistake = mistakes.at(&weight.span, format!("the weight is {}", weight.value));
            mistake.label("expected a number above 0, at most 1e15");
            return None;
        }
        Some(Self(length.value.0, weight.value))
    }
}
