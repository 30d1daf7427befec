//! The screen of every shape of run: as it is printed, and never more than a screen.

use super::*;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::findings::{Finding, Severity};
use kvdyno_analysis::fixture::{Fixture, FixtureCase};
use kvdyno_record::case::Outcome;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::workload::{Activity, Rate, Schedule};

fn ending() -> Ending {
    Ending { run: None, report: "kvdyno report writes runs/run.html".to_owned() }
}

/// Returns the text, and asserts that it is one screen.
fn screen(summary: &Summary) -> String {
    let lines: Vec<String> = lines(summary, &ending()).iter().map(Line::full_text).collect();
    let text = lines.join("\n");
    assert!(lines.len() <= LINES_MAX, "{} lines:\n{text}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= COLUMNS_MAX, "{line}\n{text}");
        assert_eq!(line.trim_end(), line, "{text}");
    }
    text
}

/// A fixture in which every engine has figures of its own, of every kind.
fn distinct(trials: u32) -> Fixture {
    let mut fixture = Fixture::with_trials(trials);
    for case in &mut fixture.cases {
        let factor = match case.record.case.engine.as_str() {
            "lmdb" => 1,
            "rocksdb" => 3,
            _ => 7,
        };
        if let Some(process) = &mut case.record.process {
            process.rss_peak_bytes *= factor;
        }
        for phase in &mut case.record.phases {
            phase.wall_ns = phase.wall_ns * (10 + factor) / 10;
            if phase.kind == "load" {
                phase.roles.iter_mut().for_each(|r| r.window_ns = r.window_ns * (10 + factor) / 10);
            }
            if let Some(size) = &mut phase.database {
                size.used_bytes *= factor;
            }
        }
    }
    fixture
}

/// Copies of an engine's cases under other names.
fn more_engines(fixture: &mut Fixture, names: &[&str]) {
    let cases: Vec<_> =
        fixture.cases.iter().filter(|case| case.record.case.engine == "lmdb").cloned().collect();
    for (at, name) in names.iter().enumerate() {
        for mut copy in cases.clone() {
            let case = &mut copy.record.case;
            case.id = case.id.replace("_lmdb_", &format!("_{name}_"));
            case.key = case.key.replace("lmdb", name);
            case.label = (*name).to_owned();
            case.database.loaded_by =
                case.database.loaded_by.replace("_lmdb_", &format!("_{name}_"));
            case.database.id = case.database.id.replace("lmdb", name);
            for phase in &mut copy.record.phases {
                for op in phase.roles.iter_mut().flat_map(|role| role.ops.values_mut()) {
                    op.count = op.count * (20 + at as u64) / 15;
                }
            }
            fixture.cases.push(copy);
        }
    }
    planned(fixture);
}

/// Copies of the cases of one number of threads with others.
fn more_threads(fixture: &mut Fixture, numbers: &[u32]) {
    let of_one = |case: &&FixtureCase| case.record.case.threads == Some(1);
    let cases: Vec<_> = fixture.cases.iter().filter(of_one).cloned().collect();
    for number in numbers {
        for mut copy in cases.clone() {
            let case = &mut copy.record.case;
            case.id = case.id.replace("_t1_", &format!("_t{number}_"));
            case.key = case.key.replace("t1", &format!("t{number}"));
            (case.threads, case.threads_swept) = (Some(*number), Some(*number));
            for phase in &mut case.phases {
                if let Activity::Measure(drive) = &mut phase.work {
                    drive.roles[0].threads = *number;
                }
            }
            for phase in copy.record.phases.iter_mut().filter(|phase| phase.kind == "measure") {
                phase.roles[0].threads = *number;
            }
            fixture.cases.push(copy);
        }
    }
    planned(fixture);
}

fn planned(fixture: &mut Fixture) {
    fixture.replan();
}

#[test]
fn two_engines_at_a_few_numbers_of_threads() {
    insta::assert_snapshot!("two_engines", screen(&distinct(4).summary()));
}

/// However much there is to say of a run, its figures have their place.
#[test]
fn a_run_of_many_sentences_has_its_figures() {
    let mut summary = distinct(4).summary();
    let long = |what: &str, number: usize| format!("{what} {number}{}", " and words".repeat(30));
    for number in 0..4 {
        let invalid = Finding {
            severity: Severity::Invalid,
            evidence: long("evidence", number),
            ..summary.findings[0].clone()
        };
        summary.findings.push(invalid);
        summary.not_measured.push(long("no reading", number));
        let reason = long("reason", number);
        let left_out = LeftOut { engine: format!("e{number}"), reason, ..LeftOut::default() };
        summary.run.left_out.push(left_out);
    }
    let text = screen(&summary);
    assert!(text.contains(" .. and more: kvdyno show --findings"), "{text}");
    assert!(text.contains("2 threads ") && text.contains("INVALID"), "{text}");
}

