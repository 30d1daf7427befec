//! Profiles of a real process: a program in C without frame pointers.

use super::*;
use kvdyno_host::{Child, Root};
use kvdyno_record::profile::{CUT, ProfileFile, ThreadOwner, ThreadsProfile, VDSO};
use kvdyno_testing::report_skip;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const PROGRAM: &str = include_str!("busy.c");

/// Compiles the program; none: this machine has no compiler.
fn compile(dir: &Path, test: &str) -> Option<PathBuf> {
    compile_with_array(dir, 1 << 10, test)
}

/// Compiles the program with an array of this size on its stack.
fn compile_with_array(dir: &Path, bytes: usize, test: &str) -> Option<PathBuf> {
    let (source, program) = (dir.join("busy.c"), dir.join("busy"));
    let text = PROGRAM.replace("char padding[1024]", &format!("char padding[{bytes}]"));
    assert!(text.contains(&format!("[{bytes}]")), "{text}");
    std::fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-g", "-fomit-frame-pointer", "-pthread", "-o"]).arg(&program).arg(&source);
    if !cc.status().is_ok_and(|status| status.success()) {
        report_skip("cc", test, "there is no C compiler");
        return None;
    }
    Some(program)
}

/// Profiles the program while it computes for a while; `None`: samples are not permitted.
fn profile(program: &Path, test: &str) -> Option<ProfileFile> {
    let root = Root::system();
    let mut child = Child::spawn(Command::new(program), None).unwrap();
    let watch = match Watch::open(&root, child.pid(), Watched::Worker) {
        Ok(watch) => watch,
        Err(error) => {
            report_skip("perf", test, &error.to_string());
            return None;
        }
    };
    let mut profiler = Profiler::new(&root, vec![watch]);
    let mut input = child.stdin.take().unwrap();
    let computes = |profiler: &mut Profiler| {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(700) {
            std::thread::sleep(Duration::from_millis(20));
            profiler.look();
        }
    };
    // Nothing is sampled between two phases.
    input.write_all(b"go\n").unwrap();
    computes(&mut profiler);
    for phase in ["first", "second"] {
        profiler.begin_phase(phase, vec!["readers".to_owned()]).unwrap();
        computes(&mut profiler);
        profiler.end_phase().unwrap();
        computes(&mut profiler);
    }
    drop(input);
    child.wait().unwrap();
    profiler.finish()
}

/// The functions of a path, outermost first.
fn path_names(file: &ProfileFile, path: u32) -> Vec<&str> {
    let mut names = Vec::new();
    let mut next = Some(path);
    while let Some(path) = next {
        let path = file.paths[path as usize];
        names.insert(0, &*file.functions[path.1 as usize].name);
        next = path.0;
    }
    names
}

/// Returns the share of samples whose stack has these functions, one called by the other. On a busy
/// machine the kernel often interrupts the last.
fn share_of(file: &ProfileFile, threads: &ThreadsProfile, calls: &[&str]) -> f64 {
    let has = |path: u32| path_names(file, path).windows(calls.len()).any(|part| part == calls);
    let counts = threads.stacks.iter().filter(|(path, _)| has(*path)).map(|(_, count)| count);
    counts.sum::<u64>() as f64 / threads.samples as f64
}

fn threads_named<'f>(file: &'f ProfileFile, phase: usize, name: &str) -> &'f ThreadsProfile {
    let mut threads = file.phases[phase].threads.iter();
    threads.find(|threads| threads.name == name).unwrap_or_else(|| panic!("{name}: {file:?}"))
}

