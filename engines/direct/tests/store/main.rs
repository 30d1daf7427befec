//! The store as its users see it: through the traits, on real files, with real faults.

#![expect(clippy::unwrap_used, reason = "tests")]

mod bench_location;
mod concurrent;
mod conformance;
mod faults;
mod mirror;
mod power;
mod recorder;
mod volumes;
