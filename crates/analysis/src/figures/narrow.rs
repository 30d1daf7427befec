//! Rows that are selected by one condition after the other, with an error that names the condition
//! that left none.

use std::fmt::Display;

/// The rows that meet all conditions so far: at least one, once there was any.
pub(crate) struct Narrowed<R> {
    left: Vec<R>,
}

impl<R> Narrowed<R> {
    pub(crate) fn new(rows: Vec<R>) -> Self {
        Self { left: rows }
    }

    /// Keeps the rows with this `value` of `what`; all of them without a value.
    pub(crate) fn keep_matching(
        &mut self,
        what: &str,
        value: Option<impl Display>,
        is: impl Fn(&R) -> bool,
    ) -> Result<(), String> {
        let Some(value) = value else { return Ok(()) };
        self.left.retain(is);
        if self.left.is_empty() { Err(format!("{what} {value} was not measured")) } else { Ok(()) }
    }

    pub(crate) fn remaining(&self) -> &[R] {
        &self.left
    }

    pub(crate) fn into_remaining(self) -> Vec<R> {
        self.left
    }
}
