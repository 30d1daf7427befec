//! Workflows of GitHub Actions: the project's own, and the one of docs/history.md, which runs
//! several nights as on GitHub.

use super::readme::{block_below, text_of};
use super::scratch::Scratch;
use super::suites::{GET, suite};
use super::workers::{self, null_is_a_debug_build};
use serde_json::{Map, Value};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

// Keys that GitHub supports ("Workflow syntax for GitHub Actions"): an unknown key is an error
// there.
const OF_WORKFLOW: [&str; 8] =
    ["name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"];
const OF_JOB: [&str; 16] = [
    "name",
    "permissions",
    "needs",
    "if",
    "runs-on",
    "environment",
    "concurrency",
    "outputs",
    "env",
    "defaults",
    "steps",
    "timeout-minutes",
    "strategy",
    "continue-on-error",
    "container",
    "services",
];
const OF_STEP: [&str; 11] = [
    "id",
    "if",
    "name",
    "uses",
    "run",
    "working-directory",
    "shell",
    "with",
    "env",
    "continue-on-error",
    "timeout-minutes",
];
const EVENTS: [&str; 5] = ["push", "pull_request", "schedule", "workflow_dispatch", "release"];

fn docs_workflow() -> Value {
    parsed(&block_below("docs/history.md", "Nightly, by GitHub Actions"))
}

fn parsed(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{error}\n{yaml}"))
}

fn object<'v>(value: &'v Value, keys: &[&str]) -> &'v Map<String, Value> {
    let object = value.as_object().unwrap_or_else(|| panic!("expected keys, found {value}"));
    for key in object.keys() {
        assert!(keys.contains(&key.as_str()), "GitHub knows no `{key}`, but {keys:?}: {value}");
    }
    object
}

fn text<'v>(value: &'v Value, what: &str) -> &'v str {
    let text = value.as_str().unwrap_or_else(|| panic!("{what} is {value}"));
    assert!(!text.trim().is_empty(), "{what} is empty");
    text
}

fn check_on(on: &Value) {
    let events: Vec<&str> = match on {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().map(|event| text(event, "an event")).collect(),
        _ => object(on, &EVENTS).keys().map(String::as_str).collect(),
    };
    assert!(!events.is_empty() && events.iter().all(|one| EVENTS.contains(one)), "{on}");
    for time in on.get("schedule").map_or(&[][..], |times| times.as_array().unwrap()) {
        let cron = text(&object(time, &["cron", "timezone"])["cron"], "cron");
        let fields: Vec<&str> = cron.split_whitespace().collect();
        let ends = [59, 23, 31, 12, 6];
        assert_eq!(fields.len(), ends.len(), "minute, hour, day, month, weekday: {cron}");
        for (field, end) in fields.into_iter().zip(ends) {
            let valid = field == "*" || field.parse::<u32>().is_ok_and(|number| number <= end);
            assert!(valid, "{field} of {cron}");
        }
    }
}

fn check_step(step: &Value) {
    let keys = object(step, &OF_STEP);
    match (keys.get("uses"), keys.get("run")) {
        (Some(uses), None) => {
            let uses = text(uses, "uses");
            let (action, version) = uses.split_once('@').expect("an action has a version");
            assert!(action.split('/').count() >= 2 && !version.is_empty(), "{uses}");
        }
        (None, Some(run)) => {
            text(run, "run");
            assert!(!keys.contains_key("with"), "`with` is for `uses`: {step}");
        }
        _ => panic!("a step has either `uses` or `run`: {step}"),
    }
    for value in keys.get("with").iter().flat_map(|with| with.as_object().unwrap().values()) {
        assert!(!value.is_object() && !value.is_array() && !value.is_null(), "{step}");
    }
    for expression in step.to_string().split("${{").skip(1) {
        let (expression, _) = expression.split_once("}}").expect("an expression has an end");
        let prefixes = ["github.", "hashFiles("];
        assert!(prefixes.iter().any(|word| expression.trim().starts_with(word)), "{expression}");
    }
}

