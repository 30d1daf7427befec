//! What a cell of an export holds.

/// What a cell holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// Nothing: not measured.
    Empty,
    /// Words.
    Text(String),
    /// A number as recorded.
    Number(f64),
    /// A number that follows from other cells. The formula is kvdyno's own: no text of a record is
    /// ever in it.
    Formula {
        /// The formula with its equals sign.
        formula: String,
        /// Its result.
        result: f64,
    },
}

impl Cell {
    /// A number, or nothing.
    pub(crate) fn number(value: Option<f64>) -> Self {
        value.filter(|value| value.is_finite()).map_or(Self::Empty, Self::Number)
    }

    /// A count, or nothing.
    pub(crate) fn count(value: impl Into<Option<u64>>) -> Self {
        Self::number(value.into().map(|value| value as f64))
    }

    /// Words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Words, or nothing.
    pub(crate) fn text_or_empty(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Empty, Self::text)
    }

    /// Returns the cell as a program reads it: not rounded, empty where there is nothing, and no
    /// formula.
    pub(crate) fn csv(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => crate::inert::escape_formula(text).into_owned(),
            Self::Number(number) | Self::Formula { result: number, .. } => number.to_string(),
        }
    }
}
