//! Finds and keeps what runs read and leave: runs, their bundles, recorded requests.

pub(crate) mod begun;
pub(crate) mod bundle;
pub(crate) mod left_behind;
pub(crate) mod runs;
pub(crate) mod traces;
