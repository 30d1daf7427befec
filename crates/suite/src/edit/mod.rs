//! Changes to a suite's tables before they are checked.

pub(crate) mod adjust;
pub(crate) mod brief;
pub(crate) mod count;
pub(crate) mod db_bench;
pub(crate) mod lengths;
pub(crate) mod media;
pub(crate) mod named_phases;
pub(crate) mod overrides;
pub(crate) mod part;
pub(crate) mod profile;
pub(crate) mod select;
pub(crate) mod set;
pub(crate) mod shell;
pub(crate) mod ycsb;
