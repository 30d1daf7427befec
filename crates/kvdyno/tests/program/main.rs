//! The program from the outside: these tests run `kvdyno` and its workers as processes, and read
//! their output and files. They use nothing of its inside but the record.
//!
//! No test asserts a speed. Tests that this machine cannot run (root, mounts, LMDB) are skipped
//! with a note.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod actions;
mod agreement;
mod altered;
mod attached;
mod benchmarks;
mod bisect;
mod block_io;
mod budgets;
mod bundles;
mod compare;

mod counted;
mod dashboards;
mod deaths;
mod devices;
mod disk_full;
mod drive_traces;
mod drives;
mod endings;
mod explains;
mod exports;
mod fakes;
mod figures;
mod given;
mod graph;
mod histories;
mod impostors;
mod interrupts;
mod kills;
mod libraries;
mod limits;
mod locations;
mod locks;
mod long_records;
mod loops;
mod losses;
mod mistakes;
mod named;
mod new_engine;
mod openings;
mod own_databases;
mod parts;
mod phases;
mod pilots;
mod planted;
mod plugins;
mod profiles;
mod quick;
mod ram;
mod readme;
mod recordings;
mod replays;
mod report;
mod scratch;
mod searches;
mod serve;
mod servers;
mod soak;
mod states;
mod steady;
mod strangers;
mod studies;
mod suites;
mod supervisors;
mod targets;
mod theirs;
mod tiers;
mod times_to_live;
mod torture;
mod traces;
mod turns;
mod volumes;
mod workers;
