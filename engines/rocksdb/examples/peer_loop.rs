#![allow(warnings, clippy::all)]
#[path = "/tmp/peer_core.rs"]
mod core;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/raw.rs"]
mod raw;
fn main() {
    core::main::<engine::RocksDb>()
}
