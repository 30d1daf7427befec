//! Reports of fio, and texts that are not reports.

use super::*;
use std::collections::BTreeMap;

/// A report of fio 3.33 on the development machine; its percentiles are fio's own.
const MIX: &str = include_str!("../../../../fixtures/fio/mix-3.33.json");

#[test]
fn a_report_becomes_counts_and_the_same_percentiles() {
    let report = Report::parse(MIX).unwrap();
    let plain: serde_json::Value = serde_json::from_str(MIX).unwrap();
    assert_eq!((report.version.as_str(), report.jobs.len()), ("fio-3.33", 1));
    let job = &report.jobs[0];
    assert_eq!((job.option("rw"), job.option("iodepth")), (Some("randrw"), Some("4")));
    let role = job.role("mixed", 2);
    let histograms: BTreeMap<_, _> = job.histograms("measure", "mixed").into_iter().collect();
    assert_eq!(histograms.len(), 6);
    for (op, side) in [("get", "read"), ("update", "write")] {
        let theirs = &plain["jobs"][0][side];
        let ours = &role.ops[op];
        assert_eq!(ours.count, theirs["total_ios"].as_u64().unwrap());
        assert_eq!(ours.read_bytes + ours.write_bytes, theirs["io_bytes"].as_u64().unwrap());
        assert_eq!(ours.service_ns_max, theirs["lat_ns"]["max"].as_u64().unwrap());
        for (kind, name) in
            [("service", "lat_ns"), ("submit", "slat_ns"), ("completion", "clat_ns")]
        {
            let histogram = &histograms[&format!("measure/mixed/{op}/{kind}")];
            assert_eq!(histogram.len(), theirs[name]["N"].as_u64().unwrap());
            for (percent, value) in theirs[name]["percentile"].as_object().unwrap() {
                let percent: f64 = percent.parse().unwrap();
                let (ours, theirs) =
                    (histogram.value_at_percentile(percent), value.as_f64().unwrap());
                // fio's value is a bin's middle as well, and ours is of a bin of 1/1000.
                let error = (ours as f64 - theirs).abs() / theirs;
                assert!(error < 0.02, "{op} {name} p{percent}: {ours} and {theirs}");
            }
        }
    }
    let usage = job.usage();
    let percent = plain["jobs"][0]["usr_cpu"].as_f64().unwrap();
    let runtime_ms = plain["jobs"][0]["job_runtime"].as_f64().unwrap();
    assert_eq!(usage.user_ns, (percent / 100.0 * runtime_ms * 1e6) as u64);
}

/// Another report of fio 3.33: `--numjobs=2` without `--group_reporting`; each entry has only what
/// is read here.
const TWO: &str = include_str!("../../../../fixtures/fio/two-jobs-3.33.json");

#[test]
fn the_threads_of_a_job_are_one_job() {
    let plain: serde_json::Value = serde_json::from_str(TWO).unwrap();
    let entries = plain["jobs"].as_array().unwrap();
    let report = Report::parse(TWO).unwrap();
    assert_eq!((entries.len(), report.jobs.len()), (2, 1));
    let job = &report.jobs[0];
    assert_eq!((job.entries, job.is_synchronous()), (2, true));
    let sum = |value: fn(&serde_json::Value) -> f64| entries.iter().map(value).sum::<f64>();
    let total = |count: fn(&serde_json::Value) -> &serde_json::Value| -> u64 {
        entries.iter().map(|entry| count(entry).as_u64().unwrap()).sum()
    };
    let result = &job.role("reads", 2).ops["get"];
    let count = total(|entry| &entry["read"]["total_ios"]);
    assert_eq!(result.count, count);
    assert_eq!(job.histograms("measure", "reads")[0].1.len(), count);
    let latency = |entry: &serde_json::Value| {
        let times = &entry["read"]["lat_ns"];
        times["mean"].as_f64().unwrap() * times["N"].as_f64().unwrap()
    };
    assert!((result.service_ns as f64 / sum(latency) - 1.0).abs() < 1e-6);
    let longest = entries.iter().map(|entry| entry["read"]["lat_ns"]["max"].as_u64());
    assert_eq!(Some(result.service_ns_max), longest.max().unwrap());
    let user_ns = sum(|entry| {
        let runtime_ms = entry["job_runtime"].as_f64().unwrap();
        entry["usr_cpu"].as_f64().unwrap() / 100.0 * runtime_ms * 1e6
    });
    assert!((job.usage().user_ns as f64 - user_ns).abs() < 2.0);
    assert_eq!(job.usage().voluntary_switches, total(|entry| &entry["ctx"]));
    assert!(job.window_ns() < 1_100_000_000, "they worked at the same time");
}

