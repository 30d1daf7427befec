//! One option of an engine, with its default and its values under the presets.

use crate::{Error, Result, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One option of an engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OptionSpec {
    /// The name in a suite: the engine's own, in `snake_case`.
    pub name: String,
    /// The values it takes.
    pub kind: OptionKind,
    /// The value where the suite sets none.
    pub default: Value,
    /// One sentence: what it does, in the engine's terms.
    pub help: String,
    /// Whether a set value is a path of this machine, which a rerun elsewhere does not use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_path: bool,
    /// The values that presets give it in place of the default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub presets: Vec<Setting>,
}

/// A set of an engine's options.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// The engine's own defaults.
    Defaults,
    /// The engine's own tuning guide, applied to the RAM limit.
    Tuned,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 2] = [Self::Defaults, Self::Tuned];

    /// The preset's word in a suite.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Defaults => "defaults",
            Self::Tuned => "tuned",
        }
    }
}

/// The value that a preset gives one option, and the reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The preset.
    pub preset: Preset,
    /// The value as in a suite: bytes may be a share of the RAM limit, `"50%"`.
    pub value: Value,
    /// The reason, in one sentence.
    pub reason: String,
    /// The source: a page of the engine's authors, or a file of its code.
    pub source: String,
}

impl OptionSpec {
    /// An option of these four parts, without values of presets.
    pub fn new(name: &str, kind: OptionKind, default: Value, help: &str) -> Self {
        let (name, help) = (name.to_owned(), help.to_owned());
        Self { name, kind, default, help, is_path: false, presets: Vec::new() }
    }

    /// An option that is on or off.
    pub fn flag(name: &str, default: bool, help: &str) -> Self {
        Self::new(name, OptionKind::Boolean, Value::Boolean(default), help)
    }

    /// An option whose value is a number of bytes.
    pub fn bytes(name: &str, default: u64, help: &str) -> Self {
        Self::new(name, OptionKind::Bytes, default.into(), help)
    }

    /// An option whose value is a whole number from 0 to `max`.
    pub fn count(name: &str, max: u64, default: u64, help: &str) -> Self {
        Self::new(name, OptionKind::Integer { min: 0, max }, default.into(), help)
    }

    /// An option whose value is one of `words`; the first is the default.
    pub fn choice(name: &str, words: &[&str], help: &str) -> Self {
        let choices: Vec<String> = words.iter().map(ToString::to_string).collect();
        let default = Value::Text(choices.first().cloned().unwrap_or_default());
        Self::new(name, OptionKind::Choice { of: choices }, default, help)
    }

    /// An option whose value is any text.
    pub fn text(name: &str, default: &str, help: &str) -> Self {
        Self::new(name, OptionKind::Text, Value::Text(default.to_owned()), help)
    }

    /// An option whose value is a path; empty: none.
    pub fn path(name: &str, help: &str) -> Self {
        Self { is_path: true, ..Self::text(name, "", help) }
    }
}

impl OptionSpec {
    /// Sets the engine's own default, where it differs from the default of this option.
    #[must_use]
    pub fn engine_default(self, value: impl Into<Value>, source: &str) -> Self {
        let reason = "What the engine takes for itself.";
        self.preset(Preset::Defaults, value.into(), reason, source)
    }

    /// Sets the value from the engine's own tuning guide, with the reason and the source. Bytes may
    /// be a share of the RAM limit: `"50%"`.
    #[must_use]
    pub fn tuned(self, value: impl Into<Value>, reason: &str, source: &str) -> Self {
        self.preset(Preset::Tuned, value.into(), reason, source)
    }

    fn preset(mut self, preset: Preset, value: Value, reason: &str, source: &str) -> Self {
        let (reason, source) = (reason.to_owned(), source.to_owned());
        self.presets.push(Setting { preset, value, reason, source });
        self
    }

    /// Returns the value that switches compression off; none: the option chooses no compressor, or
    /// always one.
    pub fn no_compressor(&self) -> Option<&str> {
        let OptionKind::Choice { of } = &self.kind else { return None };
        let off = of.iter().find(|word| ["none", "off"].contains(&word.as_str()))?;
        of.iter().any(|word| COMPRESSORS.contains(&word.as_str())).then_some(off)
    }

    /// Whether data is compressed when the option has this value.
    pub fn compresses(&self, value: &Value) -> bool {
        let is_compressor =
            matches!(value, Value::Text(word) if COMPRESSORS.contains(&word.as_str()));
        is_compressor && self.no_compressor().is_some()
    }

    /// Returns the value of a preset with `memory` bytes at hand; none: the default. `Err`: the
    /// preset's value is invalid for this option.
    pub fn preset_value(&self, preset: Preset, memory: u64) -> Result<Option<Value>> {
        let Some(setting) = self.presets.iter().find(|setting| setting.preset == preset) else {
            return Ok(None);
        };
        let value = match &setting.value {
            Value::Text(text) if self.kind == OptionKind::Bytes => {
                let share = text.strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
                share.map(|share| Value::Integer((share / 100.0 * memory as f64) as u64))
            }
            value => Some(value.clone()),
        };
        let value = value.filter(|value| self.kind.accept(value).is_ok()).ok_or_else(|| {
            let (name, preset) = (&self.name, preset.as_str());
            let expected = self.kind.format_expected();
            let choice = &setting.value;
            Error::invalid(format!(
                "{preset}: option `{name}`: expected {expected}, found \
                {choice}"
            ))
        })?;
        Ok(Some(value))
    }
}

/// The names that engines have for compressors.
const COMPRESSORS: [&str; 9] =
    ["snappy", "zlib", "lz4", "lz4hc", "zstd", "lzo", "lzma", "bzip2", "pglz"];

/// The kind of values that an option takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    /// `true` or `false`.
    Boolean,
    /// Bytes: `64MiB`, or a share of the RAM limit: `50%`.
    Bytes,
    /// A whole number.
    Integer {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// One of a list of words.
    Choice {
        /// The words.
        of: Vec<String>,
    },
    /// Any text.
    Text,
}

impl OptionKind {
    /// Checks that `value` is of this kind; `Err`: the values that would be, in words.
    pub fn accept(&self, value: &Value) -> std::result::Result<(), String> {
        match (self, value) {
            (Self::Boolean, Value::Boolean(_))
            | (Self::Bytes, Value::Integer(_))
            | (Self::Text, Value::Text(_)) => Ok(()),
            (Self::Integer { min, max }, Value::Integer(number))
                if (*min..=*max).contains(number) =>
            {
                Ok(())
            }
            (Self::Choice { of }, Value::Text(text)) if of.contains(text) => Ok(()),
            _ => Err(self.format_expected()),
        }
    }

    /// Describes in words what a user may write.
    pub fn format_expected(&self) -> String {
        match self {
            Self::Boolean => "true or false".to_owned(),
            Self::Bytes => {
                "bytes such as 64MiB, or a share of the RAM limit such as 50%".to_owned()
            }
            Self::Text => "text".to_owned(),
            Self::Integer { min, max: u64::MAX } => format!("a whole number from {min}"),
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Choice { of } => format!("one of {}", of.join(", ")),
        }
    }
}