#[test]
fn one_trial_claims_nothing() {
    let text = screen(&distinct(1).summary());
    assert!(text.contains("(1 trial)") && text.contains("about 3 more pairs"), "{text}");
}

#[test]
fn one_engine_has_its_range() {
    let mut fixture = distinct(4);
    fixture.cases.retain(|case| case.record.case.engine == "lmdb");
    planned(&mut fixture);
    insta::assert_snapshot!("one_engine", screen(&fixture.summary()));
}

#[test]
fn three_engines_stand_beside_the_first() {
    let mut fixture = distinct(4);
    more_engines(&mut fixture, &["third"]);
    insta::assert_snapshot!("three_engines", screen(&fixture.summary()));
}

#[test]
fn many_threads_and_engines_are_chosen_from_and_it_says_so() {
    let mut fixture = distinct(2);
    more_threads(&mut fixture, &[4, 8, 16, 32, 64, 128, 256]);
    let text = screen(&fixture.summary());
    insta::assert_snapshot!("many_threads", text);
    assert!(text.contains("Left out: "), "{text}");
    let mut fixture = distinct(2);
    let names: Vec<String> = (1..60).map(|n| format!("with-a-long-name-{n}")).collect();
    more_engines(&mut fixture, &names.iter().map(String::as_str).collect::<Vec<_>>());
    let text = screen(&fixture.summary());
    assert!(text.contains("more rows"), "{text}");
}

#[test]
fn a_field_of_engines_is_ranked_by_question_a_line_each() {
    let text = screen(&Fixture::field(4).summary());
    insta::assert_snapshot!("field", text);
    for engine in ["LMDB 1.0", "rocksdb-tuned", "LevelDB, async", "SurrealKV"] {
        let has_name = |line: &&str| line.starts_with(&format!("{engine} "));
        assert_eq!(text.lines().filter(has_name).count(), 1, "{engine}\n{text}");
    }
    assert!(text.contains("Left out: RAM 512 MiB; "), "{text}");
    // A reason that names many engines is cut, and never left out.
    assert!(!text.contains("MEDIUM: nothing found"), "{text}");
}

/// Two engines are few enough to stand beside each other, at two RAM limits they are a list.
#[test]
fn engines_at_several_settings_follow_each_other_in_each_question() {
    let mut fixture = Fixture::field(4);
    fixture.cases.retain(|case| case.record.case.engine == "rocksdb");
    planned(&mut fixture);
    let text = screen(&fixture.summary());
    insta::assert_snapshot!("settings", text);
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" overwrite ")).collect();
    assert!(rows[0].starts_with("rocksdb ") && rows[1].starts_with("rocksdb-tuned "), "{text}");
}

#[test]
fn an_engine_that_did_not_fit_is_said_to_and_never_praised() {
    let mut fixture = distinct(4);
    for trial in 1..=4 {
        for name in [format!("rocksdb_load_r{trial}"), format!("rocksdb_t1_r{trial}")] {
            let case = fixture.case(&name);
            case.record.outcome = Outcome::DoesNotFit {
                message: "killed by the kernel for its RAM limit while in `verify`".to_owned(),
            };
            case.record.phases.retain(|phase| phase.kind == "load");
        }
    }
    let summary = fixture.summary();
    insta::assert_snapshot!("did_not_fit", screen(&summary));
    let answers = kvdyno_analysis::answers::answer::answers(&summary, summary.search.as_ref());
    let sentences: Vec<&str> = answers.iter().map(|answer| answer.sentence.as_str()).collect();
    assert!(sentences[0].ends_with("; RocksDB did not fit (0 of 4 trials)."), "{sentences:?}");
    assert!(sentences.iter().all(|text| !text.contains("times")), "{sentences:?}");
}

#[test]
fn where_nothing_fitted_it_says_so() {
    let mut fixture = distinct(4);
    for case in &mut fixture.cases {
        let message = "killed by the kernel for its RAM limit while in `opening`".to_owned();
        case.record.outcome = Outcome::DoesNotFit { message };
        case.record.phases.clear();
    }
    let text = screen(&fixture.summary());
    assert!(text.contains("\nLMDB did not fit (0 of 4 trials): killed by the kernel"), "{text}");
    assert!(text.contains("\nRocksDB did not fit (0 of 4 trials)"), "{text}");
    assert!(!text.contains("cases not done"), "{text}");
}