/// Errors that GitHub would report before the job runs. The steps of its one job.
fn checked(workflow: &Value) -> &[Value] {
    let keys = object(workflow, &OF_WORKFLOW);
    check_on(&keys["on"]);
    let jobs = keys["jobs"].as_object().unwrap();
    let [(id, job)] = jobs.iter().collect::<Vec<_>>()[..] else { panic!("{jobs:?}") };
    let of_id = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    assert!(id.chars().all(of_id) && !id.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
    let job = object(job, &OF_JOB);
    let labels = match &job["runs-on"] {
        Value::Array(labels) => labels.clone(),
        label => vec![label.clone()],
    };
    assert!(!labels.is_empty());
    for label in &labels {
        text(label, "a label of runs-on");
    }
    let steps = job["steps"].as_array().unwrap();
    assert!(!steps.is_empty());
    steps.iter().for_each(check_step);
    steps
}

#[test]
fn the_workflows_of_the_repository_are_such_as_github_takes() {
    let dir = Path::new(env!("KVDYNO_SOURCE")).join(".github/workflows");
    let mut count = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let workflow = parsed(&text_of(&format!(".github/workflows/{name}")));
        let makefile = text_of("Makefile");
        for step in checked(&workflow) {
            let run = step["run"].as_str().and_then(|run| run.strip_prefix("make "));
            let target = run.and_then(|target| target.split(' ').next());
            let has_target = |target| makefile.contains(&format!("\n{target}:"));
            assert!(target.is_none_or(has_target), "the Makefile has no such target: {step}");
        }
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn what_github_would_refuse_is_refused() {
    let good = block_below("docs/history.md", "Nightly, by GitHub Actions");
    checked(&parsed(&good));
    for (part, other) in [
        ("runs-on:", "run-on:"),
        ("17 3 * * *", "17 3 * *"),
        ("17 3 * * *", "17 24 * * *"),
        ("- uses: actions/checkout@v4", "- name: nothing"),
        ("actions/checkout@v4", "actions/checkout"),
        ("github.run_id }}", "github.run_id }"),
        ("schedule:", "nightly:"),
        ("    steps:", "    runs-on: twice\n    steps:"),
    ] {
        assert!(good.contains(part), "{part}");
        let bad = good.replace(part, other);
        let refused = std::panic::catch_unwind(|| _ = checked(&parsed(&bad)));
        assert!(refused.is_err(), "{part} as {other}");
    }
}

/// A machine for the job, with the files that GitHub keeps between its runs.
struct Runner {
    scratch: Scratch,
    steps: Vec<Value>,
    /// `actions/cache`, by key, the newest last.
    caches: Vec<(String, Vec<u8>)>,
}

/// The result of a night: the exit code of the failed step, and the uploaded page.
struct Night {
    code: i32,
    said: String,
    page: Vec<u8>,
}

impl Runner {
    fn new() -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("bin")).unwrap();
        fs::create_dir(scratch.path("nvme")).unwrap();
        std::os::unix::fs::symlink(workers::program(), scratch.path("bin/kvdyno")).unwrap();
        let steps = checked(&docs_workflow()).to_vec();
        Self { scratch, steps, caches: Vec::new() }
    }

    /// Replaces the null engine by a slower build of it.
    fn build_a_slower_engine(&self) {
        let path = self.scratch.path("engines/kvdyno-null");
        let real = fs::read_link(&path).unwrap();
        // It is a link to the engine that other tests run.
        fs::remove_file(&path).unwrap();
        let real = real.display();
        // It becomes the engine itself, so that it ends with it.
        let script = format!(
            r#"[ "$1" = run ] || exec {real} "$@"
               exec bash -c 'exec {real} run < <(sed -u "s/\(latency_ns.:\){LATENCY_NS}/\1200000/")'
            "#
        );
        self.scratch.script("null", &script);
    }

    /// The job, from a clean workspace. After a failed step, only steps with such a condition
    /// continue.
    fn night(&mut self, number: u32) -> Night {
        let workspace = format!("workspace-{number}");
        fs::create_dir(self.scratch.path(&workspace)).unwrap();
        let mut night = Night { code: 0, said: String::new(), page: Vec::new() };
        for step in self.steps.clone() {
            let always = match step.get("if").map(|condition| text(condition, "if")) {
                None => false,
                Some("always()") => true,
                Some(other) => panic!("{other} is not understood here"),
            };
            if night.code != 0 && !always {
                continue;
            }
            match step["run"].as_str() {
                Some(script) => self.run(script, number, &workspace, &mut night),
                None => self.action(&step, number, &workspace, &mut night),
            }
        }
        night
    }

    /// `bash -e`, GitHub's default shell.
    fn run(&self, script: &str, number: u32, workspace: &str, night: &mut Night) {
        let script = script.replace("/mnt/nvme", self.scratch.path("nvme").to_str().unwrap());
        self.scratch.write("script.sh", &script);
        let mut command = Command::new("bash");
        command.arg("-e").arg(self.scratch.path("script.sh")).stdin(Stdio::null());
        command.current_dir(self.scratch.path(workspace));
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.scratch.path("bin").display()));
        command.env("KVDYNO_ENGINE_PATH", self.scratch.path("engines")).env("CI", "true");
        command.env("GITHUB_SHA", format!("{number:08x}{}", "0".repeat(32)));
        command.env("GITHUB_RUN_ID", number.to_string()).env("GITHUB_RUN_ATTEMPT", "1");
        let done = command.output().unwrap();
        night.said += &String::from_utf8_lossy(&[done.stdout, done.stderr].concat());
        if night.code == 0 {
            night.code = done.status.code().unwrap();
        }
    }

    /// What those of GitHub do.
    fn action(&mut self, step: &Value, number: u32, workspace: &str, night: &mut Night) {
        let with = |name: &str| {
            let value = text(&step["with"][name], name);
            let value = value.replace("${{ github.run_id }}", &number.to_string());
            value.replace("${{ github.run_attempt }}", "1")
        };
        let file = |name: &str| self.scratch.path(&format!("{workspace}/{name}"));
        match step["uses"].as_str().unwrap() {
            "actions/checkout@v4" => fs::write(file("nightly.toml"), nightly()).unwrap(),
            "actions/cache/restore@v4" => {
                let (key, begins) = (with("key"), with("restore-keys"));
                let of_key = |(other, _): &&(String, Vec<u8>)| *other == key;
                let newest = || self.caches.iter().rfind(|(other, _)| other.starts_with(&begins));
                if let Some((_, bytes)) = self.caches.iter().find(of_key).or_else(newest) {
                    fs::write(file(&with("path")), bytes).unwrap();
                }
            }
            "actions/cache/save@v4" => {
                let (key, bytes) = (with("key"), fs::read(file(&with("path"))).unwrap());
                assert!(self.caches.iter().all(|(other, _)| *other != key), "{key} is kept once");
                self.caches.push((key, bytes));
            }
            // Without the file it uploads nothing, and warns.
            "actions/upload-artifact@v4" => {
                night.page = fs::read(file(&with("path"))).unwrap_or_default();
            }
            other => panic!("what {other} does is not known here"),
        }
    }
}

