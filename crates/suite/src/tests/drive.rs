//! Tests of the drive's jobs: their expansion, and refusals.

use super::*;
use kvdyno_record::workload::{Activity, Size};

/// A suite that measures the drive alone.
const ALONE: &str = r#"
[suite]
name = "alone"
[run]
trials = 2
[drive]
size = "64MiB"
duration = "1s"
[[drive.job]]
name = "small"
[[drive.job]]
name = "large"
rw = "write"
block = "4MiB"
depth = 32
"#;

/// Returns each case on a line: its actions and their target.
fn outline(plan: &Plan) -> String {
    let line = |case: &kvdyno_record::plan::Case| {
        let Size::Fixed { bytes } = case.data.value.size else { panic!("{:?}", case.data) };
        let phases = case.phases.iter().map(|phase| match &phase.work {
            Activity::Warmup(mix) | Activity::Measure(mix) => {
                let role = &mix.roles[0];
                let mix: Vec<_> =
                    role.mix.iter().map(|e| format!("{} {}", e.op.name(), e.weight)).collect();
                let (threads, depth) = (role.threads, role.depth);
                format!("{}({} t{threads} {depth:?})", phase.name, mix.join("+"))
            }
            _ => phase.name.clone(),
        });
        let phases: Vec<String> = phases.collect();
        let ram = case.ram_limit_bytes.map_or(String::new(), |ram| format!(" in {ram}"));
        let ceiling = if case.ceiling { " ceiling" } else { "" };
        let last = if case.database.last_use { " removed" } else { "" };
        format!(
            "{}: {} x {bytes} by {}{ram}: {} on {}{ceiling}{last}\n",
            case.id,
            case.data.records,
            case.options.values["io"],
            phases.join(" "),
            case.database.id
        )
    };
    plan.cases.iter().filter(|case| case.options.values.contains_key("io")).map(line).collect()
}

#[test]
fn the_drive_alone_needs_no_engines() {
    let plan = plan(ALONE, &[]);
    insta::assert_snapshot!(outline(&plan));
    // The file is written once, and a writer's estimated writes are added.
    assert_eq!(plan.estimate.databases.len(), 1);
    assert!(plan.estimate.space_bytes >= 64 << 20 && plan.estimate.space_bytes < 65 << 20);
    assert!(plan.estimate.write_bytes > 64 << 20);
    assert_eq!(write_bytes_least(&plan), (64 << 20) + 64 * 8);
}

/// SNIA's workload-independent preconditioning writes the whole file twice, in order, in blocks of
/// 128 KiB.
#[test]
fn a_drive_is_preconditioned_before_anything_is_measured() {
    let plan = plan(ALONE, &["drive.precondition=2", "drive.in_order=true"]);
    let fill = &plan.cases[0];
    assert_eq!((fill.data.records, fill.shape.value_bytes_max), (512, 128 << 10));
    let Activity::Warmup(again) = &fill.phases[1].work else { panic!("{:?}", fill.phases) };
    assert_eq!((again.ends.operations, again.roles[0].depth), (Some(512), Some(32)));
    insta::assert_snapshot!(outline(&plan));
}

#[test]
fn a_ceiling_is_measured_at_every_number_of_threads() {
    insta::assert_snapshot!(outline(&plan(builtin_text("quick"), &[])));
}

/// A RAM limit changes reads through the page cache, but not direct I/O.
#[test]
fn only_what_is_cached_is_swept_over_ram() {
    let plan = plan(builtin_text("quick"), &["ram.data_to_ram=[2,8]", "drive.trials=1"]);
    let under = |label: &str| {
        let of_label = plan.cases.iter().filter(|case| case.label == label);
        let mut limits: Vec<_> = of_label.map(|case| case.ram_limit_bytes).collect();
        limits.sort_unstable();
        limits.dedup();
        limits.len()
    };
    assert_eq!((under("drive-mmap"), under("drive-psync"), under("drive-io_uring")), (2, 1, 1));
}

#[test]
fn the_drive_is_chosen_and_left_out_as_an_engine_is() {
    let engines = |names: &[&str]| {
        let engines = names.iter().map(ToString::to_string).collect();
        let overrides = Overrides { engines, ..Overrides::default() };
        let plan = plan_of(builtin_text("quick"), &overrides).unwrap();
        let mut engines: Vec<_> = plan.cases.into_iter().map(|case| case.engine).collect();
        engines.sort_unstable();
        engines.dedup();
        engines
    };
    assert_eq!(engines(&["lmdb"]), ["lmdb"]);
    assert_eq!(engines(&["lmdb", "drive"]), ["drive", "lmdb"]);
    assert_eq!(engines(&["drive"]), ["drive"]);
    assert!(!plan(builtin_text("quick"), &["drive="]).cases.iter().any(|c| c.engine == "drive"));
}

#[test]
fn what_a_drive_cannot_do_is_refused() {
    let cases: &[&[&str]] = &[
        &["drive.job.small.block=1000"],
        &["drive.job.large.block=128MiB"],
        &["drive.job.small.io=psync", "drive.job.small.depth=2"],
        &["drive.job.small.io=aio"],
        &["drive.job.small.rw=randomread"],
        &["drive.job.small.read_share=0.7"],
        &["drive.job.small.name=large"],
        &["drive.job.small.name=drive"],
        &["drive.job.small.threads=sweep"],
        &["drive.job.small.options.fast=true"],
        &["drive.job.small.durability=commit"],
        &["drive.trials=3"],
        &["drive.job=[]"],
        &["drive.job=[]", "drive.preset=selectell"],
        &["run.budget=1s"],
        &["data.records=1M"],
    ];
    let refusals: Vec<String> = cases.iter().map(|set_| refusal(ALONE, &set(set_))).collect();
    insta::assert_snapshot!(refusals.join("\n"));
    let label = "label = \"drive\"";
    let text =
        builtin_text("quick").replacen("name = \"lmdb\"", &format!("name = \"lmdb\"\n{label}"), 1);
    insta::assert_snapshot!("an_engine_called_drive", refusal(&text, &Overrides::default()));
}

