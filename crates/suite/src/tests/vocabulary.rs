//! Tests of the words for keys, lengths and rates: their meaning, and messages about invalid ones.

use super::*;
use kvdyno_record::workload::{
    Activity, Choice, Domain, ExpectedHits, Mix, Op, Over, RangeDraw, Rate, Role, Schedule, Sine,
    Size, Spread, Stage,
};

/// Returns the measured mix of the small suite, with `old` replaced by `new`.
fn mix_with(old: &str, new: &str) -> Mix {
    let text = SMALL.replacen(old, new, 1);
    assert_ne!(text, SMALL);
    let plan = plan(&text, &[]);
    let mut phases = plan.cases.into_iter().flat_map(|case| case.phases);
    let mix = phases.find_map(|phase| match phase.work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    });
    mix.unwrap()
}

fn role_with(old: &str, new: &str) -> Role {
    mix_with(old, new).roles.remove(0)
}

fn keys(typed: &str) -> Choice {
    let get = format!("{{ op = \"get\", keys = {typed} }}");
    role_with("{ op = \"get\" }", &get).mix.remove(0).keys
}

#[test]
fn every_word_for_keys_has_its_meaning() {
    let gray = |items, spread, domain| Choice::GrayZipf { theta: 0.8, items, spread, domain };
    for (typed, meant) in [
        (
            r#"distribution = "zipf", theta = 0.99, domain = "predicted""#,
            Choice::Zipf { theta: 0.99, domain: Domain::Predicted },
        ),
        (
            r#"distribution = "zipf", theta = 0.99"#,
            Choice::Zipf { theta: 0.99, domain: Domain::Loaded },
        ),
        (r#"distribution = "gray_zipf", theta = 0.8"#, gray(None, Spread::None, Domain::Loaded)),
        (
            r#"distribution = "gray_zipf", theta = 0.8, items = "10G", spread = "fnv",
               domain = "predicted""#,
            gray(Some(10_000_000_000), Spread::Fnv, Domain::Predicted),
        ),
        (
            r#"distribution = "gray_zipf", theta = 0.8,
               spread = { linkbench = { seed = 20343988438726021 } }"#,
            gray(None, Spread::Linkbench { seed: 20_343_988_438_726_021 }, Domain::Loaded),
        ),
        (
            r#"distribution = "latest", theta = 0.99, exact = false"#,
            Choice::Latest { theta: 0.99, exact: false },
        ),
        (
            r#"distribution = "hotspot", keys = 0.2, operations = 0.8, domain = "loaded""#,
            Choice::Hotspot { keys: 0.2, operations: 0.8, domain: Domain::Loaded },
        ),
        (r#"distribution = "sequential""#, Choice::Sequential { step: 1 }),
        (r#"distribution = "sequential", step = 7"#, Choice::Sequential { step: 7 }),
        (r#"distribution = "absent""#, Choice::Absent),
        (
            r#"distribution = "ranges", ranges = 30, a = 14.18, b = -2.917, c = 0.0164,
               d = -0.08082, within = { power = { a = 0.002312, b = 0.3467 } }"#,
            Choice::Ranges {
                ranges: 30,
                a: 14.18,
                b: -2.917,
                c: 0.0164,
                d: -0.08082,
                within: RangeDraw::Power { a: 0.002_312, b: 0.3467 },
            },
        ),
    ] {
        // An inline table of TOML must be on one line.
        let typed = typed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(keys(&format!("{{ {typed} }}")), meant, "{typed}");
    }
}

#[test]
fn every_word_for_a_length_has_its_meaning() {
    let length = |typed: &str| {
        let text = SMALL.replacen("value_bytes = 100", &format!("value_bytes = {typed}"), 1);
        plan(&text, &[]).cases[0].data.value.size.clone()
    };
    let pareto = |min, location, over| Size::Pareto {
        min,
        k: 0.2615,
        sigma: 25.45,
        max: 1_024,
        location,
        over,
    };
    for (typed, meant) in [
        (
            "{ normal = { mean = \"1KiB\", sigma = 100, max = \"4KiB\" } }",
            Size::Normal { mean: 1_024.0, sigma: 100.0, min: 1, max: 4_096 },
        ),
        (
            "{ geometric = { p = 0.382, min = 2, max = 128 } }",
            Size::Geometric { p: 0.382, min: 2, max: 128 },
        ),
        (
            "{ pareto = { min = 10, k = 0.2615, sigma = 25.45, max = 1024 } }",
            pareto(10, 0.0, Over::Fold),
        ),
        (
            "{ pareto = { floor = 10, k = 0.2615, sigma = 25.45, max = 1024, over = \"clamp\", \
             location = 2 } }",
            pareto(10, 2.0, Over::Clamp),
        ),
        ("{ pareto = { k = 0.2615, sigma = 25.45, max = 1024 } }", pareto(1, 0.0, Over::Fold)),
        (
            "{ empirical = [[4000, 1], [\"100B\", 3]] }",
            Size::Empirical { up_to: vec![(100, 0.75), (4_000, 1.0)] },
        ),
    ] {
        assert_eq!(length(typed), meant, "{typed}");
    }
}

/// `LinkBench`'s multiget, and a batch that is planned by its mean.
#[test]
fn how_many_keys_an_operation_takes_can_be_drawn() {
    let op = |typed: &str| role_with("{ op = \"get\" }", typed).mix.remove(0).op;
    let drawn = Size::Geometric { p: 0.382, min: 2, max: 128 };
    let multiget =
        "{ op = \"multiget\", count = { geometric = { p = 0.382, min = 2, max = 128 } } }";
    assert_eq!(op(multiget), Op::Multiget { keys: drawn });
    assert_eq!(op("{ op = \"batch\" }"), Op::Batch { writes: Size::Fixed { bytes: 10 } });
    let batch = "{ op = \"batch\", count = { uniform = { min = 1, max = 4 } } }";
    assert_eq!(op(batch), Op::Batch { writes: Size::Uniform { min: 1, max: 4 } });
    // An operation has 2.5 records on average, with keys of 16 bytes and values of 100.
    let rate = format!("mix = [{batch}]\nrate = {{ bytes_per_s = \"2.9MB/s\" }}");
    let rate = role_with("mix = [{ op = \"get\" }]", &rate).rate.unwrap();
    assert!((rate.operations_per_s - 10_000.0).abs() < 1e-6, "{rate:?}");
}

#[test]
fn every_word_for_a_rate_has_its_meaning() {
    let writes = "mix = [{ op = \"get\" }]";
    let rate = |mix: &str, typed: &str| {
        role_with(writes, &format!("mix = [{mix}]\nrate = {typed}")).rate.unwrap()
    };
    let sine = Sine { amplitude: 1e3, period_ns: 86_071_000_000_000, step_ns: 5_000_000_000 };
    let waving = "{ per_second = 4500, sine = { amplitude = \"1k\", period = \"86071s\", \
                  step = \"5s\" } }";
    let expected = Rate { sine: Some(sine), ..Rate::new(4_500.0, Schedule::Poisson) };
    assert_eq!(rate("{ op = \"get\" }", waving), expected);
    // Keys of 16 bytes and values of 100; half of the operations write three records each.
    let mix = "{ op = \"update\" }, { op = \"batch\", count = 3 }";
    let bytes = rate(mix, "{ bytes_per_s = \"2.32MB/s\", schedule = \"fixed\" }");
    let expected = Rate { bytes_per_s: Some(2.32e6), ..Rate::new(10_000.0, Schedule::Fixed) };
    assert_eq!(bytes, expected);
}

/// A rate may be below one per second, and it may change.
#[test]
fn a_rate_may_be_small_and_may_change() {
    let writes = "mix = [{ op = \"get\" }]";
    let rate = |typed: &str| role_with(writes, &format!("{writes}\nrate = {typed}")).rate.unwrap();
    for typed in ["0.5", "\"0.5\"", "\"0.5/s\"", "{ per_second = 0.5 }", "\"0.000_5k / s\""] {
        assert_eq!(rate(typed), Rate::new(0.5, Schedule::Poisson), "{typed}");
    }
    assert_eq!(rate("\"50k/s\""), Rate::new(50_000.0, Schedule::Poisson));
    let stage = |from, to, seconds: u64| Stage { from, to, length_ns: seconds * 1_000_000_000 };
    let steps = "{ schedule = \"fixed\", steps = [{ per_second = \"1k\", duration = \"10s\" }, \
                 { from = 0, per_second = 0.5, duration = \"20s\" }] }";
    let expected = vec![stage(1_000.0, 1_000.0, 10), stage(0.0, 0.5, 20)];
    let mean = (10_000.0 + 5.0) / 30.0;
    assert_eq!(rate(steps), Rate { stages: expected, ..Rate::new(mean, Schedule::Fixed) });
    // A ramp takes the whole phase of five seconds, or a part of it.
    let ramp = rate("{ ramp = { from = 10, to = \"1k\" } }");
    assert_eq!((ramp.stages, ramp.operations_per_s), (vec![stage(10.0, 1_000.0, 5)], 505.0));
    let ramp = rate("{ ramp = { from = 10, to = 0, over = \"2s\" } }");
    assert_eq!(ramp.stages, [stage(10.0, 0.0, 2)]);
}

#[test]
fn threads_may_pause() {
    let role = |typed: &str| role_with("mix", &format!("{typed}\nmix"));
    assert_eq!(role("think_time = \"2ms\"").think_ns, Some(2_000_000));
}

#[test]
fn a_search_for_a_rate_takes_bytes_away() {
    let text = SMALL.replace(
        "mix = [{ op = \"get\" }]",
        "mix = [{ op = \"update\" }]\nrate = { bytes_per_s = \"2MB\" }",
    );
    let plan = plan(&text, &["phase.measure.role.readers.rate.per_second=500"]);
    let phases = plan.cases.iter().flat_map(|case| &case.phases);
    let mut roles = phases.filter_map(|phase| phase.mix()).flat_map(|mix| &mix.roles);
    assert_eq!(roles.next().unwrap().rate, Some(Rate::new(500.0, Schedule::Poisson)));
}

#[test]
fn keys_that_are_not_there_need_room_for_their_numbers() {
    let absent = SMALL
        .replace("{ op = \"get\" }", "{ op = \"get\", keys = { distribution = \"absent\" } }")
        .replace("records = \"1M\"", "records = 40_000\nkey_bytes = 2\nkey_format = \"binary\"");
    let refused = refusal(&absent, &Overrides::default());
    assert!(
        refused.contains("keys of 2 bytes cannot represent 80,000 different records"),
        "{refused}"
    );
    plan(&absent, &["data.key_bytes=3"]);
}

#[test]
fn missing_keys_beside_existing_ones_need_a_share_of_hits() {
    let absent = "{ op = \"get\", keys = { distribution = \"absent\" } }";
    let get = "{ op = \"get\" }";
    for existing in [get, "{ op = \"rmw\" }", "{ op = \"multiget\" }"] {
        let both = SMALL.replace(get, &format!("{existing}, {absent}"));
        let refused = refusal(&both, &Overrides::default());
        let message = "the role looks up missing keys and existing ones";
        assert!(refused.contains(message), "{existing}: {refused}");
        plan(&both.replace("mix =", "expected_hits = 0.5\nmix ="), &[]);
    }
    // Scans and updates have no share of hits.
    let others = format!("{{ op = \"scan\" }}, {{ op = \"update\" }}, {absent}");
    assert_eq!(role_with(get, &others).expected_hits, ExpectedHits::None);
}

#[test]
fn a_weight_may_be_hexadecimal() {
    let role = role_with("{ op = \"get\" }", "{ op = \"get\", weight = 0x10 }");
    assert_eq!(role.mix[0].weight.to_bits(), 16_f64.to_bits());
}

/// The mistakes in the rendered text, line by line, with their positions: for each of `new`,
/// inserted at `@` of `with`, which replaces `old`.
macro_rules! refused {
    ($($name:ident: $old:literal => $with:literal: $($new:literal)+;)+) => {$(
        #[test]
        fn $name() {
            let mut messages = Vec::new();
            for new in [$($new),+] {
                let text = SMALL.replacen($old, &$with.replace('@', new), 1);
                assert_ne!(text, SMALL);
                messages.push(refusal(&text, &Overrides::default()));
            }
            insta::assert_snapshot!(messages.join("\n"));
        }
    )+};
}

refused! {
    grays_parameters: r#"{ op = "get" }"# =>
        r#"{ op = "get", keys = { distribution = "gray_zipf", @ } }"#:
        "theta = 1"
        "theta = 0.9, items = 0"
        r#"theta = 0.9, spread = "fvn""#
        "theta = 0.9, spread = 1"
        r#"theta = 0.9, spread = "linkbench""#
        r#"theta = 0.9, domain = "present""#;
    other_keys: r#"{ op = "get" }"# => r#"{ op = "get", keys = { distribution = @ } }"#:
        r#""zipf", theta = 0.9, domain = "presents""#
        r#""hotspot", keys = 1, operations = 1, domain = "predicted""#
        r#""latest", theta = 1.1, exact = false"#
        r#""latest", theta = 1.1, exact = 1"#
        r#""sequential", step = 0"#;
    ranges: r#"{ op = "get" }"# =>
        r#"{ op = "get", keys = { distribution = "ranges", ranges = @ } }"#:
        "0, a = 1, b = 0, c = 0, d = 0"
        "9, a = 0, b = 0, c = -1, d = 0"
        "9, a = 1, b = 0"
        r#"9, a = 1, b = 0, c = 0, d = 0, within = "power""#
        "9, a = 1, b = 0, c = 0, d = 0, within = { power = { a = 0 } }";
    absent_keys: r#"{ op = "get" }"# => r#"{ op = @, keys = { distribution = "absent" } }"#:
        r#""update""#
        r#""scan""#;
    lengths: "100" => "{ @ }":
        "normal = { mean = 10, sigma = 0, max = 100 }"
        "normal = { mean = 10, sigma = 1, min = 200, max = 100 }"
        "geometric = { p = 1.5, max = 100 }"
        "pareto = { min = 1, floor = 1, k = 1, sigma = 1, max = 100 }"
        r#"pareto = { k = 1, sigma = 1, location = -1, max = 100, over = "flod" }"#
        "empirical = []"
        "empirical = [[10, 0], [10]]"
        r#"empirical = { file = "lengths.csv" }"#;
    counts: r#"{ op = "get" }"# => r#"{ op = "multiget", count = @ }"#:
        "0"
        "70_000"
        r#""many""#
        "{ uniform = { min = 0, max = 9 } }"
        "{ geometric = { p = 0.4, max = 100_000 } }"
        "{ geometric = { p = 0.4, min = 9, max = 2 } }"
        "{ zipf = { max = 9 } }";
    rates: r#"mix = [{ op = "get" }]"# => "mix = [{ op = \"update\" }]\nrate = { @ }":
        ""
        "per_second = 1, bytes_per_s = 1"
        r#"bytes_per_s = "2M""#
        "bytes_per_s = 0"
        "per_second = -1"
        r#"per_second = "fast""#
        "per_second = 1, ramp = { from = 1, to = 2 }"
        "ramp = { from = 1 }"
        "ramp = { from = 0, to = 0 }"
        "steps = []"
        "steps = [{ per_second = 1 }]";
    rates_of_readers: r#"mix = [{ op = "get" }]"# =>
        "mix = [{ op = \"@\" }]\nrate = { bytes_per_s = 9 }":
        "get"
        "delete";
    waves: r#"mix = [{ op = "get" }]"# =>
        "mix = [{ op = \"update\" }]\nrate = { @ } }":
        r#"per_second = 9, sine = { amplitude = 10, period = "1m", step = "1s""#
        r#"per_second = 9, sine = { amplitude = 9, period = "1m", step = "2m""#
        r#"per_second = 9, sine = { amplitude = 9, period = "1d", step = "1ms""#
        r#"per_second = 9, sine = { amplitude = 9, period = "1d""#
        r#"bytes_per_s = 9, sine = { amplitude = 9, period = "1d", step = "1s""#;
}