#[test]
fn a_trial_that_is_missing_is_said_beside_its_figure() {
    let mut fixture = distinct(4);
    let case = fixture.case("rocksdb_t1_r2");
    case.record.outcome = Outcome::Killed { signal: 9, message: "in phase measure".to_owned() };
    case.record.phases.retain(|phase| phase.name != "measure");
    let summary = fixture.summary();
    let text = screen(&summary);
    assert!(text.contains("RocksDB has figures of 3 of 4 trials: 1 was killed (9)"), "{text}");
    let answers = kvdyno_analysis::answers::answer::answers(&summary, summary.search.as_ref());
    let sentence = &answers.iter().find(|a| a.workload == "measure").unwrap().sentence;
    assert!(sentence.contains("; RocksDB has figures of 3 of 4 trials"), "{sentence}");
}

#[test]
fn a_target_rate_shows_response_times() {
    let mut fixture = distinct(4);
    for case in &mut fixture.cases {
        for phase in &mut case.record.case.phases {
            if let Activity::Measure(drive) = &mut phase.work {
                drive.roles[0].rate = Some(Rate::new(2_000.0, Schedule::Poisson));
            }
        }
        for phase in case.record.phases.iter_mut().filter(|phase| phase.kind == "measure") {
            phase.roles[0].offered_per_s = Some(2_000.0);
        }
        let mut later = Vec::new();
        for (start, length, tag, samples) in &case.histograms {
            if let Some(tag) = tag.strip_suffix("get/service") {
                later.push((*start, *length, format!("{tag}get/response"), samples.clone()));
            }
        }
        case.histograms.extend(later);
    }
    planned(&mut fixture);
    insta::assert_snapshot!("target_rate", screen(&fixture.summary()));
    // Response times are as slow where nothing is stored.
    let is_null = |case: &&mut FixtureCase| case.record.case.engine == "null";
    assert!(!screen(&fixture.summary()).contains("waits for a CPU"));
    let reads = |case: &&FixtureCase| case.record.case.id.contains("_t1_");
    let histograms = fixture.cases.iter().find(reads).unwrap().histograms.clone();
    for case in fixture.cases.iter_mut().filter(is_null) {
        case.histograms.clone_from(&histograms);
    }
    let text = screen(&fixture.summary());
    assert!(text.contains("waits for a CPU are in it"), "{text}");
}

#[test]
fn several_settings_have_a_row_each() {
    let mut fixture = distinct(2);
    let cases = fixture.cases.clone();
    for mut copy in cases {
        let case = &mut copy.record.case;
        case.id = format!("{}_small", case.id);
        case.key = format!("{} small", case.key);
        case.database.loaded_by = format!("{}_small", case.database.loaded_by);
        case.ram_limit_bytes = Some(7 << 20);
        copy.record.ram_limit.requested_bytes = Some(7 << 20);
        copy.record.ram_limit.enforced_by = None;
        fixture.cases.push(copy);
    }
    planned(&mut fixture);
    let text = screen(&fixture.summary());
    insta::assert_snapshot!("two_ram_limits", text);
    assert!(text.contains("NOT HELD"), "{text}");
}

#[test]
fn a_bare_drive_alone_and_beside_engines() {
    insta::assert_snapshot!("drive_alone", screen(&Fixture::with_drive_alone(3).summary()));
    let text = screen(&Fixture::with_drive(4).summary());
    assert!(text.contains("of the drive's IOPS") && text.contains("--drive"), "{text}");
}

#[test]
fn loads_alone_and_a_partial_run() {
    let mut fixture = distinct(2);
    fixture.cases.retain(|case| case.record.case.threads.is_none());
    planned(&mut fixture);
    insta::assert_snapshot!("loads_alone", screen(&fixture.summary()));
    let mut partial = distinct(2);
    partial.cases.truncate(2);
    partial.run.ended_unix_ns = None;
    let dir = kvdyno_analysis::fixture::make_dir();
    let run = partial.write_partial(&dir.path().join("run"));
    let text = screen(&Summary::read(&run).unwrap());
    assert!(text.contains("2/18 cases") && text.contains("kvdyno resume"), "{text}");
}

#[test]
fn what_voids_figures_stands_on_the_screen() {
    let mut fixture = distinct(4);
    fixture.case("rocksdb_t1_r1").op("measure", "readers", "get").misses = 7;
    for case in &mut fixture.cases {
        case.record.not_measured = vec!["cachestat is not there: kernel 6.1".to_owned()];
    }
    fixture.cases[1].record.concurrent_runs = vec![4711];
    let summary = fixture.summary();
    let text = screen(&summary);
    let disturbed = "another run disturbed 1 of 36 cases: repeat";
    assert!(text.contains(&format!("\nNOTE: {disturbed}")), "{text}");
    assert!(crate::brief::slack_message(&summary).contains(disturbed));
    assert!(text.contains("\nINVALID keys-missing: "), "{text}");
    assert!(text.contains("\nNOTE: cachestat is not there"), "{text}");
}

