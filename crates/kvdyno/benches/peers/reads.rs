//! Reads in cache by each engine's adapter over its own calls in a loop, in its own language: the
//! programs `engines/NAME/examples/NAME_reads.rs`, which take turns with both.

use super::Bench;
use super::engines::output;
use super::tools::{identity, scratch};
use anyhow::{Context as _, ensure};

const ENGINES: [&str; 6] = ["lmdb", "mdbx", "sqlite", "redb", "fjall", "surrealkv"];

impl Bench {
    pub(crate) fn reads(&mut self) -> anyhow::Result<()> {
        for engine in ENGINES {
            let Ok(worker) = identity(engine) else {
                println!("{engine} reads: not built");
                continue;
            };
            let program = worker.path.with_file_name(format!("examples/{engine}_reads"));
            let dir = scratch()?;
            let printed = output(&program, [dir.path()])?.context("not built")?;
            let ratios: Vec<_> = printed.lines().filter_map(ratio).collect();
            ensure!(!ratios.is_empty(), "{engine} reads: {printed}");
            for (peer, ratio) in ratios {
                let name = format!("{engine} reads in cache");
                self.report(&name, ratio, "of its own calls", &format!("peer: {peer}"));
            }
        }
        Ok(())
    }
}

/// Of a line of `Turns`: `598.1 ns  NAME: Session::get reads 0.977 of its rate`.
pub(super) fn ratio(line: &str) -> Option<(&str, f64)> {
    let (peer, rest) = line.split_once(": Session::get reads ")?;
    let (_, peer) = peer.split_once(" ns  ")?;
    Some((peer, rest.split_whitespace().next()?.parse().ok()?))
}
