//! Engines in any language: a shared library with the functions of `include/kvdyno_engine.h` behind
//! the traits of `kvdyno-engine`.
//!
//! The program `kvdyno-plugin` is the worker of every such engine. This library is for benches that
//! compare such an engine with an adapter in Rust.

mod api;
mod callback;
mod description;
mod engine;
mod library;
mod session;
mod sinks;

pub use engine::Plugin;
pub use session::PluginSession;
