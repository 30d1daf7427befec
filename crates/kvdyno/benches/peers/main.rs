//! `make bench`: the overhead of the load generator, and whether it slows an engine down. One line
//! a figure; against a peer that is on PATH, the median of the ratios of interleaved repeats. Never
//! a test: the machine decides, not the code alone.
//!
//! `make bench BENCH="lmdb drive"` runs parts of it: `null`, `plugins`, `lmdb`, `rocksdb`,
//! `db_bench`, `ranges`, `reads`, `servers`, `clients`, `drive`, `direct`, `plan`. Each part's file
//! says what its peer is, and how both are set.

#![expect(clippy::print_stdout, reason = "a benchmark's business")]

mod canned;
mod db_bench;
mod drive;
mod engines;
mod load_generator;
mod plugins;
mod ranges;
mod reads;
mod servers;
mod tools;

const PARTS: [&str; 12] = [
    "null", "plugins", "lmdb", "rocksdb", "db_bench", "ranges", "reads", "servers", "clients",
    "drive", "direct", "plan",
];
const REPEATS: usize = 5;
const SECOND: u64 = 1_000_000_000;

fn main() -> anyhow::Result<()> {
    let mut bench = Bench::default();
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|word| PARTS.contains(&&**word)).collect();
    for part in
        PARTS.iter().filter(|part| chosen.is_empty() || chosen.iter().any(|word| word == *part))
    {
        match *part {
            "null" => bench.load_generator()?,
            "plugins" => bench.plugins()?,
            "lmdb" => bench.engine("lmdb", engines::lmdb_peer)?,
            "rocksdb" => bench.engine("rocksdb", engines::rocksdb_peer)?,
            "db_bench" => bench.db_bench()?,
            "ranges" => {
                bench.lmdb_ranges()?;
                bench.rocksdb_ranges()?;
            }
            "reads" => bench.reads()?,
            "servers" => bench.servers()?,
            "clients" => bench.clients()?,
            "drive" => bench.drive()?,
            "direct" => bench.direct()?,
            _ => bench.plan()?,
        }
    }
    bench.write_json()
}

/// Figures so far.
#[derive(Default)]
struct Bench {
    figures: Vec<serde_json::Value>,
}

impl Bench {
    fn report(&mut self, name: &str, value: f64, unit: &str, remark: &str) {
        let digits = if value < 100.0 { 2 } else { 0 };
        let remark = if remark.is_empty() { String::new() } else { format!("   ({remark})") };
        println!("{name}: {value:.digits$} {unit}{remark}");
        let remark = remark.trim();
        self.figures.push(
            serde_json::json!({ "name": name, "value": value, "unit": unit, "remark": remark }),
        );
    }

    fn write_json(&self) -> anyhow::Result<()> {
        let mut arguments = std::env::args().skip_while(|word| word != "--json").skip(1);
        if let Some(path) = arguments.next() {
            std::fs::write(&path, serde_json::to_string_pretty(&self.figures)?)?;
            println!("written to {path}");
        }
        Ok(())
    }
}
