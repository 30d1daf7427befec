//! What takes minutes and seldom finds anything, or needs tools that few machines have: `make soak`
//! runs the tests below here, `make test` does not.

mod crews;
mod ferret;
mod fleets;
mod servers;
mod swap;
mod volumes;
