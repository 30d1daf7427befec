//! Where a target stops being met: the least memory, the highest rate.
//!
//! Pure: a [`Target`] is held against a run's summary, an [`Edge`] says which value to try next.
//! Running and telling is for the commands `size` and `capacity`.

mod edge;
mod judge;
mod target;

pub use edge::{Edge, Found, Wanted};
pub use judge::{Judged, judge};
pub use target::{Clause, Figure, Target, TargetError};
