//! What the store adds to bare reads and writes of the same blocks of the same file, at the same
//! depth, on the same ring, in turns: `ceiling DIRECTORY [DEPTH]` prints ratios.

#![expect(clippy::print_stdout, reason = "its figures")]

use kvdyno_direct::{Direct, FILE_NAME};
use kvdyno_drive::{Ring, Setup};
use kvdyno_engine::{DataShape, Durability, Engine, Location, Options, Result, Session, Write};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const RECORDS: u64 = 65_536;
const VALUE_BYTES: usize = 4070;
const BLOCK_BYTES: usize = 4096;
const DATA_AT: u64 = 5 << 20;
const ROUND: Duration = Duration::from_millis(1500);
const ROUNDS: usize = 7;
/// As rustix and libc name it; neither is worth a dependency here.
const O_DIRECT: i32 = 0o40000;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().unwrap_or_else(|| "/var/tmp".to_owned()));
    let depth = arguments.next().and_then(|depth| depth.parse().ok()).unwrap_or(16);
    let dir = directory.join("kvdyno-direct-ceiling");
    std::fs::create_dir_all(&dir)?;
    let outcome = compare(&dir, depth);
    std::fs::remove_dir_all(&dir)?;
    outcome
}

fn compare(dir: &std::path::Path, depth: u32) -> Result<()> {
    let shape = DataShape { depth, ..DataShape::uniform(RECORDS, 8, VALUE_BYTES as u64) };
    let options = Options::defaults(&Direct::describe(), Durability::Async);
    let engine = Direct::open(&Location::Directory(dir.to_owned()), &options, &shape)?;
    let mut session = engine.session()?;
    load(&mut session)?;
    engine.sync()?;
    let path = dir.join(FILE_NAME);
    let file = File::options().read(true).write(true).custom_flags(O_DIRECT).open(path)?;
    let setup = Setup { depth, block_bytes: BLOCK_BYTES, ..Setup::default() };
    let mut ring = Ring::new(&[file], &setup)?;
    for writes in [0, 50] {
        let mut ratios = Vec::new();
        let (mut bare_best, mut direct_best) = (0.0_f64, 0.0_f64);
        for _ in 0..ROUNDS {
            let first = bare(&mut ring, depth, writes)?;
            let direct = measure_store(&mut session, depth, writes)?;
            let second = bare(&mut ring, depth, writes)?;
            ratios.push(2.0 * direct / (first + second));
            bare_best = bare_best.max(first.max(second));
            direct_best = direct_best.max(direct);
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "depth {depth}, {writes} % writes: direct / bare = {:.3} (median of {ROUNDS}, {:.3} to \
             {:.3}); best bare {bare_best:.0}/s, direct {direct_best:.0}/s",
            ratios[ROUNDS / 2],
            ratios[0],
            ratios[ROUNDS - 1]
        );
    }
    drop(session);
    engine.close()
}

fn load(session: &mut impl Session) -> Result<()> {
    let value = vec![0x5a; VALUE_BYTES];
    let keys: Vec<[u8; 8]> = (0..RECORDS).map(u64::to_be_bytes).collect();
    for chunk in keys.chunks(1024) {
        let batch: Vec<_> = chunk.iter().map(|key| Write::Put { key, value: &value }).collect();
        session.write(&batch)?;
    }
    Ok(())
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Operations a second of the ring alone. What it writes back is what it has read: sound blocks.
fn bare(ring: &mut Ring, depth: u32, writes: u64) -> Result<f64> {
    let mut random = Random(0x9e37_79b9);
    let mut holds = vec![None; depth as usize];
    let (start, mut done) = (Instant::now(), 0_u64);
    let mut free: Vec<u32> = (0..depth).collect();
    while start.elapsed() < ROUND || ring.open() > 0 {
        while start.elapsed() < ROUND
            && let Some(slot) = free.pop()
        {
            let held = holds[slot as usize].filter(|_| random.next() % 100 < writes);
            let block = held.unwrap_or_else(|| random.next() % RECORDS);
            let offset = DATA_AT + block * BLOCK_BYTES as u64;
            match held {
                Some(_) => ring.write(slot, 0, offset, BLOCK_BYTES)?,
                None => ring.read(slot, 0, offset, BLOCK_BYTES)?,
            }
            holds[slot as usize] = Some(block);
        }
        ring.send()?;
        done += ring.complete(|slot, _| free.push(slot))? as u64;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}

/// Operations a second of the store.
fn measure_store(session: &mut impl Session, depth: u32, writes: u64) -> Result<f64> {
    let value = vec![0xa5; VALUE_BYTES];
    let mut random = Random(0x7f4a_7c15);
    let (start, mut done, mut open) = (Instant::now(), 0_u64, 0);
    let mut free: Vec<u32> = (0..depth).collect();
    while start.elapsed() < ROUND || open > 0 {
        while start.elapsed() < ROUND
            && let Some(ticket) = free.pop()
        {
            let key = (random.next() % RECORDS).to_be_bytes();
            if random.next() % 100 < writes {
                session.submit_put(ticket, &key, &value)?;
            } else {
                session.submit_get(ticket, &key)?;
            }
            open += 1;
        }
        session.send()?;
        let mut failed = None;
        let answered = session.complete(|ticket, result| {
            failed = failed.take().or(result.err());
            free.push(ticket);
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        done += answered as u64;
        open -= answered;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64())
}
