//! The values of YCSB's properties.

use super::keys::{self, Effect};
use super::properties::Property;
use crate::written::mistake::{Mistakes, closest};
use std::fmt::Display;
use std::str::FromStr;

/// The properties of a workload, each once.
pub(super) struct Values<'p> {
    properties: &'p [Property],
}

impl<'p> Values<'p> {
    pub(super) fn new(properties: &'p [Property]) -> Self {
        Self { properties }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'p Property> {
        self.properties.iter().find(|property| property.name == name)
    }

    /// Returns a number of at least `least`, or the default if the property is missing or invalid.
    pub(super) fn number<N>(&self, name: &str, least: N, default: N, mistakes: &mut Mistakes) -> N
    where
        N: FromStr + PartialOrd + Display + Copy,
    {
        let Some(property) = self.get(name) else { return default };
        match property.value.trim().parse::<N>() {
            Ok(number) if number >= least => number,
            _ => {
                refuse(property, format!("expected a number of at least {least}"), mistakes);
                default
            }
        }
    }

    /// Returns a share from 0 to 1, or the default if the property is missing or invalid.
    pub(super) fn share(&self, name: &str, default: f64, mistakes: &mut Mistakes) -> f64 {
        let Some(property) = self.get(name) else { return default };
        match property.value.trim().parse::<f64>() {
            Ok(share) if (0.0..=1.0).contains(&share) => share,
            _ => {
                refuse(property, "expected a number from 0 to 1", mistakes);
                default
            }
        }
    }

    /// Returns a switch: as in Java, any word but "true" is false.
    pub(super) fn switch(&self, name: &str, default: bool) -> bool {
        self.get(name).map_or(default, |property| property.value.eq_ignore_ascii_case("true"))
    }

    /// Returns one of these words; the first is the default.
    pub(super) fn choice<'w>(
        &self,
        name: &str,
        words: &[&'w str],
        mistakes: &mut Mistakes,
    ) -> &'w str {
        let Some(property) = self.get(name) else { return words[0] };
        match words.iter().find(|word| **word == property.value) {
            Some(word) => word,
            None => {
                refuse(property, format!("expected {}", words.join(" or ")), mistakes);
                words[0]
            }
        }
    }

    /// Refuses a property unless it has this value.
    pub(super) fn require_value(
        &self,
        name: &str,
        value: &str,
        why: &str,
        mistakes: &mut Mistakes,
    ) {
        let Some(property) = self.get(name).filter(|property| property.value != value) else {
            return;
        };
        refuse(property, format!("expected {value}: {why}"), mistakes);
    }

    /// Refuses unknown properties. Returns the names of those without effect.
    pub(super) fn ineffective_properties(&self, mistakes: &mut Mistakes) -> Vec<&'p str> {
        let mut left_out = Vec::new();
        for property in self.properties {
            match keys::effect(&property.name) {
                Effect::Workload => {}
                Effect::Harmless => left_out.push(property.name.as_str()),
                Effect::Unknown => {
                    let message = format!("YCSB has no property `{}`", property.name);
                    let label = match closest(&property.name, &keys::names()) {
                        Some(closest) => format!("did you mean `{closest}`?"),
                        None => "expected a property of CoreWorkload".to_owned(),
                    };
                    mistakes.at(&property.span, message).label(label);
                }
            }
        }
        left_out
    }
}

/// Refuses the value of a property.
pub(super) fn refuse(property: &Property, expected: impl Into<String>, mistakes: &mut Mistakes) {
    let Property { name, value, span } = property;
    mistakes.at(span, format!("`{name}` cannot be `{value}`")).label(expected);
}
