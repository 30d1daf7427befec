//! Tests that take minutes and seldom fail, or need rare tools: `make soak` runs them, `make test`
//! does not.

mod crews;
mod ferret;
mod fleets;
mod prometheus;
mod servers;
mod swap;
mod volumes;
