//! A comparison with the original: YCSB's own generators from its jar, where Java and `mvn` are
//! installed.

use super::*;
use crate::chooser::{Chooser, Keyspace};
use kvdyno_record::workload::{Choice, Domain, Spread};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ITEMS: u64 = 1_000_000;
const DRAWS: u64 = 2_000_000;

/// Returns the path of the jar, which is stored beside fetched libraries, so that it is fetched
/// once.
fn jar() -> Result<PathBuf, String> {
    let dir = kvdyno_engine::library::store().with_file_name("tests");
    let jar = dir.join("core-0.17.0.jar");
    if jar.is_file() {
        return Ok(jar);
    }
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    // Tests that run side by side do not see it half written.
    let arriving = tempfile::tempdir_in(&dir).map_err(|error| error.to_string())?;
    let mut mvn = Command::new("mvn");
    mvn.args(["--strict-checksums", "--batch-mode", "--quiet", "dependency:copy"])
        .arg("-Dartifact=site.ycsb:core:0.17.0")
        .arg(format!("-DoutputDirectory={}", arriving.path().display()))
        .current_dir(arriving.path());
    output(&mut mvn)?;
    std::fs::rename(arriving.path().join("core-0.17.0.jar"), &jar)
        .map_err(|error| error.to_string())?;
    Ok(jar)
}

/// Counts how often YCSB's generator draws each number; none: there is no Java.
fn count_ycsb_draws(generator: &str, test: &str) -> Option<Vec<u32>> {
    let driver = Path::new(env!("KVDYNO_SOURCE")).join("crates/worker/src/zipf/Draw.java");
    let counts = jar().and_then(|jar| {
        let mut java = Command::new("java");
        java.arg("-cp").arg(jar).arg(driver).arg(generator);
        output(java.arg(ITEMS.to_string()).arg(DRAWS.to_string()))
    });
    match counts {
        Ok(bytes) => {
            let counts: Vec<u32> =
                bytes.as_chunks().0.iter().map(|count| u32::from_be_bytes(*count)).collect();
            assert_eq!(counts.len() as u64, ITEMS);
            Some(counts)
        }
        Err(reason) => {
            kvdyno_testing::report_skip("java", test, &reason);
            None
        }
    }
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{name}: {}", String::from_utf8_lossy(&text).trim()))
}

fn count_our_draws(choice: &Choice) -> Vec<u32> {
    // Exactly as many items as the generator is given: `CoreWorkload` would have one more.
    let keyspace = Keyspace { records: ITEMS, ycsb_items: ITEMS, absent: ITEMS, seed: 1 };
    let mut chooser = Chooser::new(choice, &keyspace, ITEMS, (0, 1));
    let (mut rng, mut counts) = (Rng::new(&[9]), vec![0; ITEMS as usize]);
    for _ in 0..DRAWS {
        counts[chooser.next(ITEMS, &mut rng) as usize] += 1;
    }
    counts
}

/// Returns the `n` numbers that were drawn most often, the hottest first.
fn hottest(counts: &[u32], n: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..counts.len()).collect();
    numbers.select_nth_unstable_by_key(n, |number| std::cmp::Reverse(counts[*number]));
    numbers.truncate(n);
    numbers.sort_by_key(|number| std::cmp::Reverse(counts[*number]));
    numbers
}

/// The 100 hottest of either are as hot in the other, and so are all the rest together.
fn assert_similar(own: &[u32], ycsb: &[u32]) {
    let apart =
        |a: u32, b: u32| (f64::from(a) - f64::from(b)).abs() / f64::from(a + b).max(1.0).sqrt();
    for number in hottest(own, 100).into_iter().chain(hottest(ycsb, 100)) {
        let (a, b) = (own[number], ycsb[number]);
        assert!(apart(a, b) < 6.0, "{number}: {a} here, {b} there");
    }
    // Near ties may change places about the hundredth; those far above may not.
    let shared = hottest(ycsb, 100);
    assert!(hottest(own, 50).iter().all(|number| shared.contains(number)));
    let never = |counts: &[u32]| counts.iter().filter(|count| **count == 0).count() as u32;
    assert!(apart(never(own), never(ycsb)) < 6.0, "{} and {}", never(own), never(ycsb));
    // Chi-square over a thousand neighbourhoods.
    let cells = own.chunks(1_000).zip(ycsb.chunks(1_000));
    let chi: f64 = cells.map(|(a, b)| apart(a.iter().sum(), b.iter().sum()).powi(2)).sum();
    assert!((chi - 1e3).abs() < 6.0 * 2e3f64.sqrt(), "chi-square of 1000 cells: {chi}");
}

#[test]
fn ycsbs_hot_keys_are_ours() {
    let Some(ycsb) = count_ycsb_draws("scrambled", "ycsbs_hot_keys_are_ours") else { return };
    let own = count_our_draws(&Choice::YcsbZipfian);
    assert_similar(&own, &ycsb);
    for counts in [&own, &ycsb] {
        let key = hottest(counts, 1)[0];
        assert_eq!(key, 377_211);
        // A millionth of the other ranks is hashed to the same key.
        let share = 1.0 / zeta(GrayZipf::YCSB_ITEMS, GrayZipf::YCSB_THETA) + 1e-6;
        let (count, draws) = (f64::from(counts[key]), DRAWS as f64);
        let sigma = (share * (1.0 - share) / draws).sqrt();
        assert!((count / draws - share).abs() < 6.0 * sigma, "{}", count / draws);
        assert!((count / draws - 0.0379).abs() < 6.0 * sigma, "{}", count / draws);
    }
}

#[test]
fn ycsbs_ranks_and_newest_records_are_ours() {
    let test = "ycsbs_ranks_and_newest_records_are_ours";
    let ranks = Choice::GrayZipf {
        theta: GrayZipf::YCSB_THETA,
        items: None,
        spread: Spread::None,
        domain: Domain::Loaded,
    };
    let latest = Choice::Latest { theta: GrayZipf::YCSB_THETA, exact: false };
    for (generator, choice) in [("zipfian", ranks), ("latest", latest)] {
        let Some(ycsb) = count_ycsb_draws(generator, test) else { return };
        assert_similar(&count_our_draws(&choice), &ycsb);
    }
}
