//! Key distributions as typed.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Or as _, Toml, report_wrong_kind};
use crate::written::scalar::{Count, Several};
use kvdyno_record::workload::{Choice, Domain, RangeDraw, Spread};
use toml::de::DeValue;

impl FromToml for Choice {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "keys", mistakes)?;
        let distribution: At<String> = fields.required("distribution")?;
        if !CHOICES.contains(&distribution.as_str()) {
            let message = format!("`{}` is not a distribution of keys", distribution.value);
            mistakes.unknown(&distribution.span, message, &distribution.value, &CHOICES);
            return None;
        }
        fields.call(format!("distribution {}", distribution.value));
        let choice = match distribution.as_str() {
            "uniform" => Some(Self::Uniform),
            "ycsb_zipfian" => Some(Self::YcsbZipfian),
            "absent" => Some(Self::Absent),
            "zipf" => zipf(&mut fields),
            "gray_zipf" => gray_zipf(&mut fields),
            "latest" => latest(&mut fields),
            "hotspot" => hotspot(&mut fields),
            "exponential" => exponential(&mut fields),
            "sequential" => Some(sequential(&mut fields)),
            _ => ranges(&mut fields),
        };
        fields.finish();
        choice
    }
}

const CHOICES: [&str; 10] = [
    "uniform",
    "zipf",
    "ycsb_zipfian",
    "gray_zipf",
    "latest",
    "hotspot",
    "exponential",
    "sequential",
    "ranges",
    "absent",
];

/// The domains of hot keys that are spread over the whole domain: an insert must not move them.
const FIXED: [(&str, Domain); 2] = [("loaded", Domain::Loaded), ("predicted", Domain::Predicted)];
const GROWING: [(&str, Domain); 2] = [("present", Domain::Present), ("loaded", Domain::Loaded)];

/// Reads a domain; the default is the first allowed one.
fn domain(fields: &mut Fields<'_, '_>, domains: &[(&str, Domain)]) -> Option<Domain> {
    let Some(word) = fields.optional::<String>("domain") else { return Some(domains[0].1) };
    let domain = domains.iter().find(|(name, _)| *name == word.value);
    if domain.is_none() {
        let names: Vec<&str> = domains.iter().map(|(name, _)| *name).collect();
        let message = format!("`{}` is not a domain of these keys", word.value);
        fields.mistakes.unknown(&word.span, message, &word.value, &names);
    }
    domain.map(|(_, domain)| *domain)
}

fn share(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<f64> {
    fields.number(key, "a share above 0, at most 1", |share| share > 0.0 && share <= 1.0)
}

fn theta(fields: &mut Fields<'_, '_>) -> Option<f64> {
    fields.number("theta", "a number from 0 to 100", |theta| (0.0..=100.0).contains(&theta))
}

/// Reads the theta of Gray's approximation, which divides by 1 - theta.
fn theta_of_gray(fields: &mut Fields<'_, '_>, any: &str) -> Option<f64> {
    let fits = |theta| theta > 0.0 && theta < 1.0;
    fields.number("theta", &format!("a number above 0 and below 1; {any} takes any"), fits)
}

fn zipf(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let (theta, domain) = (theta(fields), domain(fields, &FIXED));
    Some(Choice::Zipf { theta: theta?, domain: domain? })
}

fn gray_zipf(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let (theta, domain) = (theta_of_gray(fields, "`zipf`"), domain(fields, &FIXED));
    let items: Option<At<Count>> = fields.optional("items");
    if let Some(none) = items.as_ref().filter(|items| items.0 == 0) {
        fields.mistakes.at(&none.span, "`items` is 0").label("expected at least 1");
    }
    let spread: Option<At<Spread>> = fields.optional("spread");
    let spread = spread.value_or(Spread::None);
    let items = items.map(|items| items.value.0);
    Some(Choice::GrayZipf { theta: theta?, items, spread, domain: domain? })
}

impl FromToml for Spread {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const WORDS: [&str; 3] = ["none", "fnv", "linkbench"];
        const EXPECTED: &str = "\"none\", \"fnv\" or { linkbench = { seed = 1 } }";
        let span = toml.span();
        match toml.get_ref() {
            DeValue::String(word) if word == "none" => Some(Self::None),
            DeValue::String(word) if word == "fnv" => Some(Self::Fnv),
            DeValue::String(word) if word == "linkbench" => {
                let mistake = mistakes.at(&span, "LinkBench's spread has no seed");
                mistake.label("expected { linkbench = { seed = 20343988438726021 } }");
                None
            }
            DeValue::String(word) => {
                let message = format!("`{word}` is not a spread of ranks");
                mistakes.unknown(&span, message, word, &WORDS);
                None
            }
            DeValue::Table(_) => {
                let mut fields = Fields::read(toml, "a spread", mistakes)?;
                let seed: Option<At<Seed>> = fields.required("linkbench");
                fields.finish();
                Some(Self::Linkbench { seed: seed?.value.0 })
            }
            other => report_wrong_kind(&span, other, EXPECTED, mistakes),
        }
    }
}

