//! Sampled stacks for other programs: folded stacks, and speedscope's JSON.

use kvdyno_analysis::figures::profile::{Call, CallTree, Profiled, ThreadsSamples};
use kvdyno_record::text::escape_line;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Folded stacks, as flamegraph.pl and inferno read them: a line for each stack, its functions from
/// the outermost to the innermost, and its samples. The first three names are the case, the phase
/// and the threads.
pub fn folded_stacks(profiles: &[Profiled]) -> String {
    let mut text = String::new();
    for profiled in profiles {
        let ThreadsSamples { phase, threads, .. } = &profiled.sampled;
        let place = [&profiled.case, phase, threads].map(|word| escape_name(word));
        for (stack, own) in stacks(&profiled.tree) {
            let names =
                stack.iter().map(|call| escape_name(&profiled.tree.function(call.function).name));
            let frames: Vec<String> = place.iter().cloned().chain(names).collect();
            text += &format!("{} {own}\n", frames.join(";"));
        }
    }
    text
}

/// Returns a name without the separator of names.
fn escape_name(name: &str) -> String {
    escape_line(name).replace(';', ":")
}

/// A file for speedscope.app: a profile for each kind of threads in a phase of a case, weighted by
/// time on a CPU.
pub fn speedscope(run: &str, profiles: &[Profiled]) -> anyhow::Result<Vec<u8>> {
    let mut frames: Vec<Value> = Vec::new();
    let mut numbers: HashMap<(String, String), usize> = HashMap::new();
    let mut listed = Vec::new();
    for profiled in profiles {
        let ThreadsSamples { phase, threads, rate_hz, .. } = &profiled.sampled;
        let ns = 1e9 / f64::from((*rate_hz).max(1));
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        for (stack, own) in stacks(&profiled.tree) {
            let sample = stack.iter().map(|call| {
                let function = profiled.tree.function(call.function);
                let key = (function.name.clone(), function.module.clone());
                *numbers.entry(key).or_insert_with(|| {
                    frames.push(json!({ "name": function.name, "file": function.module }));
                    frames.len() - 1
                })
            });
            samples.push(sample.collect::<Vec<_>>());
            weights.push((own as f64 * ns).round() as u64);
        }
        listed.push(json!({
            "type": "sampled",
            "name": format!("{} {phase} {threads}", profiled.case),
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": weights.iter().sum::<u64>(),
            "samples": samples,
            "weights": weights,
        }));
    }
    Ok(serde_json::to_vec(&json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": run,
        "exporter": format!("kvdyno {}", kvdyno_record::VERSION),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": listed,
    }))?)
}

/// Each stack with samples of its own, outermost call first.
fn stacks(tree: &CallTree) -> impl Iterator<Item = (Vec<&Call>, u64)> {
    tree.calls().iter().filter(|call| call.own > 0).map(|call| {
        let mut stack: Vec<&Call> =
            std::iter::successors(Some(call), |call| tree.caller(call)).collect();
        stack.reverse();
        (stack, call.own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::figures::evidence::Evidence;
    use kvdyno_analysis::figures::profile;
    use kvdyno_analysis::fixture::Fixture;
    use kvdyno_record::files::RunDir;

    fn profiles() -> Vec<Profiled> {
        let dir = kvdyno_analysis::fixture::make_dir();
        let path = dir.path().join("run");
        Fixture::with_profile().write(&path);
        let evidence = Evidence::read(&RunDir::open(path).unwrap()).unwrap();
        let groups = kvdyno_analysis::figures::Figures::from_evidence(&evidence).unwrap().groups;
        profile::read(&evidence, &groups)
    }

    #[test]
    fn folded_stacks_add_up_over_trials() {
        insta::assert_snapshot!(folded_stacks(&profiles()));
    }

    #[test]
    fn speedscope_has_a_profile_for_each_kind_of_threads() {
        let profiles = profiles();
        let file: Value = serde_json::from_slice(&speedscope("run", &profiles).unwrap()).unwrap();
        let listed = file["profiles"].as_array().unwrap();
        assert_eq!(listed.len(), profiles.len());
        let frames = file["shared"]["frames"].as_array().unwrap();
        for profile in listed {
            let (samples, weights) = (&profile["samples"], profile["weights"].as_array().unwrap());
            assert_eq!(samples.as_array().unwrap().len(), weights.len());
            let sum: u64 = weights.iter().map(|weight| weight.as_u64().unwrap()).sum();
            assert_eq!(profile["endValue"].as_u64(), Some(sum));
            for frame in samples.as_array().unwrap().iter().flat_map(|s| s.as_array().unwrap()) {
                assert!((frame.as_u64().unwrap() as usize) < frames.len());
            }
        }
    }
}
