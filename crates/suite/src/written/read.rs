//! Reads typed values from TOML: each key of a table is read once, and unread keys are mistakes.
//!
//! The reader is written by hand, because a derived reader stops at the first mistake and loses
//! positions inside tagged tables. An unreadable value is `None` and is recorded as a mistake;
//! results are used only if there is no mistake.

use crate::written::mistake::Mistakes;
use crate::written::source::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_spanned::Spanned;
use std::borrow::Cow;
use std::ops::Deref;
use toml::de::{DeTable, DeValue};

/// A TOML value with its position.
pub(crate) type Toml<'i> = Spanned<DeValue<'i>>;

/// Types that can be read from TOML.
pub(crate) trait FromToml: Sized {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self>;
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

impl<T> At<T> {
    /// Returns another value with the same position: its mistakes are shown there.
    pub(crate) fn with<U>(&self, value: U) -> At<U> {
        At { value, span: self.span.clone() }
    }
}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The schema is that of the value: the position is not part of the language.
impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<T: FromToml> FromToml for At<T> {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        Some(Self { value: T::from_toml(toml, mistakes)?, span })
    }
}

/// Reads a list. One wrong element makes it unreadable, but all elements are checked.
impl<T: FromToml> FromToml for Vec<T> {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let values = match toml.into_inner() {
            DeValue::Array(values) => values,
            other => return report_wrong_kind(&span, &other, "a list: [ ... ]", mistakes),
        };
        let read = |toml| T::from_toml(toml, mistakes);
        values.into_iter().map(read).collect::<Vec<_>>().into_iter().collect()
    }
}

/// Words for values: `order = "random"`.
pub(crate) trait Word: Copy + 'static {
    /// The name of the type in messages: "an order".
    const WHAT: &'static str;
    /// Every word.
    const ALL: &'static [(&'static str, Self)];
    /// Words of other programs, which are accepted and not suggested.
    const ALIASES: &'static [(&'static str, Self)] = &[];
}

/// Returns every word of a type.
pub(crate) fn all_words<T: Word>() -> Vec<&'static str> {
    T::ALL.iter().map(|(word, _)| *word).collect()
}

/// Reads values under names that the suite chooses. One wrong value makes all unreadable, but each
/// is checked.
pub(crate) fn read_named_values<T: FromToml>(
    toml: Toml<'_>,
    what: &str,
    mistakes: &mut Mistakes,
) -> Option<Vec<(At<String>, T)>> {
    let mut fields = Fields::read(toml, what, mistakes)?;
    let tables = fields.rest();
    let read = |(name, toml)| Some((name, T::from_toml(toml, mistakes)?));
    tables.into_iter().map(read).collect::<Vec<_>>().into_iter().collect()
}

impl<T: Word> FromToml for T {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let words = all_words::<T>();
        let DeValue::String(text) = toml.into_inner() else {
            let mistake = mistakes.at(&span, format!("expected {} in quotes", T::WHAT));
            mistake.label(format!("one of: {}", words.join(", ")));
            return None;
        };
        let mut all = T::ALL.iter().chain(T::ALIASES);
        let value = all.find(|(word, _)| *word == text).map(|&(_, value)| value);
        if value.is_none() {
            mistakes.unknown(&span, format!("`{text}` is not {}", T::WHAT), &text, &words);
        }
        value
    }
}

/// Returns the members of a list, each to be read by itself; `what` is the list's form: "[[part]]".
pub(crate) fn members<'i>(
    list: Toml<'i>,
    what: &str,
    mistakes: &mut Mistakes,
) -> Option<Vec<Toml<'i>>> {
    let span = list.span();
    match list.into_inner() {
        DeValue::Array(list) => Some(list.into_iter().collect()),
        other => report_wrong_kind(&span, &other, &format!("a list: {what}"), mistakes),
    }
}