/// The value under `linkbench`.
struct Seed(u64);

impl FromToml for Seed {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "LinkBench's spread", mistakes)?;
        let seed: Option<At<Count>> = fields.required("seed");
        fields.finish();
        Some(Self(seed?.value.0))
    }
}

fn latest(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let exact = fields.optional("exact").value_or(true);
    let theta = if exact { theta(fields) } else { theta_of_gray(fields, "`exact = true`") };
    Some(Choice::Latest { theta: theta?, exact })
}

fn hotspot(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let (keys, operations) = (share(fields, "keys"), share(fields, "operations"));
    let domain = domain(fields, &GROWING);
    Some(Choice::Hotspot { keys: keys?, operations: operations?, domain: domain? })
}

fn exponential(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let fits = |percentile| percentile > 0.0 && percentile < 100.0;
    let percentile = fields.number("percentile", "0 to 100", fits);
    let (fraction, domain) = (share(fields, "fraction"), domain(fields, &GROWING));
    Some(Choice::Exponential { percentile: percentile?, fraction: fraction?, domain: domain? })
}

fn sequential(fields: &mut Fields<'_, '_>) -> Choice {
    let step: Option<At<Count>> = fields.optional("step");
    if let Some(step) = step.as_ref().filter(|step| !(1..=u64::from(u32::MAX)).contains(&step.0)) {
        let mistake = fields.mistakes.at(&step.span, format!("`step` is {}", step.0));
        mistake.label("expected at least 1, at most 4294967295");
    }
    Choice::Sequential { step: step.value_or(Count(1)).0 }
}

fn ranges(fields: &mut Fields<'_, '_>) -> Option<Choice> {
    let ranges: Option<At<Several>> = fields.required("ranges");
    let terms = ["a", "b", "c", "d"]
        .map(|key| fields.number(key, "a number from -1000 to 1000", |n| n.abs() <= 1e3));
    let within: Option<At<RangeDraw>> = fields.optional("within");
    let within = within.value_or(RangeDraw::Uniform);
    let (ranges, [a, b, c, d]) = (ranges?, terms);
    let (a, b, c, d) = (a?, b?, c?, d?);
    let last = ranges.value.0;
    let has_share = |range: u32| {
        let range = f64::from(range);
        a * (b * range).exp() + c * (d * range).exp() >= 1e-16
    };
    if !(1..=last).any(has_share) {
        let mistake = fields.mistakes.at(&ranges.span, "no range has a share of the operations");
        mistake.label("expected a e^(b i) + c e^(d i) above 0 for one of them");
        return None;
    }
    Some(Choice::Ranges { ranges: last, a, b, c, d, within })
}

impl FromToml for RangeDraw {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        match toml.get_ref() {
            DeValue::String(word) if word == "uniform" => Some(Self::Uniform),
            DeValue::Table(_) => {
                let mut fields = Fields::read(toml, "a range's keys", mistakes)?;
                let power: Option<At<Power>> = fields.required("power");
                fields.finish();
                power.map(|At { value: Power(a, b), .. }| Self::Power { a, b })
            }
            other => {
                let expected = "\"uniform\" or { power = { a = 0.002312, b = 0.3467 } }";
                report_wrong_kind(&span, other, expected, mistakes)
            }
        }
    }
}

/// The value under `power`.
struct Power(f64, f64);

impl FromToml for Power {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "a power law", mistakes)?;
        let mut above_zero =
            |key| fields.number(key, "a number above 0, at most 1000", |n| n > 0.0 && n <= 1e3);
        let (a, b) = (above_zero("a"), above_zero("b"));
        fields.finish();
        Some(Self(a?, b?))
    }
}
