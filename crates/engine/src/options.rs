//! The options an engine is opened with: every one it describes, resolved to a value.

use crate::{Description, Durability, Error, Preset, Result, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An engine's options as resolved from its defaults and the suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// The durability class: what "done" means for a write.
    pub durability: Durability,
    /// Each option of the description by name.
    pub values: BTreeMap<String, Value>,
}

impl Options {
    /// The defaults of the description.
    pub fn defaults(description: &Description, durability: Durability) -> Self {
        let values = description
            .options
            .iter()
            .map(|option| (option.name.clone(), option.default.clone()))
            .collect();
        Self { durability, values }
    }

    /// The defaults, replaced by the preset's values where it has them, with `memory` bytes at
    /// hand.
    pub fn from_preset(
        description: &Description,
        durability: Durability,
        preset: Preset,
        memory: u64,
    ) -> Result<Self> {
        let mut options = Self::defaults(description, durability);
        for option in &description.options {
            if let Some(value) = option.preset_value(preset, memory)? {
                options.values.insert(option.name.clone(), value);
            }
        }
        Ok(options)
    }

    /// Refuses options the description does not have and values of the wrong kind, and fills in
    /// the defaults of those not given.
    pub fn resolve(mut self, description: &Description) -> Result<Self> {
        if !description.capabilities.durability.contains_key(&self.durability) {
            let names: Vec<_> =
                description.capabilities.durability.keys().map(Durability::as_str).collect();
            return Err(Error::invalid(format!(
                "unknown durability class `{1}`; {0} has: {2}",
                description.name,
                self.durability.as_str(),
                names.join(", ")
            )));
        }
        for (name, value) in &self.values {
            let Some(spec) = description.options.iter().find(|spec| &spec.name == name) else {
                return Err(Error::invalid(format!("{} has no option `{name}`", description.name)));
            };
            spec.kind.accept(value).map_err(|expected| {
                Error::invalid(format!("option `{name}`: expected {expected}, found {value}"))
            })?;
        }
        for spec in &description.options {
            self.values.entry(spec.name.clone()).or_insert_with(|| spec.default.clone());
        }
        Ok(self)
    }

    /// Returns the value of an option of kind bytes or integer.
    pub fn integer(&self, name: &str) -> Result<u64> {
        match self.values.get(name) {
            Some(Value::Integer(value)) => Ok(*value),
            other => Err(option_error(name, "a number", other)),
        }
    }

    /// Returns the value of an option of kind boolean.
    pub fn boolean(&self, name: &str) -> Result<bool> {
        match self.values.get(name) {
            Some(Value::Boolean(value)) => Ok(*value),
            other => Err(option_error(name, "true or false", other)),
        }
    }

    /// Returns the value of an option of kind choice or text.
    pub fn text(&self, name: &str) -> Result<&str> {
        match self.values.get(name) {
            Some(Value::Text(value)) => Ok(value),
            other => Err(option_error(name, "text", other)),
        }
    }
}

fn option_error(name: &str, expected: &str, value: Option<&Value>) -> Error {
    let value = value.map_or_else(|| "missing".to_owned(), ToString::to_string);
    Error::invalid(format!("option `{name}`: expected {expected}, found {value}"))
}
