#![allow(warnings, clippy::all)]
use librocksdb_sys as ffi;
use rocksdb::*;
use std::ptr::null_mut;
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
fn hex(n: u64, out: &mut [u8; 16]) {
    for i in 0..16 {
        out[i] = b"0123456789abcdef"[((n >> (60 - 4 * i)) & 15) as usize];
    }
}
fn cpu() -> u64 {
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t);
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}
fn main() {
    unsafe {
        let n: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
        let mut o = Options::default();
        let mut t = BlockBasedOptions::default();
        t.set_block_cache(&Cache::new_lru_cache(1 << 30));
        t.set_bloom_filter(10.0, false);
        o.set_block_based_table_factory(&t);
        o.set_compression_type(DBCompressionType::None);
        let db = DB::open(&o, std::env::args().nth(1).unwrap()).unwrap();
        let raw = db.as_raw_ptr();
        let ro = ffi::rocksdb_readoptions_create();
        let ro2 = ffi::rocksdb_readoptions_create();
        ffi::rocksdb_readoptions_set_verify_checksums(ro2, 0);
        let cro = ReadOptions::default();
        let mut buf = vec![0u8; 65536];
        let mut keys = vec![[0u8; 16]; 1000];
        let mut sum = 0u64;
        let mut times = vec![vec![]; 5];
        let mut seed = 0u64;
        for round in 0..44 {
            for v in 0..5 {
                let mut total = 0;
                for b in 0..50 {
                    for k in &mut keys {
                        seed += 1;
                        hex(mix(seed) % n, k);
                    }
                    let s = cpu();
                    for k in &keys {
                        let mut e = null_mut();
                        match v {
                            0 => {
                                let p =
                                    ffi::rocksdb_get_pinned(raw, ro, k.as_ptr().cast(), 16, &mut e);
                                let mut l = 0;
                                let d = ffi::rocksdb_pinnableslice_value(p, &mut l);
                                sum += *d as u64 + l as u64;
                                ffi::rocksdb_pinnableslice_destroy(p);
                            }
                            1 => {
                                let p = ffi::rocksdb_get_pinned_v2(
                                    raw,
                                    ro,
                                    k.as_ptr().cast(),
                                    16,
                                    &mut e,
                                );
                                let mut l = 0;
                                let d = ffi::rocksdb_pinnable_handle_get_value(p, &mut l);
                                sum += *d as u64 + l as u64;
                                ffi::rocksdb_pinnable_handle_destroy(p);
                            }
                            2 => {
                                let mut l = 0;
                                let mut f = 0;
                                ffi::rocksdb_get_into_buffer(
                                    raw,
                                    ro,
                                    k.as_ptr().cast(),
                                    16,
                                    buf.as_mut_ptr().cast(),
                                    buf.len(),
                                    &mut l,
                                    &mut f,
                                    &mut e,
                                );
                                sum += buf[0] as u64 + l as u64;
                            }
                            3 => {
                                let p = db.get_pinned_opt(k, &cro).unwrap().unwrap();
                                sum += p[0] as u64;
                            }
                            _ => {
                                let mut l = 0;
                                let mut f = 0;
                                ffi::rocksdb_get_into_buffer(
                                    raw,
                                    ro2,
                                    k.as_ptr().cast(),
                                    16,
                                    buf.as_mut_ptr().cast(),
                                    buf.len(),
                                    &mut l,
                                    &mut f,
                                    &mut e,
                                );
                                sum += buf[0] as u64 + l as u64;
                            }
                        }
                    }
                    total += cpu() - s;
                }
                if round >= 4 {
                    times[v].push(total as f64 / 50000.0);
                }
            }
        }
        for (v, t) in times.iter_mut().enumerate() {
            t.sort_by(f64::total_cmp);
            println!(
                "{} min {:.0} q1 {:.0} median {:.0}",
                [
                    "get_pinned",
                    "get_pinned_v2",
                    "get_into_buffer",
                    "crate get_pinned_opt",
                    "into_buffer, no checksum verify"
                ][v],
                t[0],
                t[t.len() / 4],
                t[t.len() / 2]
            );
        }
        println!("{sum}");
    }
}
