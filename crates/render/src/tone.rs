//! What a word's colour says, before it is known whether there are colours.

/// The meaning of a coloured word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A good result.
    Good,
    /// Something worth a look.
    Warning,
    /// A bad result.
    Bad,
    /// A title, or a word that stands out.
    Strong,
}