/// The report with one thing changed in it.
fn changed(text: &str, change: impl FnOnce(&mut serde_json::Value)) -> Report {
    let mut report = serde_json::from_str(text).unwrap();
    change(&mut report);
    Report::parse(&report.to_string()).unwrap()
}

#[test]
fn what_fio_prints_around_its_report_is_passed_over() {
    let note = "fio: io_u error on file /mnt/{a}/f: No space left on device: write offset=4096, \
                buflen=4096\n";
    let people = "\nn: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=1\nRun status group 0 \
                  (all jobs):\n";
    for text in [
        format!("fio: this is a note\n{MIX}"),
        format!("{note}{MIX}"),
        format!("{MIX}{people}"),
        format!("{people}{MIX}"),
        format!("{{not JSON}}\n{MIX}"),
    ] {
        let report = Report::parse(&text).unwrap();
        assert_eq!((report.jobs.len(), report.jobs[0].read.total_ios > 0), (1, true));
    }
}

#[test]
fn what_is_no_report_is_named() {
    let cut = &MIX[..MIX.len() / 2];
    let lines = cut.matches('\n').count() + 1;
    let wrong = MIX.replacen("\"total_ios\" : ", "\"total_ios\" : -", 1);
    assert_ne!(wrong, MIX);
    let line = wrong[..wrong.find("\"total_ios\" : -").unwrap()].matches('\n').count() + 1;
    let beyond = MIX.replacen("\"bins\" : {", "\"bins\" : { \"99999999999999999999\" : 1,", 1);
    assert_ne!(beyond, MIX);
    let terse = format!("3;fio-3.33;a{}", ";0".repeat(100));
    for (text, expected) in [
        ("", "an empty file".to_owned()),
        ("; etcd's\n[global]\nrw=write\n", "a job file".to_owned()),
        (&terse, "fio's terse output".to_owned()),
        ("a: (g=0): rw=read\n  read: IOPS=3\n", "fio's text output".to_owned()),
        ("fio: no such file", "a text without JSON".to_owned()),
        (cut, format!("truncated JSON (line {lines})")),
        ("{\"jobs\": []}", "other JSON: missing field `fio version` (line 1)".to_owned()),
    ] {
        assert_eq!(Report::parse(text).unwrap_err(), expected);
    }
    let error = Report::parse(&wrong).unwrap_err();
    assert!(error.starts_with("other JSON: invalid value: integer `-"), "{error}");
    assert!(error.ends_with(&format!("(line {line})")), "{error}");
    assert!(Report::parse(&beyond).unwrap_err().starts_with("other JSON: invalid"));
}

/// A report of fio 3.33: blocks of 2,300 bytes and `fdatasync=1`, all options among the global
/// ones.
const SYNCED: &str = include_str!("../../../../fixtures/fio/fdatasync-3.33.json");

