//! The parts of a check: a rule that reads a [`Host`], its value, and the remedy.

use kvdyno_record::host::Host;
use serde::Serialize;

/// How much a check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Worth knowing when figures are read or compared.
    Info,
    /// Figures will be distorted, or something cannot be measured.
    Warning,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The stable identifier, such as `readahead` or `damon`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Level,
    /// The value.
    pub value: String,
    /// Why it matters, in one sentence.
    pub reason: &'static str,
    /// The command, or the act, that would change it; null where nothing needs to be changed.
    pub remedy: Option<String>,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "a rule ends with one of these, or has nothing to say"
)]
impl Diagnostic {
    /// Keeps [`Level::Ok`]: the value is as it should be, or not to be judged.
    pub(super) fn ok(self) -> Option<Self> {
        Some(self)
    }

    /// Sets [`Level::Info`].
    pub(super) fn info(self) -> Option<Self> {
        Some(Self { severity: Level::Info, ..self })
    }

    /// Sets [`Level::Info`] and the remedy, if the condition holds.
    pub(super) fn info_if(self, condition: bool, remedy: impl Into<String>) -> Option<Self> {
        self.raise_if(Level::Info, condition, remedy.into())
    }

    /// Sets [`Level::Warning`] and the remedy, if the condition holds.
    pub(super) fn warn_if(self, condition: bool, remedy: impl Into<String>) -> Option<Self> {
        self.raise_if(Level::Warning, condition, remedy.into())
    }

    fn raise_if(self, severity: Level, condition: bool, remedy: String) -> Option<Self> {
        Some(if condition { Self { severity, remedy: Some(remedy), ..self } } else { self })
    }
}

/// Returns a check with this value, and why it matters. The rule adds its identifier.
pub(super) fn diagnostic(value: impl Into<String>, why: &'static str) -> Diagnostic {
    Diagnostic { id: "", severity: Level::Ok, value: value.into(), reason: why, remedy: None }
}

/// A check by its identifier; none on a host that does not report it.
pub(super) struct Rule {
    pub(super) id: &'static str,
    check: fn(&Host) -> Option<Diagnostic>,
}

pub(super) const fn rule(id: &'static str, check: fn(&Host) -> Option<Diagnostic>) -> Rule {
    Rule { id, check }
}

pub(super) fn apply(rules: &[Rule], host: &Host) -> Vec<Diagnostic> {
    let checks = rules.iter().filter_map(|rule| {
        let check = (rule.check)(host)?;
        Some(Diagnostic { id: rule.id, ..check })
    });
    checks.collect()
}

/// A setting by path or name.
pub(super) fn setting<'a>(host: &'a Host, name: &str) -> Option<&'a str> {
    host.settings.get(name).map(String::as_str)
}

pub(super) fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
pub(super) fn apply_rule(rules: &[Rule], id: &str, host: &Host) -> Option<Diagnostic> {
    find_check(&apply(rules, host), id).cloned()
}

#[cfg(test)]
pub(super) fn find_check<'a>(checks: &'a [Diagnostic], id: &str) -> Option<&'a Diagnostic> {
    checks.iter().find(|check| check.id == id)
}
