//! Tests of job files: their jobs, and the refused options.

use super::*;

/// Global options, two sections one after the other, and what many files have.
const MIXED: &str = "\
; a comment
[global]
ioengine=libaio
direct=1
size=1g
runtime=60
time_based
group_reporting
ramp_time=5s

[rand read]
rw=randread
bs=4k
iodepth=32
numjobs=4

[log]
stonewall ; waits
readwrite=randrw ; a remark
rwmixwrite=30
bsrange=2300-2300
buffered=1
ioengine=sync
fdatasync=2
random_distribution=zipf:1.2
";

#[test]
fn sections_become_jobs() {
    let file = parse(MIXED, false).map_err(|m| m.what).unwrap();
    let [reads, log] = file.jobs.as_slice() else { panic!("{:?}", file.jobs) };
    assert_eq!((reads.name.as_str(), reads.way, reads.depth), ("rand-read", DriveWay::IoUring, 32));
    assert_eq!((reads.block.as_str(), reads.threads, reads.buffered), ("4096B", Some(4), false));
    assert_eq!(reads.duration.as_deref(), Some("60s"));
    assert_eq!(reads.warmup.as_deref(), Some("5s"));
    assert_eq!((log.way, log.rw.as_str(), log.buffered), (DriveWay::Psync, "randrw", true));
    assert_eq!((log.read_share.as_deref(), log.flush_every), (Some("70%"), Some(2)));
    assert_eq!(log.keys.as_deref(), Some("{ distribution = \"zipf\", theta = 1.2 }"));
    assert_eq!(file.size.as_deref(), Some("1073741824B"));
    let note = "left out, as they change no work: group_reporting";
    assert!(file.notes.iter().any(|other| other == note), "{:?}", file.notes);
}

/// As in fio's parse.c: with a base of 1024, `k` is 1,024 and `kib` is 1,000.
#[test]
fn units_are_fios() {
    let block = |base: &str, size: &str| {
        let text = MIXED.replacen("bs=4k", &format!("bs={size}"), 1);
        let text = text.replacen("direct=1", &format!("direct=1\n{base}"), 1);
        parse(&text, false).map_err(|m| m.what).unwrap().jobs[0].block.clone()
    };
    assert_eq!((block("", "4kb"), block("", "8KiB")), ("4096B".into(), "8000B".into()));
    assert_eq!(block("kb_base=1000", "4KiB"), "4096B");
    assert_eq!(block("kb_base=1000", "8ki"), "8000B");
}

/// fio's rates are those of one of its jobs; its pauses are in microseconds.
#[test]
fn a_job_has_a_rate_or_a_pause() {
    let paced = |option: &str, of: usize| {
        let text = MIXED.replacen("fdatasync=2", "fdatasync=2\nthinktime=250", 1);
        let text = text.replacen("numjobs=4", &format!("numjobs=4\n{option}"), 1);
        let file = parse(&text, false).map_err(|m| m.what).unwrap();
        (file.jobs[of].rate, file.jobs[of].think_time.clone())
    };
    assert_eq!(paced("rate_iops=500", 0), (Some(2000.0), None));
    assert_eq!(paced("rate=1m", 0), (Some(1024.0), None));
    assert_eq!(paced("rate_iops=0", 1), (None, Some("250us".to_owned())));
}

/// Each mistake has its line, the text that was found, and the remedy.
#[test]
fn what_has_no_counterpart_is_refused_at_its_line() {
    let mut all = String::new();
    for (what, with) in [
        ("stonewall ; waits\n", ""),
        ("bs=4k", "bs=4k,8k"),
        ("bs=4k", "bssplit=4k/50:8k/50"),
        ("rw=randread", "rw=trimwrite"),
        ("ioengine=libaio", "ioengine=rbd"),
        ("runtime=60", "runtime=soon"),
        ("runtime=60\n", ""),
        ("iodepth=32", "rate_process=poisson"),
        ("fdatasync=2", "rate_iops=1000"),
        ("iodepth=32", "thinktime=10"),
        ("fdatasync=2", "thinktime=10\nthinktime_blocks=4"),
        ("iodepth=32", "iodepht=32"),
        ("iodepth=32", "iodepth=many"),
        ("numjobs=4", "size=2g"),
        ("numjobs=4", "verify=crc32c"),
        ("size=1g", "size=${SIZE}"),
        ("zipf:1.2", "pareto:0.9"),
        ("[log]", "[log"),
        ("[global]\n", ""),
    ] {
        let text = MIXED.replacen(what, with, 1);
        let Err(mistake) = parse(&text, false) else { panic!("accepted: {with}") };
        all += &format!("line {}: {}\n  {}\n", mistake.line, mistake.what, mistake.remedy);
    }
    for text in ["", "[global]\nbs=4k\n", "{\"fio version\": 3}"] {
        let Err(mistake) = parse(text, false) else { panic!("accepted: {text}") };
        all += &format!("line {}: {}\n  {}\n", mistake.line, mistake.what, mistake.remedy);
    }
    insta::assert_snapshot!(all);
    let untimed = MIXED.replacen("runtime=60\n", "", 1);
    assert!(parse(&untimed, true).is_ok(), "the command line has a duration");
}

#[test]
fn sections_of_one_name_are_told_apart() {
    let text = "[a b]\nruntime=1\n[A-B]\nstonewall\nruntime=1\n[--]\nstonewall\nruntime=1\n";
    let file = parse(text, false).map_err(|m| m.what).unwrap();
    let names: Vec<&str> = file.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a-b", "a-b-2", "job"]);
}

/// Trims are made one at a time, and not in a file that another job reads.
#[test]
fn a_job_that_trims_has_no_depth() {
    let text = MIXED.replacen("rw=randread", "rw=randtrim", 1);
    let file = parse(&text, false).map_err(|m| m.what).unwrap();
    assert_eq!((file.jobs[0].rw.as_str(), file.jobs[0].depth), ("randtrim", 1));
    assert!(file.notes.iter().any(|note| note.contains("file of its own")), "{:?}", file.notes);
    let mapped = text.replacen("iodepth=32", "ioengine=mmap", 1);
    let Err(mistake) = parse(&mapped, false) else { panic!("a map that trims") };
    assert!(mistake.what.contains("ioengine=mmap"), "{}", mistake.what);
}