#[test]
fn hostile_names_stay_harmless() {
    let mut fixture = distinct(2);
    for case in &mut fixture.cases {
        case.record.case.label = format!("{}\x1b[31m\n\u{202e}", case.record.case.label);
    }
    fixture.plan.suite = "a\x1b[2Jb".to_owned();
    fixture.run.suite = "a\x1b[2Jb".to_owned();
    planned(&mut fixture);
    let text = screen(&fixture.summary());
    assert!(!text.contains(['\x1b', '\u{202e}', '\r']), "{text}");
}

#[test]
fn more_than_two_versions_are_what_the_screen_shows() {
    let summary = Fixture::with_versions(&["LMDB", "RocksDB", "null"]).summary();
    let lines = lines(&summary, &Ending::default());
    let text: Vec<String> = lines.iter().map(Line::full_text).collect();
    assert!(text.len() <= LINES_MAX, "{text:?}");
    for version in ["1.0 ", "2.0 ", "3.0 "] {
        assert!(text.iter().any(|line| line.starts_with(version)), "{version}: {text:#?}");
    }
    assert!(text.iter().any(|line| line.starts_with("No step is judged")), "{text:#?}");
    assert!(text.iter().all(|line| line.chars().count() <= COLUMNS_MAX), "{text:#?}");
}

/// Fast reads do not hide slow writes: no row has the percentile of both together.
#[test]
fn a_mix_has_latencies_of_each_operation() {
    let summary = Fixture::with_mixed_role(4).summary();
    insta::assert_snapshot!("mix", screen(&summary));
    let mut many = Fixture::with_mixed_role(4);
    more_engines(&mut many, &["third", "fourth", "fifth", "sixth"]);
    let text = screen(&many.summary());
    insta::assert_snapshot!("mix_of_many", text);
    let mut open = Fixture::with_mixed_role(4);
    let rate = Rate::new(2_000.0, Schedule::Poisson);
    for case in &mut open.cases {
        for phase in &mut case.record.case.phases {
            if let Activity::Measure(mix) = &mut phase.work {
                mix.roles[0].rate = Some(rate.clone());
            }
        }
        for (.., tag, _) in &mut case.histograms {
            *tag = tag.replace("/service", "/response");
        }
    }
    planned(&mut open);
    let text = screen(&open.summary());
    assert!(text.contains("update p99 us") && !text.contains(": p99 us"), "{text}");
}

#[test]
fn a_rate_that_still_moved_is_marked_as_a_burst() {
    let mut fixture = distinct(6);
    let rocksdb = fixture.cases.iter_mut().filter(|case| case.record.case.engine == "rocksdb");
    for slice in rocksdb.flat_map(|case| &mut case.slices) {
        let falls = 1 + slice.slice;
        let ops = slice.roles.get_mut("readers").into_iter().flat_map(|ops| ops.values_mut());
        ops.for_each(|op| op.count /= falls);
    }
    let text = screen(&fixture.summary());
    assert!(text.contains("[1] burst: the rate still moved"), "{text}");
    let marked = text.lines().filter(|line| line.contains("7,917 [1]")).count();
    assert_eq!(marked, 1, "{text}");
    assert!(text.matches("[1]").count() == 2, "{text}");
}

#[test]
fn a_sentence_is_wrapped_and_only_its_end_is_cut() {
    let words = |count: usize, lines_max| {
        let text = format!(" {}", vec!["power"; count].join(" "));
        let lines = line::sentence(Some(Tone::Warning), "NOTE:", &text, lines_max);
        lines.iter().map(Line::full_text).collect::<Vec<_>>()
    };
    assert_eq!(words(2, 3), ["NOTE: power power"]);
    let wrapped = words(20, 3);
    assert_eq!((wrapped.len(), wrapped.concat().matches("power").count()), (2, 20));
    let cut = words(90, 2);
    assert!(cut.len() == 2 && cut[1].starts_with("  power") && cut[1].ends_with(".."), "{cut:?}");
}

/// Its ratio is one of medians, and no number of trials would decide it.
#[test]
fn a_void_ratio_among_three_engines_is_not_one_of_too_few_trials() {
    let mut fixture = distinct(4);
    more_engines(&mut fixture, &["third"]);
    fixture.make_void("rocksdb_t1_r1");
    let summary = fixture.summary();
    let text = screen(&summary);
    let row = text.lines().find(|line| line.starts_with("  1 thread ")).unwrap();
    assert!(row.contains("8,138 [") && !row.contains('?'), "{text}");
    assert!(text.contains("] not comparable: void: debug-build"), "{text}");
}