/// Records a value of the wrong TOML kind.
pub(crate) fn report_wrong_kind<T>(
    span: &Span,
    value: &DeValue,
    expected: &str,
    mistakes: &mut Mistakes,
) -> Option<T> {
    let value_text = match value {
        DeValue::String(text) => format!("the text \"{text}\""),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => format!("`{value}`"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    mistakes.at(span, format!("found {value_text}")).label(format!("expected {expected}"));
    None
}

/// A key of a table: [`At`] is required, `Option` is optional, and a type with a default is
/// optional too.
pub(crate) trait Key: Sized {
    fn read(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self>;
}

impl<T: FromToml> Key for At<T> {
    fn read(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        fields.required(key)
    }
}

impl<T: FromToml> Key for Option<At<T>> {
    fn read(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        Some(fields.optional(key))
    }
}

impl<T: FromToml + Default> Key for T {
    fn read(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Self> {
        Some(fields.optional(key).map(|at: At<T>| at.value).unwrap_or_default())
    }
}

/// Reads a struct from the table whose keys are its fields; suggestions have this order.
macro_rules! table {
    ($type:ident, $what:literal: $($key:ident)+) => {
        impl $type {
            fn read(mut fields: crate::written::read::Fields<'_, '_>) -> Option<Self> {
                $(let $key = crate::written::read::Key::read(&mut fields, stringify!($key));)+
                fields.finish();
                Some(Self { $($key: $key?),+ })
            }
        }

        impl crate::written::read::FromToml for $type {
            fn from_toml(
                toml: crate::written::read::Toml<'_>,
                mistakes: &mut crate::written::mistake::Mistakes,
            ) -> Option<Self> {
                crate::written::read::Fields::read(toml, $what, mistakes).and_then(Self::read)
            }
        }
    };
}
pub(crate) use table;

/// The value of an optional key, or its default.
pub(crate) trait Or<T> {
    fn value_or(&self, default: T) -> T;
}

/// The position of an optional key.
pub(crate) trait OptionalSpan {
    fn span(&self) -> Option<Span>;
}

impl<T> OptionalSpan for Option<At<T>> {
    fn span(&self) -> Option<Span> {
        self.as_ref().map(|at| at.span.clone())
    }
}

impl<T: Copy> Or<T> for Option<At<T>> {
    fn value_or(&self, default: T) -> T {
        self.as_ref().map_or(default, |at| at.value)
    }
}

/// A table whose keys are being read.
pub(crate) struct Fields<'a, 'i> {
    /// The table's name in messages: "[data]", "a load phase".
    what: String,
    span: Span,
    table: DeTable<'i>,
    read_keys: Vec<&'static str>,
    pub(crate) mistakes: &'a mut Mistakes,
}

impl<'a, 'i> Fields<'a, 'i> {
    /// Reads `toml`, which must be a table.
    pub(crate) fn read(
        toml: Toml<'i>,
        what: impl Into<String>,
        mistakes: &'a mut Mistakes,
    ) -> Option<Self> {
        let span = toml.span();
        let what = what.into();
        match toml.into_inner() {
            DeValue::Table(table) => {
                Some(Self { what, span, table, read_keys: Vec::new(), mistakes })
            }
            other => report_wrong_kind(&span, &other, &format!("a table for {what}"), mistakes),
        }
    }

    /// Returns the table's position.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Sets a more specific name: "a phase" is "a load phase".
    pub(crate) fn call(&mut self, what: impl Into<String>) {
        self.what = what.into();
    }

    /// Reads an optional key.
    pub(crate) fn optional<T: FromToml>(&mut self, key: &'static str) -> Option<At<T>> {
        self.read_keys.push(key);
        let toml = self.table.remove(key)?;
        At::from_toml(toml, self.mistakes)
    }

    /// Removes a key that this table must not have, for a message of its own.
    pub(crate) fn remove_key(&mut self, key: &str) -> Option<Toml<'i>> {
        self.table.remove(key)
    }

    /// Returns an optional key as written, for another reader.
    pub(crate) fn as_written(&mut self, key: &'static str) -> Option<Toml<'i>> {
        self.read_keys.push(key);
        self.table.remove(key)
    }

    /// Reads a required key.
    pub(crate) fn required<T: FromToml>(&mut self, key: &'static str) -> Option<At<T>> {
        self.demand(key);
        self.optional(key)
    }

    /// Records a missing key.
    pub(crate) fn demand(&mut self, key: &str) {
        if !self.has(key) {
            let message = format!("{} has no `{key}`", self.what);
            self.mistakes.at(&self.span, message).label(format!("`{key}` is missing here"));
        }
    }

    /// Marks keys as known that another reader has already removed.
    pub(crate) fn mark_read(&mut self, keys: &[&'static str]) {
        self.read_keys.extend(keys);
    }

    /// Returns whether an unread key exists.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Reads a required number within bounds.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        expected: &str,
        fits: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let number: At<f64> = self.required(key)?;
        if fits(number.value) {
            return Some(number.value);
        }
        let message = format!("`{key}` is {}", number.value);
        self.mistakes.at(&number.span, message).label(format!("expected {expected}"));
        None
    }

    /// Removes and returns the unread keys.
    pub(crate) fn rest(&mut self) -> Vec<(At<String>, Toml<'i>)> {
        let table = std::mem::take(&mut self.table);
        let key = |key: Spanned<Cow<'_, str>>| At {
            span: key.span(),
            value: key.into_inner().into_owned(),
        };
        table.into_iter().map(|(name, toml)| (key(name), toml)).collect()
    }

    /// Refuses unread keys.
    pub(crate) fn finish(mut self) {
        for (key, _) in self.rest() {
            let message = format!("{} has no key `{}`", self.what, key.value);
            self.mistakes.unknown(&key.span, message, &key.value, &self.read_keys);
        }
    }
}
