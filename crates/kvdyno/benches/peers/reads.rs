//! Reads in cache by each engine's adapter over its own calls in a loop, in its own language: the
//! programs `engines/NAME/examples/NAME_reads.rs`, which take turns with both. `WiredTiger`'s wants
//! a build with its header: `KVDYNO_WIREDTIGER_PREFIX=DIR`, as for `kvdyno engines build`.

use super::Bench;
use super::engines::output;
use super::tools::{identity, scratch};
use anyhow::{Context as _, ensure};

const ENGINES: [&str; 7] = ["lmdb", "mdbx", "sqlite", "wiredtiger", "redb", "fjall", "surrealkv"];
const PREFIX: &str = "KVDYNO_WIREDTIGER_PREFIX";

impl Bench {
    pub(crate) fn reads(&mut self) -> anyhow::Result<()> {
        for engine in ENGINES {
            let Ok(worker) = identity(engine) else {
                println!("{engine} reads: not built");
                continue;
            };
            let program = worker.path.with_file_name(format!("examples/{engine}_reads"));
            let folder = scratch()?;
            let prefix = std::env::var_os(PREFIX).filter(|_| engine == "wiredtiger");
            if engine == "wiredtiger" && prefix.is_none() {
                println!("wiredtiger reads: no build to compare with: {PREFIX}=DIR");
                continue;
            }
            let paths = prefix.into_iter().chain([folder.path().into()]);
            let told = output(&program, paths)?.context("not built")?;
            let ratios: Vec<_> = told.lines().filter_map(ratio).collect();
            ensure!(!ratios.is_empty(), "{engine} reads: {told}");
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
