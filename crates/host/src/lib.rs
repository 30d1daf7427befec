//! The measured machine: its properties, its resource usage, and its limits.
//!
//! This crate reads `/proc`, `/sys` and control groups, limits RAM, evicts caches, locks
//! directories and spawns children. It decides nothing about a run, and prints nothing. All reading
//! goes through a [`Root`], so a directory of copies can replace a machine. docs/host.md lists the
//! sources.

pub mod cache;
pub mod child;
mod claim;
pub mod concurrent_runs;
pub mod copy;
pub mod data_directory;
pub mod device;
pub mod doctor;
mod drive;
pub mod evidence;
mod extents;
pub mod facts;
pub mod fresh;
pub mod group;
mod health;
pub mod hiccups;
mod ledger;
pub mod leftovers;
mod machine_id;
pub mod meter;
pub mod mount;
pub mod node;
pub mod open_files;
mod owner;
mod pages;
mod patience;
pub mod process;
pub mod processor;
pub mod raw;
pub mod reaper;
pub mod root;
mod server;
pub mod settings;
pub mod size;
pub mod states;
pub mod storage;
pub mod swap;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod unavailable;
pub mod wait_samples;

pub use child::Child;
pub use claim::DataDirLock;
pub use concurrent_runs::ConcurrentRuns;
pub use data_directory::{DataDirError, DataDirectory};
pub use fresh::{Fresh, FreshError, Looped, VolumeSpec};
pub use group::Group;
pub use meter::Meter;
pub use reaper::Reaper;
pub use root::Root;
pub use server::Server;
pub use states::States;
pub use storage::{Storage, is_missing};
pub use unavailable::Unavailable;
