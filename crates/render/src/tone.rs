//! What a word's colour says, before it is known whether there are colours.

/// The meaning of a coloured word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It is right.
    Good,
    /// Worth a look.
    Warning,
    /// It is wrong.
    Bad,
    /// A title, or a word that stands out.
    Strong,
}