#[test]
fn functions_of_threads_are_named_with_those_inlined_into_them() {
    let test = "functions_of_threads_are_named_with_those_inlined_into_them";
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), test) else { return };
    let Some(file) = profile(&program, test) else { return };
    let phases: Vec<&str> = file.phases.iter().map(|phase| &*phase.phase).collect();
    assert_eq!((phases, file.rate_hz), (vec!["first", "second"], RATE_HZ));
    for phase in 0..2 {
        let readers = threads_named(&file, phase, "readers");
        assert_eq!(readers.owner, ThreadOwner::Role);
        // Two threads of one or two CPUs that many others may use as well, for 0.7 s.
        assert!((1..100).contains(&readers.samples), "{}", readers.samples);
        let calls = ["call_engine", "engine_outer", "engine_inner", "folded"];
        let share = share_of(&file, readers, &calls);
        assert!(share > 0.8 || readers.samples < 10 && share > 0.3, "{share}: {file:?}");
        assert!(readers.cut * 10 <= readers.samples, "{}", readers.cut);
        let flush = threads_named(&file, phase, "flush");
        assert_eq!(flush.owner, ThreadOwner::Engine);
        let of_vdso = file.functions.iter().filter(|function| function.module == VDSO);
        let names: Vec<&str> = of_vdso.map(|function| &*function.name).collect();
        assert!(names.iter().any(|name| name.contains("clock_gettime")), "{names:?}");
        assert!(flush.cut * 10 <= flush.samples, "{}: {file:?}", flush.cut);
    }
}

/// The program is like those in packages of distributions: stripped, with its symbols in a separate
/// file.
#[test]
fn names_come_from_a_separate_file_and_else_are_addresses() {
    let test = "names_come_from_a_separate_file_and_else_are_addresses";
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile(dir.path(), test) else { return };
    let debug = dir.path().join("busy.debug");
    let run = |program: &str, arguments: &[&Path], options: &[&str]| {
        let status = Command::new(program).args(options).args(arguments).status();
        assert!(status.unwrap().success(), "{program} {options:?}");
    };
    run("objcopy", &[&program, &debug], &["--only-keep-debug"]);
    run("strip", &[&program], &[]);
    let link = format!("--add-gnu-debuglink={}", debug.display());
    run("objcopy", &[&program], &[&link]);
    let Some(file) = profile(&program, test) else { return };
    let calls = ["call_engine", "engine_outer", "engine_inner", "folded"];
    let share = share_of(&file, threads_named(&file, 0, "readers"), &calls);
    assert!(share > 0.8, "{share}: {file:?}");
    std::fs::remove_file(&debug).unwrap();
    let Some(file) = profile(&program, test) else { return };
    let readers = threads_named(&file, 0, "readers");
    let own = |path: u32| path_names(&file, path).iter().any(|name| name.starts_with("busy+0x"));
    let counts = readers.stacks.iter().filter(|(path, _)| own(*path)).map(|(_, count)| count);
    assert!(counts.sum::<u64>() * 10 > readers.samples * 8, "{file:?}");
    // Unwinding needs no symbols.
    assert!(readers.cut * 10 <= readers.samples, "{}", readers.cut);
}

/// Only the beginning of the array is used: its other pages are not in memory.
#[test]
fn a_hole_in_a_stack_does_not_cut_it() {
    let test = "a_hole_in_a_stack_does_not_cut_it";
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile_with_array(dir.path(), 20 << 10, test) else { return };
    let Some(file) = profile(&program, test) else { return };
    let readers = threads_named(&file, 1, "readers");
    assert!(readers.cut * 5 <= readers.samples, "{} of {}", readers.cut, readers.samples);
}

/// The stack is deeper than what a sample contains.
#[test]
fn a_stack_that_is_too_deep_is_cut_and_said_to_be() {
    let test = "a_stack_that_is_too_deep_is_cut_and_said_to_be";
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = compile_with_array(dir.path(), 40 << 10, test) else { return };
    let Some(file) = profile(&program, test) else { return };
    let readers = threads_named(&file, 0, "readers");
    assert!(readers.cut * 10 > readers.samples * 8, "{} of {}", readers.cut, readers.samples);
    let share = share_of(&file, readers, &[CUT, "engine_inner", "folded"]);
    assert!(share > 0.8, "{share}: {file:?}");
}
