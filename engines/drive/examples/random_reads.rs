//! Random reads of a file through the ring alone: what the load generator is held against, and
//! where ways of setting a ring up are compared.
//!
//! `random_reads FILE DEPTH SECONDS [registered] [sqpoll] [iopoll] [psync]`
#![expect(clippy::print_stdout, reason = "a program to be run by hand")]

use kvdyno_drive::{Ring, Setup};
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::time::{Duration, Instant};

const BLOCK: usize = 4096;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, depth, seconds, words @ ..] = arguments.as_slice() else {
        return Err("FILE DEPTH SECONDS [registered] [sqpoll] [iopoll] [psync]".into());
    };
    let (depth, seconds): (u32, u64) = (depth.parse()?, seconds.parse()?);
    let has_word = |word: &str| words.iter().any(|other| other == word);
    let direct = OFlags::DIRECT.bits() as i32;
    let file = File::options().read(true).custom_flags(direct).open(path)?;
    let blocks = file.metadata()?.len() / BLOCK as u64;
    let setup = Setup {
        depth,
        block_bytes: BLOCK,
        registered: has_word("registered"),
        sqpoll: has_word("sqpoll"),
        iopoll: has_word("iopoll"),
    };
    let mut ring =
        if has_word("psync") { Ring::psync(&[file], &setup)? } else { Ring::new(&[file], &setup)? };
    let mut free: Vec<u32> = (0..depth).collect();
    let (mut state, mut reads, mut rounds, mut sum) = (depth.into(), 0_u64, 0_u64, 0_u64);
    let (start, cpu) = (Instant::now(), cpu());
    while start.elapsed() < Duration::from_secs(seconds) {
        for slot in free.drain(..) {
            ring.read(slot, 0, next(&mut state) % blocks * BLOCK as u64, BLOCK)?;
        }
        ring.send()?;
        reads += ring.complete_with_data(|slot, block| {
            sum ^= block.map_or(0, |block| u64::from(block[0]));
            free.push(slot);
        })? as u64;
        rounds += 1;
    }
    let (took, cpu) = (start.elapsed().as_secs_f64(), self::cpu() - cpu);
    let (rate, cpu_us) = (reads as f64 / took, cpu * 1e6 / reads as f64);
    let each = reads as f64 / rounds as f64;
    println!(
        "{rate:.0} I/O/s, {cpu_us:.3} us CPU each, {each:.2} a round, {}",
        ring.effective_setup()
    );
    std::hint::black_box(sum);
    Ok(())
}

/// Of the process, in seconds.
fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
