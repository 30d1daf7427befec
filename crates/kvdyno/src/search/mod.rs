//! Where a target stops being met: the least memory, the highest rate.
//!
//! Pure: a [`Target`] is what must hold, `edge` says which value to try next, an [`Answer`] is
//! computed from a run's record. Making the points and measuring them is for the commands `size`
//! and `capacity`; `docs/size.md` says how the search decides.

mod answer;
mod edge;
mod judge;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use answer::drive;
pub use answer::{Answer, Condition, Next, Outcome, Point, answer, points_most};
pub(crate) use table::{aid, curve};
pub use target::{Clause, Figure, Target, TargetError};
