//! The results of the checks.

use crate::Description;
use std::fmt;

/// All checks of one engine. Its `Display` is a line per check and a last line of counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The engine's name and version.
    pub engine: String,
    /// The checks in the order they ran.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, which says what was checked.
    pub name: &'static str,
    /// Its result.
    pub verdict: Verdict,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The engine passed.
    Passed,
    /// The engine does not claim the ability, for this reason.
    Skipped(String),
    /// The engine failed, as this says.
    Failed(String),
}

impl Report {
    pub(super) fn new(description: &Description) -> Self {
        let engine = format!("{} {}", description.name, description.version);
        Self { engine, checks: Vec::new() }
    }

    /// Whether no check failed.
    pub fn conforms(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = &Check> {
        self.checks.iter().filter(|check| matches!(check.verdict, Verdict::Failed(_)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut passed, mut skipped, mut failed) = (0, 0, 0);
        writeln!(f, "conformance of {}", self.engine)?;
        for Check { name, verdict } in &self.checks {
            match verdict {
                Verdict::Passed => {
                    passed += 1;
                    writeln!(f, "  passed   {name}")?;
                }
                Verdict::Skipped(why) => {
                    skipped += 1;
                    writeln!(f, "  skipped  {name}: {why}")?;
                }
                Verdict::Failed(what) => {
                    failed += 1;
                    writeln!(f, "  FAILED   {name}: {what}")?;
                }
            }
        }
        write!(f, "{passed} passed, {skipped} skipped, {failed} failed")
    }
}