#[test]
fn the_syncs_of_a_job_are_flushes() {
    let plain: serde_json::Value = serde_json::from_str(SYNCED).unwrap();
    let times = &plain["jobs"][0]["sync"]["lat_ns"];
    assert_eq!(plain["jobs"][0]["sync"]["total_ios"], 0, "fio 3.33 counts none");
    let job = Report::parse(SYNCED).unwrap().jobs.remove(0);
    assert_eq!(job.syncs(), times["N"].as_u64().unwrap());
    assert!(job.syncs_each_write() && job.is_durable());
    let flush = &job.role("writes", 1).ops["flush"];
    assert_eq!((flush.count, flush.service_ns_max), (job.syncs(), times["max"].as_u64().unwrap()));
    let mean = flush.service_ns as f64 / flush.count as f64;
    assert!((mean - times["mean"].as_f64().unwrap()).abs() < 1.0);
    let (tag, histogram) = job.histograms("measure", "writes").pop().unwrap();
    assert_eq!((tag.as_str(), histogram.len()), ("measure/writes/flush/service", job.syncs()));
    for (percent, value) in times["percentile"].as_object().unwrap() {
        let ours = histogram.value_at_percentile(percent.parse().unwrap()) as f64;
        let theirs = value.as_f64().unwrap();
        assert!((ours - theirs).abs() / theirs < 0.02, "p{percent}: {ours} and {theirs}");
    }
    assert_eq!(job.block_bytes(), 2_300);
    let now_and_then = changed(SYNCED, |report| {
        report["global options"]["fdatasync"] = "32".into();
        report["jobs"][0]["sync"]["lat_ns"]["N"] = 28.into();
    });
    assert!(!now_and_then.jobs[0].is_durable());
    assert_eq!(now_and_then.jobs[0].syncs(), 28);
}

#[test]
fn jobs_that_are_one_entry_have_the_threads_of_all() {
    let grouped = |job_ms: u64, options: serde_json::Value| {
        changed(TWO, |report| {
            let job = &mut report["jobs"][0];
            job["job_runtime"] = job_ms.into();
            job["read"]["runtime"] = 1_032.into();
            job["job options"] = options;
            report["jobs"].as_array_mut().unwrap().truncate(1);
        })
    };
    let threads = |job_ms, options| {
        let report = grouped(job_ms, options);
        (report.jobs[0].threads(), report.jobs[0].grouped_threads())
    };
    assert_eq!(threads(4_091, serde_json::json!({ "rw": "randread" })), (4, Some(4)));
    assert_eq!(threads(1_040, serde_json::json!({ "rw": "randread" })), (1, None));
    // Some threads ended before the others.
    assert_eq!(threads(3_100, serde_json::json!({ "numjobs": "4" })), (4, None));
    assert_eq!(threads(2_064, serde_json::json!({ "verify": "crc32c" })), (1, None));
}

#[test]
fn blocks_are_as_large_as_what_was_moved() {
    let block = |bytes: u64, ios: u64, options: serde_json::Value| {
        let report = changed(SYNCED, |report| {
            report["jobs"][0]["job options"] = options;
            report["jobs"][0]["write"]["io_bytes"] = bytes.into();
            report["jobs"][0]["write"]["total_ios"] = ios.into();
        });
        report.jobs[0].block_bytes()
    };
    let options = |bs: &str, kb_base: &str| serde_json::json!({ "bs": bs, "kb_base": kb_base });
    assert_eq!(block(58_296_000, 14_574, options("4k", "1000")), 4_000);
    // With `ramp_time`: 4096.27 each.
    assert_eq!(block(59_699_200, 14_574, options("4k", "1024")), 4_096);
    assert_eq!(block(59_699_200, 14_574, options("4k", "1000")), 4_000);
    assert_eq!(block(10_000, 3, options("4k,8k", "1024")), 3_333);
}

#[test]
fn the_order_of_blocks_is_the_word_before_the_colon() {
    for (rw, random) in [
        ("read:8", false),
        ("readwrite", false),
        ("trimwrite", false),
        ("randread:8", true),
        ("randrw", true),
        ("randtrim", true),
    ] {
        let report = changed(SYNCED, |report| report["global options"]["rw"] = rw.into());
        assert_eq!(report.jobs[0].is_random(), random, "{rw}");
    }
}

/// A report of fio 3.33: two jobs of one server, and the sum that fio adds.
const CLIENT: &str = include_str!("../../../../fixtures/fio/client-3.33.json");