#[test]
fn without_its_worker_the_drive_is_refused_and_can_be_left_out() {
    let suite = Suite::parse("suite.toml", ALONE, &Overrides::default()).unwrap();
    let mut workers = engines();
    workers.workers.retain(|worker, _| worker.engine != "drive");
    insta::assert_snapshot!(expand(&suite, &workers, &HOST).unwrap_err().render(false));
}

#[test]
fn operations_in_flight_are_for_engines_that_have_them() {
    let depth = ["phase.measure.role.readers.depth=16"];
    insta::assert_snapshot!("depth_of_none", refusal(SMALL, &set(&depth)));
    let text = SMALL.replace("\"null\"", "\"drive\"").replace("= 100", "= 4096\nkey_bytes = 8");
    let case = &plan(&text, &depth).cases[1];
    assert_eq!(case.shape.depth, 16);
    let Activity::Measure(mix) = &case.phases[0].work else { panic!("{:?}", case.phases) };
    assert_eq!(mix.roles[0].depth, Some(16));
    let scans = [depth[0], "phase.measure.role.readers.mix=[{ op = \"get\" }, { op = \"scan\" }]"];
    let rate = [depth[0], "phase.measure.role.readers.rate={ per_second = 10 }"];
    let refusals = [&scans, &rate].map(|arguments| refusal(&text, &set(arguments)));
    insta::assert_snapshot!("depth_with_others", refusals.join("\n"));
}

#[test]
fn fio_does_every_job_as_well_among_the_others() {
    let plan = plan(ALONE, &["drive.with_fio=true"]);
    insta::assert_snapshot!(outline(&plan));
    let count_cases = |engine: &str| plan.cases.iter().filter(|case| case.engine == engine).count();
    assert_eq!((count_cases("drive"), count_cases("fio")), (1 + 4, 4));
}

fn plan_on_a_device(text: &str, arguments: &[&str]) -> Result<Plan, SuiteError> {
    let suite = Suite::parse("suite.toml", text, &set(arguments))?;
    expand(&suite, &engines(), &SizingHost { free_bytes: GIB + 4097, device: true, ..HOST })
}

#[test]
fn a_device_is_used_as_a_whole_by_what_can() {
    let plan = plan_on_a_device(ALONE, &["drive.size=auto"]).unwrap();
    assert_eq!(plan.cases[0].data.records, 1024);
    assert_eq!(plan.sized, ["all of the device: 1.00 GiB"]);
    let refused = plan_on_a_device(builtin_text("quick"), &[]).unwrap_err().render(false);
    assert!(refused.contains("lmdb stores nothing on a block device"), "{refused}");
}

/// No case loads; every case uses the existing data.
#[test]
fn what_is_only_read_is_not_filled() {
    let reads = ["drive.read_only=true", "drive.job.large.rw=read"];
    let plan = plan_on_a_device(ALONE, &reads).unwrap();
    insta::assert_snapshot!(outline(&plan));
    assert!(plan.cases.iter().all(|case| case.makes_database() && case.database.last_use));
    assert_eq!(plan.estimate.write_bytes, 0);
    let refused = [&["drive.read_only=true", "drive.precondition=2"][..], &reads];
    let refused = [
        plan_on_a_device(ALONE, refused[0]).unwrap_err().render(false),
        refusal(ALONE, &set(refused[1])),
    ];
    insta::assert_snapshot!("read_only_refusals", refused.join("\n"));
}

/// A job that discards writes its own file in each trial, and removes it; the other jobs share a
/// whole file.
#[test]
fn what_a_job_discards_no_other_reads() {
    let plan = plan(ALONE, &["drive.job.large.rw=randtrim", "drive.job.large.depth=1"]);
    insta::assert_snapshot!(outline(&plan));
    let trims = plan.cases.iter().filter(|case| case.label == "large");
    for case in trims {
        let mix = case.phases.iter().find_map(|phase| phase.mix()).unwrap();
        assert_eq!(mix.ends.operations, Some(16), "each block of 4 MiB once");
    }
    // Where all jobs discard, no shared file is written.
    let alone = ["drive.job.small.rw=trim", "drive.job.large.rw=trim", "drive.job.large.depth=1"];
    let alone = self::plan(ALONE, &alone);
    assert!(alone.cases.iter().all(|case| case.label != "drive"), "{}", outline(&alone));
    assert_eq!(alone.cases.len(), 2 * 2);
    let refused = |set: &[&str]| refusal(ALONE, &self::set(set));
    let deep = refused(&["drive.job.large.rw=trim"]);
    assert!(deep.contains("one block at a time"), "{deep}");
    let mapped = refused(&["drive.job.small.rw=trim", "drive.job.small.io=mmap"]);
    assert!(mapped.contains("a map of the file discards nothing"), "{mapped}");
    // On a device, all jobs use the same blocks.
    let trims = ["drive.job.large.rw=trim", "drive.job.large.depth=1"];
    let refused = plan_on_a_device(ALONE, &trims).unwrap_err().render(false);
    assert!(refused.contains("blocks of the device that others use"), "{refused}");
}
