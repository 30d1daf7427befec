//! Rows of which those stay that are of all that is said, or what of it was not measured.

use std::fmt::Display;

/// Rows that are of all that was said so far: at least one, once anything was.
pub(crate) struct Narrowed<R> {
    left: Vec<R>,
}

impl<R> Narrowed<R> {
    pub(crate) fn new(rows: Vec<R>) -> Self {
        Self { left: rows }
    }

    /// Keeps those that are of `said`, a `what`; all of them where nothing is said.
    pub(crate) fn keep(
        &mut self,
        what: &str,
        said: Option<impl Display>,
        is: impl Fn(&R) -> bool,
    ) -> Result<(), String> {
        let Some(said) = said else { return Ok(()) };
        self.left.retain(is);
        if self.left.is_empty() { Err(format!("{what} {said} was not measured")) } else { Ok(()) }
    }

    pub(crate) fn left(&self) -> &[R] {
        &self.left
    }

    pub(crate) fn into_left(self) -> Vec<R> {
        self.left
    }
}