#[test]
fn what_a_server_did_for_a_client_is_read() {
    let report = Report::parse(CLIENT).unwrap();
    let jobs: Vec<_> = report.jobs.iter().map(|job| (job.name.as_str(), job.entries)).collect();
    assert_eq!(jobs, [("reads", 1), ("writes", 1)]);
    assert!(report.jobs.iter().all(|job| job.client.is_some()));
    assert_eq!(report.ended_unix_ns(), report.timestamp * 1_000_000_000);
    let two = changed(CLIENT, |report| {
        let mut other = report["client_stats"][0].clone();
        other["hostname"] = "node-b".into();
        report["client_stats"].as_array_mut().unwrap().push(other);
    });
    assert_eq!(two.jobs.len(), 3, "each host for itself");
}

#[test]
fn what_gives_no_figures_says_why() {
    let nothing = |report: &mut serde_json::Value| {
        for side in ["read", "write"] {
            report["jobs"][0][side]["total_ios"] = 0.into();
        }
    };
    let unusable =
        |change: &dyn Fn(&mut serde_json::Value)| changed(MIX, change).jobs[0].unusable();
    assert_eq!(unusable(&|_| {}), None);
    assert_eq!(unusable(&nothing).unwrap(), "it did no I/O");
    let created = unusable(&|report| {
        nothing(report);
        report["jobs"][0]["job options"]["create_only"] = "1".into();
    });
    assert_eq!(created.unwrap(), "it only made its file (create_only=1)");
    let failed = unusable(&|report| report["jobs"][0]["error"] = 28.into());
    assert_eq!(failed.unwrap(), "it ended with error 28");
    let mixed = unusable(&|report| {
        nothing(report);
        report["jobs"][0]["mixed"] = serde_json::json!({ "total_ios": 512 });
    });
    assert!(mixed.unwrap().contains("unified_rw_reporting"));
    let without_bins = unusable(&|report| {
        for side in ["read", "write"] {
            for times in ["lat_ns", "clat_ns"] {
                report["jobs"][0][side][times].as_object_mut().unwrap().remove("bins");
            }
        }
    });
    assert!(without_bins.unwrap().contains("json+"));
}

#[test]
fn rates_without_times_are_rates() {
    let report = changed(MIX, |report| {
        for side in ["read", "write"] {
            for times in ["lat_ns", "clat_ns", "slat_ns"] {
                report["jobs"][0][side][times] = serde_json::json!({ "N": 0, "mean": 0.0 });
            }
        }
        report["global options"] = serde_json::json!({ "gtod_reduce": "1" });
    });
    let job = &report.jobs[0];
    assert_eq!(job.unusable(), None);
    assert_eq!(job.without_times().unwrap(), "latencies: not measured by fio (gtod_reduce=1)");
    assert!(job.histograms("measure", "mixed").is_empty());
    assert!(job.role("mixed", 2).ops["get"].count > 0);
}

#[test]
fn trims_are_operations() {
    let report = changed(MIX, |report| {
        let times = report["jobs"][0]["write"]["lat_ns"].clone();
        let count = times["N"].clone();
        let job = &mut report["jobs"][0];
        job["trim"] = serde_json::json!({
            "total_ios": count, "io_bytes": count.as_u64().unwrap() * 4096, "runtime": 4,
            "lat_ns": times,
        });
        for side in ["read", "write"] {
            job[side]["total_ios"] = 0.into();
        }
    });
    let job = &report.jobs[0];
    assert_eq!((job.unusable(), job.block_bytes()), (None, 4_096));
    let trims = &job.role("trims", 1).ops["delete"];
    assert_eq!((trims.count, trims.write_bytes), (job.trim.total_ios, 0));
    assert_eq!(job.histograms("measure", "trims")[0].0, "measure/trims/delete/service");
}

#[test]
fn fios_numbers_are_powers_of_its_base() {
    let numbers = ["4k", "4KiB", "64m", "1g", "512", "2T"].map(|text| number(text, 1_024));
    let expected = [4096, 4096, 64 << 20, 1 << 30, 512, 2 << 40].map(Some);
    assert_eq!(numbers, expected);
    assert_eq!(number("4k", 1_000), Some(4_000));
    assert_eq!(["4q", "k", "", "-1"].map(|text| number(text, 1_024)), [None; 4]);
}