/// The engine's time for an operation.
const LATENCY_NS: u32 = 2_000;

fn nightly() -> String {
    suite()
        .engine_as("null", "null", &format!("latency_ns = {LATENCY_NS}"))
        .load("batch = 500")
        // A tenth of a second: a few milliseconds are as long as one wait for a CPU.
        .measure("operations = 50_000")
        .role("readers", GET)
        .text()
}

/// Nights without a change, until there is a level for the gate.
const NIGHTS: u32 = 6;

#[test]
fn a_slower_build_fails_the_nightly_job_of_the_docs() {
    let mut runner = Runner::new();
    let first = runner.night(1);
    // Too few runs to judge; runs of a debug build are not added, so there is no page.
    assert_eq!(first.code, 4, "{}", first.said);
    if null_is_a_debug_build() {
        return;
    }
    for number in 2..=NIGHTS {
        let night = runner.night(number);
        // Other tests write to the same device meanwhile, which changes its figures.
        assert!([0, 4, 5].contains(&night.code), "night {number}: {}", night.said);
    }
    assert_eq!(runner.caches.len(), NIGHTS as usize, "a night that is not judged is kept");
    runner.build_a_slower_engine();
    let slower = runner.night(NIGHTS + 1);
    assert_eq!(slower.code, 5, "{}", slower.said);
    let failed = slower.said.split("gate ").find(|line| line.contains("FAILED"));
    assert!(failed.is_some_and(|line| line.contains("readers: ")), "{}", slower.said);
    assert!(slower.page.len() > 100_000, "{}", slower.said);
    let (_, history) = runner.caches.last().unwrap();
    let lines: Vec<Value> = String::from_utf8_lossy(history)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), NIGHTS as usize + 1, "the night that failed is kept as well");
    assert_eq!(lines[6]["label"], "00000007");
}
