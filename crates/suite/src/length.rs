//! Lengths as typed: a number, or one distribution by name.

use super::mistake::Mistakes;
use super::read::{At, Fields, FromToml, Toml};
use super::scalar::Bytes;
use kvdyno_record::workload::Size;
use schemars::JsonSchema;
use toml::de::DeValue;

/// The longest length there can be: a value lies in memory as a whole, once a thread.
const LONGEST: u64 = 1 << 30;

/// A length, of a value in bytes or of a scan in records.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Length(pub(super) Size);

/// A length: a number, or a distribution.
///
/// Only the schema is made from this; [`Length`] is what is read.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Length")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum Written {
    /// Always the same.
    Fixed(Bytes),
    /// Drawn.
    Drawn(Drawn),
}

/// Distributions of a length.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", deny_unknown_fields)]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum Drawn {
    /// Each length from `min` to `max` equally often.
    Uniform { min: Bytes, max: Bytes },
    /// exp(Normal(ln median, sigma)), clamped to 1..=max (`LinkBench`: sigma 1).
    Lognormal { median: Bytes, sigma: f64, max: Bytes },
    /// Generalized Pareto, sigma/k ((1-u)^-k - 1) rounded up; shorter than min is min, longer than
    /// max is folded (modulo max). `db_bench` mixgraph: min 10, k 0.2615, sigma 25.45, max 1024.
    Pareto { min: Bytes, k: f64, sigma: f64, max: Bytes },
}

impl FromToml for Length {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let size = if matches!(toml.get_ref(), DeValue::Table(_)) {
            drawn(toml, mistakes)?
        } else {
            Size::Fixed { bytes: Bytes::from_toml(toml, mistakes)?.0 }
        };
        let shortest = match size {
            Size::Fixed { bytes: least } | Size::Lognormal { median: least, .. } => least,
            Size::Uniform { min, .. } | Size::Pareto { min, .. } => min,
        };
        if shortest == 0 || size.max() > LONGEST {
            mistakes.at(&span, "the length is out of range").label("expected 1 to 1GiB");
        } else if shortest > size.max() {
            let mistake = mistakes.at(&span, format!("{shortest} is more than the `max`"));
            mistake.label(format!("expected at most {}", size.max()));
        } else {
            return Some(Self(size));
        }
        None
    }
}

fn drawn(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Size> {
    const NAMES: [&str; 3] = ["uniform", "lognormal", "pareto"];
    let mut fields = Fields::of(toml, "a length", mistakes)?;
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
    let mut fields = Fields::of(toml, format!("a {} length", name.value), mistakes)?;
    let above_zero = |fields: &mut Fields<'_, '_>, key| {
        let fits = |number| number > 0.0 && number <= 1e6;
        fields.number(key, "a number above 0, at most 1000000", fits)
    };
    let max: Option<At<Bytes>> = fields.required("max");
    let size = match name.as_str() {
        "uniform" => {
            let min: Option<At<Bytes>> = fields.required("min");
            (|| Some(Size::Uniform { min: min?.0, max: max?.0 }))()
        }
        "lognormal" => {
            let median: Option<At<Bytes>> = fields.required("median");
            let sigma = above_zero(&mut fields, "sigma");
            (|| Some(Size::Lognormal { median: median?.0, sigma: sigma?, max: max?.0 }))()
        }
        _ => {
            let min: Option<At<Bytes>> = fields.required("min");
            let k = above_zero(&mut fields, "k");
            let sigma = above_zero(&mut fields, "sigma");
            (|| Some(Size::Pareto { min: min?.0, k: k?, sigma: sigma?, max: max?.0 }))()
        }
    };
    fields.finish();
    size
}
