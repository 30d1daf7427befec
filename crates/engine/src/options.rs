//! The options an engine is opened with: every one it describes, resolved to a value.

use crate::{Description, Durability, Error, OptionKind, Result, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An engine's options as resolved from its defaults and the suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// What "done" means for a write.
    pub durability: Durability,
    /// Each option of the description by name.
    pub values: BTreeMap<String, Value>,
}

impl Options {
    /// The described defaults.
    pub fn defaults(description: &Description, durability: Durability) -> Self {
        let values = description
            .options
            .iter()
            .map(|option| (option.name.clone(), option.default.clone()))
            .collect();
        Self { durability, values }
    }

    /// Refuses options the description does not have and values of the wrong kind, and fills in
    /// the defaults of those not given.
    pub fn resolve(mut self, description: &Description) -> Result<Self> {
        if !description.capabilities.durability.contains_key(&self.durability) {
            let known: Vec<_> =
                description.capabilities.durability.keys().map(Durability::as_str).collect();
            return Err(Error::invalid(format!(
                "{} has no durability class `{}`; it has: {}",
                description.name,
                self.durability.as_str(),
                known.join(", ")
            )));
        }
        for (name, value) in &self.values {
            let Some(spec) = description.options.iter().find(|spec| &spec.name == name) else {
                return Err(Error::invalid(format!("{} has no option `{name}`", description.name)));
            };
            spec.kind.accept(value).map_err(|expected| {
                Error::invalid(format!("option `{name}` is {value}; expected {expected}"))
            })?;
        }
        for spec in &description.options {
            self.values.entry(spec.name.clone()).or_insert_with(|| spec.default.clone());
        }
        Ok(self)
    }

    /// An option of kind bytes or integer.
    pub fn integer(&self, name: &str) -> Result<u64> {
        match self.values.get(name) {
            Some(Value::Integer(value)) => Ok(*value),
            other => Err(mistaken(name, "a number", other)),
        }
    }

    /// An option of kind boolean.
    pub fn boolean(&self, name: &str) -> Result<bool> {
        match self.values.get(name) {
            Some(Value::Boolean(value)) => Ok(*value),
            other => Err(mistaken(name, "true or false", other)),
        }
    }

    /// An option of kind choice or text.
    pub fn text(&self, name: &str) -> Result<&str> {
        match self.values.get(name) {
            Some(Value::Text(value)) => Ok(value),
            other => Err(mistaken(name, "text", other)),
        }
    }
}

impl OptionKind {
    /// Whether `value` is of this kind; if not, what would be.
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
            _ => Err(self.expected()),
        }
    }

    /// What a user may write, in words.
    pub fn expected(&self) -> String {
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

fn mistaken(name: &str, expected: &str, found: Option<&Value>) -> Error {
    let found = found.map_or_else(|| "missing".to_owned(), ToString::to_string);
    Error::invalid(format!("option `{name}`: expected {expected}, found {found}"))
}
