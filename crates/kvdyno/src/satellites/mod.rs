//! Commands that no other code needs: traces, drives, durability tests, bisections, and engines to
//! fetch or to write.

pub(crate) mod bisect;
pub(crate) mod drive;
pub(crate) mod engines;
pub(crate) mod new_engine;
pub(crate) mod torture;
pub(crate) mod trace;
