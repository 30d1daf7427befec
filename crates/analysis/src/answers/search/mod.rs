//! Where a target stops being met: the least memory, the highest rate.
//!
//! Pure: a [`Target`] is what must hold, `edge` says which value to try next, a [`SearchResult`] is
//! computed from a run's record. Making the points and measuring them is for the commands `size`
//! and `capacity`; `docs/size.md` says how the search decides.

pub mod answer;
mod edge;
pub(super) mod judge;
mod result;
mod target;
pub mod words;

pub use answer::{answer, judged_mix, points_most};
pub use result::{Condition, Next, Outcome, Point, SearchResult};
pub use target::{Clause, Quantity, Target, TargetError, Unit};
