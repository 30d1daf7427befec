//! Checks for which a suite is refused.

pub(crate) mod abilities;
pub(crate) mod attached;
pub(crate) mod claim;
pub(crate) mod count;
pub(crate) mod crew;
pub(crate) mod drive;
pub(crate) mod duration;
pub(crate) mod first_reads;
pub(crate) mod from;
pub(crate) mod keys;
pub(crate) mod linkbench;
pub(crate) mod missing_engines;
pub(crate) mod opening;
pub(crate) mod pilot;
pub(crate) mod profile;
pub(crate) mod replay;
pub(crate) mod role;
pub(crate) mod storage;
pub(crate) mod suite;
pub(crate) mod turns;
