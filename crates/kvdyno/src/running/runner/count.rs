//! A worker under valgrind, which counts the instructions of its threads in the loop that performs
//! operations. Preparing operations and storing their times is outside of that loop, as it is
//! outside of latencies. The engine's own threads and the kernel are not counted.

mod callgrind;

use super::environment::CaseEnvironment;
use super::worker::Worker;
use anyhow::Context as _;
use kvdyno_host::processor::Processor;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::files::CaseDir;
use kvdyno_record::functions::FunctionFile;
use kvdyno_record::plan::Counting;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program that counts instructions.
pub(crate) const VALGRIND: &str = "valgrind";

/// The counted function of a worker's threads, and the function of its main thread whose end marks
/// the end of a phase.
const COUNTED: &str = "kvdyno_worker::hot::closed_loop*";
const PHASE: &str = "kvdyno_worker::job::Case*::phase";

/// Valgrind's files in the case's directory; each phase adds a number.
const FILE: &str = "callgrind";

/// Returns the command of a worker under valgrind, which writes its counts into `dir`.
pub(super) fn valgrind_command(worker: &Command, dir: &Path) -> Command {
    let mut command = Command::new(VALGRIND);
    let file = dir.join(FILE).display().to_string().replace('%', "%%");
    command.args(["--quiet", "--tool=callgrind", "--collect-atstart=no"]);
    command.arg(format!("--toggle-collect={COUNTED}"));
    command.arg(format!("--dump-after={PHASE}"));
    command.arg(format!("--callgrind-out-file={file}"));
    command.arg(worker.get_program()).args(worker.get_args());
    for (name, value) in worker.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Counts a worker and its children with the processor, if the case requests it. The worker must
/// not have started.
pub(super) fn count_by_processor(
    environment: &CaseEnvironment<'_>,
    worker: &Worker,
) -> Option<Processor> {
    let counts = environment.case.count == Some(Counting::Processor);
    counts.then(|| Processor::watch(&environment.run.root, worker.pid()))
}

/// Copies the counts of a case into its phases and its `functions.json`, and removes valgrind's
/// files.
pub(super) fn move_counts(dir: &CaseDir, phases: &mut [PhaseRecord]) -> anyhow::Result<()> {
    let mut file = FunctionFile::default();
    for (number, phase) in (1..).zip(phases) {
        let path = dir.path.join(format!("{FILE}.{number}"));
        let text = match std::fs::read(&path) {
            // A compiler may write names of functions that are not UTF-8.
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            // The worker ended before the phase did.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        if phase.roles.is_empty() {
            continue;
        }
        phase.instructions = total(&text);
        let functions = callgrind::functions(&text).filter(|functions| {
            // An incomplete list of functions would explain a difference wrongly.
            let sum = functions.iter().map(|function| function.instructions).sum::<u64>();
            phase.instructions == Some(sum)
        });
        file.phases.extend(functions.map(|functions| (phase.name.clone(), functions)));
    }
    dir.write_functions(&file)?;
    for path in files(&dir.path)? {
        std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(FILE) {
            files.push(entry.path());
        }
    }
    Ok(files)
}

/// The instructions in a file of callgrind: those since the previous file.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals: "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_file_is_read() {
        let text = "version: 1\nevents: Ir\nfn=(1) a\n1 5\n\ntotals: 46800123\n";
        assert_eq!(total(text), Some(46_800_123));
        assert_eq!(total("events: Ir\n"), None);
    }

    #[test]
    fn options_and_variables_of_the_worker_stay() {
        let mut worker = Command::new("/x/kvdyno-lmdb");
        worker.arg("run").env("A", "1");
        let command = valgrind_command(&worker, Path::new("/runs/10%"));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[words.len() - 2..], ["/x/kvdyno-lmdb", "run"]);
        assert!(words.iter().any(|word| word.ends_with("=/runs/10%%/callgrind")), "{words:?}");
        assert_eq!(command.get_envs().count(), 1);
    }
}
